//===- FiniteChecker.h - finds the origin of a NaN --------------*- C++ -*-===//
//
// Checks every float that a launch or collective has written, right after it
// has been written. A replica whose kernel has written a NaN or an infinity
// does not execute another command, so the value does not propagate to other
// replicas: the first finding is the origin. Only inputs, variables, constants
// and host scalars can have held such a value before; if the command has read
// one, the error names it.
//
//   model.py:38: launch 'product' has written nan: replica 1, buffer 8
//   (variable 'w1'), element [3, 17] of 64x128xf32, in command 4 of program
//   'step'; it has read inf: buffer 6 (input 'x'), element [0, 5] of 16x64xf32
//
// On a device with queues that records runs, the device itself checks, between
// the commands of a run, and the origin is found at the end of the run, whose
// later commands have been executed: see `DeviceFindings`. If the host decides
// by data what is executed, or other executors get results meanwhile, each
// replica waits for the check of each command instead. Of a command that a run
// repeats, what it has read is named only if no earlier repetition has read a
// NaN or an infinity.
//
// Scratch of kernels and copies are not checked.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_FINITECHECKER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_FINITECHECKER_H

#include "runtime/executor/DeviceFindings.h"
#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep::runtime {

class FiniteChecker final : public Observer {
public:
  /// Whether other executors take part in runs.
  explicit FiniteChecker(bool hasOthers) : hasOthers(hasOthers) {}

  bool inspectsResults() const override { return !isDeferred; }
  void runBegins(const ProgramState &state) override;
  Status runEnds(const ProgramState &state) override;
  Status commandBegins(const Replica &replica, uint32_t command) override;
  Status commandEnds(const Replica &replica, uint32_t command) override;
  Status arrives(const Replica &replica, uint32_t command, bool last) override;
  void sectionEnds(const Replica &replica, uint32_t channel) override;
  void blocks(const Replica &, uint32_t) override {}
  void passes(const Replica &replica, uint32_t channel) override;

private:
  using Buffers = std::span<const uint32_t>;
  /// What a command reads and writes.
  struct Accesses {
    Buffers reads, writes;
  };
  /// "nan" and "buffer 8 (variable 'w1'), element ...".
  struct Finding {
    std::string value, place;
  };
  /// What a finding of the device is about.
  struct Slot {
    uint32_t command = 0, buffer = 0;
    bool isRead = false;
  };
  /// A program on a device with queues.
  struct DeviceProgram {
    /// Those of a command are consecutive, first the ones of what it writes.
    std::vector<Slot> slots;
    /// By command.
    std::vector<uint32_t> firstSlot;
    std::unique_ptr<DeviceFindings> findings;
  };

  Accesses launchAccesses(uint32_t command) const;
  Accesses collectiveAccesses(uint32_t command) const;
  /// None if the replica has no result of the collective.
  std::optional<Accesses> collectiveAccesses(const Replica &replica,
                                             uint32_t command) const;
  Status prepareDevice();
  Status check(const Replica &replica, uint32_t command,
               const Accesses &accesses) const;
  /// Enqueues the searches of a command.
  void defer(const Replica &replica, uint32_t command,
             const Accesses &accesses) const;
  /// In the first buffer that holds one. Skips those that overlap
  /// `overwritten`, whose contents have changed.
  std::optional<Finding> find(const Replica &replica, Buffers buffers,
                              Buffers overwritten) const;
  /// The elements of a tensor that is to be searched; none if it is not: no
  /// floats, of a size that is not known yet, or it overlaps `overwritten`.
  std::optional<uint64_t> countElements(const Replica &replica, uint32_t buffer,
                                        Buffers overwritten) const;
  Finding makeFinding(const Replica &replica, uint32_t buffer,
                      const NonFinite &found) const;
  Status describe(const Replica &replica, uint32_t command,
                  const Finding &written,
                  const std::optional<Finding> &read) const;
  std::string nameOf(uint32_t buffer) const;

  const bool hasOthers;
  const ProgramState *state = nullptr;
  /// Whether a run is checked at its end.
  bool isDeferred = false;
  /// Null on a host device.
  DeviceProgram *device = nullptr;
  std::unordered_map<const ProgramState *, DeviceProgram> devicePrograms;
  Status prepared;
  /// The finding at the last wait of each replica, until its command ends or
  /// the next one begins.
  struct alignas(64) Pending {
    Status status;
  };
  std::vector<Pending> pending;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_FINITECHECKER_H
