//===- FileWatch.h - says when files take long ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H
#define LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H

#include "runtime/executor/Watchdog.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace lockstep::training {

/// Says what the process does with its files when that has taken the deadline,
/// twice as long, and so on. A file system that hangs cannot be told from one
/// that is slow, and a call to it cannot be cancelled: so it goes on, but not
/// in silence.
class FileWatch {
public:
  /// What is done with files as long as it lives.
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
  /// Error: there is no thread that could watch.
  const runtime::Status &status() const { return watchdog.status(); }

private:
  std::mutex mutex;
  /// What is done at the moment, by numbers that grow. It is said of the first
  /// of it.
  std::map<uint64_t, std::string> active;
  uint64_t lastNumber = 0, samples = 0;
  runtime::Watchdog watchdog;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_FILEWATCH_H
