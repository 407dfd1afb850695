//===- FoldConstants.h - Fold one operation on constants --------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_FOLDCONSTANTS_H
#define LOCKSTEP_PASSES_ANALYSIS_FOLDCONSTANTS_H

#include "mlir/IR/Operation.h"

#include <functional>

namespace lockstep {

/// True for operations that `ConstantFolder` may be able to compute: arithmetic
/// and `linalg` on numbers and small tensors.
bool canFold(mlir::Operation *op);

/// True if `value` is a tensor whose elements are not yet written.
bool isUnwritten(mlir::Value value);

/// Computes an operation on constants without changing it: as its folder may
/// change it in place, a copy is folded.
class ConstantFolder {
public:
  /// The constant, on a rank, of a value that the body of the operation
  /// captures; null if it is not known.
  using Captured = std::function<mlir::Attribute(mlir::Value, unsigned rank)>;

  ConstantFolder(mlir::Operation *op, Captured captured)
      : op(op), captured(std::move(captured)) {}
  ~ConstantFolder();
  ConstantFolder(const ConstantFolder &) = delete;
  ConstantFolder &operator=(const ConstantFolder &) = delete;

  /// The results on `inputs`, one constant for each operand, null for an
  /// unwritten one. False if they cannot be computed.
  bool fold(llvm::ArrayRef<mlir::Attribute> inputs, unsigned rank,
            llvm::SmallVectorImpl<mlir::Attribute> &results);

private:
  bool foldOne(mlir::Operation *simple, llvm::ArrayRef<mlir::Attribute> inputs,
               llvm::SmallVectorImpl<mlir::Attribute> &results);
  bool foldElements(llvm::ArrayRef<mlir::Attribute> inputs, unsigned rank,
                    llvm::SmallVectorImpl<mlir::Attribute> &results);

  mlir::Operation *op;
  Captured captured;
  /// Copies that are folded, by the original operation.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> copies;
};

} // namespace lockstep

#endif
