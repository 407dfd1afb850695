//===- EmitBlockedProduct.cpp - Code of products with a long reduction ----===//

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/PackPanel.h"
#include "passes/Codegen/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// Extents of the packed blocks: the right operand's panels (128 KB of f32) and
/// the left operand's block stay in the second-level cache, one panel nearly in
/// the first-level cache (Goto and van de Geijn, "Anatomy of High-Performance
/// Matrix Multiplication").
static constexpr int64_t kReductionBlock = 256, kColumnBlock = 128,
                         kRowBlock = 128;
/// Padding elements between rows of a packed block, so that rows do not map to
/// the same cache set.
static constexpr int64_t kPadding = 16;

/// Distance in bytes between elements of an operand that differ by one in
/// `dim`; 0 if the operand does not have `dim` as a single index.
static int64_t getStride(const Product &product, OpOperand *operand,
                         unsigned dim) {
  std::optional<unsigned> index = getOnlyResult(product.getMap(operand), dim);
  auto type = cast<MemRefType>(operand->get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!index || failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[*index]))
    return 0;
  return strides[*index] * getElementBytes(type.getElementType());
}

bool lockstep::shouldBlock(const Product &product,
                           const CodegenTarget &target) {
  BlockShape block = chooseBlock(product, target);
  if (product.kDims.size() != 1 || !product.row ||
      product.getNumRows() < 2 * block.rows || block.vectors < 2)
    return false;
  int64_t columnBytes = getStride(product, product.lhs, product.kDims[0]),
          rowBytes = getStride(product, product.lhs, *product.row);
  int64_t elementBytes =
      cast<MemRefType>(product.lhs->get().getType()).getElementTypeBitWidth() /
      8;
  // The left operand must be contiguous along one of the two.
  if (columnBytes != elementBytes && rowBytes != elementBytes)
    return false;
  // Rows of a transposed operand that map to the same cache set evict each
  // other before their next element is read.
  bool conflicts = rowBytes == elementBytes && columnBytes % 2048 == 0 &&
                   product.sizes[product.kDims[0]] >= 32;
  return conflicts || product.sizes[product.kDims[0]] > kReductionBlock * 3 / 2;
}

namespace {

class BlockedEmitter : ProductEmitter {
public:
  BlockedEmitter(OpBuilder &builder, ProductGroup &group,
                 const CodegenTarget &target)
      : ProductEmitter(builder, group, target), k(product.kDims[0]),
        row(*product.row), panelWidth(block.vectors * lanes) {
    int64_t length = product.sizes[k];
    // Blocks of nearly equal length.
    int64_t blocks = llvm::divideCeil(length, kReductionBlock);
    depth = std::min<int64_t>(
        length, llvm::alignTo(llvm::divideCeil(length, blocks), lanes));
    height =
        std::min<int64_t>(product.getNumRows(),
                          llvm::divideCeil(kRowBlock, block.rows) * block.rows);
    width = std::min<int64_t>(
        llvm::alignTo(product.getNumColumns(), panelWidth), kColumnBlock);
    isRowContiguous = getStride(product, product.lhs, row) <
                      getStride(product, product.lhs, k);
  }

  void emit(Value tile, ArrayRef<Split> splits) {
    setRanges(tile, splits, panelWidth, block.rows);
    if (splits.size() > 0)
      width = getPartWidth(splits);
    auto alloc = [&](ArrayRef<int64_t> shape) -> Value {
      return memref::AllocOp::create(
          builder, loc, MemRefType::get(shape, product.getElementType()),
          builder.getI64IntegerAttr(64));
    };
    panels = alloc({width / panelWidth, depth, panelWidth});
    sums = alloc({height, width + kPadding});
    left = isRowContiguous ? alloc({depth, height + kPadding})
                           : alloc({height, depth + kPadding});
    emitLoops(product.outerDims, [&] {
      emitLoops(product.rowDims, [&] {
        emitChunks(product.column, width, [&](Value column, Value numColumns) {
          emitChunks(row, height, [&](Value firstRow, Value numRows) {
            emitChunk(column, numColumns, firstRow, numRows);
          });
        });
      });
    });
  }

private:
  /// The width of a chunk, at most the number of columns of a tile.
  int64_t getPartWidth(ArrayRef<Split> splits) {
    for (Split split : splits)
      if (split.dim == product.column)
        return std::min<int64_t>(
            width, llvm::alignTo(
                       llvm::divideCeil(product.getNumColumns(), split.count),
                       panelWidth));
    return width;
  }

