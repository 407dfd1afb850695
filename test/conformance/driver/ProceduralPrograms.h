//===- ProceduralPrograms.h - Programs of procedural cases ------*- C++ -*-===//
//
// A procedural case names an operation and its parameters. Those that need the
// compiler have a handler here, which constructs a program for any case of its
// kind and executes it in all configurations;
// `test/conformance/ProceduralCases.h` has those that need none.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_PROCEDURALPROGRAMS_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_PROCEDURALPROGRAMS_H

#include "runtime/support/Status.h"
#include "test/conformance/driver/Configurations.h"

namespace lockstep::conformance::driver {

/// The result of a case in one configuration: the value of "ok" in the case,
/// with several workers a list of their values; or an error.
struct ConfigurationResult {
  std::string configuration;
  runtime::Expected<Json> result;
};

using ProgramHandler = std::vector<ConfigurationResult> (*)(const Json &one);

/// The handler of a case's kind, or null.
ProgramHandler findProgramHandler(const Json &one);

/// The result of the case from the runs of its program.
using Describe = std::function<Json(const Case &one, const Program &program,
                                    const std::vector<RunResult> &runs)>;

/// Builds a case with a program and executes it once; or, with `inputs`, once
/// for each of them, the inputs of the case replaced.
std::vector<ConfigurationResult> execute(const Json &withProgram,
                                         const Describe &describe,
                                         const std::vector<Json> &inputs = {});
/// The same; with `workers`, also with each run scheduled on some worker of a
/// coordinator, for each of these numbers of workers.
std::vector<ConfigurationResult>
executeScheduled(const Json &withProgram, const Describe &describe,
                 const std::vector<Json> &inputs,
                 const std::vector<unsigned> &workers);
/// The outcome of each configuration, as text.
std::vector<ConfigurationResult>
describeOutcomes(std::vector<ConfigurationOutcome> outcomes, const Case &one,
                 const Program &program, const Describe &describe);

// CaseTraining.cpp
std::vector<ConfigurationResult> runTraining(const Json &one);
// RunSteps.cpp
std::vector<ConfigurationResult> runSteps(const Json &one);
// Hazards.cpp
std::vector<ConfigurationResult> runHazard(const Json &one);
std::vector<ConfigurationResult> runWithArguments(const Json &one);
// Schedule.cpp
std::vector<ConfigurationResult> runSchedule(const Json &one);
// StrategyCases.cpp
std::vector<ConfigurationResult> strategyAttributes(const Json &one);
std::vector<ConfigurationResult> variableInit(const Json &one);

} // namespace lockstep::conformance::driver

#endif
