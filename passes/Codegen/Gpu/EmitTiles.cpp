//===- EmitTiles.cpp - Products by tiles in shared memory -----------------===//

#include "passes/Codegen/Gpu/EmitTiles.h"

#include "passes/Codegen/Gpu/ThreadBuilder.h"
#include "passes/Codegen/ScalarBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// With so many blocks, all multiprocessors of a large GPU have work.
static constexpr int64_t kEnoughBlocks = 128;

/// The dimensions that the rows of the result consist of.
static SmallVector<unsigned> getRowDims(const Product &product) {
  SmallVector<unsigned> dims = product.rowDims;
  if (product.row)
    dims.push_back(*product.row);
  llvm::sort(dims);
  return dims;
}

std::optional<ProductTiles>
lockstep::chooseProductTiles(const Product &product) {
  int64_t rows = product.getPanelRows(), columns = product.getNumColumns();
  int64_t outer = multiplySizes(product.sizes, product.outerDims);
  if (rows < 16 || columns < 16 ||
      multiplySizes(product.sizes, product.kDims) < 8)
    return std::nullopt;
  // Large tiles read memory less often; but all multiprocessors should work.
  static constexpr ProductTiles kShapes[] = {{128, 128, 8, 8, 8},
                                             {64, 64, 16, 4, 4},
                                             {32, 32, 16, 2, 2},
                                             {16, 16, 16, 1, 1}};
  ProductTiles tiles;
  for (const ProductTiles &shape : kShapes) {
    if (shape.rows == 128 && product.getElementType().isF64())
      continue;
    tiles = shape;
    tiles.blocks = outer * llvm::divideCeil(rows, tiles.rows) *
                   llvm::divideCeil(columns, tiles.columns);
    if (tiles.blocks >= kEnoughBlocks)
      break;
  }
  return tiles;
}

namespace {
class TileEmitter : ThreadBuilder {
public:
  TileEmitter(func::FuncOp function, ProductGroup &group,
              const ProductTiles &tiles)
      : ThreadBuilder(function, tiles.getThreads()), group(group),
        product(group.product), tiles(tiles), rowDims(getRowDims(product)),
        numRows(product.getPanelRows()),
        depth(multiplySizes(product.sizes, product.kDims)) {
    builder.setInsertionPoint(group.getPosition());
    loc = product.op.getLoc();
  }

  void emit() {
    placeTile();
    // An odd length of rows, so that the threads of a warp write to different
    // banks.
    Type element = product.getElementType();
    left = createShared({tiles.depth, tiles.rows + 1}, element);
    right = createShared({tiles.depth, tiles.columns + 1}, element);
    Value leftTile = getShared(left), rightTile = getShared(right);

    SmallVector<Value> sums = loadInitial();
    int64_t whole = depth / tiles.depth * tiles.depth;
    sums = loop(constant(0), constant(whole), constant(tiles.depth), sums,
                [&](Value begin, ValueRange carried) {
                  return emitSlice(begin, tiles.depth, leftTile, rightTile,
                                   carried);
                })
               .getResults();
    if (whole < depth)
      sums =
          emitSlice(constant(whole), depth - whole, leftTile, rightTile, sums);
    storeResults(sums);
  }

private:
  SmallVector<OpFoldResult> sizesOf(ArrayRef<unsigned> dims) {
    return llvm::map_to_vector(dims, [&](unsigned dim) -> OpFoldResult {
      return builder.getIndexAttr(product.sizes[dim]);
    });
  }

  Value add(Value a, int64_t b) {
    return b == 0 ? a
                  : Value(arith::AddIOp::create(builder, loc, a, constant(b)));
  }

  /// Sets dimensions to the indices of an iteration of their loops.
  void setDims(ArrayRef<unsigned> which, Value number) {
    for (auto [dim, index] :
         llvm::zip_equal(which, delinearize(number, sizesOf(which))))
      dims[dim] = index;
  }

