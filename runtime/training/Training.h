//===- Training.h - a training run ------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_TRAINING_H
#define LOCKSTEP_RUNTIME_TRAINING_TRAINING_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/FolderLock.h"
#include "runtime/executor/Cluster.h"
#include "runtime/executor/Coordinator.h"
#include "runtime/training/DataSource.h"
#include "runtime/training/Evaluation.h"
#include "runtime/training/MetricsFile.h"
#include "runtime/training/Options.h"
#include "runtime/training/Progress.h"
#include "runtime/training/Scalars.h"
#include "runtime/training/StepMetrics.h"
#include "runtime/training/WorkerSteps.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::training {

/// The program that the options name: `step`, if they name none, or the only
/// one that there is.
runtime::Expected<runtime::ProgramId>
chooseProgram(const Options &options, const runtime::Cluster &cluster);

/// Sets the variables from the file of `--init`. Error: without one ("") there
/// are variables that have no initial value.
runtime::Status
initializeVariables(const std::string &path,
                    std::span<const runtime::VariableView> variables);

/// Everything of a run: set up by `create` (TrainingSetup.cpp), then `run`
/// (Training.cpp).
class Training {
public:
  /// Sets scalars and variables, opens data, checkpoints and metrics. With a
  /// coordinator, `cluster` is a lane of it, and its workers take the steps.
  /// All must outlive the result.
  static runtime::Expected<std::unique_ptr<Training>>
  create(const Options &options, runtime::Cluster &cluster, FileWatch &files,
         runtime::Coordinator *coordinator = nullptr);

  /// Trains up to the goal, or until a signal asks to stop; evaluates and saves
  /// in between.
  runtime::Status run();

  /// Brings what has been done into safety after `run` has failed: metrics are
  /// written, and the variables are saved if the options say so and the failed
  /// step has not touched them, or has left a copy. Says in the end what can be
  /// resumed from. From any thread, if the one that is in `run` is stuck there.
  void salvage();

  /// Prints how long it took and what came out of it, to the standard output.
  void printSummary() const;

private:
  using Time = std::chrono::steady_clock::time_point;

  Training(const Options &options, runtime::Cluster &cluster, FileWatch &files,
           runtime::Coordinator *coordinator)
      : options(options), cluster(cluster), files(files),
        coordinator(coordinator), stepScalar(cluster), metricsFile(&files) {}

  runtime::Status prepareData();
  runtime::Status prepareVariables();
  runtime::Status startBatches();
  runtime::Status forEachLane(
      const std::function<runtime::Status(runtime::Cluster &)> &function);
  runtime::Status createBatches(const runtime::BatchOptions &batchOptions);
  /// Those of the first worker, if they have data of their own.
  const DataSource &data() const { return workers ? workers->data() : ownData; }
  const runtime::ProgramInfo &program() const {
    return cluster.programs()[stepProgram];
  }
  runtime::Status openMetrics();
  void startProgress();

  bool isFinished() const;
  runtime::Status trainStep();
  runtime::Status scheduleStep();
  /// What is to be done after each step, in their order.
  runtime::Status endStep(const StepRecord &record);
  /// Until then steps may still be taken.
  runtime::Status finishSteps() {
    return workers ? workers->finish() : runtime::Status::success();
  }
  /// After `finishSteps`: whether steps that were scheduled have not been
  /// taken, because of a signal.
  bool wasCancelled() const { return state.step != nextStep; }
  bool variablesAreIntact() const;
  runtime::Status evaluate();
  runtime::Status save();
  runtime::Status saveLocked();
  /// Lets the clock of the steps stand still since `begin`.
  void excludePause(Time begin);

  const Options &options;
  runtime::Cluster &cluster;
  FileWatch &files;
  /// Null if all replicas take steps together.
  runtime::Coordinator *coordinator;
  runtime::ProgramId stepProgram = 0;
  /// Nothing if the step takes no data.
  std::optional<runtime::BatchLayout> layout;
  DataSource ownData;
  std::unique_ptr<Evaluation> evaluation;
  std::vector<runtime::VariableView> variables;
  /// After the steps that have been taken, and where the next one begins: the
  /// same, unless workers take steps meanwhile.
  runtime::TrainingState state;
  uint64_t nextStep = 0;
  runtime::DataCursor nextCursor;
  StepScalar stepScalar;
  std::optional<StepMetrics> metrics;
  MetricsFile metricsFile;
  std::optional<Progress> progress;
  /// Destroyed before what its steps use.
  std::unique_ptr<WorkerSteps> workers;

  uint64_t firstStep = 0;
  bool epochEnded = false, saveFailed = false;
  /// Whether it has been said that the metric that is shown was not finite.
  bool sawNonFinite = false;
  double lastShown = 0;
  /// Of the last step, when replicas take them together; its memory is used
  /// again.
  StepRecord record;
  std::optional<uint64_t> evaluatedStep, savedStep;
  std::string lastCheckpoint;
  /// Of the folder for checkpoints, as long as this run may save there.
  runtime::FolderLock lock;
  /// Held while files are written.
  std::mutex savingMutex;
  std::vector<EvaluatedMetric> lastEvaluation;
  std::chrono::steady_clock::duration stepTime{}, pauses{};
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_TRAINING_H
