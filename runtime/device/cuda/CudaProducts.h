//===- CudaProducts.h - products by cuBLASLt --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H

#include "runtime/artifact/GpuProducts.h"
#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudaContext.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace lockstep::runtime {

/// cuBLASLt on a GPU.
class CublasLt {
public:
  /// Errors: those of `CublasLtApi::load`, and of the library.
  static Expected<std::shared_ptr<CublasLt>>
  create(std::shared_ptr<CudaContext> context);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  /// Memory that a product may use while it is executed: what NVIDIA
  /// recommends for recent GPUs.
  static constexpr uint64_t workspaceBytes = uint64_t(32) << 20;

  const CublasLtApi &api;

private:
  friend class CudaProduct;
  CublasLt(const CublasLtApi &api, std::shared_ptr<CudaContext> context)
      : api(api), context(std::move(context)) {}

  std::shared_ptr<CudaContext> context;
  cublasLtHandle_t handle = nullptr;
};

/// A product that cuBLASLt may compute. Thread-safe.
///
/// The library chooses an algorithm when operands of an alignment are first
/// given: the first one of those whose additions have a fixed order. The choice
/// depends on nothing but the shape, the alignment, the GPU and the version of
/// the library, so that results are the same in every run.
class CudaProduct {
public:
  CudaProduct(std::shared_ptr<CublasLt> library, const GpuProduct &product)
      : library(std::move(library)), product(product) {}

  /// What the product needs for the buffers of a launch: none if the library
  /// does not support it. Error: of the library.
  struct Plan {
    cublasLtMatmulAlgo_t algorithm{};
    /// At most `CublasLt::workspaceBytes`.
    uint64_t workspaceBytes = 0;
  };
  Expected<std::optional<Plan>> plan(std::span<std::byte *const> buffers);

  /// Enqueues it; the context is current. Error: of the library.
  Status enqueue(const Plan &plan, std::span<std::byte *const> buffers,
                 CUdeviceptr workspace, CUstream stream) const;

private:
  /// Of the left and the right factor, and the result: a power of 2.
  using Alignments = std::array<uint32_t, 3>;
  class Descriptors;
  Expected<std::optional<Plan>> choose(const Alignments &alignments) const;

  std::shared_ptr<CublasLt> library;
  GpuProduct product;
  std::mutex mutex;
  std::map<Alignments, std::optional<Plan>> plans;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H
