//===- CudaProducts.h - products by cuBLASLt --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H

#include "runtime/artifact/GpuProducts.h"
#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaLibraryPhase.h"

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

/// A product that cuBLASLt may compute, by the first one of the algorithms that
/// it recommends and that add parts of a sum in working memory, if at all.
class CudaProduct final : public CudaLibraryPhase {
public:
  /// Error: of the library.
  static Expected<std::unique_ptr<CudaProduct>>
  create(std::shared_ptr<CudaProductLibrary> library,
         const GpuProduct &product);
  ~CudaProduct() override;

  Expected<std::optional<uint64_t>>
  prepare(std::span<std::byte *const> buffers) override;
  Expected<bool> enqueue(std::span<std::byte *const> buffers,
                         CUdeviceptr workspace, CUstream stream) override;
  std::optional<std::string> refusal() override;

private:
  struct Plan {
    cublasLtMatmulAlgo_t algorithm{};
    /// At most `CudaProductLibrary::workspaceBytes`.
    uint64_t workspaceBytes = 0;
  };
  /// Of the left and the right factor, and the result: a power of 2.
  using Alignments = std::array<uint32_t, 3>;
  class Descriptors;

  CudaProduct(std::shared_ptr<CudaProductLibrary> library,
              const GpuProduct &product);
  Alignments alignmentsOf(std::span<std::byte *const> buffers) const;
  Expected<std::optional<Plan>> choose(const Alignments &alignments) const;

  const std::shared_ptr<CudaProductLibrary> library;
  const GpuProduct product;
  /// Protects what follows. The descriptors have the place of the bias in the
  /// buffers of one launch.
  std::mutex mutex;
  std::unique_ptr<Descriptors> descriptors;
  /// None for what the library does not support.
  std::map<Alignments, std::optional<Plan>> plans;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAPRODUCTS_H
