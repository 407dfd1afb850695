//===- Ways.h - The ways in which a program is executed ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_WAYS_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_WAYS_H

#include "test/conformance/driver/FrontEnd.h"

#include <string>
#include <variant>
#include <vector>

namespace lockstep::conformance::driver {

/// What a run leaves behind.
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

struct WayOutcome {
  std::string way;
  /// What each run leaves behind, or why there was an error.
  std::variant<std::vector<RunResult>, Diagnosis> outcome;
};

/// With all dialects. Errors say where they are, not in which operation.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Verifies the program and executes it: by the reference interpreter, and
/// compiled without and with optimizations, with one and with two workers each.
/// A program that does not verify is diagnosed in every way.
std::vector<WayOutcome> executeInAllWays(const Program &program,
                                         int64_t replicas);
/// The same, once for each of `runs`, which are the program's arguments each
/// time. Variables keep their values in between.
std::vector<WayOutcome>
executeInAllWays(const Program &program, int64_t replicas,
                 const std::vector<std::vector<ArgumentBinding>> &runs);

/// Compiled without and with optimizations, each of `runs` scheduled on some
/// worker of a coordinator; for each number of workers. Of a program that
/// `executeInAllWays` accepts. What the variables are after a run is what they
/// are in the end.
std::vector<WayOutcome>
executeOnWorkers(const Program &program, const std::vector<unsigned> &workers,
                 const std::vector<std::vector<ArgumentBinding>> &runs);

/// Their names.
std::vector<std::string> wayNames();

/// What the names that are observed, and the variables, look like to a worker:
/// `{"outputs": {"r": {"per_replica": [...]}}, "variables": {"v":
/// {"components": [...]}}}`.
Json observe(const Case &one, const Program &program, const RunResult &result,
             int64_t worker);

} // namespace lockstep::conformance::driver

#endif
