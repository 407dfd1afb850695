#ifndef LOCKSTEP_PASSES_VERIFY_PASSES_TD
#define LOCKSTEP_PASSES_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetReplicasPass : Pass<"set-replicas", "::mlir::ModuleOp"> {
  let summary = "fixes the strategy, the number of replicas and of servers";
  let description = [{
    Sets the counts that the module's strategy leaves open. A module without a
    strategy is given one: of the requested kind, else a mirrored one
    (`one_device` for one replica). An option that contradicts the module is an
    error.

    ```mlir
    // before
    replica.strategy @strategy {kind = #replica.kind<parameter_server_sync>}
    // after --set-replicas="strategy=parameter_server_sync replicas=4 servers=2 partitioner='fixed 2'"
    replica.strategy @strategy {kind = #replica.kind<parameter_server_sync>, partitioner = #replica.partitioner<fixed 2>,
        replicas = 4 : i64, servers = 2 : i64}
    ```
  }];
  let options = [Option<"replicas", "replicas", "int64_t", /*default=*/"0", "number of replicas; 0 keeps the module's">,
    Option<"strategy", "strategy", "std::string", /*default=*/"", "kind of the strategy; empty keeps the module's">,
    Option<"servers", "servers", "int64_t", /*default=*/"0", "number of parameter servers; 0 keeps the module's">,
    Option<"partitioner", "partitioner", "std::string", /*default=*/"", "what is between the brackets of '#replica.partitioner<>'; empty keeps the module's">];
  let dependentDialects = ["::lockstep::replica::ReplicaDialect"];
}

def SetTopologyPass : Pass<"set-topology", "::mlir::ModuleOp"> {
  let summary = "sets the topology that the schedule is made for";
  let description = [{
    The name of a preset is kept as such; of a file, its contents without
    `sources` are stored, so that the module does not depend on the file. A
    module without the attribute is scheduled for `host`.

    ```mlir
    // before
    module {
    // after --set-topology="topology=ethernet-25g"
    module attributes {device.topology = "ethernet-25g"} {
    ```
  }];
  let options = [Option<"topology", "topology", "std::string", /*default=*/"", "a preset, or a JSON file; empty keeps the module's">];
}

