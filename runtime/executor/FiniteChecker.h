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
// Scratch of kernels and copies are not checked.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_FINITECHECKER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_FINITECHECKER_H

#include "runtime/executor/Observer.h"
#include "runtime/executor/ProgramState.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// Index of the first of `count` elements that is NaN or infinite; `count` if
/// there is none. `element` is a type of floats.
uint64_t firstNonFinite(artifact::ElementType element,
                        const std::byte *elements, uint64_t count);

class FiniteChecker final : public Observer {
public:
  void runBegins(const ProgramState &state) override;
  void runEnds(const ProgramState &) override {}
  Status commandBegins(const Replica &replica, uint32_t command) override;
  Status commandEnds(const Replica &replica, uint32_t command) override;
  Status arrives(const Replica &, uint32_t, bool) override {
    return Status::success();
  }
  void sectionEnds(const Replica &, uint32_t) override {}
  void blocks(const Replica &, uint32_t) override {}
  void passes(const Replica &replica, uint32_t channel) override;

private:
  using Buffers = std::span<const uint32_t>;

  Status checkLaunch(const Replica &replica, uint32_t command) const;
  Status checkCollective(const Replica &replica, uint32_t command) const;
  /// "nan: buffer 8 (variable 'w1'), element ..." of the first buffer that
  /// holds one.
  struct Finding {
    std::string value, place;
  };
  /// Skips buffers that overlap `overwritten`, whose contents have changed.
  std::optional<Finding> find(const Replica &replica, Buffers buffers,
                              Buffers overwritten) const;
  Status describe(const Replica &replica, uint32_t command,
                  const Finding &written,
                  const std::optional<Finding> &read) const;
  std::string nameOf(uint32_t buffer) const;

  const ProgramState *state = nullptr;
  /// The finding at the last wait of each replica, until its command ends or
  /// the next one begins.
  struct alignas(64) Pending {
    Status status;
  };
  std::vector<Pending> pending;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_FINITECHECKER_H
