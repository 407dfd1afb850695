#ifndef LOCKSTEP_PASSES_MEMORY_PASSES_TD
#define LOCKSTEP_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every value its place in memory, and turns steps into programs";
  let description = [{
    Lifetimes come from the schedule. Members of a bucket lie side by side; an updated variable is written in place where its old value is
    no longer needed, and costs a copy, with a remark, where it is; values that are equal on all replicas are stored once a process, computed in `device.once`.
  }];
  let options = [Option<"reuse", "reuse", "bool", /*default=*/"true", "let values whose lifetimes do not overlap share memory">];
  let dependentDialects = ["::lockstep::device::DeviceDialect"];
}

#endif
