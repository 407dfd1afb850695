#ifndef LOCKSTEP_PASSES_EMIT_PASSES_TD
#define LOCKSTEP_PASSES_EMIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SealModulePass : Pass<"seal-module", "::mlir::ModuleOp"> {
  let summary = "leaves of a compiled module what its artifact holds, in one form and order";
  let description = [{
    Kernels, whose code is in the binaries, become entries. The strategy is done with: its replica count stays, as the module's attribute. Blocks
    of programs that hold no command go. Slices stand before all commands. The symbol of a variable follows from its name in files. Operations stand by kind: groups, variables, scalars, constants, entries, binaries,
    programs. So the module is what `lockstep-translate --import-artifact` reads back.

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
