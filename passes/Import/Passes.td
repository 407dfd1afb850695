#ifndef LOCKSTEP_PASSES_IMPORT_PASSES_TD
#define LOCKSTEP_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def FillUnwrittenPass : Pass<"fill-unwritten", "::mlir::ModuleOp"> {
  let summary = "makes zeros of memory that may be read before it is written";
  let description = [{
    What a program reads of a `tensor.empty` or a `bufferization.alloc_tensor` before it is written is zero, on all replicas: so a
    program always computes the same, and a replica does not decide by what its memory happened to hold. A tensor is filled unless all of
    its elements are provably overwritten first: by an operation that does not read its destination and has a loop for each dimension
    of it, or by insertions at constant places that do not overlap.

    This comes first of all passes, since upstream's take the elements of a `tensor.empty` to be any that suit them.

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
  let summary = "turns captured functions into variables and steps";
  let description = [{
    State goes into a captured function and comes out of it; here it becomes variables that the step reads and assigns.
    This comes first: operations of the replica dialect are valid only in a step. Variables that several functions
    name are declared once. Private functions are left to `--import-stablehlo`, which inlines them.

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
  let summary = "rewrites what legalization to linalg left of a captured program";
  let description = [{
    JAX's own passes turn most of StableHLO into `linalg` on tensors. This pass rewrites the rest: `while`, `case` and
    `if` to `scf`, `scatter`, `select_and_scatter` and `sort` to loops in a fixed order, and `custom_call @replica.*` to
    the replica dialect; the function of a `replica.merge_call` becomes its region. An operation that it does not know is
    an error with its name and source line.

    All integers become signless (operations already say whether they read them as unsigned), calls are inlined, and
    attributes of JAX and XLA are dropped. A `while` loop whose trip count is known when it starts becomes `scf.for`.

    ```mlir
    // before
    %0 = "stablehlo.custom_call"(%g) <{call_target_name = "replica.all_reduce", backend_config = {reduction = "MEAN"}, ...}> : (tensor<4xf32>) -> tensor<4xf32>
    // after
    %0 = replica.all_reduce mean %g : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::math::MathDialect", "::lockstep::replica::ReplicaDialect"];
}

def WidenAccumulationPass : Pass<"widen-accumulation", "::mlir::ModuleOp"> {
  let summary = "takes sums and products of f16 and bf16 in f32";
  let description = [{
    A reduction of half precision that rounds after every element loses most digits: a sum of ones in bf16 stays at 256. So reductions
    by addition or multiplication (products of matrices, convolutions, windows) accumulate in f32 and round once, at the end. The product
    of two elements that is added is not rounded either. Other combinations, such as the maximum, are exact as they are.

    This is part of what a program means, not an optimization: the interpreter sees the same.

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

def UnrollSmallLoopsPass : Pass<"unroll-small-loops", "::mlir::ModuleOp"> {
  let summary = "unrolls loops of a few trips over a few cheap operations";
  let description = [{
    JAX writes the rounds of its random number generator as a loop. Unrolled, they fuse with the computation around
    them into one kernel. A loop is unrolled if it has at most `max-trips` trips, becomes at most `max-ops` operations,
    and if no operation in it reduces (as matrix products and convolutions do), communicates or is a loop itself: those
    are worth a launch of their own.

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
  let summary = "makes regions of the steps that programs run";
  let description = [{
    What is in a step depends on what it is run with: uniform arguments stay uniform. A step that the host cannot run by itself,
    because arguments of it are bound to nothing, is gone afterwards.

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

    A `replica.run_steps` becomes an `scf.for` that gets a batch, runs the step and reduces its results. Its outputs that are no tensors
    become `device.constant_output`s of the program.
  }];
  let dependentDialects = ["::lockstep::device::DeviceDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif
