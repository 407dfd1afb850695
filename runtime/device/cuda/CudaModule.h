//===- CudaModule.h - kernels of an artifact on a GPU -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAMODULE_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaLibraryPhase.h"
#include "runtime/device/cuda/CudaProducts.h"
#include "runtime/device/cuda/CudnnLibrary.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// A kernel that is ready to be launched: its handle is a pointer to this.
struct CudaKernel {
  struct Phase {
    CUfunction function = nullptr;
    uint32_t blocks = 0, threads = 0;
    /// What computes the phase where a library supports it; null: nothing does
    /// but the function.
    std::unique_ptr<CudaLibraryPhase> byLibrary = nullptr;

    /// Whether nothing is computed.
    bool isEmpty() const { return blocks == 0 && !byLibrary; }
  };
  std::string name;
  /// Executed one after the other.
  std::vector<Phase> phases;
};

/// The kernels of an artifact, as described in GpuSymbols.h, GpuProducts.h,
/// GpuConvolutions.h and GpuAttention.h.
class CudaModule final : public Module {
public:
  /// Errors: those of `chooseCudaImage`, and what the driver says about an
  /// image that it cannot load; about a cubin only if there is no PTX instead.
  static Expected<std::unique_ptr<Module>>
  load(std::shared_ptr<CudaContext> context, const Artifact &artifact,
       std::string_view target);
  ~CudaModule() override;

  Expected<KernelHandle> kernel(const artifact::Kernel &kernel) const override;
  const std::string &target() const override { return name; }
  bool hasChecks() const override { return isChecked; }
  Status findFault() const override;
  std::string note() const override;

private:
  explicit CudaModule(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  /// The values of a global array; none if there is none.
  template <typename T = uint64_t>
  Expected<std::vector<T>> readGlobal(const std::string &symbol) const;
  Status checkArguments(const artifact::Kernel &kernel,
                        const std::string &code) const;
  Expected<CudaKernel::Phase> findPhase(const std::string &code, uint32_t phase,
                                        uint64_t blocks,
                                        uint64_t threads) const;
  /// What libraries may compute of a kernel, in an array of the image whose
  /// name ends with `suffix`.
  template <typename Description>
  Expected<std::vector<Description>>
  readLibraryPhases(const artifact::Kernel &kernel, const std::string &code,
                    std::string_view suffix, size_t phases) const;
  Status addProducts(const artifact::Kernel &kernel, CudaKernel &loaded) const;
  /// Adds the phases that cuDNN computes, of this version or a newer one, as
  /// `Phase`. Error: there is no such library for `what`.
  template <typename Description, typename Phase>
  Status addCudnnPhases(const artifact::Kernel &kernel, CudaKernel &loaded,
                        std::string_view suffix, size_t leastVersion,
                        std::string_view what) const;

  std::shared_ptr<CudaContext> context;
  CUmodule module = nullptr;
  bool isChecked = false;
  std::string name;
  /// What the driver says about a cubin instead of which PTX is used.
  std::string refusedCubin;
  mutable std::mutex mutex;
  /// Equal kernels share their code. Addresses are those of handles.
  mutable std::map<std::string, CudaKernel> kernels;
  /// Null until a kernel needs them.
  mutable std::shared_ptr<CudaProductLibrary> productLibrary;
  mutable std::shared_ptr<CudnnLibrary> cudnn;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