  /// Finds which tile the block computes, and which elements of it the thread.
  void placeTile() {
    dims.resize(product.sizes.size());
    SmallVector<OpFoldResult> sizes = sizesOf(product.outerDims);
    sizes.push_back(
        builder.getIndexAttr(llvm::divideCeil(numRows, tiles.rows)));
    sizes.push_back(builder.getIndexAttr(
        llvm::divideCeil(product.getNumColumns(), tiles.columns)));
    SmallVector<Value> indices = delinearize(block, sizes);
    for (auto [dim, index] : llvm::zip(product.outerDims, indices))
      dims[dim] = index;
    firstRow = arith::MulIOp::create(builder, loc, indices[indices.size() - 2],
                                     constant(tiles.rows));
    firstColumn = arith::MulIOp::create(builder, loc, indices.back(),
                                        constant(tiles.columns));
    SmallVector<Value> places = delinearize(
        thread, {builder.getIndexAttr(tiles.rows / tiles.threadRows),
                 builder.getIndexAttr(tiles.columns / tiles.threadColumns)});
    ownRow = places[0];
    ownColumn = places[1];
  }

  /// The row, in its tile, of the i-th row of the thread. Rows of a thread are
  /// far from each other, and columns, so that a warp accesses neighboring
  /// elements.
  Value getRow(int64_t i) {
    return add(ownRow, i * (tiles.rows / tiles.threadRows));
  }
  Value getColumn(int64_t j) {
    return add(ownColumn, j * (tiles.columns / tiles.threadColumns));
  }

  /// Sets the dimensions of an element of the result, and returns whether it is
  /// in range; null if all are.
  Value setElement(int64_t i, int64_t j) {
    Value row = arith::AddIOp::create(builder, loc, firstRow, getRow(i));
    Value column =
        arith::AddIOp::create(builder, loc, firstColumn, getColumn(j));
    setDims(rowDims, row);
    dims[product.column] = column;
    Value isInside;
    if (numRows % tiles.rows != 0)
      isInside = isBelow(row, constant(numRows));
    if (product.getNumColumns() % tiles.columns != 0) {
      Value fits = isBelow(column, constant(product.getNumColumns()));
      isInside =
          isInside ? Value(arith::AndIOp::create(builder, loc, isInside, fits))
                   : fits;
    }
    return isInside;
  }

  void forEachElement(llvm::function_ref<void(unsigned, Value)> body) {
    unsigned number = 0;
    for (int64_t i = 0; i < tiles.threadRows; ++i)
      for (int64_t j = 0; j < tiles.threadColumns; ++j)
        body(number++, setElement(i, j));
  }

  SmallVector<Value> loadInitial() {
    SmallVector<Value> sums(tiles.threadRows * tiles.threadColumns,
                            group.initial);
    if (group.fill)
      return sums;
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(product.getElementType()));
    forEachElement([&](unsigned number, Value isInside) {
      if (!isInside) {
        sums[number] = ScalarBody(builder, product.op, dims).load(*product.out);
        return;
      }
      auto branch =
          scf::IfOp::create(builder, loc, zero.getType(), isInside, true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(
          builder, loc,
          ScalarBody(builder, product.op, dims).load(*product.out));
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(builder, loc, zero);
      sums[number] = branch.getResult(0);
    });
    return sums;
  }

  /// A factor's element at the current dimensions, as wide as the result.
  Value loadFactor(OpOperand *factor) {
    Value value = ScalarBody(builder, product.op, dims).load(*factor);
    Type element = product.getElementType();
    return value.getType() == element
               ? value
               : Value(arith::ExtFOp::create(builder, loc, element, value));
  }

  /// Whether the elements of a factor along the last reduction dimension are
  /// neighbors in memory.
  bool isContiguousAlongDepth(OpOperand *factor) {
    AffineMap map = product.getMap(factor);
    return map.getNumResults() > 0 &&
           map.getResults().back().isFunctionOfDim(product.kDims.back());
  }

