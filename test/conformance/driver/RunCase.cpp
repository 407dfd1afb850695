//===- RunCase.cpp - one case in all configurations -----------------------===//

#include "test/conformance/driver/RunCase.h"

#include "test/conformance/ProceduralCases.h"
#include "test/conformance/driver/Case.h"
#include "test/conformance/driver/Compare.h"
#include "test/conformance/driver/ProceduralPrograms.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace lockstep::conformance::driver {

static Json describe(const Json &one) {
  return {{"name", one.value("name", "")},
          {"category", one.value("category", "")},
          {"procedural", !one.contains("program")},
          {"passed", true},
          {"reasons", Json::array()},
          {"configurations", Json::object()}};
}

static void addReason(Json &verdict, const std::string &reason) {
  verdict["passed"] = false;
  verdict["reasons"].push_back(reason);
}

Json failedCase(const Json &one, const std::string &reason) {
  Json verdict = describe(one);
  addReason(verdict, reason);
  return verdict;
}

static std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

static void runProgram(const Json &json, Json &verdict, bool withIr) {
  Expectation expectation(json);
  auto judge = [&](const std::string &configuration,
                   const std::optional<std::string> &reason) {
    if (reason)
      addReason(verdict, configuration + ": " + *reason);
  };
  auto diagnose = [&](const std::string &configuration,
                      const std::string &text) {
    verdict["configurations"][configuration] = {{"diagnostic", text}};
    judge(configuration, expectation.judgeDiagnosis(text));
  };

  std::unique_ptr<MLIRContext> context = createContext();
  try {
    Case one = readCase(json);
    FrontEnd frontEnd(one, *context);
    Program program = frontEnd.build();
    if (withIr)
      verdict["ir"] = printed(*program.module);
    for (const auto &[configuration, outcome] :
         executeInAllConfigurations(program, one.strategy.replicas)) {
      if (const auto *diagnosis = std::get_if<Diagnosis>(&outcome)) {
        diagnose(configuration, diagnosis->text);
        continue;
      }
      std::vector<Json> observed;
      for (int64_t worker = 0; worker < one.strategy.workers; ++worker)
        observed.push_back(
            observe(one, program,
                    std::get<std::vector<RunResult>>(outcome).front(), worker));
      verdict["configurations"][configuration] = {{"observed", observed}};
      judge(configuration, expectation.judgeObservations(observed));
    }
  } catch (const CaseError &error) {
    diagnose("front end", error.what());
  }
}

static void runHandler(ProgramHandler handler, const Json &one, Json &verdict) {
  for (const auto &[configuration, result] : handler(one)) {
    verdict["configurations"][configuration] =
        result ? Json{{"observed", *result}}
               : Json{{"diagnostic", result.status().message()}};
    if (runtime::Status status = judgeProcedural(one, result); !status.ok())
      addReason(verdict, configuration + ": " + status.message());
  }
}

Json runCase(const Json &one, bool withIr) {
  if (one.contains(kMalformed))
    return failedCase(one, one.at(kMalformed).get<std::string>());
  Json verdict = describe(one);
  try {
    if (one.contains("program"))
      runProgram(one, verdict, withIr);
    else if (ProgramHandler handler = findProgramHandler(one))
      runHandler(handler, one, verdict);
    else if (runtime::Status status = runProcedural(one); !status.ok())
      addReason(verdict, status.message());
  } catch (const std::exception &error) {
    // A field that is missing, or of another type than the format says.
    addReason(verdict, fmt::format("malformed case: {}", error.what()));
  }
  return verdict;
}

} // namespace lockstep::conformance::driver
