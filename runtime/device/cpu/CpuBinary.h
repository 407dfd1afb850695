//===- CpuBinary.h - kernels as a shared object -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CPU_CPUBINARY_H
#define LOCKSTEP_RUNTIME_DEVICE_CPU_CPUBINARY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/support/Status.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// One tile of a kernel. `buffers` are the pointers of the launch's slices, in
/// its order, and `scalars` the values of its registers.
using KernelFunction = void (*)(void *const *buffers, const int64_t *scalars,
                                int64_t tile);

/// What a kernel that was compiled with checks has noted: the first access that
/// would have left its buffer. The kernel has returned instead, its results
/// unfinished.
struct KernelFault {
  /// 0: there is none; 1: it is being written; 2: the rest can be read.
  std::atomic<int64_t> state;
  /// Text in which `{value}` and `{bound}` stand for the numbers.
  const char *message;
  int64_t value, bound;
};

/// Whether this CPU has all instructions of a target ("x86-64", "x86-64-v2",
/// "-v3", "-v4"). False for names it does not know.
bool cpuSupportsTarget(std::string_view target);

/// The kernels of an artifact, loaded for this CPU.
class CpuBinary {
public:
  /// Picks `target`, or `LOCKSTEP_TARGET` of the environment, or the best one
  /// that the CPU has, and loads it without a file. Errors: no such target in
  /// the artifact, not one for this CPU, an object that the dynamic linker
  /// refuses. An artifact without kernels loads as an empty binary.
  static Expected<CpuBinary> load(const Artifact &artifact,
                                  std::string_view target);

  CpuBinary() = default;
  CpuBinary(CpuBinary &&other) noexcept;
  CpuBinary &operator=(CpuBinary &&other) noexcept;
  ~CpuBinary();

  /// The address of a kernel. Errors: the object does not define it, or says
  /// that its code takes other arguments than the tables say.
  Expected<KernelFunction> kernel(const artifact::Kernel &kernel) const;
  const std::string &target() const { return name; }
  /// Where kernels note faults, as long as the binary lives; null if they were
  /// compiled without checks.
  const KernelFault *fault() const;

private:
  void *handle = nullptr;
  int file = -1;
  std::string name;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CPU_CPUBINARY_H
