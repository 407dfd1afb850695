//===- Injection.h - injected faults ----------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_INJECTION_H
#define LOCKSTEP_RUNTIME_EXECUTOR_INJECTION_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// Kinds of faults.
enum class Fault : uint8_t {
  /// The replica stops permanently before a command.
  pause,
  /// The worker that executes a launch leaves before the last tile is finished.
  returnEarly,
  /// The last tile of a launch never returns.
  hang,
  /// A kernel leaves a NaN in the last element of each tensor of floats that it
  /// writes.
  nan,
};

/// A fault by name and place: "pause:replica=2,channel=3" stops replica 2
/// permanently when it is about to start, or to arrive at, channel 3 (a
/// collective, a barrier or a once section); "pause:replica=2,command=17" stops
/// it before command 17. "return-early:replica=2,command=17", "hang:..." and
/// "nan:..." are faults of command 17, a launch. `program=NAME` limits a fault
/// to one program.
struct Injection {
  static constexpr uint32_t anywhere = ~0u;

  std::string text;
  Fault fault = Fault::pause;
  std::string program;
  uint32_t replica = 0;
  uint32_t channel = anywhere;
  uint32_t command = anywhere;

  /// Errors: unknown fault or key, a value that is no number, a missing place.
  static Expected<Injection> parse(std::string_view text);
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_INJECTION_H
