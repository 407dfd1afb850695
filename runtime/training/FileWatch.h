//===- FileWatch.h - reports slow file operations ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H
#define LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H

#include "runtime/executor/Watchdog.h"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace lockstep::training {

/// Prints a note to standard error when a file operation has taken as long as
/// the deadline, twice as long, and so on. The operation continues: its system
/// call cannot be cancelled, and a file system that hangs cannot be
/// distinguished from a slow one. Thread-safe.
class FileWatch {
public:
  /// Marks a file operation, which lasts as long as this object.
  class Scope {
  public:
    /// `what` is the subject of the note, for example "writing metrics to
    /// 'out'". `watch` must outlive the scope.
    Scope(FileWatch &watch, std::string what);
    ~Scope();
    Scope(const Scope &) = delete;

  private:
    FileWatch &watch;
    uint64_t number;
  };

  /// Starts a thread that measures time by `clock`, which must outlive the
  /// object.
  explicit FileWatch(runtime::Clock::Duration deadline,
                     runtime::Clock &clock = runtime::Clock::system());
  /// `beat` is called, on the thread, while there is an operation.
  void setBeat(std::function<void()> beat);
  /// Error: the thread could not be created, and nothing is reported.
  const runtime::Status &status() const { return watchdog.status(); }

private:
  std::mutex mutex;
  /// The current operations, oldest first. Only the oldest is reported.
  std::map<uint64_t, std::string> active;
  std::function<void()> beat;
  uint64_t lastNumber = 0;
  /// Counted as progress, so that the watchdog never aborts anything.
  uint64_t samples = 0;
  runtime::Watchdog watchdog;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H
