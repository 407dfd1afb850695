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

/// What is packed, and partial sums, stay in the second-level cache, and on the
/// stack (Goto and van de Geijn, "Anatomy of High-Performance Matrix
/// Multiplication").
static constexpr int64_t kBlockBytes = 480 << 10;
/// The most columns of the packed block of the right operand.
static constexpr int64_t kMostColumns = 256;
/// The most columns if many rows have partial sums.
static constexpr int64_t kColumnsOfManyRows = 128;
/// Fewer columns are not worth packing the whole reduction.
static constexpr int64_t kLeastColumns = 96;
/// Tiles with at least this many rows have many. With fewer, a left operand
/// that is contiguous along the rows is packed for all of them at once.
static constexpr int64_t kManyRows = 256;
/// The most rows that have partial sums.
static constexpr int64_t kMostRows = 512;
/// Rows of the left operand that are packed together if it is contiguous along
/// them.
static constexpr int64_t kContiguousRows = 64;
/// Longer reductions are blocked.
static constexpr int64_t kShortReduction = 384;
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
  return conflicts || product.sizes[product.kDims[0]] > kShortReduction;
}

namespace {

class BlockedEmitter : ProductEmitter {
public:
  BlockedEmitter(OpBuilder &builder, ProductGroup &group,
                 const CodegenTarget &target)
      : ProductEmitter(builder, group, target), k(product.kDims[0]),
        row(*product.row), panelWidth(block.vectors * lanes),
        isRowContiguous(getStride(product, product.lhs, row) <
                        getStride(product, product.lhs, k)) {}

  void emit(Value tile, ArrayRef<Split> splits) {
    setRanges(tile, splits, panelWidth, block.rows);
    chooseExtents(splits);
    auto alloc = [&](ArrayRef<int64_t> shape) -> Value {
      return memref::AllocOp::create(
          builder, loc, MemRefType::get(shape, product.getElementType()),
          builder.getI64IntegerAttr(64));
    };
    panels = alloc({width / panelWidth, depth, panelWidth});
    left = isRowContiguous ? alloc({depth, height + kPadding})
                           : alloc({height, depth + kPadding});
    if (depth < product.sizes[k])
      sums = alloc({groupRows, width + kPadding});
    emitLoops(product.outerDims, [&] {
      emitLoops(product.rowDims, [&] {
        emitChunks(product.column, width, [&](Value column, Value numColumns) {
          emitChunks(row, groupRows, [&](Value firstRow, Value numRows) {
            emitGroup(column, numColumns, firstRow, numRows);
          });
        });
      });
    });
  }

private:
  /// Chooses the extents of what is packed. If the whole reduction of a few
  /// panels fits, no partial sums are stored.
  void chooseExtents(ArrayRef<Split> splits) {
    int64_t rows = getPart(splits, row, block.rows),
            columns = getPart(splits, product.column, panelWidth),
            length = product.sizes[k],
            elements = kBlockBytes / getElementBytes(product.getElementType());
    bool hasManyRows = rows >= kManyRows;
    height = block.rows;
    if (isRowContiguous)
      height = divide(rows, hasManyRows ? kContiguousRows : rows, block.rows);
    int64_t leftElements = isRowContiguous ? height + kPadding : height;
    if (hasManyRows || !isRowContiguous) {
      int64_t most = elements / length - leftElements - 1;
      if (most >= std::min(kLeastColumns, columns)) {
        groupRows = rows;
        depth = length;
        width = divide(columns, std::min(most, kMostColumns), panelWidth);
        return;
      }
    }
    width = divide(columns, hasManyRows ? kColumnsOfManyRows : kMostColumns,
                   panelWidth);
    // Partial sums have at most five eighths of the memory.
    int64_t mostRows = elements * 5 / 8 / (width + kPadding);
    groupRows = divide(rows, std::min(kMostRows, mostRows), height);
    depth =
        (elements - groupRows * (width + kPadding)) / (width + leftElements);
    depth = divide(length, std::max(depth, lanes), lanes);
  }

