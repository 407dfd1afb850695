//===- MetricsFile.h - metrics as JSON lines --------------------*- C++ -*-===//
//
// One object per line, in chronological order:
//
//   {"step":12,"epoch":1,"loss":0.25}              the step with the number 12
//   {"step":12,"epoch":1,"worker":0,"loss":0.25}   the same with asynchronous
//                                                  workers
//   {"step":13,"epoch":2,"evaluate":{"accuracy":0.9}}
//                                                  after 13 steps and 2 epochs
//
// Steps and epochs count from 0. A metric that is not a scalar is a flat array.
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
/// second has passed, and on `flush`: most lines cost no system call.
class MetricsFile {
public:
  /// Without an open file. `watch`, which may be null, reports slow writes.
  explicit MetricsFile(FileWatch *watch = nullptr) : watch(watch) {}
  ~MetricsFile();
  MetricsFile(const MetricsFile &) = delete;
  MetricsFile &operator=(const MetricsFile &) = delete;

  /// Creates an empty file.
  runtime::Status create(const std::string &path);
  /// Continues a file of the same run after `step` completed steps: lines of
  /// later steps, which will be repeated, are removed. A missing file is
  /// created. Error: a file with other content.
  runtime::Status resume(const std::string &path, uint64_t step);

  bool isOpen() const { return descriptor >= 0; }
  /// Whether the file has an evaluation after `step` steps.
  bool hasEvaluation(uint64_t step) const {
    return isOpen() && lastEvaluation == step + 1;
  }

  /// The buffer to append whole lines to; ignored without an open file.
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
