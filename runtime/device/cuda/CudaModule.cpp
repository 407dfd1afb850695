//===- CudaModule.cpp - kernels of an artifact on a GPU -------------------===//

#include "runtime/device/cuda/CudaModule.h"

#include "runtime/artifact/GpuProducts.h"
#include "runtime/artifact/GpuSymbols.h"
#include "runtime/artifact/KernelArguments.h"
#include "runtime/device/KernelFault.h"
#include "runtime/device/cuda/CudaAttention.h"
#include "runtime/device/cuda/CudaConvolutions.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

template <typename T>
Expected<std::vector<T>>
CudaModule::readGlobal(const std::string &symbol) const {
  const DriverApi &api = context->api;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  CUresult result =
      api.cuModuleGetGlobal(&address, &bytes, module, symbol.c_str());
  if (result == CUDA_ERROR_NOT_FOUND)
    return std::vector<T>();
  std::vector<T> values(bytes / sizeof(T));
  if (result == CUDA_SUCCESS)
    result =
        api.cuMemcpyDtoH(values.data(), address, values.size() * sizeof(T));
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("cannot read '{}' of the kernels for target "
                                   "'{}': {}",
                                   symbol, name, api.text(result)));
  return values;
}

Expected<std::unique_ptr<Module>>
CudaModule::load(std::shared_ptr<CudaContext> context, const Artifact &artifact,
                 std::string_view target) {
  CudaImage image;
  LOCKSTEP_RETURN_IF_ERROR(
      chooseCudaImage(artifact, target, context->capability()).moveTo(image));
  std::unique_ptr<CudaModule> result(new CudaModule(std::move(context)));
  if (image.code.empty())
    return std::unique_ptr<Module>(std::move(result));
  auto tryImage = [&](const CudaImage &tried) {
    result->name = tried.target;
    return result->context
        ->load(tried.code, fmt::format("kernels for target '{}'", result->name))
        .moveTo(result->module);
  };
  Status status = tryImage(image);
  if (!status.ok() && isCubin(image.code)) {
    // A driver may be too old for what ptxas has assembled, but not for PTX.
    Expected<CudaImage> ptx =
        chooseCudaImage(artifact, target, result->context->capability(),
                        /*acceptsCubins=*/false);
    if (ptx) {
      result->refusedCubin = status.message();
      status = tryImage(*ptx);
    }
  }
  if (!status.ok())
    return status;
  std::vector<uint64_t> fault;
  LOCKSTEP_RETURN_IF_ERROR(
      result->readGlobal(std::string(gpuFaultSymbol)).moveTo(fault));
  result->isChecked = !fault.empty();
  return std::unique_ptr<Module>(std::move(result));
}

CudaModule::~CudaModule() {
  if (module)
    context->unload(module);
}

Status CudaModule::findFault() const {
  context->enter();
  std::vector<uint64_t> fault;
  LOCKSTEP_RETURN_IF_ERROR(
      readGlobal(std::string(gpuFaultSymbol)).moveTo(fault));
  constexpr size_t words = 4;
  if (fault.size() != words)
    return corrupted(fmt::format("expected {} numbers '{}' in the binary for "
                                 "target '{}', found {}",
                                 words, gpuFaultSymbol, name, fault.size()));
  if (fault[0] == 0)
    return Status::success();
  std::vector<char> text;
  LOCKSTEP_RETURN_IF_ERROR(
      readGlobal<char>(gpuTextSymbol(fault[1])).moveTo(text));
  return kernelFault(
      std::string(text.data(), ::strnlen(text.data(), text.size())),
      int64_t(fault[2]), int64_t(fault[3]));
}

Status CudaModule::checkArguments(const artifact::Kernel &kernel,
                                  const std::string &code) const {
  std::string symbol = gpuSymbol(code) + std::string(gpuArgumentsSuffix);
  std::vector<uint64_t> found;
  LOCKSTEP_RETURN_IF_ERROR(readGlobal(symbol).moveTo(found));
  if (found.size() != 1)
    return corrupted(fmt::format("kernel '{}' does not say what arguments its "
                                 "code takes: expected one number '{}' in the "
                                 "binary for target '{}', found {}",
                                 code, symbol, name, found.size()));
  if (found[0] != argumentsCode(kernel))
    return corrupted(
        fmt::format("kernel '{}': the binary for target '{}' has code for "
                    "other arguments or another grid than the artifact's "
                    "tables say",
                    code, name));
  return Status::success();
}

