//===- ProductEmitter.h - Common code of product emitters -------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_PRODUCTEMITTER_H
#define LOCKSTEP_PASSES_CODEGEN_PRODUCTEMITTER_H

#include "passes/Codegen/Grid.h"
#include "passes/Codegen/ProductGroup.h"
#include "passes/Codegen/Targets.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lockstep {

/// The block of the result that is held in registers: its rows, and the vectors
/// of each row.
struct BlockShape {
  int64_t rows = 1, vectors = 1;
};

/// The block that makes the best use of the registers of the target.
BlockShape chooseBlock(const Product &product, const CodegenTarget &target);

/// Emits loops, loads and stores of a product, and its epilogue.
class ProductEmitter {
public:
  ProductEmitter(mlir::OpBuilder &builder, ProductGroup &group,
                 const CodegenTarget &target);

protected:
  using Value = mlir::Value;

  Value constant(int64_t value);
  Value offset(Value index, int64_t by);
  void forLoop(Value begin, Value end, int64_t step,
               llvm::function_ref<void(Value)> body);
  /// One loop over the tile's range of each of the dimensions.
  void emitLoops(llvm::ArrayRef<unsigned> order,
                 llvm::function_ref<void()> body);
  /// Full blocks of `step`, then the remainder at the end of the dimension.
  /// `body` is called with the number of elements.
  void emitBlocks(unsigned dim, int64_t step,
                  llvm::function_ref<void(int64_t)> body);
  /// Sets the ranges of the tile; parts of the column and the row are multiples
  /// of `columnMultiple` and `rowMultiple`.
  void setRanges(Value tile, llvm::ArrayRef<Split> splits,
                 int64_t columnMultiple, int64_t rowMultiple);

  /// Indices of an operand at the values of the dimensions. Dimensions without
  /// a value do not occur in the map.
  llvm::SmallVector<Value> getIndices(mlir::AffineMap map,
                                      llvm::ArrayRef<Value> values);
  /// `active` elements from contiguous memory; the other lanes are zero.
  Value loadVector(Value memory, mlir::ValueRange indices, int64_t active);
  void storeVector(Value value, Value memory, mlir::ValueRange indices,
                   int64_t active);
  /// One element of the left operand, in all lanes.
  Value loadBroadcast(Value memory, mlir::ValueRange indices);
  /// The initial value of the accumulator: the filled value, or that in memory.
  Value getInitial(llvm::ArrayRef<Value> point, int64_t active);
  int64_t getNumVectors(int64_t width);
  int64_t getActive(int64_t width, int64_t vector) {
    return std::min(lanes, width - vector * lanes);
  }

  /// Applies the epilogue to one vector of the product, at the values `point`
  /// of the dimensions, and stores the results.
  void emitEpilogue(Value value, llvm::ArrayRef<Value> point, int64_t active);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ProductGroup &group;
  const Product &product;
  int64_t lanes;
  BlockShape block;
  llvm::SmallVector<TileRange> ranges;
  llvm::SmallVector<Value>
      dims; ///< Values of the dimensions whose loops are open.

private:
  Value getMask(int64_t active);
  void emitOperation(mlir::linalg::GenericOp op,
                     llvm::MapVector<Value, Value> &values,
                     llvm::ArrayRef<Value> point, int64_t active);
};

/// Whether the product has a long reduction, so that blocks of both operands
/// are packed to stay in the caches, and partial results are kept in memory
/// between blocks. Every element is still one chain of multiply-adds in order.
bool shouldBlock(const Product &product, const CodegenTarget &target);
void emitBlockedProduct(mlir::OpBuilder &builder, ProductGroup &group,
                        const CodegenTarget &target, mlir::Value tile,
                        llvm::ArrayRef<Split> splits);

} // namespace lockstep

#endif
