//===- MetricsFile.h - metrics as JSON lines --------------------*- C++ -*-===//
//
// One object a line, in the order in which things happen:
//
//   {"step":12,"epoch":1,"loss":0.25}              the step with the number 12
//   {"step":12,"epoch":1,"worker":0,"loss":0.25}   the same, where workers go
//                                                  on by themselves
//   {"step":13,"epoch":2,"evaluate":{"accuracy":0.9}}
//                                                  after 13 steps and 2 epochs
//
// Steps and epochs count from 0. A metric that is no single number is a flat
// array.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_METRICSFILE_H
#define LOCKSTEP_RUNTIME_TRAINING_METRICSFILE_H

#include "runtime/support/Status.h"
#include "runtime/training/FileWatch.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::training {

/// Appends lines through a buffer, which is written when it is full, when a
/// second has passed, and on `flush`: a line costs no system call in the steady
/// state.
class MetricsFile {
public:
  /// Writes nowhere. `watch`, which may be null, says when writing takes long.
  explicit MetricsFile(FileWatch *watch = nullptr) : watch(watch) {}
  ~MetricsFile();
  MetricsFile(const MetricsFile &) = delete;
  MetricsFile &operator=(const MetricsFile &) = delete;

  /// Begins an empty file.
  runtime::Status create(const std::string &path);
  /// Goes on with a file of the same run after `step` completed steps: lines of
  /// later steps, which are going to be taken again, are removed. A file that
  /// is not there is begun. Error: a file with other content.
  runtime::Status resume(const std::string &path, uint64_t step);

  bool isOpen() const { return descriptor >= 0; }
  /// Whether `resume` has kept the evaluation after `step` steps.
  bool hasEvaluation(uint64_t step) const {
    return isOpen() && lastEvaluation == step + 1;
  }

  /// The buffer to append whole lines to; ignored when nothing is open.
  std::string &lines() { return buffer; }
  /// To be called after each line.
  runtime::Status endLine();
  runtime::Status flush();

private:
  runtime::Status failure(const char *what) const;

  FileWatch *watch;
  std::string path;
  int descriptor = -1;
  std::string buffer;
  /// Steps of the last evaluation that was kept, plus one; 0: none.
  uint64_t lastEvaluation = 0;
  std::chrono::steady_clock::time_point lastWrite;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_METRICSFILE_H