  /// The threads of the block copy a slice of a factor to shared memory, with
  /// neighboring threads at neighboring elements. What is outside of the factor
  /// is replaced by its last row or column, of which no result is stored.
  void copyFactor(OpOperand *factor, Value memory, Value begin, int64_t length,
                  int64_t extent, Value first, int64_t size,
                  llvm::function_ref<void(Value)> setAcross) {
    bool alongDepth = isContiguousAlongDepth(factor);
    SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(length),
                                       builder.getIndexAttr(extent)};
    if (alongDepth)
      std::swap(sizes[0], sizes[1]);
    loop(thread, constant(length * extent), constant(threads), {},
         [&](Value number, ValueRange) -> SmallVector<Value> {
           SmallVector<Value> indices = delinearize(number, sizes);
           if (alongDepth)
             std::swap(indices[0], indices[1]);
           Value across =
               arith::AddIOp::create(builder, loc, first, indices[1]);
           if (size % extent != 0)
             across = arith::MinUIOp::create(builder, loc, across,
                                             constant(size - 1));
           setAcross(across);
           setDims(product.kDims,
                   arith::AddIOp::create(builder, loc, begin, indices[0]));
           memref::StoreOp::create(builder, loc, loadFactor(factor), memory,
                                   indices);
           return {};
         });
  }

  /// Adds the products of a slice of the factors, `length` deep.
  SmallVector<Value> emitSlice(Value begin, int64_t length, Value leftTile,
                               Value rightTile, ValueRange carried) {
    copyFactor(product.lhs, leftTile, begin, length, tiles.rows, firstRow,
               numRows, [&](Value row) { setDims(rowDims, row); });
    copyFactor(product.rhs, rightTile, begin, length, tiles.columns,
               firstColumn, product.getNumColumns(),
               [&](Value column) { dims[product.column] = column; });
    barrier();
    SmallVector<Value> sums(carried);
    for (int64_t k = 0; k < length; ++k) {
      SmallVector<Value> leftValues, rightValues;
      for (int64_t i = 0; i < tiles.threadRows; ++i)
        leftValues.push_back(memref::LoadOp::create(
            builder, loc, leftTile, ValueRange{constant(k), getRow(i)}));
      for (int64_t j = 0; j < tiles.threadColumns; ++j)
        rightValues.push_back(memref::LoadOp::create(
            builder, loc, rightTile, ValueRange{constant(k), getColumn(j)}));
      unsigned number = 0;
      for (Value a : leftValues)
        for (Value b : rightValues) {
          sums[number] = math::FmaOp::create(builder, loc, a, b, sums[number]);
          ++number;
        }
    }
    // The next slice is written to the same memory.
    barrier();
    return sums;
  }

  void storeResults(ArrayRef<Value> sums) {
    forEachElement([&](unsigned number, Value isInside) {
      if (!isInside)
        return storeElement(sums[number]);
      onlyIf(isInside, [&] { storeElement(sums[number]); });
    });
  }

  /// Stores an element of the result, or what the epilogue makes of it.
  void storeElement(Value sum) {
    ScalarBody::Elements elements = {{product.out->get(), sum}};
    if (!group.registers.contains(product.out->get()))
      ScalarBody(builder, product.op, dims).store(sum);
    for (linalg::GenericOp op : group.epilogue) {
      SmallVector<unsigned> productDims = group.getDims(op);
      SmallVector<Value> own = llvm::map_to_vector(
          productDims, [&](unsigned dim) { return dims[dim]; });
      ScalarBody body(builder, op, own, /*rows=*/nullptr, &elements);
      SmallVector<Value> results = body.evaluate();
      for (auto [init, result] :
           llvm::zip_equal(op.getDpsInitsMutable(), results)) {
        elements[init.get()] = result;
        if (!group.registers.contains(init.get()))
          memref::StoreOp::create(builder, op.getLoc(), result, init.get(),
                                  body.getIndices(init));
      }
    }
  }

  ProductGroup &group;
  Product &product;
  const ProductTiles &tiles;
  SmallVector<unsigned> rowDims;
  int64_t numRows, depth;
  memref::GlobalOp left, right;
  /// Of the tile in the result, and of the thread in the tile.
  Value firstRow, firstColumn, ownRow, ownColumn;
  /// The values of the product's dimensions at the current element.
  SmallVector<Value> dims;
};
} // namespace

void lockstep::emitTiles(func::FuncOp function, ProductGroup &group,
                         const ProductTiles &tiles) {
  TileEmitter(function, group, tiles).emit();
  eraseProductGroup(group);
}
