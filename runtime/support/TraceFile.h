//===- TraceFile.h - timelines for Perfetto and Chrome ----------*- C++ -*-===//
//
// The JSON of Chrome's trace viewer. Executions and simulations write the same
// fields, so that their traces can be laid side by side.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_TRACEFILE_H
#define LOCKSTEP_RUNTIME_SUPPORT_TRACEFILE_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// The track of the collectives that a device with queues executes.
inline constexpr std::string_view collectivesTrack = "collectives";

class TraceFile {
public:
  struct Event {
    size_t process = 0, thread = 0;
    /// Microseconds.
    double begin = 0, duration = 0;
    std::string_view name, category;
    uint32_t command = 0;
    std::string_view program, location;
  };

  void nameProcess(size_t process, std::string_view name);
  /// `replicas`, if not 0, is how many replicas the track stands for.
  void nameThread(size_t process, size_t thread, std::string_view name,
                  uint64_t replicas = 0);
  void addEvent(const Event &event);

  /// Error: the file cannot be written.
  Status write(const std::string &path) const;

private:
  void addName(const char *what, size_t process, size_t thread,
               std::string_view name, uint64_t replicas = 0);
  void addLine(std::string_view line);

  std::string lines;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_TRACEFILE_H
