#ifndef LOCKSTEP_PASSES_BUCKET_PASSES_TD
#define LOCKSTEP_PASSES_BUCKET_PASSES_TD

include "mlir/Pass/PassBase.td"

def OrderKernelsPass : Pass<"order-kernels", "::mlir::func::FuncOp"> {
  let summary = "executes first the kernels that the link waits for";
  let description = [{
    A backward pass computes the gradients of the first layer last, and those
    are often the largest. But the gradients of the parameters of other layers
    may wait: only that of its input is needed by the layer before. With them
    postponed, the exchange of the largest gradient starts earlier, and hides
    behind their kernels.

    Kernels and collectives are a flow shop of two machines, the replica and the
    link. The pass orders them by Johnson's rule for trees, which gives the
    order whose exchange ends first if each kernel depends on one other; a
    kernel that depends on several counts as depending on that at the end of the
    longest path. Of the order that is written, it keeps as much as that end
    allows: a value that waits for its kernel needs memory. Collectives that
    are ready at the beginning, as gathers of variables, start in the order in
    which kernels need them. The order is taken if the block then ends at least
    1 % earlier by the cost model of the module's topology, with the buckets
    that `bucket-collectives` makes. Nothing is moved where kernels execute the
    reductions, in programs of several roles, and in blocks with loops or
    branches that communicate.

    ```mlir
    // before
    %dw2 = device.invoke @weights2(%dy) : (tensor<8xf32>) -> tensor<4xf32>
    %h2 = collective.start all_reduce sum @all(%dw2 : tensor<4xf32>) -> <tensor<4xf32>>
    %dx = device.invoke @input(%dy) : (tensor<8xf32>) -> tensor<8xf32>
    %dw1 = device.invoke @weights1(%dx) : (tensor<8xf32>) -> tensor<1024xf32>
    %h1 = collective.start all_reduce sum @all(%dw1 : tensor<1024xf32>) -> <tensor<1024xf32>>
    // after
    %dx = device.invoke @input(%dy) : (tensor<8xf32>) -> tensor<8xf32>
    %dw1 = device.invoke @weights1(%dx) : (tensor<8xf32>) -> tensor<1024xf32>
    %h1 = collective.start all_reduce sum @all(%dw1 : tensor<1024xf32>) -> <tensor<1024xf32>>
    %dw2 = device.invoke @weights2(%dy) : (tensor<8xf32>) -> tensor<4xf32>
    %h2 = collective.start all_reduce sum @all(%dw2 : tensor<4xf32>) -> <tensor<4xf32>>
    ```
  }];
  let options = [Option<"bytesPerPack", "bytes-per-pack", "int64_t", /*default=*/"0", "bound on the size of a bucket in bytes, if the program gives none; 0: no bound">];
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

def BucketCollectivesPass : Pass<"bucket-collectives", "::mlir::func::FuncOp"> {
  let summary = "merges independent collectives into buckets";
  let description = [{
    Collectives of one block, group, kind, reduction and element type that do
    not depend on each other become one with many operands, in the order in
    which they start. `bytes_per_pack`, if the user specifies it, bounds the
    size of a bucket. The last two pieces of one gradient, whose starts have the
    same `collective.last_piece_of`, do not share a bucket.

    With `plan`, the cost model of the module's topology decides: a bucket waits
    for its last member, but each collective has a latency, and the link carries
    one at a time. Among all divisions into buckets of consecutive members, the
    one whose exchange ends first is taken; collectives that cannot share a
    bucket share the link, so that those of all keys are divided together. If
    the link carries several at once, the `streams` of the topology, the best of
    several divisions is taken. On a topology whose reductions are executed by
    the cores that execute kernels, nothing hides behind kernels: buckets are as
    large as the cache of a core, so that what reads a result finds it there.

    The order of exchanges with servers does not change: a collective is not
    merged with a later one if an exchange that depends on its result would move
    behind another exchange with a server. With several roles, there is no plan.

    ```mlir
    // before
    %h0 = collective.start all_reduce sum @all (%a : tensor<4xf32>) -> !collective.pending<tensor<4xf32>>
    %h1 = collective.start all_reduce sum @all (%b : tensor<8xf32>) -> !collective.pending<tensor<8xf32>>
    // after
    %h = collective.start all_reduce sum @all (%a, %b : tensor<4xf32>, tensor<8xf32>) -> !collective.pending<tensor<4xf32>, tensor<8xf32>>
    ```
  }];
  let options = [Option<"plan", "plan", "bool", /*default=*/"false",
      "divide collectives into the buckets whose exchange ends first, by the cost model of the module's topology">,
    Option<"bytesPerPack", "bytes-per-pack", "int64_t", /*default=*/"0", "bound on the size of a bucket in bytes, if the program gives none; 0: no bound">];
  let dependentDialects = ["::lockstep::collective::CollectiveDialect"];
}

#endif
