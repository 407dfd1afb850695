#ifndef LOCKSTEP_PASSES_SCHEDULE_PASSES_TD
#define LOCKSTEP_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleCollectivesPass : Pass<"schedule-collectives", "::mlir::func::FuncOp"> {
  let summary = "starts collectives as early as their operands allow and waits as late as their uses allow";
  let description = [{
    A list scheduler for each block. Among the operations whose operands are
    available, it prefers the start of a collective, then computations of one
    replica, then a wait, and last computations that are executed once for all
    replicas, which have to synchronize for them. Starts come first, so that
    collectives start in the order in which their operands are ready. All
    replicas execute the same function, which makes the order the same on all of
    them; collectives stay behind or before a barrier. In a program of several
    roles the order does not change.

    On a topology where each replica is a process of its own, all computations
    come before a wait, those from which a collective follows before those that
    only hide one; but a wait or a barrier from which a collective follows comes
    when the cost model says that the collective has arrived.

    ```mlir
    // before
    %g = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %h = collective.start all_reduce sum @all(%g : tensor<4xf32>) -> <tensor<4xf32>>
    %s = collective.wait %h(%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
    %b = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    // after
    %g = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %h = collective.start all_reduce sum @all(%g : tensor<4xf32>) -> <tensor<4xf32>>
    %a = device.invoke @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = device.invoke @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %s = collective.wait %h(%g : tensor<4xf32>) : <tensor<4xf32>> -> tensor<4xf32>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", /*default=*/"true", "emit remarks about the schedule">];
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

def AssignChannelsPass : Pass<"assign-channels", "::mlir::ModuleOp"> {
  let summary = "numbers the collectives of every step in program order";
  let description = [{
    A channel is the number of a collective in its step, in program order,
    including those in loops and branches. A barrier has a channel, too; a wait
    uses that of its start. Existing numbers are replaced, except for those of
    exchanges between roles. All replicas have the same program, so a number
    identifies the same collective on each of them.

    ```mlir
    // before
    %h = collective.start all_reduce sum @all(%x : tensor<4xf32>) -> <tensor<4xf32>>
    collective.barrier @all
    // after
    %h = collective.start all_reduce sum @all channel 0(%x : tensor<4xf32>) -> <tensor<4xf32>>
    collective.barrier @all channel 1
    ```
  }];
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

#endif
