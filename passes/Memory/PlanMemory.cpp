//===- PlanMemory.cpp - Allocate memory for all values --------------------===//

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "passes/Memory/BuildProgram.h"
#include "passes/Memory/MemoryRemarks.h"
#include "passes/Memory/Placement.h"
#include "passes/Memory/Storage.h"
#include "passes/Passes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"

namespace {
/// Checks the postconditions of earlier passes.
LogicalResult checkPrepared(func::FuncOp step) {
  if (!step.getBody().hasOneBlock())
    return step.emitOpError(
        "expected a body of one block; run 'structure-control-flow' first");
  WalkResult result = step.walk([](CollectiveOpInterface op) {
    return op.getChannelNumber()
               ? WalkResult::advance()
               : WalkResult(op.emitOpError(
                     "expected a channel; run 'assign-channels' first"));
  });
  return failure(result.wasInterrupted());
}

struct PlanMemory : impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> replicas = replica::getReplicaCount(module);
    if (failed(replicas))
      return signalPassFailure();
    FailureOr<ModuleLayout> moduleLayout = ModuleLayout::create(module);
    if (failed(moduleLayout))
      return signalPassFailure();
    for (auto step : module.getOps<func::FuncOp>())
      if (failed(checkPrepared(step)))
        return signalPassFailure();
    for (func::FuncOp step :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      StepLayout layout(*moduleLayout, step);
      device::RoleOp role = device::getRole(step);
      int64_t ranks = role ? role.getRanks() : *replicas;
      FailureOr<StoragePlan> plan = assignStorages(step, ranks, reuse, layout);
      if (failed(plan))
        return signalPassFailure();
      PlacementResult placement = placeStorages(*plan, reuse);
      explainMemory(step, *plan, placement, ranks);
      FailureOr<device::ProgramOp> program =
          buildProgram(step, *plan, placement, layout, ranks);
      if (failed(program))
        return signalPassFailure();
      explainOnce(*program, ranks);
    }
    moduleLayout->emit(module);
  }
};
} // namespace
} // namespace lockstep
