//===- CudnnPlan.h - how cuDNN computes a graph -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNPLAN_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNPLAN_H

#include "runtime/device/cuda/CudnnDescriptor.h"

#include <string>
#include <vector>

namespace lockstep::runtime {

/// An engine of cuDNN, and its parameters. Several threads may execute it, each
/// with a handle of its own.
struct CudnnPlan {
  /// The graph and all else that the plan was made of.
  std::vector<CudnnDescriptor> parts;
  /// Null: there is none.
  CudnnDescriptor plan;
  /// What the plan needs; without a plan, what that of the last engine would
  /// have needed that was left out for that alone, and 0 if there was none.
  uint64_t workspaceBytes = 0;
};

/// For which GPU plans are made: that of a handle, or, without one, that of a
/// descriptor of a GPU's properties.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
};

/// Which engines may be used.
struct CudnnRequirements {
  /// Whether those that multiply on tensor cores may be.
  bool usesTensorCores = false;
  /// In this order.
  std::vector<cudnnBackendHeurMode_t> modes;
  uint64_t mostWorkspaceBytes = 0;
};

/// Adds the graph of operations behind what it is made of.
void addGraph(CudnnBuilder &builder, const CudnnTarget &target,
              std::span<const cudnnBackendDescriptor_t> operations,
              std::vector<CudnnDescriptor> &parts);

/// The plan of the first engine that the library recommends for the graph that
/// is the last one of `parts`, of those that have the same result in each run,
/// multiply the factors as they are, unless tensor cores round them, sum in
/// f32, and need no more working memory than is allowed. If there is no such
/// engine, or `builder` has noted that the library does not support the graph,
/// `plan` of the result is null and `refusal` is what the library said last.
/// Errors: others that `builder` has noted.
Expected<CudnnPlan> planGraph(const CudnnBuilder &builder,
                              const CudnnTarget &target,
                              std::vector<CudnnDescriptor> parts,
                              const CudnnRequirements &requirements,
                              std::string &refusal);

/// What a plan is executed with: the names of tensors, the addresses of each,
/// for those by value of the host, and that of working memory. Error: of the
/// library.
Expected<CudnnDescriptor> packOperands(const CudnnApi &api,
                                       std::span<const int64_t> names,
                                       std::span<const void *const> addresses,
                                       void *workspace);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNPLAN_H
