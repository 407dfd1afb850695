//===- CudaAttention.cpp - attention by cuDNN -----------------------------===//

#include "runtime/device/cuda/CudaAttention.h"

#include "runtime/device/cuda/CudnnAttentionGraph.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace lockstep::runtime {

static constexpr CudaLibraryPhase::Kind attentionKind = {"cuDNN", "attention",
                                                         "--attention=cudnn"};

CudaAttention::CudaAttention(std::shared_ptr<CudnnLibrary> library,
                             const GpuAttention &attention,
                             uint64_t mostWorkspaceBytes)
    : CudaLibraryPhase(attentionKind), library(std::move(library)),
      attention(attention), mostWorkspaceBytes(mostWorkspaceBytes),
      scale(float(attention.scale())),
      unseen(-std::numeric_limits<float>::infinity()) {}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

uint64_t CudaAttention::bytesOfSums(const Slice &tried) const {
  if (!isGradient())
    return 0;
  constexpr uint64_t unit = 256;
  uint64_t bytes =
      tried.examples * tried.heads * attention.query.sizes[2] * sizeof(float);
  return (bytes + unit - 1) / unit * unit;
}

bool CudaAttention::isAligned(const Slice &tried) const {
  for (const AttentionOperand &operand : attentionOperands(attention.kind)) {
    const GpuTensor &tensor = attention.*operand.tensor;
    auto isStep = [&](uint64_t dim, uint64_t count) {
      return count == tensor.sizes[dim] ||
             count * uint64_t(tensor.strides[dim]) *
                     elementSize(tensor.type()) % attentionAlignment ==
                 0;
    };
    if (!isStep(0, tried.examples) || !isStep(1, tried.heads))
      return false;
  }
  return true;
}

std::vector<CudaAttention::Slice> CudaAttention::slices() const {
  auto [examples, heads, queries, size] = attention.query.sizes;
  std::vector<Slice> found;
  auto add = [&](const Slice &next) {
    if (isAligned(next))
      found.push_back(next);
  };
  for (uint64_t parts = 1; parts <= examples; ++parts)
    if (examples % parts == 0)
      add({examples / parts, heads});
  for (uint64_t parts = 2; parts <= heads; ++parts)
    if (heads % parts == 0)
      add({1, heads / parts});
  return found;
}

uint64_t CudaAttention::leastBytes(const Slice &tried) const {
  if (!isGradient())
    return 0;
  // The library keeps the gradients of scores, in 16 bits.
  using Wide = unsigned __int128;
  constexpr Wide most = std::numeric_limits<uint64_t>::max();
  Wide scores = Wide(attention.query.sizes[2]) * attention.key.sizes[2];
  for (uint64_t count : {tried.examples, tried.heads, uint64_t(2)})
    scores = std::min(scores * count, most);
  return uint64_t(std::min(scores + bytesOfSums(tried), most));
}

Expected<CudnnPlan> CudaAttention::planFor(const Slice &tried,
                                           uint64_t mostBytes,
                                           std::string &refused) const {
  GpuAttention part = attention;
  for (const AttentionOperand &operand : attentionOperands(attention.kind)) {
    std::array<uint64_t, 4> &sizes = (part.*operand.tensor).sizes;
    sizes[0] = tried.examples;
    sizes[1] = tried.heads;
  }
  return library->plan([&](const CudnnTarget &target) {
    return planAttention(library->api, target, part, mostBytes, refused);
  });
}

