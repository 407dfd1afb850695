//===- CudnnAttentionGraph.h - attention as graphs --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNATTENTIONGRAPH_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNATTENTIONGRAPH_H

#include "runtime/device/cuda/CudnnAttentionOperands.h"
#include "runtime/device/cuda/CudnnPlan.h"

namespace lockstep::runtime {

/// The plan by `planGraph` of a valid attention without unsupported strides.
/// The library compiles code for it.
Expected<CudnnPlan> planAttention(const CudnnApi &api,
                                  const CudnnTarget &target,
                                  const GpuAttention &attention,
                                  uint64_t mostWorkspaceBytes,
                                  std::string &refusal);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNATTENTIONGRAPH_H
