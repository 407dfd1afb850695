//===- TrainingSetup.cpp - prepares a training run ------------------------===//

#include "runtime/training/Training.h"

#include "runtime/checkpoint/Aggregation.h"
#include "runtime/training/Messages.h"

#include <fmt/format.h>

namespace lockstep::training {

using namespace runtime;

Expected<ProgramId> chooseProgram(const Options &options,
                                  const Cluster &cluster) {
  if (!options.program.empty())
    return cluster.findProgram(options.program);
  if (Expected<ProgramId> step = cluster.findProgram("step"))
    return step;
  if (cluster.programs().size() == 1)
    return ProgramId(0);
  return invalidArgument(
      "expected a program 'step', or a single one, or its name in --program");
}

Status compareOptions(const Options &options, Cluster &cluster) {
  auto known = [](const auto &value) {
    return value ? std::to_string(*value) : "none";
  };
  auto given = [](const std::string &file) {
    return std::string(file.empty() ? "no" : "yes");
  };
  std::string scalars;
  for (const std::string &scalar : options.scalars)
    scalars += (scalars.empty() ? "" : " ") + scalar;
  return cluster.requireSame(
      {{"program (--program)", options.program},
       {"single step (--inputs)", given(options.inputs)},
       {"steps (--steps)", known(options.steps)},
       {"epochs (--epochs)", known(options.epochs)},
       {"scalars (--set)", scalars},
       {"global batch (--global-batch)", std::to_string(options.globalBatch)},
       {"treatment of the rest of an epoch (--remainder)", options.remainder},
       {"evaluation (--eval-data)", given(options.evalData)},
       {"epochs between evaluations (--eval-every)",
        std::to_string(options.evalEvery)},
       {"metrics (--metrics)", given(options.metrics)},
       {"checkpoints (--save)", given(options.save)},
       {"steps between checkpoints (--save-every)",
        std::to_string(options.saveEvery)},
       {"checkpoints that are kept (--keep)", std::to_string(options.keep)},
       {"resumption (--resume)", options.resume ? "yes" : "no"}});
}

Expected<std::unique_ptr<Training>> Training::create(const Options &options,
                                                     Cluster &cluster,
                                                     FileWatch &files,
                                                     Coordinator *coordinator) {
  std::unique_ptr<Training> training(
      new Training(options, cluster, files, coordinator));
  Expected<ProgramId> program = chooseProgram(options, cluster);
  if (!program)
    return program.status();
  training->stepProgram = *program;
  // Binding the batches sets their number.
  LOCKSTEP_RETURN_IF_ERROR(training->forEachLane([&](Cluster &lane) {
    return setScalars(lane, options.scalars, {"num_batches"});
  }));
  if (coordinator)
    training->workers = std::make_unique<WorkerSteps>(
        *coordinator, *program, !options.metrics.empty(),
        [training = training.get()](const StepRecord &record) {
          return training->endStep(record);
        });
  LOCKSTEP_RETURN_IF_ERROR(training->prepareData());
  LOCKSTEP_RETURN_IF_ERROR(training->prepareVariables());
  LOCKSTEP_RETURN_IF_ERROR(training->startBatches());
  LOCKSTEP_RETURN_IF_ERROR(training->forEachLane([&](Cluster &lane) {
    LOCKSTEP_RETURN_IF_ERROR(supplyScalar(lane, "seed", training->state.seed));
    return supplyScalar(lane, "step", training->state.step);
  }));
  training->metrics.emplace(cluster, *program);
  LOCKSTEP_RETURN_IF_ERROR(training->compareFiles());
  LOCKSTEP_RETURN_IF_ERROR(training->openMetrics());
  training->startProgress();
  return training;
}

/// The lanes of all workers, or the cluster of all replicas.
Status Training::forEachLane(const std::function<Status(Cluster &)> &function) {
  if (!coordinator)
    return function(cluster);
  for (unsigned worker = 0; worker < coordinator->workers(); ++worker)
    LOCKSTEP_RETURN_IF_ERROR(function(coordinator->lane(worker)));
  return Status::success();
}

/// Opens both data sets first, so that errors in them are reported before other
/// work.
Status Training::prepareData() {
  bool trains = options.steps.value_or(1) > 0 && options.epochs.value_or(1) > 0;
  if (program().inputs.empty()) {
    if (options.epochs)
      return invalidArgument(
          "expected --steps=N: the step takes no data, so there are no epochs");
    if (!options.data.empty())
      return invalidArgument("expected no --data: the step takes no data");
  } else if (!options.data.empty()) {
    FileWatch::Scope scope(files, "reading '" + options.data + "'");
    Expected<Dataset> data = Dataset::open(options.data);
    if (!data)
      return data.status();
    Expected<BatchLayout> planned =
        planBatches(*data, program(), /*supplyMask=*/false);
    if (!planned)
      return planned.status();
    noteUnusedArrays(*data, *planned);
    layout = std::move(*planned);
    state.examples = layout->examples;
  } else if (trains) {
    return invalidArgument("expected --data=PATH, because the step takes data");
  }

  if (options.evalData.empty())
    return Status::success();
  FileWatch::Scope scope(files, "reading '" + options.evalData + "'");
  Expected<std::unique_ptr<Evaluation>> created =
      Evaluation::create(cluster, options.evalData, options.deadline());
  if (!created)
    return created.status();
  evaluation = std::move(*created);
  return Status::success();
}

Status initializeVariables(const std::string &path,
                           std::span<const VariableView> variables) {
  if (!path.empty())
    return loadInitialValues(path, variables);
  std::string absent;
  for (const VariableView &variable : variables)
    if (!variable.hasInitial)
      absent +=
          fmt::format("\n  '{}' ({})", variable.name, typeName(variable.type));
  if (!absent.empty())
    return invalidArgument(
        "expected --init=FILE, because these variables have no initial value:" +
        absent);
  return Status::success();
}

/// Restores the latest checkpoint, else loads `--init`.
Status Training::prepareVariables() {
  variables = variablesOf(cluster);
  if (!options.save.empty() && isFirstProcess()) {
    FileWatch::Scope scope(files,
                           "preparing checkpoints in '" + options.save + "'");
    LOCKSTEP_RETURN_IF_ERROR(prepareCheckpoints(options.save));
    Expected<FolderLock> locked = FolderLock::acquire(options.save);
    if (!locked)
      return locked.status();
    lock = std::move(*locked);
    // The numbers of two runs in one folder could not be told apart.
    if (!options.resume) {
      Expected<std::optional<std::string>> found =
          latestCheckpoint(options.save);
      if (!found)
        return found.status();
      // A run that fails in its first step leaves a checkpoint of 0 steps,
      // which has only initial values.
      if (*found && !(*found)->ends_with("checkpoint-0.safetensors"))
        return invalidArgument(fmt::format(
            "'{}': expected a folder without checkpoints at the beginning of a "
            "run, found '{}' (--resume continues its run)",
            options.save, **found));
    }
    LOCKSTEP_RETURN_IF_ERROR(checkAggregation(variables));
  }
  state.seed = options.seed.value_or(0);
  if (options.resume) {
    Expected<std::vector<std::string>> prepared = cluster.exchange(
        "folder", "that the folder of checkpoints is prepared", "");
    if (!prepared)
      return prepared.status();
    FileWatch::Scope scope(files, "restoring a checkpoint from '" +
                                      options.save + "'");
    Expected<std::optional<RestoredCheckpoint>> latest =
        restoreLatestCheckpoint(options.save, variables);
    if (!latest)
      return latest.status();
    if (const std::optional<RestoredCheckpoint> &restored = *latest) {
      for (const std::string &damage : restored->damaged)
        printNote(fmt::format("damaged, and passed over: {}", damage));
      damaged = restored->damagedPaths;
      if (options.seed && *options.seed != restored->state.seed)
        return invalidArgument(fmt::format(
            "'{}': expected --seed={}, with which the run began, found {}",
            restored->path, restored->state.seed, *options.seed));
      if (layout && restored->state.examples &&
          *restored->state.examples != layout->examples)
        return invalidArgument(
            fmt::format("'{}': expected the {} examples that the run began "
                        "with, found {} in '{}'",
                        restored->path, *restored->state.examples,
                        layout->examples, layout->source));
      state = restored->state;
      if (layout)
        state.examples = layout->examples;
      savedStep = state.step;
      lastCheckpoint = restored->path;
      printNote(fmt::format("resuming after {} steps from '{}'", state.step,
                            lastCheckpoint));
      return Status::success();
    }
    printNote(fmt::format("no checkpoint in '{}': starting from the beginning",
                          options.save));
  }

  FileWatch::Scope scope(files, "reading '" + options.init + "'");
  return initializeVariables(options.init, variables);
}

Status Training::startBatches() {
  firstStep = nextStep = state.step;
  bool drops = options.remainder == "drop";
  // After a checkpoint of another number of replicas, less than a global batch
  // may be left of its epoch.
  uint64_t needed = 1;
  if (drops && layout)
    needed = options.globalBatch ? options.globalBatch
                                 : layout->rows * cluster.replicas();
  if (layout && state.cursor.position + needed > layout->examples)
    state.cursor = {state.cursor.epoch + (state.cursor.position > 0), 0};
  nextCursor = state.cursor;
  if (!layout || isFinished())
    return Status::success();
  BatchOptions batchOptions;
  batchOptions.replicas = cluster.replicas();
  batchOptions.filled = cluster.replicasHere();
  batchOptions.remainder = drops ? Remainder::drop : Remainder::distribute;
  batchOptions.globalBatch = options.globalBatch;
  batchOptions.seed = state.seed;
  batchOptions.start = state.cursor;
  batchOptions.deadline = options.deadline();
  return createBatches(batchOptions);
}

Status Training::createBatches(const BatchOptions &batchOptions) {
  bool wholeEpochs = program().loadsBatches;
  if (workers) {
    LOCKSTEP_RETURN_IF_ERROR(
        workers->createData(*layout, batchOptions, wholeEpochs));
  } else {
    Expected<DataSource> created =
        DataSource::create(*layout, batchOptions, wholeEpochs);
    if (!created)
      return created.status();
    ownData = std::move(*created);
  }
  uint64_t globalBatch = data().globalBatch(), perEpoch = data().batchesFrom(0),
           dropped = data().droppedExamples();
  std::string who =
      coordinator ? fmt::format("each of {} worker{}", coordinator->workers(),
                                coordinator->workers() == 1 ? "" : "s")
                  : fmt::format("{} replicas", cluster.replicas());
  std::string text =
      fmt::format("{} examples, {} a {} ({} with {}{}): {}", layout->examples,
                  globalBatch, wholeEpochs ? "batch" : "step", who,
                  layout->rowsVary() ? "up to " : "", layout->rows,
                  wholeEpochs ? fmt::format("{} batches in a run of '{}'",
                                            perEpoch, program().name)
                              : fmt::format("{} steps an epoch", perEpoch));
  uint64_t last = layout->examples % globalBatch;
  if (batchOptions.remainder == Remainder::distribute && last)
    text += fmt::format("; the last one has {}", last);
  if (dropped)
    text +=
        fmt::format("; the last {} of each epoch's order are dropped", dropped);
  printNote(text);
  return Status::success();
}

Status Training::openMetrics() {
  if (options.metrics.empty() || !isFirstProcess())
    return Status::success();
  if (state.step > 0)
    return metricsFile.resume(options.metrics, state.step);
  return metricsFile.create(options.metrics);
}

/// What the processes have read has to be the same.
Status Training::compareFiles() {
  auto known = [](const auto &value) {
    return value ? std::to_string(*value) : "none";
  };
  return cluster.requireSame(
      {{"seed (--seed)", std::to_string(state.seed)},
       {"steps before this run", std::to_string(state.step)},
       {"examples of the data (--data)", known(state.examples)},
       {"steps of an evaluation (--eval-data)",
        evaluation ? std::to_string(evaluation->steps()) : "none"}});
}

void Training::startProgress() {
  Goal goal;
  goal.firstStep = state.step;
  goal.steps = options.steps.value_or(0);
  goal.epochs = options.epochs.value_or(0);
  if (!data().isEmpty() && goal.epochs > state.cursor.epoch) {
    uint64_t epochs = goal.epochs - state.cursor.epoch;
    goal.steps = state.step + epochs;
    if (!data().hasWholeEpochs())
      goal.steps = state.step + data().batchesFrom(state.cursor.position) +
                   (epochs - 1) * data().batchesFrom(0);
  }
  progress.emplace(goal, isFirstProcess());
  progress->setMetric(metrics->shownName());
}

} // namespace lockstep::training
