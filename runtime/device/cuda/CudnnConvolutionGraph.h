//===- CudnnConvolutionGraph.h - convolutions as graphs ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNCONVOLUTIONGRAPH_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNCONVOLUTIONGRAPH_H

#include "runtime/artifact/GpuConvolutions.h"
#include "runtime/device/cuda/CudnnPlan.h"

namespace lockstep::runtime {

/// The alignments in bytes of the image, the filter and the result.
using CudnnAlignments = std::array<int64_t, 3>;

/// The names of the image, the filter, the result and the bias in a plan.
inline constexpr std::array<int64_t, 4> convolutionNames = {1, 2, 3, 4};

/// The plan of a convolution by `planGraph`. Factors of 32 bits are multiplied
/// on tensor cores, which round them, only if they may be rounded.
Expected<CudnnPlan> planConvolution(const CudnnApi &api,
                                    const CudnnTarget &target,
                                    const GpuConvolution &convolution,
                                    const CudnnAlignments &alignments,
                                    uint64_t mostWorkspaceBytes,
                                    std::string &refusal);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNCONVOLUTIONGRAPH_H
