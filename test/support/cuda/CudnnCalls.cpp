//===- CudnnCalls.cpp - what plans of cuDNN are executed with -------------===//

#include "CudnnCalls.h"

#include "CudnnOperations.h"
#include "MemoryTable.h"

#include <algorithm>

namespace lockstep::standin {

void *VariantPack::addressOf(int64_t name) const {
  auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr
                              : addresses[size_t(found - names.begin())];
}

std::optional<VariantPack> readPack(const Descriptor &descriptor) {
  VariantPack pack;
  pack.names = read<int64_t>(descriptor, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                             CUDNN_TYPE_INT64);
  pack.addresses = read<void *>(
      descriptor, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR);
  auto workspace = readOne<void *>(
      descriptor, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR);
  if (pack.names.size() != pack.addresses.size() || !workspace)
    return std::nullopt;
  pack.workspace = *workspace;
  return pack;
}

static std::string prepareConvolution(const Convolution &convolution,
                                      bool rounds, const Context *context,
                                      const VariantPack &pack,
                                      std::function<void()> &compute) {
  std::array<std::byte *, 4> places{};
  std::vector<const Tensor *> tensors = {
      &convolution.image, &convolution.filter, &convolution.result};
  if (convolution.bias)
    tensors.push_back(&*convolution.bias);
  for (size_t i = 0; i < tensors.size(); ++i) {
    void *address = pack.addressOf(tensors[i]->name);
    if (!address)
      return "operand";
    if (!isOf(context, address, tensors[i]->bytes()))
      return "memory";
    if (reinterpret_cast<uint64_t>(address) % uint64_t(tensors[i]->alignment))
      return "alignment";
    places[i] = hostOf(address);
  }
  compute = [=] { convolution.execute(places, rounds); };
  return "";
}

/// Numbers are read at the call, from memory of the host.
static std::string prepareOperations(const OperationGraph &graph,
                                     const Context *context,
                                     const VariantPack &pack,
                                     std::function<void()> &compute) {
  OperandPlaces places;
  size_t expected = 0;
  for (const auto &[name, tensor] : graph.tensors) {
    if (tensor.place == Tensor::Place::Virtual)
      continue;
    ++expected;
    void *address = pack.addressOf(name);
    if (!address)
      return "operand";
    if (tensor.place == Tensor::Place::ByValue) {
      if (MemoryTable::get().find(reinterpret_cast<uint64_t>(address), 1))
        return "number";
      std::memcpy(&places.numbers[name], address, sizeof(float));
      continue;
    }
    if (!isOf(context, address, tensor.bytes()))
      return "memory";
    places.memory[name] = hostOf(address);
  }
  if (pack.names.size() != expected)
    return "names";
  compute = [=] { graph.execute(places); };
  return "";
}

std::string prepareCall(const Descriptor &graph, bool isFallback,
                        const Context *context, const VariantPack &pack,
                        std::function<void()> &compute) {
  if (std::optional<Convolution> convolution = convolutionOf(graph)) {
    bool rounds = convolution->image.type == Float::F32 && !isFallback;
    return prepareConvolution(*convolution, rounds, context, pack, compute);
  }
  return prepareOperations(*operationsOf(graph), context, pack, compute);
}

} // namespace lockstep::standin
