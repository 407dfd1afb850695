//===- FileWatch.h - reports slow file operations ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H
#define LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H

#include "runtime/executor/Watchdog.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace lockstep::training {

/// Reports a file operation when it has taken the deadline, twice as long, and
/// so on. A file system that hangs cannot be distinguished from a slow one, and
/// its calls cannot be cancelled: so the operation continues, but is reported.
class FileWatch {
public:
  /// A file operation that lasts as long as the object.
  class Scope {
  public:
    /// `what` begins a sentence: "writing metrics to 'out'". In any thread.
    Scope(FileWatch &watch, std::string what);
    ~Scope();
    Scope(const Scope &) = delete;

  private:
    FileWatch &watch;
    uint64_t number;
  };

  explicit FileWatch(runtime::Clock::Duration deadline,
                     runtime::Clock &clock = runtime::Clock::system());
  /// Error: the thread of the watchdog could not be created.
  const runtime::Status &status() const { return watchdog.status(); }

private:
  std::mutex mutex;
  /// Current operations by ascending numbers; the first one is reported.
  std::map<uint64_t, std::string> active;
  uint64_t lastNumber = 0, samples = 0;
  runtime::Watchdog watchdog;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H
