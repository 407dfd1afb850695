#ifndef LOCKSTEP_PASSES_SIMPLIFY_PASSES_TD
#define LOCKSTEP_PASSES_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyCollectivesPass : Pass<"simplify-collectives", "::mlir::func::FuncOp"> {
  let summary = "removes exchanges whose outcome is known without them";
  let description = [{
    An exchange costs a rendezvous of all ranks, so one that need not be made is left out. Each form, with its reason:

    | before | after | because |
    |---|---|---|
    | `all_reduce` of a uniform value | arithmetic on the spot | every rank has all the operands already |
    | `broadcast` of a uniform value | the value | every rank has it |
    | two collectives with the same operands and attributes | the first | the second would bring the same |
    | a collective whose results nobody uses | nothing | no rank waits for another for it; it is gone on all ranks alike |
    | the sum of two `all_reduce sum` that nothing else uses | `all_reduce sum` of the sums | half the bytes |
    | a barrier beside another one, or beside an `all_reduce` or `all_gather` of its group | nothing | ranks leave these when all have arrived |

    An `all_reduce` of the result of another one is of the first form: that result is uniform.

    The sum of N equal values is formed along the tree by which the collective would add them, `((x + x) + (x + x)) + x` for N = 5, and
    f16 and bf16 are added in f32 there too: so no form but one changes a bit. That one, the sum of sums, is applied to
    integers, which wrap around in any order. To floats it is applied with `reassociate`: each element then is off by up to
    2 N u of the sum of the magnitudes added, u the unit roundoff of the type they are added in.

    ```mlir
    // before, 3 replicas; %u is equal on all
    %h = collective.start all_reduce sum @all (%u : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%u : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    // after
    %s = linalg.generic ... ins(%u) { %two = arith.addf %in, %in; arith.addf %two, %in }

    // before
    %a = all_reduce of %x, %b = all_reduce of %y, %s = linalg.generic ... ins(%a, %b) { arith.addi }
    // after
    %z = linalg.generic ... ins(%x, %y) { arith.addi }, %s = all_reduce of %z

    // before
    collective.barrier @all
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    // after
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    ```
  }];
  let options = [Option<"reassociate", "reassociate", "bool", /*default=*/"false", "add sums of floats in another order where that saves an exchange">];
  let statistics = [Statistic<"removed", "removed", "exchanges removed">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::lockstep::collective::CollectiveDialect"];
}

#endif
