//===- Training.cpp - a training run --------------------------------------===//

#include "tools/lockstep-run/Training.h"

#include "tools/lockstep-run/Signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::run {

using namespace runtime;
using Clock = std::chrono::steady_clock;

bool Training::isFinished() const { return options.steps ? state.step >= *options.steps : state.cursor.epoch >= *options.epochs; }

Status Training::run() {
  Time begin = Clock::now();
  while (!isFinished() && !stopSignal()) {
    LOCKSTEP_RETURN_IF_ERROR(trainStep());
    if (epochEnded) {
      bool evaluates = evaluation && state.cursor.epoch % options.evalEvery == 0;
      if (evaluates)
        LOCKSTEP_RETURN_IF_ERROR(evaluate());
      progress->endEpoch(state.step, state.cursor.epoch, metrics->shownValue(), evaluates ? toText(lastEvaluation) : "");
    }
    if (options.saveEvery && state.step % options.saveEvery == 0)
      LOCKSTEP_RETURN_IF_ERROR(save());
  }
  stepTime = Clock::now() - begin - pauses;
  if (evaluation && !stopSignal() && evaluatedStep != state.step)
    LOCKSTEP_RETURN_IF_ERROR(evaluate());
  if (!options.save.empty() && savedStep != state.step)
    LOCKSTEP_RETURN_IF_ERROR(save());
  progress->clear();
  return metricsFile.flush();
}

Status Training::trainStep() {
  uint64_t epoch = 0;
  DataCursor next;
  epochEnded = false;
  if (batches) {
    Expected<const Batch *> batch = batches->next();
    if (!batch)
      return batch.status();
    for (unsigned replica = 0; replica < session.replicas(); ++replica)
      LOCKSTEP_RETURN_IF_ERROR(session.bindInput(stepProgram, replica, (*batch)->inputs[replica]));
    epoch = (*batch)->epoch;
    next = (*batch)->next;
    epochEnded = (*batch)->endsEpoch;
  }
  LOCKSTEP_RETURN_IF_ERROR(stepScalar.set(state.step));
  LOCKSTEP_RETURN_IF_ERROR(session.run(stepProgram));
  if (metricsFile.isOpen()) {
    metrics->appendLine(metricsFile.lines(), state.step, epoch);
    LOCKSTEP_RETURN_IF_ERROR(metricsFile.endLine());
  }
  ++state.step;
  state.cursor = next;
  if (!std::isfinite(metrics->shownValue()) && !sawNonFinite) {
    sawNonFinite = true;
    progress->clear();
    printNote(fmt::format("step {}: {} is {}", state.step, metrics->shownName(), metrics->shownValue()));
  }
  progress->step(state.step, epoch, metrics->shownValue());
  return Status::success();
}

Status Training::evaluate() {
  Time begin = Clock::now();
  // For the evaluation, `step` is the number of completed steps.
  LOCKSTEP_RETURN_IF_ERROR(stepScalar.set(state.step));
  Expected<std::vector<EvaluatedMetric>> result = evaluation->run();
  if (!result)
    return result.status();
  lastEvaluation = std::move(*result);
  evaluatedStep = state.step;
  // A run that is resumed at its end has this line already.
  if (metricsFile.isOpen() && !metricsFile.hasEvaluation(state.step)) {
    metricsFile.lines() +=
        fmt::format("{{\"step\":{},\"epoch\":{},\"evaluate\":{}}}\n", state.step, state.cursor.epoch, toJson(lastEvaluation));
    LOCKSTEP_RETURN_IF_ERROR(metricsFile.endLine());
  }
  excludePause(begin);
  return Status::success();
}

Status Training::save() {
  Time begin = Clock::now();
  // The metrics of the steps in a checkpoint are not written again, so they must not be lost.
  LOCKSTEP_RETURN_IF_ERROR(metricsFile.flush());
  Expected<std::string> path = saveCheckpoint(options.save, state, variables);
  saveFailed = !path.ok();
  if (saveFailed)
    return path.status();
  lastCheckpoint = *path;
  savedStep = state.step;
  excludePause(begin);
  return Status::success();
}

void Training::excludePause(Time begin) {
  Clock::duration pause = Clock::now() - begin;
  pauses += pause;
  progress->excludePause(pause);
}

void Training::salvage() {
  progress->clear();
  if (Status status = metricsFile.flush(); !status.ok())
    printError(status.message());
  if (options.save.empty())
    return;
  if (!session.variablesIntact()) {
    printNote("the step that failed may have updated variables: they are not saved");
  } else if (savedStep != state.step && !saveFailed) {
    if (Status status = save(); !status.ok())
      printError(status.message());
  }
  if (!lastCheckpoint.empty())
    printNote(fmt::format("last checkpoint: '{}'", lastCheckpoint));
}

void Training::printSummary() const {
  uint64_t steps = state.step - firstStep;
  double seconds = std::chrono::duration<double>(stepTime).count();
  std::string text = fmt::format("{} {} step{}", stopSignal() ? "stopped after" : "trained", steps, steps == 1 ? "" : "s");
  if (options.epochs)
    text += fmt::format(" ({} of {} epochs)", std::min(state.cursor.epoch, *options.epochs), *options.epochs);
  if (steps > 0) {
    text += fmt::format(" in {:.2f} s, {:.0f} steps/s", seconds, static_cast<double>(steps) / seconds);
    if (!metrics->shownName().empty())
      text += fmt::format("; {} of the last step {:.6g}", metrics->shownName(), metrics->shownValue());
  }
  fmt::print("{}\n", text);
  if (!lastEvaluation.empty() && evaluatedStep == state.step)
    fmt::print("evaluation: {}\n", toText(lastEvaluation));
  if (!lastCheckpoint.empty())
    fmt::print("checkpoint: {}\n", lastCheckpoint);
}

} // namespace lockstep::run
