//===- MutantTrial.h - what becomes of an artifact --------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_MUTATION_MUTANTTRIAL_H
#define LOCKSTEP_TEST_RUNTIME_MUTATION_MUTANTTRIAL_H

#include "runtime/support/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::runtime::mutation {

enum class Outcome : uint8_t {
  /// It was not loaded.
  refused,
  /// It was loaded, and a session or a run ended in an error.
  failed,
  /// Aborted: it was in an infinite loop.
  endless,
  /// No progress until the deadline.
  hung,
  /// All programs ran.
  completed,
};

struct TrialResult {
  Outcome outcome = Outcome::completed;
  /// Reason of the rejection or failure.
  Status status;
  /// Threads are inside of kernels that do not end, and need their memory:
  /// nothing more may be tried in this process.
  bool leftBehind = false;
};

struct TrialOptions {
  /// The artifact, options and data of a trial.
  uint64_t seed = 0;
  std::chrono::nanoseconds deadline = std::chrono::milliseconds(300);
  /// The maximum duration of a run with progress; more than `deadline`.
  std::chrono::nanoseconds longest = std::chrono::milliseconds(600);
};

/// Loads an artifact and runs each of its programs twice on random data, on
/// several threads, with one or several executors, or, if possible,
/// asynchronous workers. Memories passed to it end at guard pages.
TrialResult tryArtifact(std::span<const std::byte> file,
                        const TrialOptions &options);

} // namespace lockstep::runtime::mutation

#endif // LOCKSTEP_TEST_RUNTIME_MUTATION_MUTANTTRIAL_H
