//===- ProceduralPrograms.cpp - Programs of procedural cases --------------===//

#include "test/conformance/driver/ProceduralPrograms.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace lockstep::conformance::driver {

static constexpr std::pair<const char *, ProgramHandler> kHandlers[] = {
    {"training", runTraining},
    {"experimental_run_steps_on_iterator", runSteps},
    {"hazard", runHazard},
    {"run", runWithArguments},
    {"strategy_attributes", strategyAttributes},
    {"variable_init", variableInit},
    {"ps_schedule", runSchedule},
};

ProgramHandler findProgramHandler(const Json &one) {
  // Training loops are named by their model.
  std::string kind = one.value("op", one.contains("model") ? "training" : "");
  for (auto [name, handler] : kHandlers)
    if (kind == name)
      return handler;
  return nullptr;
}

std::vector<ConfigurationResult>
describeOutcomes(std::vector<ConfigurationOutcome> outcomes, const Case &one,
                 const Program &program, const Describe &describe) {
  std::vector<ConfigurationResult> results;
  for (const auto &[configuration, outcome] : outcomes) {
    if (const auto *diagnosis = std::get_if<Diagnosis>(&outcome))
      results.push_back(
          {configuration, runtime::invalidArgument(diagnosis->text)});
    else
      results.push_back(
          {configuration,
           describe(one, program, std::get<std::vector<RunResult>>(outcome))});
  }
  return results;
}

/// The arguments of the program for other inputs, which must fit what it was
/// built for.
static std::vector<ArgumentBinding>
argumentsOf(const Program &program, const std::vector<Input> &inputs) {
  std::vector<ArgumentBinding> arguments;
  for (auto [input, built] : llvm::zip_equal(inputs, program.arguments)) {
    for (auto [value, first] :
         llvm::zip_equal(input.values.values, built.values))
      if (value.type.shape != first.type.shape)
        unsupported("runs with inputs of different shapes: '{}'", input.name);
    arguments.push_back({built.name, built.perReplica, input.values.values});
  }
  return arguments;
}

std::vector<ConfigurationResult> execute(const Json &withProgram,
                                         const Describe &describe,
                                         const std::vector<Json> &inputs) {
  return executeScheduled(withProgram, describe, inputs, {});
}

std::vector<ConfigurationResult>
executeScheduled(const Json &withProgram, const Describe &describe,
                 const std::vector<Json> &inputs,
                 const std::vector<unsigned> &workers) {
  std::unique_ptr<MLIRContext> context = createContext();
  try {
    Json json = withProgram;
    if (!inputs.empty())
      json["inputs"] = inputs.front();
    Case one = readCase(json);
    Program program = FrontEnd(one, *context).build();
    std::vector<std::vector<ArgumentBinding>> runs;
    for (const Json &given : inputs) {
      json["inputs"] = given;
      runs.push_back(argumentsOf(program, readCase(json).inputs));
    }
    if (runs.empty())
      runs.push_back(program.arguments);
    std::vector<ConfigurationOutcome> outcomes =
        executeInAllConfigurations(program, one.strategy.replicas, runs);
    if (!workers.empty())
      llvm::append_range(outcomes, executeOnWorkers(program, workers, runs));
    return describeOutcomes(std::move(outcomes), one, program, describe);
  } catch (const CaseError &error) {
    return {{"front end", runtime::invalidArgument(error.what())}};
  }
}

} // namespace lockstep::conformance::driver
