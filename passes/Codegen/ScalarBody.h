//===- ScalarBody.h - Bodies of generics on scalars -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_SCALARBODY_H
#define LOCKSTEP_PASSES_CODEGEN_SCALARBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace lockstep {

/// Emits one iteration of an operation on memory: loads of elements, the body,
/// and stores.
class ScalarBody {
public:
  /// Buffers that have been shrunk to one row, with the positions of the
  /// indices that are zero.
  using Rows = llvm::MapVector<mlir::Value, llvm::SmallVector<unsigned>>;

  /// The current elements of buffers, which need not be loaded.
  using Elements = llvm::DenseMap<mlir::Value, mlir::Value>;

  /// `dims` are the values of the operation's dimensions; null ones are zero.
  /// `rows` and `elements` may be null. Code is inserted where `builder`
  /// stands.
  ScalarBody(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
             llvm::ArrayRef<mlir::Value> dims, const Rows *rows = nullptr,
             const Elements *elements = nullptr)
      : builder(builder), op(op), dims(dims), rows(rows), elements(elements),
        loaded(op->getNumOperands()) {}

  /// The indices of the iteration's element of an operand in memory.
  llvm::SmallVector<mlir::Value> getIndices(mlir::OpOperand &operand);
  /// Notes the iteration's element of an operand, which has been loaded.
  void setElement(mlir::OpOperand &operand, mlir::Value element) {
    loaded[operand.getOperandNumber()] = element;
  }
  /// The iteration's element of an operand, which may also be a scalar.
  mlir::Value load(mlir::OpOperand &operand);
  /// The yielded values. Reductions read their partial results from
  /// `accumulators`, or from memory if there are none.
  llvm::SmallVector<mlir::Value> evaluate(mlir::ValueRange accumulators = {});
  /// Stores the elements of the results.
  void store(mlir::ValueRange results);

private:
  mlir::OpBuilder &builder;
  mlir::linalg::GenericOp op;
  llvm::ArrayRef<mlir::Value> dims;
  const Rows *rows;
  const Elements *elements;
  /// The elements of operands, null if they are not known.
  llvm::SmallVector<mlir::Value> loaded;
};

} // namespace lockstep

#endif
