//===- Elements.h - Types and values of an artifact -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_EMIT_ELEMENTS_H
#define LOCKSTEP_PASSES_EMIT_ELEMENTS_H

#include "runtime/schema/artifact_generated.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// The element type in an artifact; fails for types that it does not support.
llvm::FailureOr<artifact::ElementType> toElementType(mlir::Type type,
                                                     bool isUnsigned);

/// The table of a tensor type. Emits an error at `op` if artifacts do not
/// support its element type.
llvm::FailureOr<std::unique_ptr<artifact::TensorTypeT>>
emitTensorType(mlir::Operation *op, mlir::RankedTensorType type,
               bool isUnsigned);

/// A signless tensor type of MLIR, and whether its elements are unsigned.
struct ImportedType {
  mlir::RankedTensorType type;
  bool isUnsigned = false;
};
ImportedType toTensorType(mlir::MLIRContext *context,
                          const artifact::TensorType &type);

/// The elements in row-major order, a byte for an i1.
std::vector<std::byte> toBytes(mlir::DenseElementsAttr elements);
/// The inverse of `toBytes`; fails if the number of `bytes` does not match the
/// type.
llvm::FailureOr<mlir::DenseElementsAttr>
toElements(mlir::RankedTensorType type, std::span<const std::byte> bytes);

} // namespace lockstep

#endif
