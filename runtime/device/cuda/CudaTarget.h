//===- CudaTarget.h - which kernels a GPU can execute -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDATARGET_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDATARGET_H

#include "runtime/artifact/Artifact.h"

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// Ordered: a GPU executes PTX for an earlier one.
struct ComputeCapability {
  int major = 0, minor = 0;
  auto operator<=>(const ComputeCapability &) const = default;
  /// "9.0"
  std::string text() const;
};

/// What kernels are compiled for: "sm_90", or "sm_90a" with features that only
/// GPUs of exactly this capability have.
struct CudaTarget {
  ComputeCapability capability;
  bool isExact = false;

  /// None if `name` is not the name of such a target.
  static std::optional<CudaTarget> parse(std::string_view name);
  /// Whether a GPU can execute an image: PTX, which the driver compiles for it,
  /// or a cubin, which is for one major version.
  bool isFor(ComputeCapability device, bool isCubin) const;
};

/// Whether an image is a cubin, an ELF object. Otherwise it is PTX.
bool isCubin(std::span<const std::byte> image);

/// The latest target of `lockstep-compile` whose kernels a GPU executes, of a
/// capability of 8.0 or later: "sm_90".
std::string compilerTargetFor(ComputeCapability device);

/// Kernels in an artifact.
struct CudaImage {
  std::string_view target;
  /// PTX or a cubin; empty if the artifact has no kernels at all.
  std::span<const std::byte> code;
};

/// The best kernels in an artifact for the GPU, or those for `target`, unless
/// it is empty. Errors: it has none that the GPU can execute. Cubins only if
/// they are accepted.
Expected<CudaImage> chooseCudaImage(const Artifact &artifact,
                                    std::string_view target,
                                    ComputeCapability device,
                                    bool acceptsCubins = true);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDATARGET_H
