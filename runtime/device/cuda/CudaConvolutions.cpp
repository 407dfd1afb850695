//===- CudaConvolutions.cpp - convolutions by cuDNN -----------------------===//

#include "runtime/device/cuda/CudaConvolutions.h"

#include <algorithm>

namespace lockstep::runtime {

static constexpr CudaLibraryPhase::Kind convolutionKind = {
    "cuDNN", "convolution", "--convolutions=cudnn"};

CudaConvolution::CudaConvolution(std::shared_ptr<CudnnLibrary> library,
                                 const GpuConvolution &convolution)
    : CudaLibraryPhase(convolutionKind), library(std::move(library)),
      convolution(convolution) {}

std::array<const void *, 4>
CudaConvolution::addressesOf(std::span<std::byte *const> buffers) const {
  auto addressOf = [&](const GpuTensor &tensor) {
    return buffers[tensor.buffer] + tensor.offset;
  };
  return {addressOf(convolution.image), addressOf(convolution.filter),
          addressOf(convolution.result), convolution.epilogue.bias(buffers)};
}

CudnnAlignments
CudaConvolution::alignmentsOf(std::span<std::byte *const> buffers) const {
  CudnnAlignments alignments{};
  std::array<const void *, 4> addresses = addressesOf(buffers);
  for (size_t i = 0; i < alignments.size(); ++i)
    alignments[i] = libraryAlignment(
        static_cast<const std::byte *>(addresses[i]), /*distance=*/0);
  return alignments;
}

Expected<std::optional<uint64_t>>
CudaConvolution::prepare(std::span<std::byte *const> buffers) {
  CudnnAlignments alignments = alignmentsOf(buffers);
  std::lock_guard<std::mutex> lock(mutex);
  auto known = plans.find(alignments);
  if (known == plans.end()) {
    std::string refused;
    Expected<CudnnPlan> plan = library->plan([&](const CudnnTarget &target) {
      return planConvolution(library->api, target, convolution, alignments,
                             CudnnLibrary::mostWorkspaceBytes, refused);
    });
    if (!plan)
      return plan.status();
    bool isRefused = !plan->plan.get();
    if (isRefused)
      reason = refused;
    known =
        plans.emplace(alignments, Choice{std::move(*plan), isRefused}).first;
  }
  const Choice &choice = known->second;
  return choice.isRefused ? std::nullopt
                          : std::optional(choice.plan.workspaceBytes);
}

Expected<bool> CudaConvolution::enqueue(std::span<std::byte *const> buffers,
                                        CUdeviceptr workspace,
                                        CUstream stream) {
  const CudnnApi &api = library->api;
  Expected<cudnnHandle_t> handle = library->handleFor(stream);
  if (!handle)
    return handle.status();
  cudnnBackendDescriptor_t plan = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    const Choice &choice = plans.at(alignmentsOf(buffers));
    // Another thread may have had it refused meanwhile.
    if (choice.isRefused)
      return false;
    plan = choice.plan.plan.get();
  }
  std::array<const void *, 4> addresses = addressesOf(buffers);
  const size_t operands = convolution.epilogue.hasBias ? 4 : 3;
  Expected<CudnnDescriptor> pack =
      packOperands(api, std::span(convolutionNames).first(operands),
                   std::span(addresses).first(operands),
                   reinterpret_cast<void *>(workspace));
  if (!pack)
    return pack.status();
  cudnnStatus_t status = api.cudnnBackendExecute(*handle, plan, pack->get());
  if (status == CUDNN_STATUS_SUCCESS)
    return true;
  Status error = api.error("cudnnBackendExecute", status);
  if (!isRefusal(status))
    return error;
  std::lock_guard<std::mutex> lock(mutex);
  plans.at(alignmentsOf(buffers)).isRefused = true;
  reason = error.message();
  return false;
}

std::optional<std::string> CudaConvolution::refusal() {
  std::lock_guard<std::mutex> lock(mutex);
  return reason.empty() ? std::nullopt : std::optional(reason);
}

} // namespace lockstep::runtime
