//===- Training.h - a training run ------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_TRAINING_H
#define LOCKSTEP_RUNTIME_TRAINING_TRAINING_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/FolderLock.h"
#include "runtime/executor/Cluster.h"
#include "runtime/executor/Coordinator.h"
#include "runtime/training/DataSource.h"
#include "runtime/training/Evaluation.h"
#include "runtime/training/HostScalars.h"
#include "runtime/training/MetricsFile.h"
#include "runtime/training/Progress.h"
#include "runtime/training/StepMetrics.h"
#include "runtime/training/TrainingOptions.h"
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

/// The program that the options name: by default `step`, or the only one.
runtime::Expected<runtime::ProgramId>
chooseProgram(const Options &options, const runtime::Cluster &cluster);

/// Between several processes, which have to do the same: error if their options
/// differ.
runtime::Status compareOptions(const Options &options,
                               runtime::Cluster &cluster);

/// Sets the variables from the file of `--init`. Error: without a file (""), a
/// variable has no initial value.
runtime::Status
initializeVariables(const std::string &path,
                    std::span<const runtime::VariableView> variables);

/// A training run: set up by `create` (TrainingSetup.cpp), then `run`
/// (Training.cpp).
class Training {
public:
  /// Sets scalars and variables, opens data, checkpoints and metrics. With a
  /// coordinator, `cluster` is one of its lanes, and its workers take the
  /// steps. All arguments must outlive the result.
  static runtime::Expected<std::unique_ptr<Training>>
  create(const Options &options, runtime::Cluster &cluster, FileWatch &files,
         runtime::Coordinator *coordinator = nullptr);

  /// Trains up to the goal, or until a signal requests a stop; evaluates and
  /// saves in between.
  runtime::Status run();

  /// Saves results after `run` has failed: writes metrics, and saves the
  /// variables if the options request it and the failed step has not written
  /// them, or a copy exists. Finally prints the checkpoint from which the run
  /// can be resumed. From any thread, if the one inside of `run` is blocked.
  void saveAfterFailure();

  /// Prints the duration and the final metrics to the standard output.
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
  /// The data of the first worker, if workers have their own.
  const DataSource &data() const { return workers ? workers->data() : ownData; }
  const runtime::ProgramInfo &program() const {
    return cluster.programs()[stepProgram];
  }
  /// Of several processes, only the first one writes files and reports.
  bool isFirstProcess() const { return cluster.place().index == 0; }
  runtime::Status openMetrics();
  runtime::Status compareFiles();
  void startProgress();

  bool isFinished() const;
  /// Whether a signal has asked to stop, in any process. All return the same
  /// before the same step.
  runtime::Expected<bool> stops();
  runtime::Status trainStep();
  void noteRecording() const;
  runtime::Status scheduleStep();
  /// The actions after each step, in the order of steps.
  runtime::Status endStep(const StepRecord &record);
  /// Waits until no step is executing.
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
  /// Excludes the time since `begin` from the duration of steps.
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
  /// The state after completed steps, and the position of the next one: they
  /// differ only while workers take steps.
  runtime::TrainingState state;
  uint64_t nextStep = 0;
  runtime::DataCursor nextCursor;
  StepScalar stepScalar;
  std::optional<StepMetrics> metrics;
  MetricsFile metricsFile;
  std::optional<Progress> progress;
  /// Destroyed before the members that its steps use.
  std::unique_ptr<WorkerSteps> workers;

  uint64_t firstStep = 0;
  bool epochEnded = false, saveFailed = false, isStopped = false;
  /// The variables are already those after a step that has not ended.
  bool isAhead = false;
  /// Whether a non-finite value of the displayed metric has been reported.
  bool sawNonFinite = false;
  double lastShown = 0;
  /// The last step of synchronous replicas; its memory is reused.
  StepRecord record;
  std::optional<uint64_t> evaluatedStep, savedStep;
  std::string lastCheckpoint;
  /// Paths of checkpoints that the run has passed over.
  std::vector<std::string> damaged;
  /// The lock of the folder for checkpoints, held while this run may save
  /// there.
  runtime::FolderLock lock;
  /// Held while files are written.
  std::mutex savingMutex;
  std::vector<EvaluatedMetric> lastEvaluation;
  std::chrono::steady_clock::duration stepTime{}, pauses{};
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_TRAINING_H
