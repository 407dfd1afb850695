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
          {"ways", Json::object()}};
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
  auto judge = [&](const std::string &way,
                   const std::optional<std::string> &reason) {
    if (reason)
      addReason(verdict, way + ": " + *reason);
  };
  auto diagnose = [&](const std::string &way, const std::string &text) {
    verdict["ways"][way] = {{"diagnostic", text}};
    judge(way, expectation.judgeDiagnosis(text));
  };

  std::unique_ptr<MLIRContext> context = createContext();
  try {
    Case one = readCase(json);
    FrontEnd frontEnd(one, *context);
    Program program = frontEnd.build();
    if (withIr)
      verdict["ir"] = printed(*program.module);
    for (const WayOutcome &way :
         executeInAllWays(program, one.strategy.replicas)) {
      if (const auto *diagnosis = std::get_if<Diagnosis>(&way.outcome)) {
        diagnose(way.way, diagnosis->text);
        continue;
      }
      std::vector<Json> observed;
      for (int64_t worker = 0; worker < one.strategy.workers; ++worker)
        observed.push_back(observe(
            one, program, std::get<std::vector<RunResult>>(way.outcome).front(),
            worker));
      verdict["ways"][way.way] = {{"observed", observed}};
      judge(way.way, expectation.judgeObservations(observed));
    }
  } catch (const CaseError &error) {
    diagnose("front end", error.what());
  }
}

static void runHandler(ProgramHandler handler, const Json &one, Json &verdict) {
  for (const WayResult &way : handler(one)) {
    verdict["ways"][way.way] =
        way.result ? Json{{"observed", *way.result}}
                   : Json{{"diagnostic", way.result.status().message()}};
    if (runtime::Status status = judgeProcedural(one, way.result); !status.ok())
      addReason(verdict, way.way + ": " + status.message());
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
