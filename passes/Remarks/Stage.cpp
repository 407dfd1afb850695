//===- Stage.cpp - The stages of the compilation --------------------------===//

#include "passes/Remarks/Stage.h"

#include "llvm/Support/ErrorHandling.h"

#include <utility>

using namespace lockstep;
using llvm::StringLiteral;
using llvm::StringRef;

static constexpr std::pair<Stage, StringLiteral> kStageNames[] = {
    {Stage::Import, "import"},   {Stage::Verify, "verify"},
    {Stage::Lower, "lower"},     {Stage::Simplify, "simplify"},
    {Stage::Roles, "roles"},     {Stage::Kernels, "kernels"},
    {Stage::Bucket, "bucket"},   {Stage::Schedule, "schedule"},
    {Stage::Codegen, "codegen"}, {Stage::Memory, "memory"},
};

StringRef lockstep::stringifyStage(Stage stage) {
  for (auto [value, name] : kStageNames)
    if (value == stage)
      return name;
  llvm_unreachable("unknown stage");
}

std::optional<Stage> lockstep::symbolizeStage(StringRef text) {
  for (auto [value, name] : kStageNames)
    if (name == text)
      return value;
  return std::nullopt;
}
