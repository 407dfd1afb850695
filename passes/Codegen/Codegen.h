//===- Codegen.h - From kernels to native code ------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_CODEGEN_H
#define LOCKSTEP_PASSES_CODEGEN_CODEGEN_H

#include "passes/Codegen/Targets.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace lockstep {

/// How GPUs compute products.
struct GpuProductOptions {
  /// Round the factors of f32 to tf32.
  bool tf32 = false;
  /// Describe those of matrices for cuBLASLt.
  bool libraryProducts = false;
  /// Describe convolutions for cuDNN.
  bool libraryConvolutions = false;
  /// Describe activations for these libraries, too.
  bool libraryActivations = false;
};

/// Options of the code generation for one target.
struct KernelOptions {
  /// Name of an instruction set.
  std::string target = "x86-64-v3";
  /// Tile, fuse and vectorize.
  bool optimize = true;
  /// Check every access against its buffer.
  bool checkBounds = false;
  GpuProductOptions products;
};

/// Adds the passes from kernels on tensors to the LLVM dialect.
void buildLowerKernelsPipeline(mlir::OpPassManager &pm,
                               const KernelOptions &options);

/// Adds the dialects that these passes need, for all targets.
void addLoweringDialects(mlir::DialectRegistry &registry);

/// Compiles a module of the LLVM dialect to a relocatable object in memory, or
/// to the text of a PTX module. Errors go to the module's diagnostics.
mlir::FailureOr<llvm::SmallVector<char, 0>>
compileToCode(mlir::ModuleOp module, const CodegenTarget &target,
              const KernelOptions &options);

/// Links objects to one shared object that needs no library. Calls are
/// serialized, since lld has global state. Its messages are appended to
/// `error`.
mlir::FailureOr<std::string>
linkObjects(llvm::ArrayRef<llvm::ArrayRef<char>> objects, std::string &error);

} // namespace lockstep

#endif
