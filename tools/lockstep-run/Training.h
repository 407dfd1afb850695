//===- Training.h - a training run ------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_TRAINING_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_TRAINING_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/data/Batches.h"
#include "runtime/executor/Session.h"
#include "tools/lockstep-run/Evaluation.h"
#include "tools/lockstep-run/MetricsFile.h"
#include "tools/lockstep-run/Options.h"
#include "tools/lockstep-run/Progress.h"
#include "tools/lockstep-run/Scalars.h"
#include "tools/lockstep-run/StepMetrics.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::run {

/// Sets the variables from the file of `--init`. Error: without one ("") there are variables that have no initial value.
runtime::Status initializeVariables(const std::string &path, std::span<const runtime::VariableView> variables);

/// Everything of a run: set up by `create` (TrainingSetup.cpp), then `run` (Training.cpp).
class Training {
public:
  /// Sets scalars and variables, opens data, checkpoints and metrics. `options` and `session` must
  /// outlive the result.
  static runtime::Expected<std::unique_ptr<Training>> create(const Options &options, runtime::Session &session);

  /// Trains up to the goal, or until a signal asks to stop; evaluates and saves in between.
  runtime::Status run();

  /// Brings what has been done into safety after `run` has failed: metrics are written, and the
  /// variables are saved if the options say so and the failed step has not touched them. Says in
  /// the end what can be resumed from.
  void salvage();

  /// Prints how long it took and what came out of it, to the standard output.
  void printSummary() const;

private:
  using Time = std::chrono::steady_clock::time_point;

  explicit Training(const Options &options, runtime::Session &session) : options(options), session(session), stepScalar(session) {}

  runtime::Status prepareData();
  runtime::Status prepareVariables();
  runtime::Status startBatches();
  runtime::Status openMetrics();
  void startProgress();

  bool isFinished() const;
  runtime::Status trainStep();
  runtime::Status evaluate();
  runtime::Status save();
  /// Lets the clock of the steps stand still since `begin`.
  void excludePause(Time begin);

  const Options &options;
  runtime::Session &session;
  runtime::ProgramId stepProgram = 0;
  /// Nothing if the step takes no data.
  std::optional<runtime::BatchLayout> layout;
  std::unique_ptr<runtime::Batches> batches;
  std::unique_ptr<Evaluation> evaluation;
  std::vector<runtime::VariableView> variables;
  runtime::TrainingState state;
  StepScalar stepScalar;
  std::optional<StepMetrics> metrics;
  MetricsFile metricsFile;
  std::optional<Progress> progress;

  uint64_t firstStep = 0;
  bool epochEnded = false, saveFailed = false;
  /// Whether it has been said that the metric that is shown was not finite.
  bool sawNonFinite = false;
  std::optional<uint64_t> evaluatedStep, savedStep;
  std::string lastCheckpoint;
  std::vector<EvaluatedMetric> lastEvaluation;
  std::chrono::steady_clock::duration stepTime{}, pauses{};
};

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_TRAINING_H
