//===- WorkerSteps.h - steps of workers that go on by themselves ----------===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_WORKERSTEPS_H
#define LOCKSTEP_RUNTIME_TRAINING_WORKERSTEPS_H

#include "runtime/data/Batches.h"
#include "runtime/executor/Coordinator.h"
#include "runtime/training/DataSource.h"
#include "runtime/training/Scalars.h"
#include "runtime/training/StepMetrics.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::training {

/// Which step is taken, and where the data would be after it if one worker took
/// all of them.
struct StepPlace {
  uint64_t step = 0, epoch = 0;
  runtime::DataCursor next;
};

/// A step that has been taken.
struct StepRecord {
  StepPlace place;
  /// Of the metrics file; empty if there is none.
  std::string line;
  /// Of the metric that is shown.
  double shown = 0;
};

/// Schedules steps on the workers of a coordinator, each of which has data of
/// its own. They are taken in any order, and end, for who looks at them from
/// outside, in the order of their numbers.
class WorkerSteps {
public:
  /// `ended` is called by the thread that calls `schedule` and `finish`, for
  /// each step in order. `coordinator` must outlive the result.
  WorkerSteps(runtime::Coordinator &coordinator, runtime::ProgramId program,
              bool writesLines,
              std::function<runtime::Status(const StepRecord &)> ended);
  /// Waits for the steps that have begun.
  ~WorkerSteps();
  WorkerSteps(const WorkerSteps &) = delete;
  WorkerSteps &operator=(const WorkerSteps &) = delete;

  /// Gives every worker its data: those of worker w are in the order of the
  /// seed `options.seed` + w. Error: those of `DataSource::create`.
  runtime::Status createData(const runtime::BatchLayout &layout,
                             const runtime::BatchOptions &options,
                             bool wholeEpochs);
  /// As all workers have it.
  const DataSource &data() const { return workers.front()->data; }

  /// Has some worker take a step; waits while there are many that nobody has
  /// begun. Error: a step has failed.
  runtime::Status schedule(const StepPlace &place);
  /// Waits until all steps have been taken, or those that have begun if the
  /// coordinator cancels the others. Error: a step has failed.
  runtime::Status finish();

private:
  /// Refers to no lane, which may be replaced.
  struct Worker {
    Worker(const runtime::Cluster &lane, runtime::ProgramId program)
        : step(lane), metrics(lane, program) {}
    StepScalar step;
    StepMetrics metrics;
    DataSource data;
  };
  struct Pending {
    runtime::ScheduledFunction function;
    std::shared_ptr<StepRecord> record;
  };

  runtime::Status take(runtime::Cluster &lane, unsigned worker,
                       StepRecord &record);
  runtime::Status finishOldest();

  runtime::Coordinator &coordinator;
  runtime::ProgramId program;
  bool writesLines;
  std::function<runtime::Status(const StepRecord &)> ended;
  std::vector<std::unique_ptr<Worker>> workers;
  std::deque<Pending> pending;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_WORKERSTEPS_H
