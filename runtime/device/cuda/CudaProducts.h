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
class CudaProductLibrary {
public:
  /// Errors: those of `CublasLtApi::load`, and of the library.
  static Expected<std::shared_ptr<CudaProductLibrary>>
  create(std::shared_ptr<CudaContext> context);
  ~CudaProductLibrary();
  CudaProductLibrary(const CudaProductLibrary &) = delete;
  CudaProductLibrary &operator=(const CudaProductLibrary &) = delete;

  /// Memory that a product may use while it is executed: what the guide to
  /// cuBLAS recommends for GPUs of compute capability 9.0 (section
  /// cublasSetWorkspace), and more than for earlier ones.
  static constexpr uint64_t workspaceBytes = uint64_t(32) << 20;

  const CublasLtApi &api;

private:
  friend class CudaProduct;
  CudaProductLibrary(const CublasLtApi &api,
                     std::shared_ptr<CudaContext> context)
      : api(api), context(std::move(context)) {}

  std::shared_ptr<CudaContext> context;
  cublasLtHandle_t handle = nullptr;
};

/// A product that cuBLASLt may compute. Thread-safe.
///
/// The library chooses an algorithm when operands of an alignment are first
/// given: the first one of those that add parts of a sum in working memory, if
/// at all.
class CudaProduct {
public:
  /// Error: of the library.
  static Expected<std::unique_ptr<CudaProduct>>
  create(std::shared_ptr<CudaProductLibrary> library,
         const GpuProduct &product);
  ~CudaProduct();

  struct Plan {
    cublasLtMatmulAlgo_t algorithm{};
    /// At most `CudaProductLibrary::workspaceBytes`.
    uint64_t workspaceBytes = 0;
  };
  /// How to compute it in the buffers of a launch; none if the library does not
  /// support that. Error: of the library.
  Expected<std::optional<Plan>> plan(std::span<std::byte *const> buffers);

  /// Whether the library has refused it.
  bool isRefused();
  /// Enqueues it; the context is current. False, if the library refuses it, in
  /// spite of the plan, and for later calls of `plan`, too. Error: of the
  /// library, or of an earlier command of the GPU.
  Expected<bool> enqueue(const Plan &plan, std::span<std::byte *const> buffers,
                         CUdeviceptr workspace, CUstream stream);

private:
  /// Of the left and the right factor, and the result: a power of 2.
  using Alignments = std::array<uint32_t, 3>;
  class Descriptors;

  CudaProduct(std::shared_ptr<CudaProductLibrary> library,
              const GpuProduct &product);
  Alignments alignmentsOf(std::span<std::byte *const> buffers) const;
  Expected<std::optional<Plan>> choose(const Alignments &alignments) const;

  const std::shared_ptr<CudaProductLibrary> library;
  const GpuProduct product;
  std::unique_ptr<const Descriptors> descriptors;
  std::mutex mutex;
  std::map<Alignments, std::optional<Plan>> plans;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H
