//===- Options.h - the command line of lockstep-run -------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_OPTIONS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_OPTIONS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lockstep::run {

/// What the process ends with. Signals end it with 128 + their number, as in a
/// shell.
enum ExitStatus : int {
  exitSuccess = 0,
  exitError = 1,
  exitUsage = 2,
  /// No progress for the deadline.
  exitDeadline = 3,
};

/// The options as given; empty and absent means not given.
struct Options {
  std::string model;

  std::string data;
  std::string evalData;
  /// Arrays for one step by hand, instead of training.
  std::string inputs;
  /// The program to run; empty: `step`, or the only one.
  std::string program;
  std::string init;
  /// "drop" or "distribute".
  std::string remainder = "drop";
  /// Examples of a step; 0: the rows of all replicas.
  uint64_t globalBatch = 0;
  std::optional<uint64_t> epochs;
  std::optional<uint64_t> steps;
  std::optional<uint64_t> seed;
  /// NAME=VALUE
  std::vector<std::string> scalars;
  /// Epochs between evaluations.
  uint64_t evalEvery = 1;

  std::string metrics;
  std::string save;
  /// Steps between checkpoints; 0: only at the end.
  uint64_t saveEvery = 0;
  bool resume = false;

  unsigned threads = 0;
  /// Of the workers.
  unsigned executors = 1;
  /// Workers that take steps on their own; nothing: all replicas take steps
  /// together.
  std::optional<unsigned> workers;
  std::optional<unsigned> replicas;
  std::string target;
  /// File with the keys of those whose artifacts are executed.
  std::optional<std::string> trust;
  /// Level for `lockstep-compile`, "0" or "2".
  std::string optimization;

  double deadlineSeconds = 60;
  std::chrono::nanoseconds deadline() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(deadlineSeconds));
  }
  std::string report;
  std::string trace;
  bool checkRaces = false;
  bool checkFinite = false;
  bool fillMemory = false;
  bool shadowVariables = false;
  /// Steps between comparisons; 0: none.
  uint64_t checkMirrored = 0;
  std::vector<std::string> injections;
};

/// Reads the command line. Gives the exit status instead when there is nothing
/// to run: after
/// `--help`, and after an error, which has been printed.
std::variant<Options, int> parseOptions(int argc, const char *const *argv);

/// Prints "lockstep-run: error: MESSAGE" to the standard error output.
void printError(const std::string &message);
/// Prints "lockstep-run: MESSAGE" to the standard error output.
void printNote(const std::string &message);

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_OPTIONS_H
