//===- Progress.cpp - shows the progress of a run -------------------------===//

#include "runtime/training/Progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lockstep::training {

namespace {

constexpr auto drawInterval = std::chrono::milliseconds(100);
constexpr uint64_t mostLines = 30;
constexpr unsigned barWidth = 20, defaultColumns = 80;

unsigned terminalColumns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return defaultColumns;
}

} // namespace

std::string rateText(double stepsPerSecond) {
  return stepsPerSecond >= 100 ? fmt::format("{:.0f} steps/s", stepsPerSecond)
                               : fmt::format("{:#.3g} steps/s", stepsPerSecond);
}

Progress::Progress(const Goal &goal, bool isShown)
    : goal(goal), isShown(isShown), terminal(isatty(STDERR_FILENO)),
      lastStep(goal.firstStep), lastTime(std::chrono::steady_clock::now()) {
  uint64_t units = goal.epochs ? goal.epochs : goal.steps;
  stride = std::max<uint64_t>(1, (units + mostLines - 1) / mostLines);
}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (!barIsShown)
    return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  barIsShown = false;
}

std::string Progress::metricText(double loss) const {
  return metric.empty() ? std::string()
                        : fmt::format(", {} {:.5g}", metric, loss);
}

void Progress::maybeDraw(uint64_t step, uint64_t epoch, double loss) {
  auto now = std::chrono::steady_clock::now();
  if (now - lastTime < drawInterval)
    return;
  double rate = static_cast<double>(step - lastStep) /
                std::chrono::duration<double>(now - lastTime).count();
  // Smoothed, so that the digits are stable enough to read.
  stepsPerSecond =
      stepsPerSecond == 0 ? rate : 0.8 * stepsPerSecond + 0.2 * rate;
  lastTime = now;
  lastStep = step;
  draw(step, epoch, loss);
}

void Progress::draw(uint64_t step, uint64_t epoch, double loss) {
  uint64_t steps = std::max(goal.steps, step);
  auto filled = static_cast<unsigned>(barWidth * static_cast<double>(step) /
                                      static_cast<double>(steps));
  std::string text =
      fmt::format("{:>3}% [{:=<{}}{:<{}}] {}/{}", step * 100 / steps, "",
                  filled, "", barWidth - filled, step, steps);
  text += metricText(loss);
  if (goal.epochs)
    text += fmt::format(", epoch {}/{}", std::min(epoch + 1, goal.epochs),
                        goal.epochs);
  text += ", " + rateText(stepsPerSecond);
  text.resize(std::min<size_t>(text.size(), terminalColumns() - 1));
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  barIsShown = true;
}

void Progress::printLine(uint64_t step, uint64_t epoch, double loss,
                         const std::string &evaluation) {
  auto now = std::chrono::steady_clock::now();
  double seconds = std::chrono::duration<double>(now - lastTime).count();
  double rate =
      seconds > 0 ? static_cast<double>(step - lastStep) / seconds : 0;
  lastTime = now;
  lastStep = step;
  std::string place = goal.epochs ? fmt::format("epoch {}/{}, step {}", epoch,
                                                goal.epochs, step)
                                  : fmt::format("step {}/{}", step, goal.steps);
  fmt::print(stderr, "{}{}{}{}, {}\n", place, metricText(loss),
             evaluation.empty() ? "" : ", ", evaluation, rateText(rate));
}

void Progress::endEpoch(uint64_t step, uint64_t epoch, double loss,
                        const std::string &evaluation) {
  if (isShown && !terminal && goal.epochs != 0 &&
      (epoch % stride == 0 || epoch == goal.epochs))
    printLine(step, epoch, loss, evaluation);
}

} // namespace lockstep::training
