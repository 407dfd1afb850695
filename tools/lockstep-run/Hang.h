//===- Hang.h - actions at a missed deadline --------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H

#include "runtime/executor/Cluster.h"

#include <atomic>
#include <functional>
#include <string>

namespace lockstep::training {

/// Reports a missed deadline and ensures that the process ends. Normally the
/// aborted run returns with an error, and the main thread ends the process. If
/// the main thread itself is inside of a kernel that never ends, the handler
/// saves the results and ends the process after a short delay.
class HangHandler {
public:
  /// `reportFile` receives the report as JSON; empty: none.
  explicit HangHandler(std::string reportFile)
      : reportFile(std::move(reportFile)) {}

  /// Sets the function that the handler calls before it ends the process, while
  /// the main thread is blocked in its run.
  void setBeforeExit(std::function<void()> given) {
    beforeExit = std::move(given);
  }

  /// Called by the watchdog: prints and writes the report.
  void onDeadline(const runtime::DeadlineReport &report);
  /// Called by the watchdog: the same for replicas that wait while others make
  /// progress. The run continues.
  void onLongWait(const runtime::DeadlineReport &report);
  /// The run is being aborted for another reason: the process will end with
  /// `status`.
  void interrupted(int status) { scheduleExit(status); }

  /// Called by the main thread when the run has returned; from now on it ends
  /// the process.
  void runReturned();

private:
  void print(const runtime::DeadlineReport &report);
  void scheduleExit(int status);

  std::string reportFile;
  std::function<void()> beforeExit;
  /// Set by the thread that ends the process: the main thread or the handler's.
  std::atomic<bool> isExiting = false;
};

} // namespace lockstep::training

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H