Expected<CudaKernel::Phase> CudaModule::findPhase(const std::string &code,
                                                  uint32_t phase,
                                                  uint64_t blocks,
                                                  uint64_t threads) const {
  std::string symbol = gpuPhaseSymbol(gpuSymbol(code), phase);
  CudaKernel::Phase found;
  CUresult result =
      context->api.cuModuleGetFunction(&found.function, module, symbol.c_str());
  if (result != CUDA_SUCCESS)
    return corrupted(fmt::format("kernel '{}': expected a function '{}' in the "
                                 "binary for target '{}', found none: {}",
                                 code, symbol, name,
                                 context->api.text(result)));
  constexpr uint64_t mostBlocks = INT32_MAX;
  int most = 0;
  result = context->api.cuFuncGetAttribute(
      &most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found.function);
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("kernel '{}': cannot load '{}': {}", code,
                                   symbol, context->api.text(result)));
  if (blocks > mostBlocks || threads == 0 || threads > uint64_t(most))
    return corrupted(fmt::format(
        "kernel '{}': expected at most {} blocks of 1 to {} threads for '{}', "
        "found {} of {}",
        code, mostBlocks, most, symbol, blocks, threads));
  found.blocks = uint32_t(blocks);
  found.threads = uint32_t(threads);
  return found;
}

template <typename Description>
Expected<std::vector<Description>>
CudaModule::readLibraryPhases(const artifact::Kernel &kernel,
                              const std::string &code, std::string_view suffix,
                              size_t phases) const {
  std::string symbol = gpuSymbol(code) + std::string(suffix);
  std::vector<uint64_t> words;
  LOCKSTEP_RETURN_IF_ERROR(readGlobal(symbol).moveTo(words));
  std::vector<uint64_t> bytes;
  if (const artifact::Arguments *arguments = kernel.arguments();
      arguments && arguments->bytes()) {
    for (uint32_t i = 0; i < arguments->bytes()->size(); ++i)
      bytes.push_back(countDynamicDimensions(*arguments, i) > 0
                          ? UINT64_MAX
                          : arguments->bytes()->Get(i));
    if (arguments->scratch() > 0)
      bytes.push_back(arguments->scratch());
  }
  std::optional<std::vector<Description>> found =
      runtime::readLibraryPhases<Description>(words, bytes, phases);
  if (!found)
    return corrupted(fmt::format(
        "kernel '{}': expected {} of its {} buffers in its {} phases, found "
        "other numbers in '{}' of the binary for target '{}'",
        code, suffix.substr(1), bytes.size(), phases, symbol, name));
  return std::move(*found);
}

Status CudaModule::addProducts(const artifact::Kernel &kernel,
                               CudaKernel &loaded) const {
  std::vector<GpuProduct> products;
  LOCKSTEP_RETURN_IF_ERROR(readLibraryPhases<GpuProduct>(kernel, loaded.name,
                                                         gpuProductsSuffix,
                                                         loaded.phases.size())
                               .moveTo(products));
  if (!products.empty() && !productLibrary)
    if (Status status =
            CudaProductLibrary::create(context).moveTo(productLibrary);
        !status.ok())
      return status.withContext(fmt::format(
          "kernel '{}' has products for cuBLASLt (--products=cublaslt)",
          loaded.name));
  for (const GpuProduct &product : products) {
    Expected<std::unique_ptr<CudaProduct>> created =
        CudaProduct::create(productLibrary, product);
    if (!created)
      return created.status();
    loaded.phases[product.phase].byLibrary = std::move(*created);
  }
  return Status();
}

template <typename Description, typename Phase>
Status CudaModule::addCudnnPhases(const artifact::Kernel &kernel,
                                  CudaKernel &loaded, std::string_view suffix,
                                  size_t leastVersion,
                                  std::string_view what) const {
  std::vector<Description> found;
  LOCKSTEP_RETURN_IF_ERROR(readLibraryPhases<Description>(kernel, loaded.name,
                                                          suffix,
                                                          loaded.phases.size())
                               .moveTo(found));
  if (found.empty())
    return Status();
  Status status = CudnnApi::load(leastVersion).status();
  if (status.ok() && !cudnn)
    status = CudnnLibrary::create(context).moveTo(cudnn);
  if (!status.ok())
    return status.withContext(
        fmt::format("kernel '{}' has {}", loaded.name, what));
  for (const Description &each : found)
    loaded.phases[each.phase].byLibrary = std::make_unique<Phase>(cudnn, each);
  return Status();
}

