#ifndef LOCKSTEP_PASSES_LOWER_PASSES_TD
#define LOCKSTEP_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetReplicasPass : Pass<"set-replicas", "::mlir::ModuleOp"> {
  let summary = "fixes the number of replicas";
  let description = [{
    Sets the count on the module's strategy, or adds a mirrored strategy. A count that differs from the one in the module is an error.
  }];
  let options = [Option<"replicas", "replicas", "int64_t", /*default=*/"0", "number of replicas; 0 keeps the module's">];
  let dependentDialects = ["::lockstep::replica::ReplicaDialect"];
}

def BoundInputsPass : Pass<"bound-inputs", "::mlir::ModuleOp"> {
  let summary = "gives batch tensors of dynamic size memory of their largest size";
  let description = [{
    A dynamic dimension needs a bound, in `replica.bounds`, in order. The tensor becomes one of the largest size, of which the step
    takes a slice; how large it is in a step is an input of its own, named after the tensor and the dimension.

    ```mlir
    // before
    replica.step @step(%x: tensor<?x3xf32> {replica.batch = "x", replica.bounds = array<i64: 8>}) { ... }
    // after
    replica.step @step(%x: tensor<8x3xf32> {replica.batch = "x"}, %n: tensor<i64> {replica.batch = "x.dim0"}) {
      %0 = tensor.extract %n[] : tensor<i64>
      %1 = arith.index_cast %0 : i64 to index
      %2 = tensor.extract_slice %x[0, 0] [%1, 3] [1, 1] : tensor<8x3xf32> to tensor<?x3xf32>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def SpliceContextsPass : Pass<"splice-contexts", "::mlir::ModuleOp"> {
  let summary = "leaves one context: programs become steps, and regions of the other context what is around them";
  let description = [{
    Every rank executes what is in cross-replica context, on its own component of per-replica values and on values that are equal
    everywhere. Wrapped types end here. Reductions and gathers become those of replica context; reads and assignments of variables keep
    a mark, for `lower-replica`. A batch of an iterator is loaded by `device.load_batch`; how many there are is the host value `num_batches`.

    ```mlir
    // before
    replica.program @main(%x: !replica.per_replica<tensor<4xf32>> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "r"}) {
      %y = replica.run (%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>> { ... }
      %r = replica.reduce sum %y : !replica.per_replica<tensor<4xf32>> -> tensor<4xf32>
      replica.return %r : tensor<4xf32>
    }
    // after
    replica.step @main(%x: tensor<4xf32> {replica.batch = "x"}) -> (tensor<4xf32> {replica.result = "r"}) {
      ...
      %r = replica.all_reduce sum %y : tensor<4xf32>
      replica.return %r : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::lockstep::device::DeviceDialect"];
}

def LowerReplicaPass : Pass<"lower-replica", "::mlir::ModuleOp"> {
  let summary = "turns the operations of replica context into explicit collectives";
  let description = [{
    All-reduces and all-gathers become a start and a wait; a mean becomes a sum and a division (a multiplication where the
    count is a power of two); with one replica, nothing is left of them. The sum below a mean of f16 or bf16
    is f32, so that it is rounded once, after the division. What replicas assign is aggregated first, as the variable says; a scatter
    becomes a loop over the rows of all replicas.

    ```mlir
    // before, 4 replicas
    %g = replica.all_reduce mean %d : tensor<4xf32>
    // after
    %h = collective.start all_reduce sum @all (%d : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%d : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %g = linalg.generic ... ins(%s) { arith.mulf %in, 2.5e-01 }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::scf::SCFDialect", "::lockstep::collective::CollectiveDialect"];
}

def LowerVariablesPass : Pass<"lower-variables", "::mlir::ModuleOp"> {
  let summary = "turns reads and assignments of variables into values, and steps into functions";
  let description = [{
    Variables become arguments and results of a function, bound by `#device.binding`; the memory planner later gives both the same memory.

    ```mlir
    // before
    replica.step @step() { %w = replica.read @w : tensor<4xf32> ... replica.assign @w, %new : tensor<4xf32> replica.return }
    // after
    func.func @step(%w: tensor<4xf32> {device.binding = #device.binding<variable "w">})
        -> (tensor<4xf32> {device.binding = #device.binding<variable "w">}) { ... return %new }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::lockstep::device::DeviceDialect"];
}

def AlignBranchesPass : Pass<"align-branches", "::mlir::func::FuncOp"> {
  let summary = "makes one of the collectives that both sides of a branch issue";
  let description = [{
    Replicas may take a branch differently if both sides issue the same collectives (`verify-uniformity` proves it). A collective is
    one command on one channel, so such a branch is cut in two at each of them. What both sides compute from
    the result alike moves out too.

    ```mlir
    // before: %first differs between replicas
    %r = scf.if %first -> tensor<4xf32> {
      %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      scf.yield %s : tensor<4xf32>
    } else {
      ...the same of %y, squared
    }
    // after
    %z = scf.if %first -> tensor<4xf32> { scf.yield %x : tensor<4xf32> } else { scf.yield %y : tensor<4xf32> }
    %h = collective.start all_reduce sum @all (%z : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%z : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %r = scf.if %first -> tensor<4xf32> { scf.yield %s : tensor<4xf32> } else { ...%s squared }
    ```

    Loops there are not cut: a collective in one is an error.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::lockstep::collective::CollectiveDialect"];
}

#endif