  /// The size of a tile along a dimension, a multiple of `multiple`.
  int64_t getPart(ArrayRef<Split> splits, unsigned dim, int64_t multiple) {
    int64_t size = product.sizes[dim];
    for (Split split : splits)
      if (split.dim == dim)
        size = llvm::divideCeil(size, split.count);
    return llvm::alignTo(size, multiple);
  }

  /// The largest of nearly equal parts of `size` that are at most `most`. All
  /// but the last one are multiples of `multiple`.
  static int64_t divide(int64_t size, int64_t most, int64_t multiple) {
    int64_t units = llvm::divideCeil(size, multiple),
            mostUnits = std::max<int64_t>(1, most / multiple);
    return llvm::divideCeil(units, llvm::divideCeil(units, mostUnits)) *
           multiple;
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

  /// Computes `numRows` rows of the columns of a block.
  void emitGroup(Value column, Value numColumns, Value firstRow,
                 Value numRows) {
    Value length = constant(product.sizes[k]);
    auto emitDepth = [&](Value first, Value count) {
      dims[product.column] = column;
      dims[k] = first;
      packRight(numColumns, count);
      forLoop(constant(0), numRows, height, [&](Value r) {
        Value rows = minimum(constant(height), subtract(numRows, r));
        dims[row] = add(firstRow, r);
        packLeft(rows, count);
        forEachBlock(rows, product.getNumRows(), block.rows,
                     [&](Value inLeft, int64_t blockRows) {
                       forEachBlock(numColumns, product.getNumColumns(),
                                    panelWidth, [&](Value c, int64_t columns) {
                                      emitBlock({r, inLeft, c, first, count},
                                                blockRows, columns);
                                    });
                     });
      });
    };
    if (!sums)
      emitDepth(constant(0), length);
    else
      forLoop(constant(0), length, depth, [&](Value first) {
        emitDepth(first, minimum(constant(depth), subtract(length, first)));
      });
    dims[k] = Value();
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

  /// Copies rows of the right operand if it is contiguous along the column.
  /// Each row is copied to all panels before the next row is read, since rows
  /// may be on different pages.
  void copyRight(Value numColumns, Value count) {
    Value column = dims[product.column];
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
    forEachBlock(numColumns, product.getNumColumns(), panelWidth,
                 [&](Value c, int64_t columns) {
                   SmallVector<Value> point(dims);
                   point[product.column] = add(column, c);
                   Value panel = arith::DivUIOp::create(builder, loc, c,
                                                        constant(panelWidth));
                   packPanelBlock(builder, loc, product, point, count, columns,
                                  lanes, panels, panel);
                 });
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

  /// Where a block of the result is: its first row is `inLeft` in what is
  /// packed of the left operand, which begins with row `row` of the group, and
  /// its first column `column` in the chunk. It adds up `count` products from
  /// `first` on.
  struct BlockPlace {
    Value row, inLeft, column, first, count;
  };

  void emitBlock(const BlockPlace &place, int64_t rows, int64_t columns) {
    int64_t vectors = getNumVectors(columns);
    SmallVector<Value> before(dims);
    dims[k] = Value();
    dims[row] = add(dims[row], place.inLeft);
    dims[product.column] = add(dims[product.column], place.column);
    Value rowInGroup = add(place.row, place.inLeft);
    auto forEachVector = [&](llvm::function_ref<void(int64_t, ArrayRef<Value>,
                                                     ArrayRef<Value>, int64_t)>
                                 body) {
      for (int64_t i = 0; i < rows * vectors; ++i) {
        int64_t r = i / vectors, v = i % vectors;
        SmallVector<Value> point(dims);
        point[row] = offset(dims[row], r);
        point[product.column] = offset(dims[product.column], v * lanes);
        Value inSums[] = {offset(rowInGroup, r),
                          offset(place.column, v * lanes)};
        body(i, point, inSums, getActive(columns, v));
      }
    };
    auto getInitials = [&] {
      SmallVector<Value> values;
      forEachVector(
          [&](int64_t, ArrayRef<Value> point, ArrayRef<Value>, int64_t active) {
            values.push_back(getInitial(point, active));
          });
      return values;
    };
    auto finish = [&](ValueRange values) {
      forEachVector(
          [&](int64_t i, ArrayRef<Value> point, ArrayRef<Value>,
              int64_t active) { emitEpilogue(values[i], point, active); });
    };
    auto multiply = [&](ValueRange accumulators) {
      Value panel = arith::DivUIOp::create(builder, loc, place.column,
                                           constant(panelWidth));
      return emitMultiplyAdds(panel, place.inLeft, rows, vectors, place.count,
                              accumulators);
    };
    if (!sums) {
      finish(multiply(getInitials()));
    } else {
      OpBuilder::InsertionGuard guard(builder);
      auto isEqual = [&](Value a, Value b) -> Value {
        return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a,
                                     b);
      };
      auto begin = scf::IfOp::create(
          builder, loc,
          SmallVector<Type>(rows * vectors,
                            VectorType::get(lanes, product.getElementType())),
          isEqual(place.first, constant(0)), /*withElseRegion=*/true);
      builder.setInsertionPointToStart(begin.thenBlock());
      scf::YieldOp::create(builder, loc, getInitials());
      builder.setInsertionPointToStart(begin.elseBlock());
      SmallVector<Value> stored;
      forEachVector(
          [&](int64_t, ArrayRef<Value>, ArrayRef<Value> inSums, int64_t) {
            stored.push_back(loadVector(sums, inSums, lanes));
          });
      scf::YieldOp::create(builder, loc, stored);
      builder.setInsertionPointAfter(begin);
      ValueRange results = multiply(begin.getResults());
      auto end = scf::IfOp::create(
          builder, loc,
          isEqual(add(place.first, place.count), constant(product.sizes[k])),
          /*withElseRegion=*/true);
      builder.setInsertionPointToStart(end.thenBlock());
      finish(results);
      builder.setInsertionPointToStart(end.elseBlock());
      forEachVector(
          [&](int64_t i, ArrayRef<Value>, ArrayRef<Value> inSums, int64_t) {
            storeVector(results[i], sums, inSums, lanes);
          });
    }
    dims = before;
  }

  /// Adds `count` products to the accumulators of a block, whose rows in the
  /// packed block begin with `firstRow`.
  ValueRange emitMultiplyAdds(Value panel, Value firstRow, int64_t rows,
                              int64_t vectors, Value count,
                              ValueRange accumulators) {
    auto loop = scf::ForOp::create(builder, loc, constant(0), count,
                                   constant(1), accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    SmallVector<Value> columns, results;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(
          loadVector(panels, {panel, at, constant(v * lanes)}, lanes));
    for (int64_t r = 0; r < rows; ++r) {
      Value rowIndex = offset(firstRow, r);
      Value element =
          loadBroadcast(left, isRowContiguous ? ValueRange{at, rowIndex}
                                              : ValueRange{rowIndex, at});
      for (int64_t v = 0; v < vectors; ++v)
        results.push_back(
            vector::FMAOp::create(builder, loc, element, columns[v],
                                  loop.getRegionIterArg(r * vectors + v)));
    }
    scf::YieldOp::create(builder, loc, results);
    return loop.getResults();
  }

  unsigned k, row;
  int64_t panelWidth;
  bool isRowContiguous; ///< Whether the left operand is contiguous along the
                        ///< rows, not along the reduction.
  /// Of what is packed: columns of the right operand, rows of the left one, and
  /// of both the length of a part of the reduction.
  int64_t width = 0, height = 0, depth = 0;
  /// Rows for which a block of the right operand is packed.
  int64_t groupRows = 0;
  Value panels, sums, left;
};

} // namespace

void lockstep::emitBlockedProduct(OpBuilder &builder, ProductGroup &group,
                                  const CodegenTarget &target, Value tile,
                                  ArrayRef<Split> splits) {
  BlockedEmitter(builder, group, target).emit(tile, splits);
}
