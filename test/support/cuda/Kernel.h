//===- Kernel.h - kernels that can be launched ------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_KERNEL_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_KERNEL_H

#include "KernelAbi.h"
#include "Translator.h"

#include <memory>
#include <mutex>

namespace lockstep::standin {

/// Executes a number of threads, one after another, each with the index in x of
/// the one before and the step.
using KernelFunction = void (*)(Thread *, uint32_t count, uint32_t step);

/// Compiles a kernel, once for all modules that have it: its code is never
/// freed. Throws std::runtime_error where LLVM refuses the translation.
KernelFunction compileKernel(const KernelCode &code);

/// A kernel, compiled at the first launch.
class Kernel {
public:
  explicit Kernel(KernelCode code) : kernelCode(std::move(code)) {}

  const KernelCode &code() const { return kernelCode; }
  KernelFunction function() const {
    std::call_once(once, [&] { compiled = compileKernel(kernelCode); });
    return compiled;
  }

private:
  KernelCode kernelCode;
  mutable std::once_flag once;
  mutable KernelFunction compiled = nullptr;
};

/// One launch of a kernel. Arguments are laid out as its parameters are.
struct Launch {
  std::shared_ptr<const Kernel> kernel;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<std::byte> arguments;
  /// Of the random choices.
  uint64_t seed = 1;
  /// Whose memory the kernel may access.
  const void *context = nullptr;
};

enum class FaultKind {
  None,
  IllegalAddress,
  MisalignedAddress,
  LaunchFailed,
  Assert,
};

struct Fault {
  FaultKind kind = FaultKind::None;
  std::string message;
};

/// Starts what executes kernels.
void prepareExecution();
/// Executes all blocks of a launch, and returns the first fault.
Fault execute(const Launch &launch);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_KERNEL_H
