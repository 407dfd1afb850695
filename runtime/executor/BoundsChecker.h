//===- BoundsChecker.h - reports accesses out of bounds ---------*- C++ -*-===//
//
// Kernels compiled with `--check-bounds` return before they access memory
// outside of their buffers and record the fault. This observer converts the
// record to the error of the run, before another command reads the incomplete
// results.
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
  explicit BoundsChecker(const Module &module) : module(module) {}

  void runBegins(const ProgramState &) override {}
  Status runEnds(const ProgramState &) override { return Status::success(); }
  Status commandBegins(const Replica &, uint32_t) override {
    return Status::success();
  }
  /// Error (out of range): a kernel of this or another replica has recorded a
  /// fault.
  Status commandEnds(const Replica &, uint32_t) override {
    return module.findFault();
  }
  Status arrives(const Replica &, uint32_t, bool) override {
    return Status::success();
  }
  void sectionEnds(const Replica &, uint32_t) override {}
  void blocks(const Replica &, uint32_t) override {}
  void passes(const Replica &, uint32_t) override {}

private:
  const Module &module;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_BOUNDSCHECKER_H
