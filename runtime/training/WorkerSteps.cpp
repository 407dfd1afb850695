//===- WorkerSteps.cpp - steps of asynchronous workers --------------------===//

#include "runtime/training/WorkerSteps.h"

namespace lockstep::training {

using namespace runtime;

WorkerSteps::WorkerSteps(Coordinator &coordinator, ProgramId program,
                         bool writesLines,
                         std::function<Status(const StepRecord &)> ended)
    : coordinator(coordinator), program(program), writesLines(writesLines),
      ended(std::move(ended)) {
  for (unsigned worker = 0; worker < coordinator.workers(); ++worker)
    workers.push_back(
        std::make_unique<Worker>(coordinator.lane(worker), program));
}

WorkerSteps::~WorkerSteps() { (void)coordinator.join(); }

Status WorkerSteps::createData(const BatchLayout &layout,
                               const BatchOptions &options, bool wholeEpochs) {
  for (unsigned worker = 0; worker < workers.size(); ++worker) {
    BatchOptions own = options;
    own.seed = options.seed + worker;
    Expected<DataSource> created = DataSource::create(layout, own, wholeEpochs);
    if (!created)
      return created.status();
    workers[worker]->data = std::move(*created);
  }
  return Status::success();
}

Status WorkerSteps::schedule(const StepPlace &place) {
  // Enough to keep all workers busy. A cancelled step ends at once, as do those
  // after it.
  if (pending.size() >= size_t(4) * workers.size())
    LOCKSTEP_RETURN_IF_ERROR(finishOldest());
  auto record = std::make_shared<StepRecord>(StepRecord{place, {}, 0});
  Expected<ScheduledFunction> function =
      coordinator.schedule([this, record](Cluster &lane, unsigned worker) {
        return take(lane, worker, *record);
      });
  if (!function)
    return function.status();
  pending.push_back({std::move(*function), std::move(record)});
  return Status::success();
}

/// Called on a thread of the worker.
Status WorkerSteps::take(Cluster &lane, unsigned worker, StepRecord &record) {
  Worker &self = *workers[worker];
  if (Expected<DataPlace> place = self.data.bindNext(lane, program); !place)
    return place.status();
  LOCKSTEP_RETURN_IF_ERROR(self.step.set(lane, record.place.step));
  LOCKSTEP_RETURN_IF_ERROR(lane.run(program));
  if (writesLines)
    self.metrics.appendLine(record.line, lane, record.place.step,
                            record.place.epoch, worker);
  record.shown = self.metrics.shownValue(lane);
  return Status::success();
}

Status WorkerSteps::finishOldest() {
  Pending oldest = std::move(pending.front());
  pending.pop_front();
  if (!oldest.function.wait().ok())
    // Returns the error that caused the cancellation, if any; waits until no
    // step is executing.
    return coordinator.join();
  return ended(*oldest.record);
}

Status WorkerSteps::finish() {
  while (!pending.empty())
    LOCKSTEP_RETURN_IF_ERROR(finishOldest());
  return coordinator.join();
}

} // namespace lockstep::training
