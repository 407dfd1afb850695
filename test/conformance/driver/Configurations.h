//===- Configurations.h - configurations of executions ----------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_CONFIGURATIONS_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_CONFIGURATIONS_H

#include "test/conformance/driver/FrontEnd.h"

#include <string>
#include <variant>
#include <vector>

namespace lockstep::conformance::driver {

/// The results of a run.
struct RunResult {
  /// Of each result of the program, one value, or one for each replica.
  std::vector<std::vector<Tensor>> results;
  /// Of each variable, a value for each replica.
  std::vector<std::vector<Tensor>> variables;
  /// Outputs that are no tensors, by name.
  Json constants = Json::object();
};

/// The text of all errors, with their classes.
struct Diagnosis {
  std::string text;
};

/// The outcome of a program in one configuration.
struct ConfigurationOutcome {
  std::string configuration;
  /// The results of each run, or an error.
  std::variant<std::vector<RunResult>, Diagnosis> outcome;
};

/// With all dialects. Errors have locations, without the printed operation.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Verifies the program and executes it: by the reference interpreter, and
/// compiled without and with optimizations, with one and with two workers each.
/// A program that does not verify has an error in every configuration.
std::vector<ConfigurationOutcome>
executeInAllConfigurations(const Program &program, int64_t replicas);
/// The same, once for each of `runs`, which are the program's arguments each
/// time. Variables keep their values in between.
std::vector<ConfigurationOutcome> executeInAllConfigurations(
    const Program &program, int64_t replicas,
    const std::vector<std::vector<ArgumentBinding>> &runs);

/// Compiled without and with optimizations, each of `runs` scheduled on some
/// worker of a coordinator; for each number of workers. For a program that
/// `executeInAllConfigurations` accepts. All runs have the final values of
/// variables.
std::vector<ConfigurationOutcome>
executeOnWorkers(const Program &program, const std::vector<unsigned> &workers,
                 const std::vector<std::vector<ArgumentBinding>> &runs);

/// The names of the configurations of `executeInAllConfigurations`.
std::vector<std::string> configurationNames();

/// The observed names and variables of a worker: `{"outputs": {"r":
/// {"per_replica": [...]}}, "variables": {"v": {"components": [...]}}}`.
Json observe(const Case &one, const Program &program, const RunResult &result,
             int64_t worker);

} // namespace lockstep::conformance::driver

#endif
