#ifndef LOCKSTEP_PASSES_KERNELS_PASSES_TD
#define LOCKSTEP_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseOperationsPass : Pass<"fuse-operations", "::mlir::func::FuncOp"> {
  let summary = "fuses element-wise operations with each other and folds broadcasts and transposes";
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "outlines computations into kernels";
  let description = [{
    From here on a step is a graph of kernel invocations, collectives and control flow. A kernel never mixes uniform and varying
    results. Without `fuse`, every operation becomes a kernel of its own.

    ```mlir
    // before
    %0 = linalg.generic ... ins(%a, %b : tensor<8xf32>, tensor<8xf32>) ...
    // after
    device.kernel @step_add(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> { ... }
    %0 = device.invoke @step_add(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let options = [Option<"fuse", "fuse", "bool", /*default=*/"true", "put several operations into one kernel">];
  let dependentDialects = ["::lockstep::device::DeviceDialect", "::mlir::tensor::TensorDialect", "::mlir::linalg::LinalgDialect"];
}

#endif
