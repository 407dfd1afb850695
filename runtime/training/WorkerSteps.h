//===- WorkerSteps.h - steps of asynchronous workers ----------------------===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_WORKERSTEPS_H
#define LOCKSTEP_RUNTIME_TRAINING_WORKERSTEPS_H

#include "runtime/data/Batches.h"
#include "runtime/executor/Coordinator.h"
#include "runtime/training/DataSource.h"
#include "runtime/training/HostScalars.h"
#include "runtime/training/StepMetrics.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::training {

/// A step, and the position in the data after it if one worker took all steps.
struct StepPlace {
  uint64_t step = 0, epoch = 0;
  runtime::DataCursor next;
};

/// The record of a completed step.
struct StepRecord {
  StepPlace place;
  /// Line of the metrics file; empty if there is none.
  std::string line;
  /// Value of the displayed metric.
  double shown = 0;
};

/// Schedules steps on the workers of a coordinator, each of which has its own
/// data. Steps execute in any order, and are reported in the order of their
/// numbers.
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

  /// Creates the data of each worker; worker w shuffles with the seed
  /// `options.seed` + w. Error: those of `DataSource::create`.
  runtime::Status createData(const runtime::BatchLayout &layout,
                             const runtime::BatchOptions &options,
                             bool wholeEpochs);
  /// The data of the first worker, equal in layout for all.
  const DataSource &data() const { return workers.front()->data; }

  /// Schedules a step on any worker; waits while many are pending. Error: a
  /// step has failed.
  runtime::Status schedule(const StepPlace &place);
  /// Waits until all steps have ended; if the coordinator cancels some, until
  /// those that have begun have. Error: a step has failed.
  runtime::Status finish();

private:
  /// Does not refer to a lane, which may be replaced.
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
