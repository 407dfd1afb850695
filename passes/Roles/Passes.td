#ifndef LOCKSTEP_PASSES_ROLES_PASSES_TD
#define LOCKSTEP_PASSES_ROLES_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertElementwisePass : Pass<"convert-elementwise", "::mlir::func::FuncOp"> {
  let summary = "converts element-wise operations on tensors to linalg.generic";
  let description = [{
    Like upstream's `convert-elementwise-to-linalg`, except for a select between
    two tensors of dynamic shape by one condition: their sizes may differ, so a
    position may be out of bounds in one of them. Such an operation is kept; it
    becomes a branch when dynamic sizes are resolved.

    ```mlir
    // before
    %0 = arith.addf %a, %b : tensor<?xf32>
    %1 = arith.select %c, %0, %b : tensor<?xf32>
    // after
    %0 = linalg.generic ... ins(%a, %b : tensor<?xf32>, tensor<?xf32>) ...
    %1 = arith.select %c, %0, %b : tensor<?xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def ShardUpdatesPass : Pass<"shard-updates", "::mlir::func::FuncOp"> {
  let summary = "computes the new values of shards from slices of their operands";
  let description = [{
    Hoists the slices that are assigned to shards through element-wise
    operations and sums over replicas.

    ```mlir
    // before
    %n = linalg.generic ... ins(%w, %g : tensor<13x2xf32>, tensor<13x2xf32>) ...
    %n1 = tensor.extract_slice %n[7, 0] [6, 2] [1, 1] {replica.shard_of_value} : tensor<13x2xf32> to tensor<6x2xf32>
    // after
    %g1 = tensor.extract_slice %g[7, 0] [6, 2] [1, 1] {replica.shard_of_value} : tensor<13x2xf32> to tensor<6x2xf32>
    %n1 = linalg.generic ... ins(%w.shard1, %g1 : tensor<6x2xf32>, tensor<6x2xf32>) ...
    ```

    With `gradients`, what is summed is computed slice by slice, too, also by
    products, unless something else needs it whole. The sums of the last two
    slices have the attribute `collective.last_piece_of`, by which
    `bucket-collectives` keeps them apart.
  }];
  let options = [Option<"gradients", "gradients", "bool", /*default=*/"false",
    "compute gradients from slices of their operands, too">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::lockstep::collective::CollectiveDialect"];
}

def SplitRolesPass : Pass<"split-roles", "::mlir::ModuleOp"> {
  let summary = "projects each step to one function per role";
  let description = [{
    A server computes the new values of its variables, the replicas compute the
    rest. A value that one role computes and another needs is sent in a
    broadcast; a sum over replicas that a server needs is reduced to it. Each
    function is canonicalized, which removes what only other roles need. Steps
    of modules without roles are not changed.

    ```mlir
    // before
    func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">}, %x: ...) -> (tensor<4xf32> {... variable "w"}) {
      %g = ...%w, %x...
      %h = collective.start all_reduce sum @all (%g : tensor<4xf32>) -> <tensor<4xf32>>
      %s = collective.wait ...
      %n = ...%w, %s...
      return %n
    }
    // after
    func.func @step(%x: ...) attributes {device.role = @worker} {
      %h0 = collective.start broadcast none @replicas_and_server0 root 2 channel 0 () -> <tensor<4xf32>>
      %w = collective.wait ...
      %g = ...%w, %x...
      %h1 = collective.start reduce sum @replicas_and_server0 root 2 channel 1 (%g : tensor<4xf32>) -> <>
      collective.wait ...
    }
    func.func @step.server0(%w: ...) -> (...) attributes {device.role = @server0, device.step = "step"} {
      %h0 = collective.start broadcast none @replicas_and_server0 root 2 channel 0 (%w : tensor<4xf32>) -> <>
      collective.wait ...
      %h1 = collective.start reduce sum @replicas_and_server0 root 2 channel 1 () -> <tensor<4xf32>>
      %s = collective.wait ...
      %n = ...%w, %s...
      return %n
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::lockstep::collective::CollectiveDialect", "::lockstep::device::DeviceDialect"];
}

#endif
