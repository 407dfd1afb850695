//===- Configurations.cpp - configurations of executions ------------------===//

#include "test/conformance/driver/Configurations.h"

#include "passes/Pipelines/Pipelines.h"
#include "test/conformance/driver/SingleConfiguration.h"

#include "mlir/IR/Verifier.h"

#include <fmt/format.h>

using namespace mlir;

namespace lockstep::conformance::driver {

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

static constexpr unsigned kWorkers[] = {1, 2};

static std::string configurationName(bool optimize, unsigned workers) {
  return fmt::format("-O{} with {} worker{}", optimize ? 2 : 0, workers,
                     workers == 1 ? "" : "s");
}

std::vector<std::string> configurationNames() {
  std::vector<std::string> names = {"interpreter"};
  for (bool optimize : {false, true})
    for (unsigned workers : kWorkers)
      names.push_back(configurationName(optimize, workers));
  return names;
}

std::vector<ConfigurationOutcome>
executeInAllConfigurations(const Program &program, int64_t replicas) {
  return executeInAllConfigurations(program, replicas, {program.arguments});
}

std::vector<ConfigurationOutcome>
executeInAllConfigurations(const Program &program, int64_t replicas,
                           const std::vector<Arguments> &runs) {
  std::vector<ConfigurationOutcome> outcomes;
  {
    ErrorCollector errors(program.module.get()->getContext());
    bool isWrong = failed(verify(program.module.get()));
    if (!isWrong && !program.error.empty() && succeeded(verifyProgram(program)))
      errors.add(program.error);
    if (isWrong || !program.error.empty()) {
      Diagnosis diagnosis = errors.take();
      for (const std::string &name : configurationNames())
        outcomes.push_back({name, diagnosis});
      return outcomes;
    }
  }
  outcomes.push_back(
      {"interpreter", interpretProgram(program, replicas, runs)});
  for (bool optimize : {false, true}) {
    auto compiled = compileProgram(program, optimize);
    for (unsigned workers : kWorkers) {
      if (auto *artifact = std::get_if<ArtifactPtr>(&compiled))
        outcomes.push_back({configurationName(optimize, workers),
                            runTogether(program, *artifact, workers, runs)});
      else
        outcomes.push_back({configurationName(optimize, workers),
                            std::get<Diagnosis>(compiled)});
    }
  }
  return outcomes;
}

std::vector<ConfigurationOutcome>
executeOnWorkers(const Program &program, const std::vector<unsigned> &workers,
                 const std::vector<Arguments> &runs) {
  std::vector<ConfigurationOutcome> outcomes;
  for (bool optimize : {false, true}) {
    auto compiled = compileProgram(program, optimize);
    for (unsigned count : workers) {
      std::string name =
          fmt::format("-O{} scheduled on {} worker{}", optimize ? 2 : 0, count,
                      count == 1 ? "" : "s");
      if (auto *artifact = std::get_if<ArtifactPtr>(&compiled))
        outcomes.push_back(
            {name, runOnWorkers(program, *artifact, count, runs)});
      else
        outcomes.push_back({name, std::get<Diagnosis>(compiled)});
    }
  }
  return outcomes;
}

} // namespace lockstep::conformance::driver
