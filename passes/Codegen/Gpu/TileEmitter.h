//===- TileEmitter.h - The code of a thread of a tile -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_TILEEMITTER_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_TILEEMITTER_H

#include "passes/Codegen/Gpu/EmitTiles.h"
#include "passes/Codegen/Gpu/ThreadBuilder.h"

namespace lockstep {

/// Emits the code of one thread of a product by tiles. The threads of a block
/// copy a slice of both factors to shared memory, multiply it, and add the
/// products to elements of the result in registers; then each thread applies
/// the epilogue to its elements. How slices are kept in shared memory and
/// multiplied is up to a derived class.
class TileEmitter : protected ThreadBuilder {
public:
  TileEmitter(mlir::func::FuncOp function, ProductGroup &group,
              const ProductTiles &tiles);
  virtual ~TileEmitter() = default;

  void emit();

protected:
  /// Neighboring threads copy neighbors in memory. Where these are not
  /// neighbors along the reduction, a warp copies a block that is so many
  /// elements deep and so many across.
  struct CopyBlock {
    int64_t depth, extent;
  };

  struct Place {
    mlir::Value row, column;
  };

  /// Computes the place of the thread's first element in a tile, and what else
  /// `multiply` needs.
  virtual Place placeThread() = 0;
  /// How far the i-th row, or column, of a thread is from its first one.
  virtual int64_t getRowOffset(int64_t i) const = 0;
  virtual int64_t getColumnOffset(int64_t j) const = 0;
  /// Shared memory for two slices of a factor of this extent.
  virtual mlir::MemRefType getBufferType(int64_t extent) = 0;
  /// The indices of an element in one of these slices.
  virtual llvm::SmallVector<mlir::Value>
  getBufferIndices(mlir::Value buffer, mlir::Value k, mlir::Value across) = 0;
  virtual CopyBlock getCopyBlock(int64_t extent) const = 0;
  /// What is stored to shared memory for an element of a factor.
  virtual mlir::Value convert(mlir::Value element) = 0;
  /// Whether slices that are less deep than others are padded with zeros.
  virtual bool padsSlices() const = 0;
  /// Adds the products of a slice of the factors, `length` deep, to `sums`: the
  /// elements of the thread row by row.
  virtual llvm::SmallVector<mlir::Value>
  multiply(mlir::Value buffer, int64_t length, mlir::ValueRange sums) = 0;

  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value multiplyAdd(mlir::Value a, int64_t b, mlir::Value c);

  ProductGroup &group;
  Product &product;
  const ProductTiles &tiles;
  /// Of the factors.
  mlir::Value leftBuffers, rightBuffers;

private:
  class Copy;
  class Slice;

  llvm::SmallVector<mlir::OpFoldResult> sizesOf(llvm::ArrayRef<unsigned> which);
  void setDims(llvm::ArrayRef<unsigned> which, mlir::Value number);
  void placeTile();
  mlir::Value setElement(int64_t i, int64_t j);
  void forEachElement(llvm::function_ref<void(unsigned, mlir::Value)> body);
  llvm::SmallVector<mlir::Value> loadInitial();
  mlir::Value loadIf(mlir::Value condition, mlir::Type type,
                     llvm::function_ref<mlir::Value()> load);
  bool isContiguousAlongDepth(mlir::OpOperand *factor);
  mlir::Value getBuffer(mlir::Value number);
  void storeResults(llvm::ArrayRef<mlir::Value> sums);
  void storeElement(mlir::Value sum);

  llvm::SmallVector<unsigned> rowDims;
  int64_t numRows, depth;
  /// Of the tile in the result, and of the thread's first element in the tile.
  mlir::Value firstRow, firstColumn;
  Place own;
  /// The values of the product's dimensions at the current element.
  llvm::SmallVector<mlir::Value> dims;
};

/// Emits products by the multiply-adds of single threads, and by the tensor
/// cores.
void emitThreadTiles(mlir::func::FuncOp function, ProductGroup &group,
                     const ProductTiles &tiles);
void emitMatrixTiles(mlir::func::FuncOp function, ProductGroup &group,
                     const ProductTiles &tiles);

} // namespace lockstep

#endif
