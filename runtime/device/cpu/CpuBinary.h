//===- CpuBinary.h - kernels as a shared object -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CPU_CPUBINARY_H
#define LOCKSTEP_RUNTIME_DEVICE_CPU_CPUBINARY_H

#include "runtime/device/Device.h"

#include <atomic>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// Whether this CPU has all instructions of a target ("x86-64", "x86-64-v2",
/// "-v3", "-v4"). False for unknown names.
bool cpuSupportsTarget(std::string_view target);

/// The kernels of an artifact, loaded for this CPU. Handles are
/// `KernelFunction`s.
class CpuBinary final : public Module {
public:
  /// Picks `target`, or `LOCKSTEP_TARGET` of the environment, or the best one
  /// that the CPU has, and loads it without a file on disk. Errors: no such
  /// target in the artifact, not supported by this CPU, an object that the
  /// dynamic linker rejects. An artifact without kernels loads as an empty
  /// binary.
  static Expected<CpuBinary> load(const Artifact &artifact,
                                  std::string_view target);

  CpuBinary() = default;
  CpuBinary(CpuBinary &&other) noexcept;
  CpuBinary &operator=(CpuBinary &&other) noexcept;
  ~CpuBinary() override;

  Expected<KernelHandle> kernel(const artifact::Kernel &kernel) const override;
  const std::string &target() const override { return name; }
  bool hasChecks() const override { return fault; }
  Status findFault() const override;

private:
  /// Where kernels record faults; the layout is that of NativeCode.cpp.
  struct Fault {
    /// 0: no fault; 1: the other fields are being written; 2: they can be read.
    std::atomic<int64_t> state;
    /// Text with placeholders `{value}` and `{bound}`.
    const char *message;
    int64_t value, bound;
  };

  void *handle = nullptr;
  int file = -1;
  std::string name;
  /// Null if kernels were compiled without checks.
  const Fault *fault = nullptr;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CPU_CPUBINARY_H
