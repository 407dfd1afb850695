//===- EmitTiles.cpp - Products by tiles in shared memory -----------------===//

#include "passes/Codegen/Gpu/EmitTiles.h"

#include "passes/Codegen/Gpu/ThreadBuilder.h"
#include "passes/Codegen/ScalarBody.h"
#include "passes/Codegen/Targets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// The number of elements that a thread loads from shared memory at once.
static constexpr int64_t kVector = 4;
/// The threads of a warp compute a part of a tile, in so many rows and columns
/// of threads.
static constexpr int64_t kWarpRows = 4, kWarpColumns = 8;

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
  // Large tiles read memory less often, and take fewer instructions for an
  // element: the speeds are relative, for a multiprocessor with one block.
  static constexpr struct {
    ProductTiles tiles;
    double speed;
  } kShapes[] = {{{128, 128, 8, 8, 8}, 1.0},
                 {{128, 64, 8, 8, 8}, 0.9},
                 {{64, 64, 16, 8, 4}, 0.65},
                 {{32, 32, 16, 4, 4}, 0.35},
                 {{16, 16, 16, 1, 1}, 0.1}};
  std::optional<ProductTiles> best;
  double shortest = 0;
  for (const auto &shape : kShapes) {
    ProductTiles tiles = shape.tiles;
    // There are not so many registers.
    if (tiles.threadRows * tiles.threadColumns > 32 &&
        product.getElementType().isF64())
      continue;
    tiles.blocks = outer * llvm::divideCeil(rows, tiles.rows) *
                   llvm::divideCeil(columns, tiles.columns);
    double time = llvm::divideCeil(tiles.blocks, kMultiprocessors) *
                  tiles.rows * tiles.columns / shape.speed;
    if (!best || time < shortest) {
      best = tiles;
      shortest = time;
    }
  }
  return best;
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
    createBuffers();
    SmallVector<Value> sums = loadInitial();
    int64_t whole = depth / tiles.depth, rest = depth % tiles.depth;
    SmallVector<int64_t> lengths;
    if (whole > 0)
      lengths.push_back(tiles.depth);
    if (rest > 0)
      lengths.push_back(rest);
    Value buffer = constant(0);
    Slice slice(*this, lengths.front());
    slice.fetch(constant(0));
    slice.store(buffer);
    barrier();
    // While a slice is multiplied, the next one is on its way to registers; it
    // goes to the other buffer, which all threads have read before the barrier.
    if (whole > 1) {
      sums = loop(constant(0), constant(whole - 1), constant(1), sums,
                  [&](Value number, ValueRange carried) {
                    Value next = arith::MulIOp::create(
                        builder, loc, add(number, 1), constant(tiles.depth));
                    slice.fetch(next);
                    Value current = getBuffer(number);
                    SmallVector<Value> sums =
                        multiply(current, tiles.depth, carried);
                    slice.store(getBuffer(add(number, 1)));
                    barrier();
                    return sums;
                  })
                 .getResults();
      buffer = constant((whole - 1) % 2);
    }
    if (lengths.size() > 1) {
      Slice last(*this, rest);
      last.fetch(constant(whole * tiles.depth));
      sums = multiply(buffer, tiles.depth, sums);
      buffer = constant(whole % 2);
      last.store(buffer);
      barrier();
    }
    storeResults(multiply(buffer, lengths.back(), sums));
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
    // Lanes i and i ^ 1 have the same row, i and i ^ 2 the same column: shared
    // memory serves two such lanes at once.
    SmallVector<OpFoldResult> threads;
    for (int64_t size :
         {tiles.rows / tiles.threadRows / kWarpRows,
          tiles.columns / tiles.threadColumns / kWarpColumns, int64_t(2),
          int64_t(2), int64_t(2), int64_t(2), int64_t(2)})
      threads.push_back(builder.getIndexAttr(size));
    SmallVector<Value> places = delinearize(thread, threads);
    ownRow = compose({places[0], places[3], places[5]},
                     std::min(tiles.threadRows, kVector));
    ownColumn = compose({places[1], places[2], places[4], places[6]},
                        std::min(tiles.threadColumns, kVector));
  }

  /// The number with these binary digits, of which the first may be larger, by
  /// `factor`.
  Value compose(ArrayRef<Value> digits, int64_t factor) {
    Value number = digits.front();
    for (Value digit : digits.drop_front())
      number = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, number, constant(2)), digit);
    return arith::MulIOp::create(builder, loc, number, constant(factor));
  }

  /// How far the i-th row, or column, of a thread is from its first one, if it
  /// has `own` of `all`. They are neighbors as far as one access loads them;
  /// the next ones are behind those of all other threads.
  static int64_t getOffset(int64_t i, int64_t all, int64_t own) {
    int64_t width = std::min(own, kVector);
    return i / width * (all / own * width) + i % width;
  }
  /// The row, in its tile, of the i-th row of the thread.
  Value getRow(int64_t i) {
    return add(ownRow, getOffset(i, tiles.rows, tiles.threadRows));
  }
  Value getColumn(int64_t j) {
    return add(ownColumn, getOffset(j, tiles.columns, tiles.threadColumns));
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
      sums[number] = loadIf(isInside, zero, [&] {
        return ScalarBody(builder, product.op, dims).load(*product.out);
      });
    });
    return sums;
  }

  /// What `load` returns, or another value if it must not be executed.
  Value loadIf(Value condition, Value otherwise,
               llvm::function_ref<Value()> load) {
    auto branch = scf::IfOp::create(builder, loc, otherwise.getType(),
                                    condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, load());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, otherwise);
    return branch.getResult(0);
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

  /// Two slices of each factor, so that one can be written while the other is
  /// read. Rows end in a gap, so that threads that copy a column write to
  /// different banks; its size keeps vectors aligned.
  void createBuffers() {
    Type element = product.getElementType();
    auto create = [&](int64_t extent) {
      return getShared(
          createShared({2, tiles.depth, extent + kVector}, element));
    };
    leftBuffers = create(tiles.rows);
    rightBuffers = create(tiles.columns);
  }

  /// The buffer of the slice of this number.
  Value getBuffer(Value number) {
    return arith::AndIOp::create(builder, loc, number, constant(1));
  }

  /// What a thread copies of a slice of a factor, of this extent across the
  /// reduction: neighboring threads copy neighboring elements. What is outside
  /// of the factor is replaced by its last row or column, of which no result is
  /// stored.
  class Copy {
  public:
    Copy(TileEmitter &emitter, OpOperand *factor, int64_t length,
         int64_t extent, Value first, int64_t size,
         llvm::function_ref<void(Value)> setAcross)
        : emitter(emitter), factor(factor),
          isAlongDepth(emitter.isContiguousAlongDepth(factor)) {
      OpBuilder &builder = emitter.builder;
      int64_t total = length * extent, threads = emitter.threads;
      SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(length),
                                         builder.getIndexAttr(extent)};
      if (isAlongDepth)
        std::swap(sizes[0], sizes[1]);
      int64_t inner = isAlongDepth ? length : extent;
      SmallVector<Value> own = emitter.delinearize(emitter.thread, sizes);
      for (int64_t begin = 0; begin < total; begin += threads) {
        Value number = emitter.add(emitter.thread, begin);
        Element element;
        // Most often, elements of a thread differ in one index only.
        element.indices =
            threads % inner == 0
                ? SmallVector<Value>{emitter.add(own[0], begin / inner), own[1]}
                : emitter.delinearize(number, sizes);
        if (isAlongDepth)
          std::swap(element.indices[0], element.indices[1]);
        if (begin + threads > total)
          element.isInside = emitter.isBelow(number, emitter.constant(total));
        Value across = arith::AddIOp::create(builder, emitter.loc, first,
                                             element.indices[1]);
        if (size % extent != 0)
          across = arith::MinUIOp::create(builder, emitter.loc, across,
                                          emitter.constant(size - 1));
        setAcross(across);
        element.dims = emitter.dims;
        elements.push_back(std::move(element));
      }
    }

    /// Loads the elements of the slice that begins at `begin` to registers.
    void fetch(Value begin) {
      OpBuilder &builder = emitter.builder;
      for (Element &element : elements) {
        emitter.dims = element.dims;
        emitter.setDims(emitter.product.kDims,
                        arith::AddIOp::create(builder, emitter.loc, begin,
                                              element.indices[0]));
        if (!element.isInside) {
          element.value = emitter.loadFactor(factor);
          continue;
        }
        Value zero = arith::ConstantOp::create(
            builder, emitter.loc,
            builder.getZeroAttr(emitter.product.getElementType()));
        element.value = emitter.loadIf(
            element.isInside, zero, [&] { return emitter.loadFactor(factor); });
      }
    }

    /// Stores them to shared memory.
    void store(Value memory, Value buffer) {
      for (Element &element : elements) {
        auto store = [&] {
          memref::StoreOp::create(
              emitter.builder, emitter.loc, element.value, memory,
              ValueRange{buffer, element.indices[0], element.indices[1]});
        };
        if (element.isInside)
          emitter.onlyIf(element.isInside, store);
        else
          store();
      }
    }

  private:
    struct Element {
      /// Along the reduction, and across.
      SmallVector<Value> indices;
      /// Null if it is in range.
      Value isInside;
      /// The dimensions of the product, without those of the reduction.
      SmallVector<Value> dims;
      Value value;
    };

    TileEmitter &emitter;
    OpOperand *factor;
    /// Whether threads that are neighbors copy neighbors along the reduction.
    bool isAlongDepth;
    SmallVector<Element> elements;
  };

  /// A slice of both factors, `length` deep.
  class Slice {
  public:
    Slice(TileEmitter &emitter, int64_t length)
        : emitter(emitter),
          left(emitter, emitter.product.lhs, length, emitter.tiles.rows,
               emitter.firstRow, emitter.numRows,
               [&](Value row) { emitter.setDims(emitter.rowDims, row); }),
          right(emitter, emitter.product.rhs, length, emitter.tiles.columns,
                emitter.firstColumn, emitter.product.getNumColumns(),
                [&](Value column) {
                  emitter.dims[emitter.product.column] = column;
                }) {}

    void fetch(Value begin) {
      left.fetch(begin);
      right.fetch(begin);
    }
    void store(Value buffer) {
      left.store(emitter.leftBuffers, buffer);
      right.store(emitter.rightBuffers, buffer);
    }

  private:
    TileEmitter &emitter;
    Copy left, right;
  };

  /// `count` elements of the row `k` of a slice, from `first` on, as
  /// `getOffset` distributes them.
  SmallVector<Value> loadVectors(Value memory, Value buffer, int64_t k,
                                 Value first, int64_t all, int64_t count) {
    Type element = product.getElementType();
    int64_t width = std::min(count, kVector);
    auto type = VectorType::get(width, element);
    int64_t alignment =
        std::min<int64_t>(width * element.getIntOrFloatBitWidth() / 8, 16);
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; i += width) {
      Value vector = vector::LoadOp::create(
          builder, loc, type, memory,
          ValueRange{buffer, constant(k), add(first, getOffset(i, all, count))},
          /*nontemporal=*/false, llvm::MaybeAlign(alignment));
      for (int64_t j = 0; j < width; ++j)
        values.push_back(vector::ExtractOp::create(builder, loc, vector, j));
    }
    return values;
  }

  /// Adds the products of a slice of the factors, `length` deep.
  SmallVector<Value> multiply(Value buffer, int64_t length,
                              ValueRange carried) {
    SmallVector<Value> sums(carried);
    for (int64_t k = 0; k < length; ++k) {
      SmallVector<Value> leftValues = loadVectors(
          leftBuffers, buffer, k, ownRow, tiles.rows, tiles.threadRows);
      SmallVector<Value> rightValues =
          loadVectors(rightBuffers, buffer, k, ownColumn, tiles.columns,
                      tiles.threadColumns);
      unsigned number = 0;
      for (Value a : leftValues)
        for (Value b : rightValues) {
          sums[number] = math::FmaOp::create(builder, loc, a, b, sums[number]);
          ++number;
        }
    }
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
  Value leftBuffers, rightBuffers;
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
