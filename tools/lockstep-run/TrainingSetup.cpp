//===- TrainingSetup.cpp - prepares a training run ------------------------===//

#include "tools/lockstep-run/Training.h"

#include "runtime/checkpoint/Aggregation.h"

#include <fmt/format.h>

namespace lockstep::run {

using namespace runtime;

namespace {

std::chrono::nanoseconds toNanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

} // namespace

Expected<std::unique_ptr<Training>> Training::create(const Options &options, Session &session) {
  std::unique_ptr<Training> training(new Training(options, session));
  Expected<ProgramId> program = session.findProgram("step");
  if (!program)
    return invalidArgument("expected a program 'step', found none in the artifact");
  training->stepProgram = *program;
  LOCKSTEP_RETURN_IF_ERROR(setScalars(session, options.scalars));
  LOCKSTEP_RETURN_IF_ERROR(training->prepareData());
  LOCKSTEP_RETURN_IF_ERROR(training->prepareVariables());
  LOCKSTEP_RETURN_IF_ERROR(training->startBatches());
  LOCKSTEP_RETURN_IF_ERROR(supplyScalar(session, "seed", training->state.seed));
  LOCKSTEP_RETURN_IF_ERROR(supplyScalar(session, "step", training->state.step));
  training->metrics.emplace(session, *program);
  LOCKSTEP_RETURN_IF_ERROR(training->openMetrics());
  training->startProgress();
  return training;
}

/// Opens both data sets. What is wrong with them is known before anything else is done.
Status Training::prepareData() {
  const ProgramInfo &program = session.programs()[stepProgram];
  bool trains = options.steps.value_or(1) > 0 && options.epochs.value_or(1) > 0;
  if (program.inputs.empty()) {
    if (options.epochs)
      return invalidArgument("expected --steps=N: the step takes no data, so there are no epochs");
    if (!options.data.empty())
      return invalidArgument("expected no --data: the step takes no data");
  } else if (!options.data.empty()) {
    Expected<Dataset> data = Dataset::open(options.data);
    if (!data)
      return data.status();
    Expected<BatchLayout> planned = planBatches(*data, program, /*supplyMask=*/false);
    if (!planned)
      return planned.status();
    layout = std::move(*planned);
    state.examples = layout->examples;
  } else if (trains) {
    return invalidArgument("expected --data=PATH, because the step takes data");
  }

  if (options.evalData.empty())
    return Status::success();
  Expected<std::unique_ptr<Evaluation>> created = Evaluation::create(session, options.evalData, toNanoseconds(options.deadlineSeconds));
  if (!created)
    return created.status();
  evaluation = std::move(*created);
  return Status::success();
}

Status initializeVariables(const std::string &path, std::span<const VariableView> variables) {
  if (!path.empty())
    return loadInitialValues(path, variables);
  std::string absent;
  for (const VariableView &variable : variables)
    if (!variable.hasInitial)
      absent += fmt::format("\n  '{}' ({})", variable.name, typeName(variable.type));
  if (!absent.empty())
    return invalidArgument("expected --init=FILE, because these variables have no initial value:" + absent);
  return Status::success();
}

/// From the latest checkpoint, else from `--init`.
Status Training::prepareVariables() {
  variables = variablesOf(session);
  if (!options.save.empty()) {
    LOCKSTEP_RETURN_IF_ERROR(prepareCheckpoints(options.save));
    LOCKSTEP_RETURN_IF_ERROR(checkAggregation(variables));
  }
  state.seed = options.seed.value_or(0);
  if (options.resume) {
    Expected<std::optional<std::string>> latest = latestCheckpoint(options.save);
    if (!latest)
      return latest.status();
    if (*latest) {
      Expected<TrainingState> restored = restoreCheckpoint(**latest, variables);
      if (!restored)
        return restored.status();
      if (options.seed && *options.seed != restored->seed)
        return invalidArgument(
            fmt::format("'{}': expected --seed={}, with which the run began, found {}", **latest, restored->seed, *options.seed));
      if (layout && restored->examples && *restored->examples != layout->examples)
        return invalidArgument(fmt::format("'{}': expected the {} examples that the run began with, found {} in '{}'", **latest,
                                           *restored->examples, layout->examples, layout->source));
      state = *restored;
      if (layout)
        state.examples = layout->examples;
      savedStep = state.step;
      lastCheckpoint = **latest;
      printNote(fmt::format("resuming after {} steps from '{}'", state.step, lastCheckpoint));
      return Status::success();
    }
    printNote(fmt::format("no checkpoint in '{}': starting from the beginning", options.save));
  }

  return initializeVariables(options.init, variables);
}

Status Training::startBatches() {
  firstStep = state.step;
  bool drops = options.remainder == "drop";
  // A checkpoint of another number of replicas can leave less than a global batch of its epoch.
  uint64_t needed = 1;
  if (drops && layout)
    needed = options.globalBatch ? options.globalBatch : layout->rows * session.replicas();
  if (layout && state.cursor.position + needed > layout->examples)
    state.cursor = {state.cursor.epoch + (state.cursor.position > 0), 0};
  if (!layout || isFinished())
    return Status::success();
  BatchOptions batchOptions;
  batchOptions.replicas = session.replicas();
  batchOptions.remainder = drops ? Remainder::drop : Remainder::distribute;
  batchOptions.globalBatch = options.globalBatch;
  batchOptions.seed = state.seed;
  batchOptions.start = state.cursor;
  batchOptions.deadline = toNanoseconds(options.deadlineSeconds);
  Expected<std::unique_ptr<Batches>> created = Batches::create(*layout, batchOptions);
  if (!created)
    return created.status();
  batches = std::move(*created);
  std::string text =
      fmt::format("{} examples, {} a step ({} replicas with {}{}): {} steps an epoch", layout->examples, batches->globalBatch(),
                  session.replicas(), layout->rowsVary() ? "up to " : "", layout->rows, batches->batchesPerEpoch());
  uint64_t last = layout->examples % batches->globalBatch();
  if (!drops && last)
    text += fmt::format("; the last one has {}", last);
  if (batches->droppedExamples())
    text += fmt::format("; the last {} of each epoch's order are dropped", batches->droppedExamples());
  printNote(text);
  return Status::success();
}

Status Training::openMetrics() {
  if (options.metrics.empty())
    return Status::success();
  if (state.step > 0)
    return metricsFile.resume(options.metrics, state.step);
  return metricsFile.create(options.metrics);
}

void Training::startProgress() {
  Goal goal;
  goal.firstStep = state.step;
  goal.steps = options.steps.value_or(0);
  goal.epochs = options.epochs.value_or(0);
  if (batches && goal.epochs > state.cursor.epoch) {
    goal.steps =
        state.step + batches->batchesFrom(state.cursor.position) + (goal.epochs - state.cursor.epoch - 1) * batches->batchesPerEpoch();
  }
  progress.emplace(goal);
  progress->setMetric(metrics->shownName());
}

} // namespace lockstep::run
