//===- LibraryOperand.h - Operands of what a library computes ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYOPERAND_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYOPERAND_H

#include "passes/Codegen/ProductGroup.h"

namespace lockstep {

/// The part of a buffer of a kernel that a library accesses.
struct LibraryOperand {
  uint64_t buffer = 0;
  /// Bytes from the beginning of the buffer.
  uint64_t offset = 0;
  /// An `artifact::ElementType`.
  uint64_t element = 0;
  /// Of the dimensions of the value, in elements.
  llvm::SmallVector<int64_t> sizes, strides;
};

/// None if the place of `memref` is not known at compile time, or if it is in
/// registers.
std::optional<LibraryOperand> describeOperand(mlir::Value memref);

/// The bytes of the buffers of a kernel; of working memory, as many as needed.
llvm::SmallVector<uint64_t> getBufferBytes(mlir::func::FuncOp function);

/// The first operation of the epilogue, if it rounds the product, which nothing
/// else reads; else null.
mlir::linalg::GenericOp getRounding(ProductGroup &group);

} // namespace lockstep

#endif
