#ifndef LOCKSTEP_PASSES_IMPORT_PASSES_TD
#define LOCKSTEP_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def FillUnwrittenPass : Pass<"fill-unwritten", "::mlir::ModuleOp"> {
  let summary = "initializes tensors that may be read before they are written to zero";
  let description = [{
    Elements of a `tensor.empty` or a `bufferization.alloc_tensor` that are read
    before they are written are zero, on all replicas. So a program is
    deterministic, and control flow does not depend on uninitialized memory of a
    replica. A tensor is filled unless all of its elements are provably
    overwritten first: by an operation that does not read its destination and
    has a loop for each of its dimensions, or by insertions at constant
    positions that do not overlap.

    This is the first pass, since upstream's passes may assume any contents of a
    `tensor.empty`.

    ```mlir
    // before
    %0 = tensor.empty() : tensor<8xf32>
    %1 = tensor.insert %x into %0[%i] : tensor<8xf32>
    // after
    %zero = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<8xf32>
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
    %2 = tensor.insert %x into %1[%i] : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def ImportStepsPass : Pass<"import-steps", "::mlir::ModuleOp"> {
  let summary = "converts captured functions to variables and steps";
  let description = [{
    State consists of arguments and results of a captured function. The pass
    converts it to variables, which the step reads and assigns. It runs before
    `--import-stablehlo`, because operations of the replica dialect are valid
    only in a step. Variables that several functions name are declared once.
    Private functions are left to `--import-stablehlo`, which inlines them.

    ```mlir
    // before
    func.func @step(%w: tensor<4xf32> {replica.variable = "w"}, %x: tensor<2x4xf32> {replica.batch = "x"})
        -> (tensor<4xf32> {replica.variable = "w"}, tensor<f32> {replica.metric = "loss"})
    // after
    replica.variable @w : tensor<4xf32>
    replica.step @step(%x: tensor<2x4xf32> {replica.batch = "x"}) -> (tensor<f32> {replica.metric = "loss"}) {
      %w = replica.read @w : tensor<4xf32>
      ...
      replica.assign @w, %new : tensor<4xf32>
      replica.return %loss : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::lockstep::replica::ReplicaDialect"];
}

def ImportStableHLOPass : Pass<"import-stablehlo", "::mlir::ModuleOp"> {
  let summary = "converts the operations that legalization to linalg leaves in a captured program";
  let description = [{
    JAX's own passes convert most of StableHLO to `linalg` on tensors. This pass
    converts the rest: `while`, `case` and `if` to `scf`, `scatter`,
    `select_and_scatter` and `sort` to loops in a fixed order (a scatter of one
    element for each batch to an element-wise selection, and the gradient of a
    pool with small windows to operations whose elements gather what they need,
    in the same order), `custom_call @replica.*` to the replica dialect, and
    `custom_call @lockstep.attention*` to `device.attention` and its gradient;
    the function of a `replica.merge_call` becomes its region. An unsupported
    operation is an error with its name and source line.

    All integers become signless (operations already specify whether they are
    unsigned), calls are inlined, and attributes of JAX and XLA are dropped. A
    `while` loop whose trip count is known when it starts becomes `scf.for`.

    ```mlir
    // before
    %0 = "stablehlo.custom_call"(%g) <{call_target_name = "replica.all_reduce", backend_config = {reduction = "MEAN"}, ...}> : (tensor<4xf32>) -> tensor<4xf32>
    // after
    %0 = replica.all_reduce mean %g : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::lockstep::device::DeviceDialect",
                           "::lockstep::replica::ReplicaDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def WidenAccumulationPass : Pass<"widen-accumulation", "::mlir::ModuleOp"> {
  let summary = "accumulates sums and products of f16 and bf16 in f32";
  let description = [{
    A reduction in half precision that rounds after every element loses most
    digits: a sum of ones in bf16 stays at 256. So reductions by addition or
    multiplication (products of matrices, convolutions, windows) accumulate in
    f32 and round once, at the end. A product of two elements is not rounded
    before it is added, either. Other reductions, such as the maximum, are exact
    already.

    This is part of the semantics of a program, not an optimization: the
    interpreter executes the same operations.

    ```mlir
    // before
    %0 = linalg.matmul ins(%a, %b : tensor<2x8xbf16>, tensor<8x3xbf16>) outs(%zero : tensor<2x3xbf16>) -> tensor<2x3xbf16>
    // after
    %1 = linalg.generic ... ins(%a, %b : tensor<2x8xbf16>, tensor<8x3xbf16>) outs(%wide_zero : tensor<2x3xf32>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %x32 = arith.extf %x : bf16 to f32
      %y32 = arith.extf %y : bf16 to f32
      %product = arith.mulf %x32, %y32 : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<2x3xf32>
    %0 = linalg.generic ... ins(%1 : tensor<2x3xf32>) ... { ... arith.truncf ... } -> tensor<2x3xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AvoidLoopOverflowPass : Pass<"avoid-loop-overflow", "::mlir::ModuleOp"> {
  let summary = "counts iterations of loops whose induction variable overflows";
  let description = [{
    A loop is lowered to a comparison of the next value of its induction
    variable with the upper bound. If the bounds are constants near the largest
    number, that value may overflow behind the last iteration, and the loop
    would not end. Of other bounds it is not known.

    ```mlir
    // before
    %lower = arith.constant 9223372036854775800 : index
    %upper = arith.constant 9223372036854775807 : index
    scf.for %i = %lower to %upper step %c5 {
      ...
    }
    // after
    scf.for %n = %c0 to %c2 step %c1 {
      %distance = arith.muli %n, %c5 : index
      %i = arith.addi %lower, %distance : index
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def UnrollSmallLoopsPass : Pass<"unroll-small-loops", "::mlir::ModuleOp"> {
  let summary = "unrolls loops of a few iterations over a few cheap operations";
  let description = [{
    JAX writes the rounds of its random number generator as a loop. Unrolled,
    they are fused with the computation around them into one kernel. A loop is
    unrolled if it has at most `max-trips` iterations, becomes at most `max-ops`
    operations, and contains no reductions (such as matrix products and
    convolutions), communication or loops, which are large enough for kernels of
    their own.

    ```mlir
    // before
    %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %init) -> (tensor<4xi32>) {
      %y = linalg.generic ... ins(%x) ...
      scf.yield %y : tensor<4xi32>
    }
    // after
    %0 = linalg.generic ... ins(%init) ...
    %r = linalg.generic ... ins(%0) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"maxTrips", "max-trips", "int64_t", "8", "most trips of a loop that is unrolled">,
    Option<"maxOps", "max-ops", "int64_t", "1024", "most operations that a loop becomes">];
}

def InlineRunsPass : Pass<"inline-runs", "::mlir::ModuleOp"> {
  let summary = "inlines the steps that programs run";
  let description = [{
    Inlining makes the arguments of each run visible to analyses, so that
    uniform arguments remain uniform. A step that the host cannot run directly,
    because some of its arguments have no binding, is erased afterwards.

    ```mlir
    // before
    %y = replica.run @double(%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>>
    // after
    %y = replica.run (%x : !replica.per_replica<tensor<4xf32>>) -> !replica.per_replica<tensor<4xf32>> {
    ^bb0(%mine: tensor<4xf32>):
      %0 = arith.addf %mine, %mine : tensor<4xf32>
      replica.yield %0 : tensor<4xf32>
    }
    ```

    A `replica.run_steps` becomes an `scf.for` that takes a batch, runs the step
    and reduces its results. Outputs that are not tensors become
    `device.constant_output`s of the program.
  }];
  let dependentDialects = ["::lockstep::device::DeviceDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif
