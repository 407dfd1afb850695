//===- TileEmitter.cpp - The code of a thread of a tile -------------------===//

#include "passes/Codegen/Gpu/TileEmitter.h"

#include "passes/Codegen/ScalarBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// The dimensions that the rows of the result consist of.
static SmallVector<unsigned> getRowDims(const Product &product) {
  SmallVector<unsigned> dims = product.rowDims;
  if (product.row)
    dims.push_back(*product.row);
  llvm::sort(dims);
  return dims;
}

TileEmitter::TileEmitter(func::FuncOp function, ProductGroup &group,
                         const ProductTiles &tiles)
    : ThreadBuilder(function, tiles.getThreads()), group(group),
      product(group.product), tiles(tiles), rowDims(getRowDims(product)),
      numRows(product.getPanelRows()),
      depth(multiplySizes(product.sizes, product.kDims)) {
  builder.setInsertionPoint(group.getPosition());
  loc = product.op.getLoc();
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

SmallVector<OpFoldResult> TileEmitter::sizesOf(ArrayRef<unsigned> which) {
  return llvm::map_to_vector(which, [&](unsigned dim) -> OpFoldResult {
    return builder.getIndexAttr(product.sizes[dim]);
  });
}

Value TileEmitter::add(Value a, int64_t b) {
  return b == 0 ? a
                : Value(arith::AddIOp::create(builder, loc, a, constant(b)));
}

/// a * b + c
Value TileEmitter::multiplyAdd(Value a, int64_t b, Value c) {
  return arith::AddIOp::create(
      builder, loc, arith::MulIOp::create(builder, loc, a, constant(b)), c);
}

/// Sets dimensions to the indices of an iteration of their loops.
void TileEmitter::setDims(ArrayRef<unsigned> which, Value number) {
  for (auto [dim, index] :
       llvm::zip_equal(which, delinearize(number, sizesOf(which))))
    dims[dim] = index;
}

/// Finds which tile the block computes.
void TileEmitter::placeTile() {
  dims.resize(product.sizes.size());
  SmallVector<OpFoldResult> sizes = sizesOf(product.outerDims);
  sizes.push_back(builder.getIndexAttr(llvm::divideCeil(numRows, tiles.rows)));
  sizes.push_back(builder.getIndexAttr(
      llvm::divideCeil(product.getNumColumns(), tiles.columns)));
  SmallVector<Value> indices = delinearize(block, sizes);
  for (auto [dim, index] : llvm::zip(product.outerDims, indices))
    dims[dim] = index;
  firstRow = arith::MulIOp::create(builder, loc, indices[indices.size() - 2],
                                   constant(tiles.rows));
  firstColumn = arith::MulIOp::create(builder, loc, indices.back(),
                                      constant(tiles.columns));
}

/// Sets the dimensions of an element of the thread, and returns whether it is
/// in range; null if all are.
Value TileEmitter::setElement(int64_t i, int64_t j) {
  Value row = arith::AddIOp::create(builder, loc, firstRow,
                                    add(own.row, getRowOffset(i)));
  Value column = arith::AddIOp::create(builder, loc, firstColumn,
                                       add(own.column, getColumnOffset(j)));
  setDims(rowDims, row);
  dims[product.column] = column;
  Value isInside;
  if (numRows % tiles.rows != 0)
    isInside = isBelow(row, constant(numRows));
  if (product.getNumColumns() % tiles.columns != 0) {
    Value fits = isBelow(column, constant(product.getNumColumns()));
    isInside = isInside
                   ? Value(arith::AndIOp::create(builder, loc, isInside, fits))
                   : fits;
  }
  return isInside;
}

void TileEmitter::forEachElement(
    llvm::function_ref<void(unsigned, Value)> body) {
  unsigned number = 0;
  for (int64_t i = 0; i < tiles.threadRows; ++i)
    for (int64_t j = 0; j < tiles.threadColumns; ++j)
      body(number++, setElement(i, j));
}

//===----------------------------------------------------------------------===//
// Slices of the factors
//===----------------------------------------------------------------------===//

/// What `load` returns, or zero if it must not be executed.
Value TileEmitter::loadIf(Value condition, Type type,
                          llvm::function_ref<Value()> load) {
  auto branch = scf::IfOp::create(builder, loc, type, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, load());
  builder.setInsertionPointToStart(branch.elseBlock());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  scf::YieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

/// Whether the elements of a factor along the last reduction dimension are
/// neighbors in memory.
bool TileEmitter::isContiguousAlongDepth(OpOperand *factor) {
  AffineMap map = product.getMap(factor);
  return map.getNumResults() > 0 &&
         map.getResults().back().isFunctionOfDim(product.kDims.back());
}

/// The buffer of the slice of this number.
Value TileEmitter::getBuffer(Value number) {
  return arith::AndIOp::create(builder, loc, number, constant(1));
}

/// What a thread copies of a slice of a factor, of this extent across the
/// reduction. What is outside of the factor is replaced by its last row or
/// column, of which no result is stored.
class TileEmitter::Copy {
public:
  /// `length` elements deep; from `end` on, they are zero. `first` is the first
  /// one across, of `size` that the factor has.
  Copy(TileEmitter &emitter, OpOperand *factor, int64_t length, int64_t end,
       int64_t extent, Value first, int64_t size,
       llvm::function_ref<void(Value)> setAcross)
      : emitter(emitter), factor(factor), end(end), isPadded(end < length),
        isAlongDepth(emitter.isContiguousAlongDepth(factor)) {
    OpBuilder &builder = emitter.builder;
    int64_t total = length * extent, threads = emitter.threads;
    CopyBlock block = emitter.getCopyBlock(extent);
    auto attr = [&](int64_t size) { return builder.getIndexAttr(size); };
    // Along the reduction, and across.
    auto locate = [&](Value number) -> std::pair<Value, Value> {
      if (isAlongDepth) {
        SmallVector<Value> indices =
            emitter.delinearize(number, {attr(extent), attr(length)});
        return {indices[1], indices[0]};
      }
      SmallVector<Value> indices = emitter.delinearize(
          number, {attr(length / block.depth), attr(extent / block.extent),
                   attr(block.depth), attr(block.extent)});
      return {emitter.multiplyAdd(indices[0], block.depth, indices[2]),
              emitter.multiplyAdd(indices[1], block.extent, indices[3])};
    };
    // Most often, the elements of a thread differ in one index only.
    int64_t period = isAlongDepth ? length : block.depth * extent;
    auto own = locate(emitter.thread);
    for (int64_t begin = 0; begin < total; begin += threads) {
      Value number = emitter.add(emitter.thread, begin);
      Element element;
      std::tie(element.k, element.across) =
          threads % period != 0 ? locate(number)
          : isAlongDepth
              ? std::pair(own.first, emitter.add(own.second, begin / length))
              : std::pair(emitter.add(own.first, begin / extent), own.second);
      if (begin + threads > total)
        element.isCopied = emitter.isBelow(number, emitter.constant(total));
      Value across =
          arith::AddIOp::create(builder, emitter.loc, first, element.across);
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
    for (Element &element : elements) {
      emitter.dims = element.dims;
      emitter.setDims(emitter.product.kDims,
                      arith::AddIOp::create(emitter.builder, emitter.loc, begin,
                                            element.k));
      auto load = [&] {
        return ScalarBody(emitter.builder, emitter.product.op, emitter.dims)
            .load(*factor);
      };
      Value isInside = element.isCopied;
      if (isPadded) {
        Value fits = emitter.isBelow(element.k, emitter.constant(end));
        isInside = isInside ? Value(arith::AndIOp::create(
                                  emitter.builder, emitter.loc, isInside, fits))
                            : fits;
      }
      element.value =
          isInside ? emitter.loadIf(isInside,
                                    getElementTypeOrSelf(factor->get()), load)
                   : load();
    }
  }

  /// Converts them, which waits for the loads, and stores them to shared
  /// memory.
  void store(Value memory, Value buffer) {
    for (Element &element : elements) {
      auto store = [&] {
        memref::StoreOp::create(
            emitter.builder, emitter.loc, emitter.convert(element.value),
            memory,
            emitter.getBufferIndices(buffer, element.k, element.across));
      };
      if (element.isCopied)
        emitter.onlyIf(element.isCopied, store);
      else
        store();
    }
  }

private:
  struct Element {
    /// Along the reduction, and across.
    Value k, across;
    /// Null if all threads copy such an element.
    Value isCopied;
    /// The dimensions of the product, without those of the reduction.
    SmallVector<Value> dims;
    Value value;
  };

  TileEmitter &emitter;
  OpOperand *factor;
  int64_t end;
  bool isPadded, isAlongDepth;
  SmallVector<Element> elements;
};

/// A slice of both factors, in which these have `end` elements along the
/// reduction.
class TileEmitter::Slice {
public:
  Slice(TileEmitter &emitter, int64_t end)
      : emitter(emitter),
        length(emitter.padsSlices() ? emitter.tiles.depth : end),
        left(emitter, emitter.product.lhs, length, end, emitter.tiles.rows,
             emitter.firstRow, emitter.numRows,
             [&](Value row) { emitter.setDims(emitter.rowDims, row); }),
        right(emitter, emitter.product.rhs, length, end, emitter.tiles.columns,
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
  int64_t length;
  Copy left, right;
};

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

void TileEmitter::emit() {
  placeTile();
  own = placeThread();
  auto create = [&](int64_t extent) {
    MemRefType type = getBufferType(extent);
    return getShared(createShared(type.getShape(), type.getElementType()));
  };
  leftBuffers = create(tiles.rows);
  rightBuffers = create(tiles.columns);
  SmallVector<Value> sums = loadInitial();

  int64_t whole = depth / tiles.depth, rest = depth % tiles.depth;
  int64_t length = whole > 0 ? tiles.depth : rest;
  Value buffer = constant(0);
  Slice slice(*this, length);
  slice.fetch(constant(0));
  slice.store(buffer);
  barrier();
  // The next slice is loaded to registers while one is multiplied. It goes to
  // the other buffer, which all threads have read before the barrier.
  if (whole > 1) {
    sums = loop(constant(0), constant(whole - 1), constant(1), sums,
                [&](Value number, ValueRange carried) {
                  slice.fetch(arith::MulIOp::create(
                      builder, loc, add(number, 1), constant(tiles.depth)));
                  SmallVector<Value> sums =
                      multiply(getBuffer(number), tiles.depth, carried);
                  slice.store(getBuffer(add(number, 1)));
                  barrier();
                  return sums;
                })
               .getResults();
    buffer = constant((whole - 1) % 2);
  }
  if (whole > 0 && rest > 0) {
    Slice last(*this, rest);
    last.fetch(constant(whole * tiles.depth));
    sums = multiply(buffer, tiles.depth, sums);
    buffer = constant(whole % 2);
    last.store(buffer);
    barrier();
    length = rest;
  }
  storeResults(multiply(buffer, length, sums));
}

SmallVector<Value> TileEmitter::loadInitial() {
  SmallVector<Value> sums(tiles.threadRows * tiles.threadColumns,
                          group.initial);
  if (group.fill)
    return sums;
  forEachElement([&](unsigned number, Value isInside) {
    auto load = [&] {
      return ScalarBody(builder, product.op, dims).load(*product.out);
    };
    sums[number] =
        isInside ? loadIf(isInside, product.getElementType(), load) : load();
  });
  return sums;
}

void TileEmitter::storeResults(ArrayRef<Value> sums) {
  forEachElement([&](unsigned number, Value isInside) {
    if (!isInside)
      return storeElement(sums[number]);
    onlyIf(isInside, [&] { storeElement(sums[number]); });
  });
}

/// Stores an element of the result, or what the epilogue makes of it.
void TileEmitter::storeElement(Value sum) {
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
