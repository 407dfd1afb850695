#ifndef LOCKSTEP_PASSES_SCHEDULE_PASSES_TD
#define LOCKSTEP_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleCollectivesPass : Pass<"schedule-collectives", "::mlir::func::FuncOp"> {
  let summary = "starts collectives as early as their operands allow and waits as late as their uses allow";
  let description = [{
    A list scheduler for each block. Among the operations whose operands are there, it takes first the start of a collective, then a
    replica's own work, then a wait, and last what is done once for all replicas, before which they have to meet. Collectives keep their
    order, so that it is the same on all replicas.

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
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

def AssignChannelsPass : Pass<"assign-channels", "::mlir::ModuleOp"> {
  let summary = "numbers the collectives of every step in program order";
  let description = [{
    A channel is a collective's number in its step, counted in program order, those in loops and branches among them; a barrier has one,
    and a wait has that of its start. Numbers from before are replaced. All replicas have the same program, so a number names the same
    collective on each of them.

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