Expected<KernelHandle>
CudaModule::kernel(const artifact::Kernel &kernel) const {
  std::string code = (kernel.code() ? kernel.code() : kernel.symbol())->str();
  if (!module)
    return corrupted(
        fmt::format("kernel '{}': the artifact has no binaries", code));
  context->enter();
  LOCKSTEP_RETURN_IF_ERROR(checkArguments(kernel, code));
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = kernels.find(code); known != kernels.end())
    return static_cast<KernelHandle>(&known->second);

  std::string symbol = gpuSymbol(code) + std::string(gpuLaunchesSuffix);
  std::vector<uint64_t> launches;
  LOCKSTEP_RETURN_IF_ERROR(readGlobal(symbol).moveTo(launches));
  if (launches.empty() || launches.size() % 2 != 0)
    return corrupted(fmt::format(
        "kernel '{}': expected pairs of numbers '{}' in the binary for target "
        "'{}', found {} numbers",
        code, symbol, name, launches.size()));
  CudaKernel loaded;
  loaded.name = code;
  for (uint32_t phase = 0; phase < launches.size() / 2; ++phase) {
    // There is no function: nothing is computed, or a library does it.
    if (uint64_t blocks = launches[2 * phase];
        blocks == 0 || blocks == uint64_t(gpuLibraryBlocks)) {
      loaded.phases.emplace_back();
      continue;
    }
    Expected<CudaKernel::Phase> found =
        findPhase(code, phase, launches[2 * phase], launches[2 * phase + 1]);
    if (!found)
      return found.status();
    loaded.phases.push_back(std::move(*found));
  }
  LOCKSTEP_RETURN_IF_ERROR(addProducts(kernel, loaded));
  LOCKSTEP_RETURN_IF_ERROR((addCudnnPhases<GpuConvolution, CudaConvolution>(
      kernel, loaded, gpuConvolutionsSuffix, leastCudnnVersion,
      "convolutions for cuDNN (--convolutions=cudnn)")));
  LOCKSTEP_RETURN_IF_ERROR((addCudnnPhases<GpuAttention, CudaAttention>(
      kernel, loaded, gpuAttentionSuffix, leastCudnnForAttention,
      "attention for cuDNN (--attention=cudnn)")));
  for (size_t phase = 0; phase < loaded.phases.size(); ++phase)
    if (launches[2 * phase] == uint64_t(gpuLibraryBlocks) &&
        !loaded.phases[phase].byLibrary)
      return corrupted(fmt::format(
          "kernel '{}': expected a description of phase {}, which has no code "
          "in the binary for target '{}', for a library, found none",
          code, phase, name));
  const CudaKernel &kept =
      kernels.emplace(code, std::move(loaded)).first->second;
  return static_cast<KernelHandle>(&kept);
}

std::string CudaModule::note() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> notes;
  if (!refusedCubin.empty())
    notes.push_back(fmt::format(
        "the driver has refused what ptxas has assembled, and has translated "
        "PTX instead: {}",
        refusedCubin));
  struct Refused {
    size_t count = 0, all = 0;
    const char *name = nullptr;
    std::string kernel, reason;
  };
  std::map<std::string_view, Refused> refused;
  for (const auto &[code, kernel] : kernels)
    for (const CudaKernel::Phase &phase : kernel.phases) {
      // Without a function, what the library refuses is an error of the run.
      if (!phase.byLibrary || !phase.function)
        continue;
      const CudaLibraryPhase::Kind &kind = phase.byLibrary->kind;
      Refused &ofKind = refused[kind.library];
      ofKind.name = kind.name;
      ++ofKind.all;
      std::optional<std::string> reason = phase.byLibrary->refusal();
      if (!reason || ofKind.count++ > 0)
        continue;
      ofKind.kernel = code;
      if (!reason->empty())
        ofKind.reason = fmt::format(" ({})", *reason);
    }
  for (const auto &[library, found] : refused)
    if (found.count > 0)
      notes.push_back(fmt::format(
          "{} does not support {} of {} {}s, which generated code computes, "
          "such as that of kernel '{}'{}",
          library, found.count, found.all, found.name, found.kernel,
          found.reason));
  return fmt::format("{}", fmt::join(notes, "; "));
}

} // namespace lockstep::runtime