Status CudaAttention::choose() {
  if (std::optional<std::string> stride = findUnsupportedStride(attention)) {
    reason = *stride;
    return Status();
  }
  std::vector<Slice> all = slices();
  for (const Slice &tried : all) {
    // Nothing is smaller than the last one.
    bool isLast = &tried == &all.back();
    uint64_t most =
        isLast ? std::numeric_limits<uint64_t>::max() : mostWorkspaceBytes;
    // Not to ask the library where it would need too much saves a compilation.
    if (leastBytes(tried) > most)
      continue;
    CudnnPlan found;
    LOCKSTEP_RETURN_IF_ERROR(
        planFor(tried, most - bytesOfSums(tried), reason).moveTo(found));
    if (found.plan.get()) {
      reason.clear();
      slice = tried;
      plan = std::move(found);
      return Status();
    }
    if (found.workspaceBytes == 0)
      return Status();
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

Expected<std::optional<uint64_t>>
CudaAttention::prepare(std::span<std::byte *const> buffers) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isChosen) {
    LOCKSTEP_RETURN_IF_ERROR(choose());
    isChosen = true;
  }
  if (!reason.empty())
    return std::optional<uint64_t>();
  for (const AttentionOperand &operand : attentionOperands(attention.kind)) {
    auto address = reinterpret_cast<uint64_t>(
        addressOf(attention.*operand.tensor, buffers));
    if (address % attentionAlignment == 0)
      continue;
    reason = fmt::format("expected an address of the {} that is a multiple of "
                         "{}, found one {} bytes behind it",
                         operand.text, attentionAlignment,
                         address % attentionAlignment);
    return std::optional<uint64_t>();
  }
  return std::optional(bytesOfSums(slice) + plan.workspaceBytes);
}

Expected<CudnnDescriptor>
CudaAttention::pack(std::span<std::byte *const> buffers, CUdeviceptr workspace,
                    uint64_t example, uint64_t head) const {
  std::vector<int64_t> names;
  std::vector<const void *> addresses;
  auto add = [&](AttentionName name, const void *address) {
    names.push_back(int64_t(name));
    addresses.push_back(address);
  };
  for (const AttentionOperand &operand : attentionOperands(attention.kind)) {
    const GpuTensor &tensor = attention.*operand.tensor;
    uint64_t elements = example * uint64_t(tensor.strides[0]) +
                        head * uint64_t(tensor.strides[1]);
    add(operand.name,
        addressOf(tensor, buffers) + elements * elementSize(tensor.type()));
  }
  for (AttentionName name : attentionNumbers(attention))
    add(name, name == AttentionName::Scale    ? &scale
              : name == AttentionName::Unseen ? &unseen
                                              : &one);
  if (isGradient())
    add(AttentionName::Sums, reinterpret_cast<const void *>(workspace));
  return packOperands(library->api, names, addresses,
                      reinterpret_cast<void *>(workspace + bytesOfSums(slice)));
}

Expected<bool> CudaAttention::enqueue(std::span<std::byte *const> buffers,
                                      CUdeviceptr workspace, CUstream stream) {
  const CudnnApi &api = library->api;
  Expected<cudnnHandle_t> handle = library->handleFor(stream);
  if (!handle)
    return handle.status();
  {
    std::lock_guard<std::mutex> lock(mutex);
    // Another thread may have had it refused meanwhile.
    if (!reason.empty())
      return false;
  }
  auto [examples, heads, queries, size] = attention.query.sizes;
  for (uint64_t example = 0; example < examples; example += slice.examples)
    for (uint64_t head = 0; head < heads; head += slice.heads) {
      Expected<CudnnDescriptor> packed =
          pack(buffers, workspace, example, head);
      if (!packed)
        return packed.status();
      cudnnStatus_t status =
          api.cudnnBackendExecute(*handle, plan.plan.get(), packed->get());
      if (status == CUDNN_STATUS_SUCCESS)
        continue;
      Status error = api.error("cudnnBackendExecute", status);
      if (!isRefusal(status))
        return error;
      std::lock_guard<std::mutex> lock(mutex);
      reason = error.message();
      return false;
    }
  return true;
}

std::optional<std::string> CudaAttention::refusal() {
  std::lock_guard<std::mutex> lock(mutex);
  return reason.empty() ? std::nullopt : std::optional(reason);
}

} // namespace lockstep::runtime
