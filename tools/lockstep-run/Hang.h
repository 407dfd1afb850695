//===- Hang.h - what happens when a deadline is missed ----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H

#include "runtime/executor/Cluster.h"

#include <atomic>
#include <functional>
#include <string>

namespace lockstep::training {

/// Reports a missed deadline, and sees to it that the process ends. The run
/// that was given up normally returns with an error, and the main thread
/// decides how to end. If the main thread itself is in a kernel that never
/// ends, the handler does so instead, a moment later: it brings into safety
/// what there is and leaves the process.
class HangHandler {
public:
  /// `reportFile` receives the report as JSON; empty: none.
  explicit HangHandler(std::string reportFile)
      : reportFile(std::move(reportFile)) {}

  /// What the handler does before it ends the process. The main thread does not
  /// come back from its run, and does nothing meanwhile.
  void rescueBy(std::function<void()> given) { rescue = std::move(given); }

  /// Called by the watchdog: prints and writes the report.
  void onDeadline(const runtime::DeadlineReport &report);
  /// Called by the watchdog: the same, of replicas that wait for others that go
  /// on. The run goes on.
  void onLongWait(const runtime::DeadlineReport &report);
  /// The run is being given up for another reason: the process will end with
  /// `status`.
  void interrupted(int status) { endSoon(status); }

  /// Called by the main thread when the run has returned: from now on it
  /// decides how to end.
  void runReturned();

private:
  void print(const runtime::DeadlineReport &report);
  void endSoon(int status);

  std::string reportFile;
  std::function<void()> rescue;
  /// Set by who ends the process: the main thread or the handler.
  std::atomic<bool> decided = false;
};

} // namespace lockstep::training

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H