  Value minimum(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value subtract(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }

  /// Calls `body` for chunks of the tile's range of a dimension, the last of
  /// which may be shorter.
  void emitChunks(unsigned dim, int64_t size,
                  llvm::function_ref<void(Value, Value)> body) {
    const TileRange &range = ranges[dim];
    if (range.isWhole && range.size <= size)
      return body(constant(0), constant(range.size));
    forLoop(range.begin, range.end, size, [&](Value first) {
      body(first, minimum(constant(size), subtract(range.end, first)));
    });
  }

  void emitChunk(Value column, Value numColumns, Value firstRow,
                 Value numRows) {
    dims[product.column] = column;
    dims[row] = firstRow;
    initializeSums(numColumns, numRows);
    int64_t length = product.sizes[k];
    auto emitDepth = [&](Value first, Value count) {
      dims[k] = first;
      packRight(numColumns, count);
      packLeft(numRows, count);
      multiply(numColumns, numRows, count);
    };
    if (depth >= length)
      emitDepth(constant(0), constant(length));
    else
      forLoop(constant(0), constant(length), depth, [&](Value first) {
        emitDepth(first,
                  minimum(constant(depth), subtract(constant(length), first)));
      });
    dims[k] = Value();
    forEachVector(numColumns, numRows,
                  [&](Value r, Value c, ArrayRef<Value> point, int64_t active) {
                    emitEpilogue(loadVector(sums, {r, c}, lanes), point,
                                 active);
                  });
  }

  /// Calls `body` for the vectors of the chunk; the last of a row may extend
  /// beyond the product's last column.
  void forEachVector(
      Value numColumns, Value numRows,
      llvm::function_ref<void(Value, Value, ArrayRef<Value>, int64_t)> body) {
    Value column = dims[product.column], firstRow = dims[row];
    forLoop(constant(0), numRows, 1, [&](Value r) {
      forEachVectorOfRow(numColumns, [&](Value c, int64_t active) {
        SmallVector<Value> point(dims);
        point[row] = add(firstRow, r);
        point[product.column] = add(column, c);
        body(r, c, point, active);
      });
    });
  }

  /// Calls `emit` for the vectors of a row of the chunk, with the number of
  /// lanes that are columns of the product: fewer in the very last vector.
  void forEachVectorOfRow(Value numColumns,
                          llvm::function_ref<void(Value, int64_t)> emit) {
    forEachBlock(numColumns, product.getNumColumns(), lanes, emit);
  }

  /// Iterates over `count` items in blocks of `size`. Calls `emit` with the
  /// number of items in each block: fewer in the very last of all `total`.
  void forEachBlock(Value count, int64_t total, int64_t size,
                    llvm::function_ref<void(Value, int64_t)> emit) {
    int64_t rest = total % size;
    Value full = count;
    if (rest != 0) {
      Value blocks =
          arith::DivUIOp::create(builder, loc, count, constant(size));
      full = arith::MulIOp::create(builder, loc, blocks, constant(size));
    }
    forLoop(constant(0), full, size, [&](Value i) { emit(i, size); });
    if (rest == 0)
      return;
    Value isRagged = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, full, count);
    auto branch = scf::IfOp::create(builder, loc, isRagged);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    emit(full, rest);
  }

  /// Calls `body` for vectors of the last panel completely beyond the product's
  /// last column; they are computed, too, and must be initialized.
  void forEachPaddingVector(Value numColumns,
                            llvm::function_ref<void(Value)> body) {
    int64_t columns = product.getNumColumns(),
            padded = llvm::alignTo(columns, panelWidth),
            first = llvm::alignTo(columns, lanes);
    if (first == padded)
      return;
    Value rest =
        arith::RemUIOp::create(builder, loc, numColumns, constant(panelWidth));
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                         rest, constant(0));
    auto branch = scf::IfOp::create(builder, loc, isLast);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value vectors = arith::DivUIOp::create(
        builder, loc, add(numColumns, constant(lanes - 1)), constant(lanes));
    Value begin = arith::MulIOp::create(builder, loc, vectors, constant(lanes));
    for (int64_t column = first; column < padded; column += lanes)
      body(offset(begin, column - first));
  }

