#ifndef LOCKSTEP_PASSES_SIMPLIFY_PASSES_TD
#define LOCKSTEP_PASSES_SIMPLIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyCollectivesPass : Pass<"simplify-collectives", "::mlir::func::FuncOp"> {
  let summary = "removes redundant collectives and barriers";
  let description = [{
    A collective costs a rendezvous of all ranks, so redundant ones are removed.
    The simplifications, with their reasons:

    | before | after | because |
    |---|---|---|
    | `all_reduce` of a uniform value | local arithmetic | every rank has all the operands already |
    | `broadcast` of a uniform value | the value | every rank has it |
    | two collectives with the same operands and attributes | the first | the second would have the same results |
    | a collective without uses of its results | nothing | it is removed on all ranks, so that no rank waits in it |
    | the sum of two `all_reduce sum` without other uses | `all_reduce sum` of the sums | half the bytes |
    | an `all_reduce` of which each rank uses its own part of the rows only, also behind element-wise operations on it and on constants (the division of a mean, a cast) | `reduce_scatter`, and these operations on a part | half the bytes, and no rank computes what it does not use |
    | an `all_gather` of what a `reduce_scatter` of the same group leaves, without other uses | `all_reduce` | one collective instead of two |
    | an `all_gather` of the parts that ranks take of a uniform value | the value | every rank has it |
    | a barrier next to another one, or next to an `all_reduce` or `all_gather` of its group | nothing | ranks leave these when all have arrived |

    An `all_reduce` of the result of another one is a case of the first form:
    that result is uniform.

    The sum of N equal values is computed with the same tree as in the
    collective, `((x + x) + (x + x)) + x` for N = 5, with f16 and bf16 added in
    f32, too, so that the result is bit-identical. Only one form may change
    results, the sum of sums. It is applied to integers, which wrap around in
    any order, and to floats only with `reassociate`: the error of each element
    is then at most 2 N u times the sum of the magnitudes added, where u is the
    unit roundoff of the type in which they are added.

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

    // before, 2 replicas; %row is 0 on replica 0 and 2 on replica 1
    %s = all_reduce of %x : tensor<4xf32>, %p = tensor.extract_slice %s[%row] [2] [1]
    // after
    %p = reduce_scatter of %x : tensor<4xf32>, tensor<2xf32> on each

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

def HoistCollectivesPass : Pass<"hoist-collectives", "::mlir::func::FuncOp"> {
  let summary = "moves collectives with the same operands in each iteration out of loops";
  let description = [{
    The collective and the pure operations that it needs are moved before the
    loop, if a constant trip count says that the loop has an iteration. No
    result changes, since a collective depends on nothing but its operands.

    ```mlir
    // before
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero) -> tensor<4xf32> {
      %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
      %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
      ...
    }
    // after
    %h = collective.start all_reduce sum @all (%x : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %s = collective.wait %h (%x : tensor<4xf32>) : !collective.pending<tensor<4xf32>> -> tensor<4xf32>
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero) -> tensor<4xf32> {
      ...
    }
    ```
  }];
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

def SpeculateBranchesPass : Pass<"speculate-branches", "::mlir::func::FuncOp"> {
  let summary = "selects the results of cheap branches";
  let description = [{
    A branch around a step's update, such as one that leaves all variables as
    they are when a gradient is not finite, would become one kernel that
    computes all new values one after the other. If both sides are
    element-wise, have no effects and cannot fail, both are computed instead,
    and each result is selected by the condition. The results are then computed
    like those of any other element-wise operation: by kernels of their own,
    divided among workers, fused, and in the place of the old values.

    A side that is not wanted costs little: at most 16 operations are executed
    for each element of the results, which take no longer than to read and write
    it, or 16,384 in all. Other results stay in a branch, and so do all of
    branches in loops, but for loops around whole steps. Variables whose new
    values are selected can be divided among the replicas. With parameter
    servers, all branches stay: a worker that changes nothing stores nothing.

    ```mlir
    // before
    %new = scf.if %finite -> tensor<64x128xf32> {
      %d = arith.mulf %lr, %g : tensor<64x128xf32>
      %p = arith.subf %w, %d : tensor<64x128xf32>
      scf.yield %p : tensor<64x128xf32>
    } else {
      scf.yield %w : tensor<64x128xf32>
    }
    // after
    %d = arith.mulf %lr, %g : tensor<64x128xf32>
    %p = arith.subf %w, %d : tensor<64x128xf32>
    %new = arith.select %finite, %p, %w : tensor<64x128xf32>
    ```
  }];
}

def SplitVariablesPass : Pass<"split-variables", "::mlir::ModuleOp"> {
  let summary = "splits a variable into pieces of rows";
  let description = [{
    The gradient of a large variable is exchanged when it is complete. Where it
    is ready last, nothing hides that; but the first rows can be exchanged while
    the next ones are computed. The variable becomes `pieces` variables, each
    with equally many of its rows, and so do those that are updated with it
    element by element, such as its momentum. A step that reads the variable
    concatenates the pieces. `shard-updates` then computes the new value of
    each piece from the rows of the gradient, which are computed by themselves,
    and `shard-variables` divides the pieces among the replicas.

    Nothing changes if there is one replica, or one copy of variables; if the
    pieces do not divide the rows, or their bytes are no multiple of the
    alignment of tensors; or if a variable that is updated with it has another
    shape, has different copies, is a shard, or has an initial value in the
    module that is not the same for all elements.

    ```mlir
    // before
    func.func @step(%w: tensor<4x8xf32> {... variable "w"}, ...)
        -> (tensor<4x8xf32> {... variable "w"}) {
      ...
      return %n : tensor<4x8xf32>
    }
    // after, 2 pieces
    func.func @step(%w0: tensor<2x8xf32> {... variable "w.piece0"},
                    %w1: tensor<2x8xf32> {... variable "w.piece1"}, ...)
        -> (tensor<2x8xf32> {... variable "w.piece0"},
            tensor<2x8xf32> {... variable "w.piece1"}) {
      %w = tensor.concat dim(0) %w0, %w1 : ... -> tensor<4x8xf32>
      ...
      %n0 = tensor.extract_slice %n[0, 0] [2, 8] [1, 1]
          {replica.shard_of_value} : tensor<4x8xf32> to tensor<2x8xf32>
      %n1 = tensor.extract_slice %n[2, 0] [2, 8] [1, 1]
          {replica.shard_of_value} : tensor<4x8xf32> to tensor<2x8xf32>
      return %n0, %n1 : tensor<2x8xf32>, tensor<2x8xf32>
    }
    ```
  }];
  let options = [
    Option<"variable", "variable", "std::string", /*default=*/"",
      "name of the variable">,
    Option<"pieces", "pieces", "int64_t", /*default=*/"2", "number of pieces">,
    Option<"required", "required", "bool", /*default=*/"false",
      "it is an error if the variable cannot be split">];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
    "::lockstep::device::DeviceDialect"];
}

def ShardVariablesPass : Pass<"shard-variables", "::mlir::ModuleOp"> {
  let summary = "divides variables, and the computation of their new values, among the replicas";
  let description = [{
    Behind the all_reduce of the gradients, every replica computes the same new
    values. Instead, each stores an equal part of the elements of a variable
    (`whole_shape`), receives that part of the sum by a reduce_scatter, and
    computes the new value of its part. A step that reads the whole variable
    gathers it at its beginning, in the order of the first uses. So the bytes on
    the link are the same, but half of them hide behind the forward pass; the
    update, and the memory of variables that nothing else reads (momentum,
    moments), are divided by the number of replicas. No result changes: parts
    are summed in the same order. The pieces of a variable that has been split
    are gathered by one collective, next to each other, unless they are padded.

    Where the replicas do not divide the number of elements, the parts are those
    of the tensor with zeros behind its last element; a variable of less than
    `pad-from` bytes is left whole instead. A variable is divided if
    it has an element for each replica, if its new value is computed element by
    element from sums of replicas, from variables, and from values that all
    replicas have, and if nothing else needs these sums whole, such as the norm
    of all gradients. An initial value in the module must be the same for all
    elements.

    With `reassociate`, the sum of all elements of such a value, as in a norm,
    is computed from the sums of the replicas' parts; sums of integers are
    without it, too. New values that come from branches have to be selected
    before (`speculate-branches`).

    ```mlir
    // before, 2 replicas
    func.func @step(%w: tensor<4x2xf32> {device.binding = #device.binding<variable "w">}, ...) -> (tensor<4x2xf32> {... variable "w"}) {
      %g = ...%w...
      %s = all_reduce sum of %g : tensor<4x2xf32>
      %n = linalg.generic ... ins(%w, %s : tensor<4x2xf32>, tensor<4x2xf32>) ...
      return %n : tensor<4x2xf32>
    }
    // after
    func.func @step(%part: tensor<4xf32> {device.binding = #device.binding<variable "w">}, ...) -> (tensor<4xf32> {... variable "w"}) {
      %a = all_gather of %part : tensor<4xf32>, tensor<8xf32> on all
      %w = tensor.expand_shape %a [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
      %g = ...%w...
      %f = tensor.collapse_shape %g [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
      %s = reduce_scatter sum of %f : tensor<8xf32>, tensor<4xf32> on each
      %n = linalg.generic ... ins(%part, %s : tensor<4xf32>, tensor<4xf32>) ...
      return %n : tensor<4xf32>
    }
    ```
  }];
  let options = [Option<"reassociate", "reassociate", "bool", /*default=*/"false", "add the elements of a divided value in another order">,
    Option<"padFrom", "pad-from", "int64_t", /*default=*/"0",
      "bytes from which a variable is divided though its parts need padding">,
    Option<"piecesRequired", "pieces-required", "bool", /*default=*/"false",
      "it is an error if a piece of a variable cannot be divided">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::lockstep::collective::CollectiveDialect"];
}

#endif
