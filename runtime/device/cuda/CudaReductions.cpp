//===- CudaReductions.cpp - kernels of reductions -------------------------===//

#include "runtime/device/cuda/CudaReductions.h"

#include "runtime/schema/Types.h"

#include <string>

#include <fmt/format.h>

namespace lockstep::runtime {

CudaReductions::~CudaReductions() {
  for (Loaded &loaded : types)
    if (loaded.module)
      context->unload(loaded.module);
}

Expected<CUfunction> CudaReductions::findFunction(CUmodule module,
                                                  const char *name) const {
  CUfunction function = nullptr;
  CUresult result = context->api.cuModuleGetFunction(&function, module, name);
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("cannot load '{}' on {}: {}", name,
                                   context->name(), context->api.text(result)));
  return function;
}

Status CudaReductions::load(artifact::ElementType element, Loaded &loaded) {
  LOCKSTEP_RETURN_IF_ERROR(
      context
          ->load(reducePtx(element),
                 fmt::format("reductions of {}", elementName(element)))
          .moveTo(loaded.module));
  CUfunction storeAddresses = nullptr;
  LOCKSTEP_RETURN_IF_ERROR(
      findFunction(loaded.module, "lockstep_reduce_addresses")
          .moveTo(storeAddresses));
  bool hasAccumulators = accumulatorSize(element) != elementSize(element);
  for (size_t i = size_t(artifact::Reduction::sum); i < reductionCount; ++i)
    for (bool keeps : {false, true}) {
      CudaReduction &reduction = loaded.reductions[i][keeps];
      std::string name =
          fmt::format("lockstep_reduce_{}{}",
                      artifact::EnumNameReduction(artifact::Reduction(i)),
                      keeps && hasAccumulators ? "_accumulators" : "");
      LOCKSTEP_RETURN_IF_ERROR(
          findFunction(loaded.module, name.c_str()).moveTo(reduction.reduce));
      reduction.storeAddresses = storeAddresses;
    }
  if (isFloat(element))
    LOCKSTEP_RETURN_IF_ERROR(
        findFunction(loaded.module, "lockstep_search").moveTo(loaded.search));
  return Status::success();
}

Expected<CudaReductions::Loaded *>
CudaReductions::loadedFor(artifact::ElementType element) {
  Loaded &loaded = types[size_t(element)];
  if (!loaded.module)
    LOCKSTEP_RETURN_IF_ERROR(load(element, loaded));
  return &loaded;
}

Expected<CUfunction> CudaReductions::findSearch(artifact::ElementType element) {
  if (!isFloat(element))
    return unsupported(
        fmt::format("expected a type of floats, found {}", int(element)));
  std::lock_guard<std::mutex> lock(mutex);
  Expected<Loaded *> loaded = loadedFor(element);
  return loaded ? Expected<CUfunction>((*loaded)->search) : loaded.status();
}

Expected<CudaReduction> CudaReductions::find(const DeviceReduction &reduction) {
  artifact::ElementType element = reduction.element;
  // An i1 is a byte of 0 or 1.
  if (element == artifact::ElementType::i1)
    element = artifact::ElementType::u8;
  if (size_t(element) >= typeCount || reducePtx(element).empty() ||
      reduction.reduction == artifact::Reduction::none ||
      size_t(reduction.reduction) >= reductionCount)
    return unsupported(fmt::format(
        "expected an element type and a reduction of the schema, found {} and "
        "{}",
        int(element), int(reduction.reduction)));
  std::lock_guard<std::mutex> lock(mutex);
  Expected<Loaded *> loaded = loadedFor(element);
  if (!loaded)
    return loaded.status();
  return (*loaded)
      ->reductions[size_t(reduction.reduction)][reduction.keepsAccumulators];
}

} // namespace lockstep::runtime
