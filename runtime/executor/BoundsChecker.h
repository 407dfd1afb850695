//===- BoundsChecker.h - reports accesses out of bounds ---------*- C++ -*-===//
//
// Kernels compiled with `--check-bounds` return before they access memory
// outside of their buffers and record the fault. This observer converts the
// record to the error of the run: on a host device before another command reads
// the incomplete results, else when the device has executed the run.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_BOUNDSCHECKER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_BOUNDSCHECKER_H

#include "runtime/device/Device.h"
#include "runtime/executor/Observer.h"

namespace lockstep::runtime {

class BoundsChecker final : public Observer {
public:
  /// `module`, which has checks, outlives the checker.
  BoundsChecker(const Module &module, bool isOfHost)
      : module(module), isOfHost(isOfHost) {}

  void runBegins(const ProgramState &) override {}
  Status runEnds(const ProgramState &) override { return module.findFault(); }
  Status commandBegins(const Replica &, uint32_t) override {
    return Status::success();
  }
  /// Error (out of range): a kernel of this or another replica has recorded a
  /// fault.
  Status commandEnds(const Replica &, uint32_t) override {
    return isOfHost ? module.findFault() : Status::success();
  }
  Status arrives(const Replica &, uint32_t, bool) override {
    return Status::success();
  }
  void sectionEnds(const Replica &, uint32_t) override {}
  void blocks(const Replica &, uint32_t) override {}
  void passes(const Replica &, uint32_t) override {}

private:
  const Module &module;
  const bool isOfHost;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_BOUNDSCHECKER_H
