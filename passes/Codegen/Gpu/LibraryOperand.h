//===- LibraryOperand.h - Operands of what a library computes ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYOPERAND_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYOPERAND_H

#include "passes/Codegen/ProductGroup.h"
#include "passes/Kernels/LibraryEpilogue.h"
#include "passes/Kernels/Structure.h"

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

/// The first operation of the epilogue, if nothing else reads the product; else
/// null.
mlir::linalg::GenericOp getOnlyReader(ProductGroup &group);

/// The same, if it rounds the product.
mlir::linalg::GenericOp getRounding(ProductGroup &group);

/// Describes as much of a group as a library may compute. Calls `make(buffer,
/// epilogue)` with the result of the first operation of the epilogue, if that
/// rounds the product (`epilogue` is null then) or is one that libraries have;
/// if there is none, or `make` returns none, with the product's own result and
/// null. Takes the other operations out of the group if a call returned
/// something, and returns that. Activations only with `activations`.
template <typename Make>
auto takeLibraryPhase(ProductGroup &group, bool activations, Make make)
    -> decltype(make(mlir::Value(), nullptr)) {
  mlir::Value out = group.product.out->get();
  if (mlir::linalg::GenericOp reader = getOnlyReader(group)) {
    std::optional<LibraryEpilogue> epilogue =
        matchLibraryEpilogue(reader, out, activations);
    if (epilogue || isRounding(reader))
      if (auto found = make(reader.getDpsInits().front(),
                            epilogue ? &*epilogue : nullptr)) {
        group.keepEpilogue(1);
        return found;
      }
  }
  auto found = make(out, nullptr);
  if (found)
    group.keepEpilogue(0);
  return found;
}

} // namespace lockstep

#endif
