#ifndef LOCKSTEP_PASSES_BUCKET_PASSES_TD
#define LOCKSTEP_PASSES_BUCKET_PASSES_TD

include "mlir/Pass/PassBase.td"

def BucketCollectivesPass : Pass<"bucket-collectives", "::mlir::func::FuncOp"> {
  let summary = "merges independent collectives into buckets";
  let description = [{
    Collectives of one block, group, kind, reduction and element type that do
    not depend on each other become one with many operands, in the order in
    which they start. `bytes_per_pack`, if the user specifies it, bounds the
    size of a bucket.

    With `plan`, the cost model of the module's topology decides: a bucket waits
    for its last member, but each collective has a latency, and the link carries
    one at a time. Among all divisions into buckets of consecutive members, the
    one whose exchange ends first is taken; collectives that cannot share a
    bucket share the link, so that those of all keys are divided together. On a
    topology whose reductions are executed by the cores that execute kernels,
    nothing hides behind kernels: buckets are as large as the cache of a core,
    so that what reads a result finds it there.

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