  Value getZeros() {
    return arith::ConstantOp::create(
        builder, loc,
        builder.getZeroAttr(VectorType::get(lanes, product.getElementType())));
  }

  void initializeSums(Value numColumns, Value numRows) {
    forEachPaddingVector(numColumns, [&](Value c) {
      forLoop(constant(0), numRows, 1,
              [&](Value r) { storeVector(getZeros(), sums, {r, c}, lanes); });
    });
    forEachVector(numColumns, numRows,
                  [&](Value r, Value c, ArrayRef<Value> point, int64_t active) {
                    storeVector(getInitial(point, active), sums, {r, c}, lanes);
                  });
  }

  Value getNumPanels(Value numColumns) {
    return arith::DivUIOp::create(builder, loc,
                                  add(numColumns, constant(panelWidth - 1)),
                                  constant(panelWidth));
  }

  /// Copies rows of the right operand if it is contiguous along the column.
  /// Each row is copied to all panels before the next row is read, since rows
  /// may be on different pages.
  void copyRight(Value numColumns, Value count) {
    Value column = dims[product.column];
    forEachPaddingVector(numColumns, [&](Value c) {
      Value panel =
                arith::DivUIOp::create(builder, loc, c, constant(panelWidth)),
            inPanel =
                arith::RemUIOp::create(builder, loc, c, constant(panelWidth));
      forLoop(constant(0), count, 1, [&](Value at) {
        storeVector(getZeros(), panels, {panel, at, inPanel}, lanes);
      });
    });
    forLoop(constant(0), count, 1, [&](Value at) {
      forEachVectorOfRow(numColumns, [&](Value c, int64_t active) {
        SmallVector<Value> point(dims);
        point[k] = add(dims[k], at);
        point[product.column] = add(column, c);
        Value elements =
            loadVector(product.rhs->get(),
                       getIndices(product.getMap(product.rhs), point), active);
        if (cast<VectorType>(elements.getType()).getElementType() !=
            product.getElementType())
          elements = arith::ExtFOp::create(
              builder, loc, VectorType::get(lanes, product.getElementType()),
              elements);
        Value panel =
            arith::DivUIOp::create(builder, loc, c, constant(panelWidth));
        Value inPanel =
            arith::RemUIOp::create(builder, loc, c, constant(panelWidth));
        storeVector(elements, panels, {panel, at, inPanel}, lanes);
      });
    });
  }

