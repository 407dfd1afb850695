//===- Progress.h - progress of a run for people ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_PROGRESS_H
#define LOCKSTEP_RUNTIME_TRAINING_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::training {

/// The goal of a run.
struct Goal {
  /// Step at which the run begins; not 0 when it is resumed.
  uint64_t firstStep = 0;
  /// Steps at the end of the run.
  uint64_t steps = 0;
  /// Epochs at the end of the run; 0 when it ends after a number of steps.
  uint64_t epochs = 0;
};

/// Prints to the standard error output: a bar that is redrawn on a terminal,
/// else about 20 to 40 lines whatever the length of the run.
class Progress {
public:
  explicit Progress(const Goal &goal);
  /// Ends the line of the bar.
  ~Progress();

  /// After `step` completed steps. `loss` is the value of the first metric.
  /// Cheap.
  void step(uint64_t step, uint64_t epoch, double loss) {
    if (terminal)
      maybeDraw(step, epoch, loss);
    else if (goal.epochs == 0 && (step % stride == 0 || step == goal.steps))
      printLine(step, epoch, loss, {});
  }
  /// After `epoch` completed epochs; `evaluation` as "accuracy 0.97" or empty.
  void endEpoch(uint64_t step, uint64_t epoch, double loss,
                const std::string &evaluation);
  /// Clears the bar, so that other text can be printed.
  void clear();
  /// Name of the metric that is shown; empty: none.
  void setMetric(std::string name) { metric = std::move(name); }
  /// Excludes time that was not spent in steps.
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
  std::string metric;
  bool terminal = false;
  bool barIsShown = false;
  /// Steps, or epochs, between two lines.
  uint64_t stride = 1;
  uint64_t lastStep = 0;
  double stepsPerSecond = 0;
  std::chrono::steady_clock::time_point lastTime;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_PROGRESS_H
