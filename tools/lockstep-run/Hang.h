//===- Hang.h - what happens when a deadline is missed ----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H

#include "runtime/executor/Session.h"

#include <atomic>
#include <functional>
#include <string>

namespace lockstep::run {

/// Reports a missed deadline. The run then normally returns with an error, and the main thread can
/// still save what is intact. If the main thread itself is in a kernel that never ends, nobody else
/// is left to end the process: then it ends here, a few seconds later.
class HangHandler {
public:
  /// `reportFile` receives the report as JSON; empty: none.
  explicit HangHandler(std::string reportFile) : reportFile(std::move(reportFile)) {}

  /// Called by the watchdog: prints and writes the report.
  void onDeadline(const runtime::DeadlineReport &report);

  /// Called by the main thread when the run has returned: from now on it decides how to end.
  void runReturned();

private:
  std::string reportFile;
  /// Set by who ends the process after a missed deadline: the main thread or the handler.
  std::atomic<bool> decided = false;
};

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANG_H
