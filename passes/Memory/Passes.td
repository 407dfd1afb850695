#ifndef LOCKSTEP_PASSES_MEMORY_PASSES_TD
#define LOCKSTEP_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "allocates memory for all values, and converts steps to programs";
  let description = [{
    Live ranges follow from the schedule. Members of a bucket are contiguous. A
    variable is updated in place if its old value is no longer needed; otherwise
    its new value is copied, and a remark reports that. Values that are equal on
    all replicas are stored once per process, and computed in `device.once`.

    ```mlir
    // before
    func.func @step(%x: tensor<5xf32> {device.binding = #device.binding<batch "x">})
        -> (tensor<5xf32> {device.binding = #device.binding<metric "a">}) {
      %0 = device.invoke @k(%x) : (tensor<5xf32>) -> tensor<5xf32>
      return %0 : tensor<5xf32>
    }
    // after
    device.program @step role "worker" replica 64 shared 0 input 64 registers 0 channels 0 {
      %x = device.slice input[0] "x" : <tensor<5xf32>>
      %0 = device.slice replica[0] : <tensor<5xf32>>
      device.launch @k reads(%x) writes(%0) ...
      device.output <metric "a"> %0
      device.return
    }
    ```
  }];
  let options = [Option<"reuse", "reuse", "bool", /*default=*/"true", "let values whose lifetimes do not overlap share memory">];
  let dependentDialects = ["::lockstep::device::DeviceDialect"];
}

def SealModulePass : Pass<"seal-module", "::mlir::ModuleOp"> {
  let summary = "reduces a compiled module to the contents of its artifact, in canonical form and order";
  let description = [{
    Kernels, whose code is in the binaries, become entries. The strategy is
    erased; its replica count remains, as an attribute of the module. Blocks of
    programs without commands are removed. Slices precede all commands. The
    symbol of a variable is derived from its name in files. Operations are
    sorted by kind: groups, roles, variables, scalars, constants, entries,
    binaries, programs. So the module is equal to the result of
    `lockstep-translate --import-artifact`.

    ```mlir
    // before
    replica.strategy @strategy {kind = #replica.kind<mirrored>, replicas = 4 : i64}
    device.kernel @add(%a: tensor<8xf32>) -> tensor<8xf32> attributes {bytes = 64 : i64, flops = 8 : i64} { ... }
    // after
    module attributes {device.replicas = 4 : i64} {
      device.entry @add grid 1 flops 8 bytes 64
    }
    ```
  }];
  let dependentDialects = ["::lockstep::device::DeviceDialect"];
}

#endif