def ApplyStrategyPass : Pass<"apply-strategy", "::mlir::ModuleOp"> {
  let summary = "checks a module against the rules of its strategy, and makes them explicit";
  let description = [{
    Which operations are allowed depends on the strategy and on the number of
    replicas, which must be known (`set-replicas`). Refused are:

    | refused | class |
    |---|---|
    | `synchronization = none`, and `aggregation = mean` of integers, where the strategy keeps copies of variables | `E_SYNC_NONE`, `E_MEAN_INT_VAR` |
    | an assignment or scatter by replicas to a variable with `aggregation = none` | `E_AGG_NONE` |
    | reading an on_read variable without aggregation in cross-replica context | `E_AGG_NONE` |
    | adding to an on_read variable that is the sum of its copies, in cross-replica context | `E_ONREAD_ASSIGN_ADD_SUM` |
    | scatters into on_read variables, and scatters of kind `min`, `max` or `update` into variables with aggregation `sum` or `mean` | `E_SCATTER_ONREAD`, `E_SCATTER_AGG` |
    | sums, over several replicas, of a literal, and of plain and mirrored values in cross-replica context | `E_NON_DISTRIBUTED_SUM` |
    | reductions of elements that are not numbers | `E_DTYPE_UNSUPPORTED` |
    | gathers of scalars, along an axis out of range, or of values of different ranks | `E_SCALAR_GATHER`, `E_AXIS_RANGE`, `E_RANK_MISMATCH` |

    The result no longer depends on the kind of the strategy: variables are
    synchronized `on_write` or `on_read` (strategies that keep one copy of each
    variable make all of them `on_write`), and literals become constants.

    ```mlir
    // before
    replica.strategy @s {kind = #replica.kind<central_storage>, replicas = 2 : i64}
    replica.variable @n : tensor<f32> {synchronization = #replica.synchronization<on_read>, aggregation = #replica.aggregation<sum>}
    // after
    replica.variable @n : tensor<f32> {aggregation = #replica.aggregation<sum>}
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def VerifyIndicesPass : Pass<"verify-indices", "::mlir::ModuleOp"> {
  let summary = "refuses indices that are known to be out of range";
  let description = [{
    An index out of range is undefined where it is executed. Refused are
    `tensor.extract`, `tensor.insert`, `tensor.extract_slice` and
    `tensor.insert_slice` whose indices are constants outside of a dimension of
    static size, where they are executed whenever the step or program is: in its
    entry block, in regions that run in another context, in loops with a trip
    count above zero, and on the side of a branch that its constant condition
    selects.

    ```mlir
    %c4 = arith.constant 4 : index                                      // model.py:12
    %0 = tensor.extract %x[%c4] : tensor<4xf32>                         // model.py:12
    ```
    is refused with
    ```
    model.py:12:5: error: expected an index in [0, 4) for dimension 0 of 'tensor<4xf32>', found 4
    ```
  }];
}

def VerifyUniformityPass : Pass<"verify-uniformity", "::mlir::ModuleOp"> {
  let summary = "proves that the replicas of every step issue the same collectives in the same order";
  let description = [{
    Finds which values are equal on all replicas (uniform), which only within
    groups of them, and which may differ (varying), then refuses steps in which
    replicas could deadlock, or in which copies of one value could become
    different:

    | refused | class |
    |---|---|
    | a collective under a branch, in a loop, or after an early return where members of its group may take different paths | `E_COLLECTIVE_IN_CONTROL_FLOW` |
    | a branch whose two sides issue collectives of different kinds, reductions, types or groups, or in a different order | `E_COLLECTIVE_DIVERGENCE` |
    | a varying value, or any value under varying control flow, assigned to an on_write variable without aggregation | `E_AGG_NONE` |
    | a varying value assigned in cross-replica context, or as an operand of `replica.update` of an on_write variable | `E_PER_REPLICA_IN_UPDATE` |
    | operands of a collective whose sizes may differ between replicas, except along the axis of a gather | `E_SHAPE_MISMATCH` |
    | a metric of a step that is varying; a varying value as a plain argument of a `merge_call`; a call that is not inlined | |

    Each error ends with a verdict: `wrong`, with a reason or an example, or
    `not provable`, with the condition that could not be decided. An error that
    depends on inputs is `wrong` only if the interpreter has found inputs on
    which the step fails; the message then names one of them. The search takes
    as long as executing the step many times, so it is done with `find-examples`
    only, which `lockstep-verify` sets and a compilation does not.

    With one replica nothing is refused. A branch through which replicas may
    take different paths is accepted if all its sides, or all paths through its
    successor blocks, provably issue the same sequence. So is a collective of a
    group whose members all take the same path. Values that follow from the
    replica number are computed for each replica, if there are at most 64. The
    pass works on `replica.step` and on functions in collective form, so that it
    can run again after passes that move collectives. It does not change the
    program.

    ```mlir
    replica.step @step(%x: tensor<4xf32> {replica.batch = "x"}) {
      %id = replica.id : tensor<i32>                                    // model.py:12
      %first = ...                                                      // model.py:13
      scf.if %first {                                                   // model.py:13
        %0 = replica.all_reduce sum %x : tensor<4xf32>                  // model.py:21
      }
      %1 = replica.all_gather %x axis 0 : ...                           // model.py:25
      replica.return
    }
    ```
    is refused for two replicas with
    ```
    model.py:21:10: error: 'replica.all_reduce' is under a condition that may differ between replicas: some would wait in it
        for others that never come [E_COLLECTIVE_IN_CONTROL_FLOW] (wrong: replicas 0 and 1 take different paths)
    model.py:13:6: note: the condition of this branch may differ between replicas ('scf.if'); up to the first difference they issue
        replica 0 (true)                              |  replica 1 (false)
        all_reduce sum of tensor<4xf32> (model.py:21) != goes on to all_gather of tensor<4xf32> along axis 0 (model.py:25)
    model.py:12:8: note: 'replica.id' is different on each replica
    ```
  }];
  let options = [Option<"findExamples", "find-examples", "bool", /*default=*/"false",
                        "whether inputs are searched on which a refused step goes wrong">];
  // Dialects of the slices that the search for examples executes.
  let dependentDialects = ["::lockstep::replica::ReplicaDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect"];
}

#endif
