//===- Progress.h - shows the progress of a run -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_PROGRESS_H
#define LOCKSTEP_RUNTIME_TRAINING_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::training {

/// Such as "1250 steps/s" or "0.0417 steps/s": three digits, or all before the
/// point.
std::string rateText(double stepsPerSecond);

/// Where a run begins and ends. Steps and epochs are counted from the first
/// run, also if this run resumes another.
struct Goal {
  /// The number of steps that earlier runs have completed.
  uint64_t firstStep = 0;
  /// The number of completed steps at which the run ends.
  uint64_t steps = 0;
  /// The number of completed epochs at which the run ends; 0 if it ends after a
  /// number of steps.
  uint64_t epochs = 0;
};

/// Prints the progress of a run to standard error: on a terminal a bar that is
/// redrawn, otherwise at most about 30 lines. Not thread-safe.
class Progress {
public:
  /// Prints nothing unless `isShown`.
  explicit Progress(const Goal &goal, bool isShown = true);
  /// Clears the bar.
  ~Progress();

  /// To be called after each step. `step` is the number of completed steps,
  /// `epoch` the epoch of the last one, counted from 0, and `loss` the value of
  /// the displayed metric. Cheap, since it rarely prints.
  void step(uint64_t step, uint64_t epoch, double loss) {
    if (!isShown)
      return;
    if (terminal)
      maybeDraw(step, epoch, loss);
    else if (goal.epochs == 0 && (step % stride == 0 || step == goal.steps))
      printLine(step, epoch, loss, {});
  }
  /// To be called when `epoch` epochs are completed. `evaluation` is the result
  /// of an evaluation, for example "accuracy 0.97", or empty.
  void endEpoch(uint64_t step, uint64_t epoch, double loss,
                const std::string &evaluation);
  /// Clears the bar, so that other text can be printed.
  void clear();
  /// Sets the name of the displayed metric; empty: none is displayed.
  void setMetric(std::string name) { metric = std::move(name); }
  /// Excludes time that was not spent in steps from the displayed speed.
  void excludePause(std::chrono::steady_clock::duration pause) {
    lastTime += pause;
  }

private:
  void maybeDraw(uint64_t step, uint64_t epoch, double loss);
  void draw(uint64_t step, uint64_t epoch, double loss);
  void printLine(uint64_t step, uint64_t epoch, double loss,
                 const std::string &evaluation);
  std::string metricText(double loss) const;

  Goal goal;
  bool isShown;
  std::string metric;
  bool terminal = false;
  bool barIsShown = false;
  /// Steps, or epochs, between two lines.
  uint64_t stride = 1;
  /// Step and time at which the speed was last measured.
  uint64_t lastStep = 0;
  double stepsPerSecond = 0;
  std::chrono::steady_clock::time_point lastTime;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_PROGRESS_H
