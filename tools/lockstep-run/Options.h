//===- Options.h - the command line of lockstep-run -------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_OPTIONS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_OPTIONS_H

#include "runtime/training/TrainingOptions.h"

#include <variant>

namespace lockstep::training {

/// The exit statuses. Signals end the process with 128 + their number, as in a
/// shell.
enum ExitStatus : int {
  exitSuccess = 0,
  exitError = 1,
  exitUsage = 2,
  /// No progress for the deadline.
  exitDeadline = 3,
};

/// Reads the command line. Returns the exit status if there is nothing to run:
/// after `--help`, and after an error, which has been printed.
std::variant<Options, int> parseOptions(int argc, const char *const *argv);

} // namespace lockstep::training

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_OPTIONS_H
