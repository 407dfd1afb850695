#ifndef LOCKSTEP_PASSES_SCHEDULE_PASSES_TD
#define LOCKSTEP_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleCollectivesPass : Pass<"schedule-collectives", "::mlir::func::FuncOp"> {
  let summary = "starts collectives as early as their operands allow and waits as late as their uses allow";
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

def AssignChannelsPass : Pass<"assign-channels", "::mlir::ModuleOp"> {
  let summary = "numbers the collectives of every step in program order";
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

#endif
