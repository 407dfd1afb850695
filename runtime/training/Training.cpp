//===- Training.cpp - a training run --------------------------------------===//

#include "runtime/training/Training.h"

#include "runtime/training/Messages.h"
#include "runtime/training/Progress.h"
#include "runtime/training/Signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::training {

using namespace runtime;
using SteadyClock = std::chrono::steady_clock;

bool Training::isFinished() const {
  return options.steps ? nextStep >= *options.steps
                       : nextCursor.epoch >= *options.epochs;
}

/// What the processes say about a step is read before the next one, so that
/// nobody waits for it.
Expected<bool> Training::stops() {
  if (cluster.isWhole())
    return stopSignal() != 0;
  constexpr std::string_view topic = "steps";
  if (nextStep > firstStep) {
    Expected<std::vector<std::string>> texts =
        cluster.collect(topic, "that they have begun the step");
    if (!texts)
      return texts.status();
    if (std::ranges::find(*texts, "stop") != texts->end())
      return true;
  }
  cluster.post(topic, stopSignal() ? "stop" : "go on");
  return false;
}

Status Training::run() {
  Time begin = SteadyClock::now();
  while (!isFinished()) {
    LOCKSTEP_RETURN_IF_ERROR(stops().moveTo(isStopped));
    if (isStopped)
      break;
    LOCKSTEP_RETURN_IF_ERROR(workers ? scheduleStep() : trainStep());
    if (epochEnded) {
      LOCKSTEP_RETURN_IF_ERROR(finishSteps());
      if (wasCancelled())
        break;
      bool evaluates =
          evaluation && state.cursor.epoch % options.evalEvery == 0;
      if (evaluates)
        LOCKSTEP_RETURN_IF_ERROR(evaluate());
      progress->endEpoch(state.step, state.cursor.epoch, lastShown,
                         evaluates ? toText(lastEvaluation) : "");
    }
    if (options.saveEvery && nextStep % options.saveEvery == 0) {
      LOCKSTEP_RETURN_IF_ERROR(finishSteps());
      if (!wasCancelled())
        LOCKSTEP_RETURN_IF_ERROR(save());
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(finishSteps());
  if (stopSignal())
    stepsAreOver();
  // One that has come after the last step is not known to other processes.
  if (cluster.isWhole() && stopSignal())
    isStopped = true;
  stepTime = SteadyClock::now() - begin - pauses;
  if (evaluation && !isStopped && evaluatedStep != state.step)
    LOCKSTEP_RETURN_IF_ERROR(evaluate());
  if (!options.save.empty() && savedStep != state.step)
    LOCKSTEP_RETURN_IF_ERROR(save());
  progress->clear();
  noteRecording();
  if (std::string note = cluster.deviceNote(); !note.empty())
    printNote(note);
  std::lock_guard<std::mutex> lock(savingMutex);
  return metricsFile.flush();
}

void Training::noteRecording() const {
  if (options.noRecording)
    return;
  auto [isRecorded, obstacle, omission] = cluster.recording(stepProgram);
  if (!obstacle.empty())
    printNote("the device gets the commands of each step one by one: " +
              obstacle);
  else if (!omission.empty())
    printNote("the device gets some commands of steps one by one: " + omission);
}

Status Training::trainStep() {
  std::optional<FileWatch::Scope> reading;
  if (ownData.hasWholeEpochs())
    reading.emplace(files, "reading '" + options.data + "'");
  Expected<DataPlace> place = ownData.bindNext(cluster, stepProgram);
  reading.reset();
  if (!place)
    return place.status();
  epochEnded = place->endsEpoch;
  LOCKSTEP_RETURN_IF_ERROR(stepScalar.set(cluster, nextStep));
  LOCKSTEP_RETURN_IF_ERROR(cluster.run(stepProgram));
  isAhead = true;
  if (!options.metrics.empty())
    LOCKSTEP_RETURN_IF_ERROR(cluster.collectOutputs(stepProgram));
  record.place = {nextStep, place->epoch, place->next};
  record.line.clear();
  if (metricsFile.isOpen())
    metrics->appendLine(record.line, cluster, nextStep, place->epoch);
  record.shown = metrics->shownValue(cluster);
  ++nextStep;
  nextCursor = place->next;
  return endStep(record);
}

/// Schedules the next step on any worker. It has ended when `finishSteps`
/// returns.
Status Training::scheduleStep() {
  DataPlace place = workers->data().placeAt(nextCursor);
  epochEnded = place.endsEpoch;
  LOCKSTEP_RETURN_IF_ERROR(
      workers->schedule({nextStep, place.epoch, place.next}));
  ++nextStep;
  nextCursor = place.next;
  return Status::success();
}

Status Training::endStep(const StepRecord &ended) {
  if (metricsFile.isOpen()) {
    metricsFile.lines() += ended.line;
    LOCKSTEP_RETURN_IF_ERROR(metricsFile.endLine());
  }
  isAhead = false;
  state.step = ended.place.step + 1;
  state.cursor = ended.place.next;
  lastShown = ended.shown;
  if (!std::isfinite(lastShown) && !sawNonFinite) {
    sawNonFinite = true;
    progress->clear();
    printNote(fmt::format("step {}: {} is {}", state.step, metrics->shownName(),
                          lastShown));
  }
  progress->step(state.step, ended.place.epoch, lastShown);
  return Status::success();
}

Status Training::evaluate() {
  Time begin = SteadyClock::now();
  // The scalar `step` of an evaluation is the number of completed steps.
  LOCKSTEP_RETURN_IF_ERROR(stepScalar.set(cluster, state.step));
  Expected<std::vector<EvaluatedMetric>> result = evaluation->run();
  if (!result)
    return result.status();
  lastEvaluation = std::move(*result);
  evaluatedStep = state.step;
  // A run that is resumed at its end already has this line.
  if (metricsFile.isOpen() && !metricsFile.hasEvaluation(state.step)) {
    metricsFile.lines() +=
        fmt::format("{{\"step\":{},\"epoch\":{},\"evaluate\":{}}}\n",
                    state.step, state.cursor.epoch, toJson(lastEvaluation));
    LOCKSTEP_RETURN_IF_ERROR(metricsFile.endLine());
  }
  excludePause(begin);
  return Status::success();
}

Status Training::save() {
  std::lock_guard<std::mutex> lock(savingMutex);
  return saveLocked();
}

Status Training::saveLocked() {
  Time begin = SteadyClock::now();
  LOCKSTEP_RETURN_IF_ERROR(cluster.collectVariables());
  if (!isFirstProcess()) {
    savedStep = state.step;
    return Status::success();
  }
  // A resumed run does not write the metrics of earlier steps again, so they
  // must be on disk before the checkpoint.
  LOCKSTEP_RETURN_IF_ERROR(metricsFile.flush());
  FileWatch::Scope scope(
      files, fmt::format("writing the checkpoint of step {} to '{}'",
                         state.step, options.save));
  Expected<std::string> path = saveCheckpoint(options.save, state, variables);
  saveFailed = !path.ok();
  if (saveFailed)
    return path.status();
  lastCheckpoint = *path;
  savedStep = state.step;
  // A damaged one may have been replaced.
  std::erase(damaged, lastCheckpoint);
  if (options.keep)
    LOCKSTEP_RETURN_IF_ERROR(
        removeCheckpoints(options.save, state.step, options.keep, damaged));
  excludePause(begin);
  return Status::success();
}

void Training::excludePause(Time begin) {
  SteadyClock::duration pause = SteadyClock::now() - begin;
  pauses += pause;
  progress->excludePause(pause);
}

bool Training::variablesAreIntact() const {
  if (isAhead)
    return false;
  if (!coordinator)
    return cluster.variablesIntact();
  for (unsigned worker = 0; worker < coordinator->workers(); ++worker)
    if (!coordinator->lane(worker).variablesIntact())
      return false;
  return true;
}

void Training::saveAfterFailure() {
  std::unique_lock<std::mutex> lock(savingMutex, std::try_to_lock);
  if (!lock) {
    // The thread inside of `run` holds the lock and is blocked in a call of the
    // file system.
    printNote("a checkpoint is still being written: it is left incomplete; "
              "earlier checkpoints are intact");
    return;
  }
  progress->clear();
  if (Status status = metricsFile.flush(); !status.ok())
    printError(status.message());
  if (options.save.empty() || !isFirstProcess())
    return;
  if (!variablesAreIntact()) {
    printNote(
        std::string("the step that failed may have updated variables: they are "
                    "not saved") +
        (coordinator
             ? ""
             : " (with --shadow-variables, the state before it would be)"));
  } else if (!cluster.firstHasAllVariables()) {
    printNote("parts of the variables are in other processes, which have "
              "ended their runs: they are not saved");
  } else if (savedStep != state.step && !saveFailed) {
    if (!coordinator && cluster.variablesRestored()) {
      printNote("the step that failed has begun to update variables: the state "
                "before it is saved");
      // The restored variables are at other addresses.
      variables = variablesOf(cluster);
    }
    if (Status status = saveLocked(); !status.ok())
      printError(status.message());
  }
  printNote(lastCheckpoint.empty()
                ? "there is no checkpoint"
                : fmt::format("last checkpoint: '{}'", lastCheckpoint));
}

void Training::printSummary() const {
  bool wasStopped = isStopped || (cluster.isWhole() && stopSignal());
  uint64_t steps = state.step - firstStep;
  double seconds = std::chrono::duration<double>(stepTime).count();
  std::string text =
      fmt::format("{} {} step{}", wasStopped ? "stopped after" : "trained",
                  steps, steps == 1 ? "" : "s");
  if (options.epochs)
    text += fmt::format(" ({} of {} epochs)",
                        std::min(state.cursor.epoch, *options.epochs),
                        *options.epochs);
  if (steps > 0) {
    text += fmt::format(" in {:.2f} s, {}", seconds,
                        rateText(static_cast<double>(steps) / seconds));
    if (!metrics->shownName().empty())
      text += fmt::format("; {} of the last step {:.6g}", metrics->shownName(),
                          lastShown);
  }
  fmt::print("{}\n", text);
  if (!lastEvaluation.empty() && evaluatedStep == state.step)
    fmt::print("evaluation: {}\n", toText(lastEvaluation));
  if (!lastCheckpoint.empty())
    fmt::print("checkpoint: {}\n", lastCheckpoint);
}

} // namespace lockstep::training
