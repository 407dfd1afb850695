//===- CudaReductions.h - kernels of reductions -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAREDUCTIONS_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAREDUCTIONS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

#include <array>
#include <memory>
#include <mutex>
#include <span>

namespace lockstep::runtime {

/// The PTX of Reduce.cu for an element type, from the source that the build
/// generates.
std::span<const std::byte> reducePtx(artifact::ElementType element);

/// What executes a reduction.
struct CudaReduction {
  CUfunction reduce = nullptr;
  /// Writes addresses into a table, `reduceDirect` at a time.
  CUfunction storeAddresses = nullptr;
};

/// The kernels of Reduce.cu. Those of an element type are loaded, and compiled
/// by the driver, at their first use. Thread-safe.
class CudaReductions {
public:
  explicit CudaReductions(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  ~CudaReductions();

  /// Errors: there is no such reduction, or the driver cannot load it.
  Expected<CudaReduction> find(const DeviceReduction &reduction);
  /// Executes a `FiniteSearch`. Errors: the type is none of floats, or the
  /// driver cannot load the kernel.
  Expected<CUfunction> findSearch(artifact::ElementType element);

private:
  static constexpr size_t typeCount = size_t(artifact::ElementType::MAX) + 1;
  static constexpr size_t reductionCount = size_t(artifact::Reduction::MAX) + 1;
  /// The kernels of one element type.
  struct Loaded {
    CUmodule module = nullptr;
    /// Those that round results, and those that keep accumulators.
    std::array<std::array<CudaReduction, 2>, reductionCount> reductions;
    /// Null if it is no type of floats.
    CUfunction search = nullptr;
  };

  Status load(artifact::ElementType element, Loaded &loaded);
  /// Loads the kernels if they are not yet. The caller holds the lock.
  Expected<Loaded *> loadedFor(artifact::ElementType element);
  Expected<CUfunction> findFunction(CUmodule module, const char *name) const;

  std::shared_ptr<CudaContext> context;
  std::mutex mutex;
  std::array<Loaded, typeCount> types;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAREDUCTIONS_H
