#ifndef LOCKSTEP_PASSES_LOWER_PASSES_TD
#define LOCKSTEP_PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckCastsPass : Pass<"check-casts", "::mlir::ModuleOp"> {
  let summary = "inserts run-time checks of the static sizes that casts of tensors assert";
  let description = [{
    A cast to a static size is undefined behaviour if the value has a different
    size. The pass converts it to a branch: either the size is right, or the run
    aborts with an error at the line of the cast. It follows the lowering of
    collectives, since those of a single replica become casts.

    ```mlir
    // before
    %y = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
    // after
    %size = tensor.dim %x, %c0 : tensor<?xf32>
    %fits = arith.cmpi eq, %size, %c4 : index
    %y = scf.if %fits -> tensor<4xf32> {
      %0 = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    } else {
      cf.assert %fits, "train.py:7: expected {bound} elements along dimension 0 ..., found {value} [E_SHAPE_MISMATCH]"
      %0 = tensor.empty() : tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def StructureControlFlowPass : Pass<"structure-control-flow", "::mlir::ModuleOp"> {
  let summary = "converts branches between blocks, and switches, to structured loops and two-way branches";
  let description = [{
    Later stages support only structured loops and branches with two sides.
    Branches between the blocks of a step become loops and branches, as by
    `lift-cf-to-scf`; a switch becomes nested branches, without cases that no
    replica takes.

    ```mlir
    // before
    scf.index_switch %i
    case 0 { replica.all_reduce sum %x : tensor<4xf32> ... }
    case 1 { replica.all_reduce sum %y : tensor<4xf32> ... }
    default { replica.all_reduce sum %z : tensor<4xf32> ... }
    // after
    %0 = arith.cmpi eq, %i, %c0 : index
    scf.if %0 { replica.all_reduce sum %x : tensor<4xf32> ... } else {
      %1 = arith.cmpi eq, %i, %c1 : index
      scf.if %1 { replica.all_reduce sum %y : tensor<4xf32> ... } else { replica.all_reduce sum %z : tensor<4xf32> ... }
    }
    ```

    A loop of blocks from which no path leads to the end of the step is an
    error, and so is a value of dynamic shape that is defined on only some of
    the paths to a block.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::ub::UBDialect"];
}

def BoundInputsPass : Pass<"bound-inputs", "::mlir::ModuleOp"> {
  let summary = "pads batch tensors of dynamic size to their largest size";
  let description = [{
    `replica.bounds` lists a bound for each dynamic dimension, in order. The
    tensor becomes one of the largest size, of which the step takes a slice; its
    actual size is an additional input, named after the tensor and the
    dimension.

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
  let summary = "lowers cross-replica context: programs become steps, and regions are inlined into replica context";
  let description = [{
    Every rank executes the code in cross-replica context, on its own component
    of per-replica values and on values that are equal on all ranks. Per-replica
    and mirrored types become plain tensors. Reductions and gathers become those
    of replica context; reads and assignments of variables are marked for
    `lower-replica`. A batch of an iterator is loaded by `device.load_batch`;
    the number of batches is the host value `num_batches`. A merge_call has a
    barrier before and behind it: all replicas enter it together, and none
    leaves it before all have ended it.

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
    "::lockstep::collective::CollectiveDialect", "::lockstep::device::DeviceDialect"];
}

def PropagateSlicesPass : Pass<"propagate-slices", "::mlir::ModuleOp"> {
  let summary = "keeps gradients of lookups sparse, up to the scatter into the variable";
  let description = [{
    A tensor made by `replica.slices_to_dense` is zero except for some rows.
    Linear operations on it are applied to the rows only: reductions over
    replicas, sums, differences, negations, conversions of floats,
    multiplications and divisions by one number for all elements. If a variable
    is assigned its old value plus or minus such a tensor, the assignment
    becomes a scatter. Other operations use the dense tensor, which is
    materialized at its original place; a remark names them.

    A row that occurs several times is added, and rounded, several times: the
    result differs from the dense one by rounding errors. It is the same at
    every optimization level, since this pass is not optional.

    ```mlir
    // before
    %dense = replica.slices_to_dense %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<100x2xf32>
    %sum = replica.all_reduce mean %dense : tensor<100x2xf32>
    %old = replica.read @table : tensor<100x2xf32>
    %new = arith.subf %old, %sum : tensor<100x2xf32>
    replica.assign @table, %new : tensor<100x2xf32>
    // after, 4 replicas
    %all, %places = replica.all_reduce_slices mean %rows at %ids : tensor<6x2xf32>, tensor<6xi32> -> tensor<24x2xf32>, tensor<24xi32>
    replica.scatter sub @table, %places, %all : tensor<24xi32>, tensor<24x2xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def LowerReplicaPass : Pass<"lower-replica", "::mlir::ModuleOp"> {
  let summary = "converts the operations of replica context to explicit collectives";
  let description = [{
    All-reduces and all-gathers become a start and a wait; a mean becomes a sum
    and a division (a multiplication where the count is a power of two); with
    one replica they are removed. The sum of a mean of f16 or bf16 is computed
    in f32, so that it is rounded once, after the division. Values that replicas
    assign are first combined by the aggregation of the variable; a scatter
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
  let summary = "promotes variables to SSA values, and converts steps to functions";
  let description = [{
    Variables become arguments and results of a function, bound by
    `#device.binding`; the memory planner later assigns both the same memory.

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

def PartitionVariablesPass : Pass<"partition-variables", "::mlir::ModuleOp"> {
  let summary = "assigns variables to parameter servers, and splits them into shards";
  let description = [{
    Variables are assigned to servers round-robin. One that the strategy's
    partitioner splits becomes one variable per shard, and reads, assignments
    and scatters of it become operations on the shards.

    ```mlir
    // before, 2 replicas and 2 servers
    replica.variable @w : tensor<13x2xf32>
    replica.step @step(...) { %w = replica.read @w : tensor<13x2xf32> ... }
    // after
    device.role @worker ranks 0 count 2
    device.role @server0 ranks 2 count 1
    device.role @server1 ranks 3 count 1
    replica.variable @w.shard0 : tensor<7x2xf32> {device.role = @server0, device.shard = #device.shard<"w" row 0 of 13>}
    replica.variable @w.shard1 : tensor<6x2xf32> {device.role = @server1, device.shard = #device.shard<"w" row 7 of 13>}
    replica.step @step(...) {
      %0 = replica.read @w.shard0 : tensor<7x2xf32>
      %1 = replica.read @w.shard1 : tensor<6x2xf32>
      %w = tensor.concat dim(0) %0, %1 : (tensor<7x2xf32>, tensor<6x2xf32>) -> tensor<13x2xf32>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::lockstep::device::DeviceDialect"];
}

def FoldRankConstantsPass : Pass<"fold-rank-constants", "::mlir::ModuleOp"> {
  let summary = "replaces values that are computed from the rank, but equal on all ranks, by constants";
  let description = [{
    For up to 64 replicas `verify-uniformity` computes the values that follow
    from the replica number, for each replica. A program may be accepted because
    a condition is the same on all of them. The pass makes it a constant, before
    the condition is outlined into a kernel and no longer visible. A loop with
    the same trip count on all replicas, but different bounds, is normalized to
    count from zero.

    ```mlir
    // before: 4 replicas
    %id = replica.id : tensor<i32>
    %i = tensor.extract %id[] : tensor<i32>
    %few = arith.cmpi slt, %i, %c8 : i32
    scf.if %few { ... }
    scf.for %k = %i to %i_plus_2 step %c1 : i32 { ... %k ... }
    // after
    %true = arith.constant true
    scf.if %true { ... }
    scf.for %k = %c0 to %c2 step %c1 : i32 { ... %i + %k * %c1 ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AlignBranchesPass : Pass<"align-branches", "::mlir::func::FuncOp"> {
  let summary = "merges collectives that both sides of a branch issue";
  let description = [{
    Replicas may take different sides of a branch if both issue the same
    collectives (`verify-uniformity` proves it). A collective is one command on
    one channel, so such a branch is split in two at each of them. Equal
    computations that both sides do on its result are hoisted, too.

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

    Loops with the same bounds on both sides, and branches on the same
    condition, are interchanged with the branch if they contain collectives.
    Loop-carried values with the same initial value on both sides, or that
    become the same result of the branch (such as a variable), are merged.

    ```mlir
    // before
    scf.if %first { scf.for %i = %c0 to %n step %c1 { ...the one } } else { scf.for %i = %c0 to %n step %c1 { ...the other } }
    // after
    scf.for %i = %c0 to %n step %c1 { scf.if %first { ...the one } else { ...the other } }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::lockstep::collective::CollectiveDialect"];
}

#endif