  void packRight(Value numColumns, Value count) {
    if (getStride(product, product.rhs, product.column) ==
        cast<MemRefType>(product.rhs->get().getType())
                .getElementTypeBitWidth() /
            8)
      return copyRight(numColumns, count);
    Value column = dims[product.column];
    int64_t rest = product.getNumColumns() % panelWidth;
    Value fullPanels =
        arith::DivUIOp::create(builder, loc, numColumns, constant(panelWidth));
    auto pack = [&](Value panel, int64_t panelColumns) {
      SmallVector<Value> point(dims);
      point[product.column] =
          add(column,
              arith::MulIOp::create(builder, loc, panel, constant(panelWidth)));
      packPanelBlock(builder, loc, product, point, count, panelColumns, lanes,
                     panels, panel);
    };
    forLoop(constant(0), fullPanels, 1,
            [&](Value panel) { pack(panel, panelWidth); });
    if (rest == 0)
      return;
    forEachPaddingVector(numColumns, [&](Value c) {
      Value inPanel =
          arith::RemUIOp::create(builder, loc, c, constant(panelWidth));
      forLoop(constant(0), count, 1, [&](Value at) {
        storeVector(getZeros(), panels, {fullPanels, at, inPanel}, lanes);
      });
    });
    Value isRagged =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                              fullPanels, getNumPanels(numColumns));
    auto branch = scf::IfOp::create(builder, loc, isRagged);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    pack(fullPanels, rest);
  }

  /// Copies the block of the left operand, along the dimension in which it is
  /// contiguous.
  void packLeft(Value numRows, Value count) {
    Value outerCount = isRowContiguous ? count : numRows,
          innerCount = isRowContiguous ? numRows : count;
    unsigned outerDim = isRowContiguous ? k : row,
             innerDim = isRowContiguous ? row : k;
    forLoop(constant(0), outerCount, 1, [&](Value o) {
      auto copy = [&](Value i, Value mask) {
        SmallVector<Value> point(dims);
        point[outerDim] = add(dims[outerDim], o);
        point[innerDim] = add(dims[innerDim], i);
        SmallVector<Value> indices =
            getIndices(product.getMap(product.lhs), point);
        auto type = VectorType::get(
            lanes,
            cast<MemRefType>(product.lhs->get().getType()).getElementType());
        Value zeros = mask ? Value(arith::ConstantOp::create(
                                 builder, loc, builder.getZeroAttr(type)))
                           : Value();
        Value elements =
            mask ? Value(vector::MaskedLoadOp::create(builder, loc, type,
                                                      product.lhs->get(),
                                                      indices, mask, zeros))
                 : Value(vector::LoadOp::create(builder, loc, type,
                                                product.lhs->get(), indices));
        if (type.getElementType() != product.getElementType())
          elements = arith::ExtFOp::create(
              builder, loc, VectorType::get(lanes, product.getElementType()),
              elements);
        vector::StoreOp::create(builder, loc, elements, left, ValueRange{o, i});
      };
      Value vectors =
          arith::DivUIOp::create(builder, loc, innerCount, constant(lanes));
      Value full =
          arith::MulIOp::create(builder, loc, vectors, constant(lanes));
      forLoop(constant(0), full, lanes, [&](Value i) { copy(i, Value()); });
      // The remainder may extend into the padding of the packed block, but not
      // beyond the operand.
      Value rest = subtract(innerCount, full);
      Value isRagged = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ne, rest, constant(0));
      auto branch = scf::IfOp::create(builder, loc, isRagged);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      copy(full, vector::CreateMaskOp::create(
                     builder, loc, VectorType::get(lanes, builder.getI1Type()),
                     rest));
    });
  }

  void multiply(Value numColumns, Value numRows, Value count) {
    forLoop(constant(0), getNumPanels(numColumns), 1, [&](Value panel) {
      forEachBlock(
          numRows, product.getNumRows(), block.rows,
          [&](Value r, int64_t rows) { emitBlock(panel, r, rows, count); });
    });
  }

  void emitBlock(Value panel, Value firstRow, int64_t rows, Value count) {
    Value firstColumn =
        arith::MulIOp::create(builder, loc, panel, constant(panelWidth));
    auto getSumIndices = [&](int64_t i) -> SmallVector<Value> {
      return {offset(firstRow, i / block.vectors),
              offset(firstColumn, i % block.vectors * lanes)};
    };
    SmallVector<Value> accumulators;
    for (int64_t i = 0; i < rows * block.vectors; ++i)
      accumulators.push_back(loadVector(sums, getSumIndices(i), lanes));
    auto loop = scf::ForOp::create(builder, loc, constant(0), count,
                                   constant(1), accumulators);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value at = loop.getInductionVar();
      SmallVector<Value> columns, results;
      for (int64_t v = 0; v < block.vectors; ++v)
        columns.push_back(
            loadVector(panels, {panel, at, constant(v * lanes)}, lanes));
      for (int64_t r = 0; r < rows; ++r) {
        Value rowIndex = offset(firstRow, r);
        Value element =
            loadBroadcast(left, isRowContiguous ? ValueRange{at, rowIndex}
                                                : ValueRange{rowIndex, at});
        for (int64_t v = 0; v < block.vectors; ++v)
          results.push_back(vector::FMAOp::create(
              builder, loc, element, columns[v],
              loop.getRegionIterArg(r * block.vectors + v)));
      }
      scf::YieldOp::create(builder, loc, results);
    }
    for (int64_t i = 0; i < rows * block.vectors; ++i)
      storeVector(loop.getResult(i), sums, getSumIndices(i), lanes);
  }

  unsigned k, row;
  int64_t panelWidth, depth, height, width;
  bool isRowContiguous; ///< Whether the left operand is contiguous along the
                        ///< rows, not along the reduction.
  Value panels, sums, left;
};

} // namespace

void lockstep::emitBlockedProduct(OpBuilder &builder, ProductGroup &group,
                                  const CodegenTarget &target, Value tile,
                                  ArrayRef<Split> splits) {
  BlockedEmitter(builder, group, target).emit(tile, splits);
}
