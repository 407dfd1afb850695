//===- EmitProduct.cpp - Loops around a block of registers ----------------===//

#include "passes/Codegen/EmitProduct.h"

#include "passes/Codegen/PackPanel.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// Multiply-adds that are worth a tile: about 30 µs on one core.
static constexpr int64_t kTileMultiplyAdds = 1 << 20;
static constexpr int64_t kMaxTiles = 64;
/// Columns and rows that a tile has at least, so that packing a panel pays.
static constexpr int64_t kMinColumns = 64, kMinRows = 64;

SmallVector<Split> lockstep::splitProduct(const Product &product) {
  int64_t wanted = std::min(kMaxTiles, product.getMultiplyAdds() / kTileMultiplyAdds);
  SmallVector<Split> splits;
  auto split = [&](unsigned dim, int64_t most) {
    int64_t count = std::min({wanted, most, product.sizes[dim]});
    if (count < 2)
      return;
    // As many equal parts as there are with the rounded-up size.
    count = llvm::divideCeil(product.sizes[dim], llvm::divideCeil(product.sizes[dim], count));
    splits.push_back({dim, count});
    wanted /= count;
  };
  for (unsigned dim : product.outerDims)
    split(dim, kMaxTiles);
  split(product.column, product.getNumColumns() / kMinColumns);
  int64_t parts = product.getPanelRows() / kMinRows;
  SmallVector<unsigned> rows(product.rowDims);
  if (product.row)
    rows.push_back(*product.row);
  llvm::sort(rows, [&](unsigned a, unsigned b) { return std::pair(-product.sizes[a], a) < std::pair(-product.sizes[b], b); });
  for (unsigned dim : rows) {
    size_t before = splits.size();
    split(dim, dim == product.row ? std::min(parts, product.sizes[dim] / 16) : parts);
    if (splits.size() > before)
      parts /= splits.back().count;
  }
  return splits;
}

namespace {

/// Rows of a block and vectors of a panel.
struct BlockShape {
  int64_t rows, vectors;
};

BlockShape chooseBlock(const Product &product, const CodegenTarget &target) {
  int64_t lanes = target.getLanes(product.getElementType().getIntOrFloatBitWidth());
  int64_t vectors = product.getNumColumns() > lanes ? 2 : 1;
  // Accumulators, the vectors of the right operand, and one broadcast element share the registers.
  int64_t most = (target.numRegisters - vectors - 1) / vectors;
  if (target.numRegisters == 16 && vectors == 2)
    most = 6;
  int64_t rows = product.getNumRows();
  if (getenv("MR") && rows > atoi(getenv("MR"))) return {atoi(getenv("MR")), getenv("NV") ? atoi(getenv("NV")) : vectors};
  if (rows <= most)
    return {rows, vectors};
  for (int64_t candidate = most; candidate > most / 2; --candidate)
    if (rows % candidate == 0)
      return {candidate, vectors};
  // Blocks of nearly equal height.
  return {static_cast<int64_t>(llvm::divideCeil(rows, llvm::divideCeil(rows, most))), vectors};
}

class Emitter {
public:
  Emitter(OpBuilder &builder, ProductGroup &group, const CodegenTarget &target)
      : builder(builder), loc(group.product.op.getLoc()), group(group), product(group.product),
        lanes(target.getLanes(product.getElementType().getIntOrFloatBitWidth())), block(chooseBlock(product, target)) {}

  void emit(Value tile, ArrayRef<Split> splits) {
    SmallVector<int64_t> multiples;
    for (Split split : splits)
      multiples.push_back(split.dim == product.column ? block.vectors * lanes : split.dim == product.row ? block.rows : 1);
    ranges = getTileRanges(builder, loc, tile, product.sizes, splits, multiples);
    dims.assign(product.sizes.size(), Value());
    allocatePanels();
    emitLoops(product.outerDims, [&] { emitColumns(); });
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  Value offset(Value index, int64_t by) { return by == 0 ? index : Value(arith::AddIOp::create(builder, loc, index, constant(by))); }

  void forLoop(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, begin, end, constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// One loop for each of the dimensions.
  void emitLoops(ArrayRef<unsigned> order, llvm::function_ref<void()> body) {
    if (order.empty())
      return body();
    unsigned dim = order.front();
    forLoop(ranges[dim].begin, ranges[dim].end, 1, [&](Value index) {
      dims[dim] = index;
      emitLoops(order.drop_front(), body);
    });
  }

  /// Full blocks of `step`, then what is left over at the end of the dimension.
  void emitBlocks(unsigned dim, int64_t step, llvm::function_ref<void(int64_t)> body) {
    const TileRange &range = ranges[dim];
    int64_t rest = range.size % step;
    if (range.size >= step) {
      Value length = arith::SubIOp::create(builder, loc, range.end, range.begin);
      Value blocks = arith::DivUIOp::create(builder, loc, length, constant(step));
      Value full = arith::AddIOp::create(builder, loc, range.begin, arith::MulIOp::create(builder, loc, blocks, constant(step)));
      if (range.isWhole)
        full = constant(range.size - rest);
      forLoop(range.begin, full, step, [&](Value index) {
        dims[dim] = index;
        body(step);
      });
    }
    if (rest == 0)
      return;
    auto emitRest = [&] {
      dims[dim] = constant(range.size - rest);
      body(rest);
    };
    if (range.isWhole)
      return emitRest();
    // The part that reaches the end does the rest. Parts are multiples of the step, so an empty one begins at the end.
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, range.end, constant(range.size));
    Value isFilled = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, range.begin, range.end);
    auto branch = scf::IfOp::create(builder, loc, arith::AndIOp::create(builder, loc, isLast, isFilled));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    emitRest();
  }

  int64_t getNumVectors(int64_t width) { return llvm::divideCeil(width, lanes); }

  /// Rows that go through a panel once need no packed copy of it.
  bool needsPacking() {
    AffineMap map = product.getMap(product.rhs);
    std::optional<unsigned> result = getOnlyResult(map, product.column);
    bool isContiguous = *result + 1 == map.getNumResults() && isInnermostContiguous(product.rhs->get());
    bool isSameType = cast<MemRefType>(product.rhs->get().getType()).getElementType() == product.getElementType();
    return !isContiguous || !isSameType || product.getPanelRows() > block.rows;
  }

  void allocatePanels() {
    if (!needsPacking())
      return;
    SmallVector<int64_t> shape = llvm::map_to_vector(product.kDims, [&](unsigned dim) { return product.sizes[dim]; });
    shape.push_back(std::min<int64_t>(block.vectors, getNumVectors(product.getNumColumns())) * lanes);
    panel = memref::AllocOp::create(builder, loc, MemRefType::get(shape, product.getElementType()), builder.getI64IntegerAttr(64));
  }

  void emitColumns() {
    emitBlocks(product.column, block.vectors * lanes, [&](int64_t width) {
      if (panel)
        packPanel(builder, loc, product, dims, width, lanes, panel);
      emitLoops(product.rowDims, [&] {
        if (product.row)
          emitBlocks(*product.row, block.rows, [&](int64_t rows) { emitBlock(rows, width); });
        else
          emitBlock(1, width);
      });
    });
  }

  SmallVector<Value> getIndices(AffineMap map, ArrayRef<Value> values) {
    SmallVector<Value> filled(values);
    // Loops that are not open yet do not occur in the map.
    for (Value &value : filled)
      if (!value)
        value = constant(0);
    return llvm::map_to_vector(map.getResults(), [&](AffineExpr result) { return affine::expandAffineExpr(builder, loc, result, filled, {}); });
  }

  Value getMask(int64_t active) {
    return vector::ConstantMaskOp::create(builder, loc, VectorType::get(lanes, builder.getI1Type()), ArrayRef<int64_t>{active});
  }

  /// `active` elements from contiguous memory; the other lanes are zero.
  Value loadVector(Value memory, ValueRange indices, int64_t active) {
    Type element = cast<MemRefType>(memory.getType()).getElementType();
    auto type = VectorType::get(lanes, element);
    if (active == lanes)
      return vector::LoadOp::create(builder, loc, type, memory, indices);
    Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    return vector::MaskedLoadOp::create(builder, loc, type, memory, indices, getMask(active), zeros);
  }

  void storeVector(Value value, Value memory, ValueRange indices, int64_t active) {
    if (active == lanes)
      vector::StoreOp::create(builder, loc, value, memory, indices);
    else
      vector::MaskedStoreOp::create(builder, loc, memory, indices, getMask(active), value);
  }

  /// Values of all dimensions at a row and a vector of the block.
  SmallVector<Value> getPoint(int64_t row, int64_t vector) {
    SmallVector<Value> point(dims);
    if (product.row)
      point[*product.row] = offset(dims[*product.row], row);
    point[product.column] = offset(dims[product.column], vector * lanes);
    return point;
  }

  static int64_t getActive(int64_t width, int64_t vector, int64_t lanes) { return std::min(lanes, width - vector * lanes); }

  /// A block of `rows` by `width` elements, in registers from the first multiply-add to the end of the epilogue.
  void emitBlock(int64_t rows, int64_t width) {
    int64_t vectors = getNumVectors(width);
    AffineMap outMap = product.getMap(product.out);
    SmallVector<Value> accumulators;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        accumulators.push_back(group.initial ? broadcast(builder, loc, group.initial, lanes)
                                             : loadVector(product.out->get(), getIndices(outMap, getPoint(row, v)), getActive(width, v, lanes)));
    accumulators = emitReduction(product.kDims, rows, width, accumulators);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        emitEpilogue(accumulators[row * vectors + v], getPoint(row, v), getActive(width, v, lanes));
      }
  }

  SmallVector<Value> emitReduction(ArrayRef<unsigned> order, int64_t rows, int64_t width, ValueRange accumulators) {
    if (order.empty())
      return emitMultiplyAdds(rows, width, accumulators);
    unsigned dim = order.front();
    auto loop = scf::ForOp::create(builder, loc, constant(0), constant(product.sizes[dim]), constant(1), accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    dims[dim] = loop.getInductionVar();
    SmallVector<Value> results = emitReduction(order.drop_front(), rows, width, loop.getRegionIterArgs());
    scf::YieldOp::create(builder, loc, results);
    dims[dim] = Value();
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> emitMultiplyAdds(int64_t rows, int64_t width, ValueRange accumulators) {
    int64_t vectors = getNumVectors(width);
    SmallVector<Value> columns, results;
    for (int64_t v = 0; v < vectors; ++v) {
      if (panel) {
        SmallVector<Value> indices = llvm::map_to_vector(product.kDims, [&](unsigned dim) { return dims[dim]; });
        indices.push_back(constant(v * lanes));
        columns.push_back(loadVector(panel, indices, lanes));
      } else {
        AffineMap map = product.getMap(product.rhs);
        columns.push_back(loadVector(product.rhs->get(), getIndices(map, getPoint(0, v)), getActive(width, v, lanes)));
      }
    }
    AffineMap map = product.getMap(product.lhs);
    for (int64_t row = 0; row < rows; ++row) {
      Value element = memref::LoadOp::create(builder, loc, product.lhs->get(), getIndices(map, getPoint(row, 0)));
      if (element.getType() != product.getElementType())
        element = arith::ExtFOp::create(builder, loc, product.getElementType(), element);
      Value all = broadcast(builder, loc, element, lanes);
      for (int64_t v = 0; v < vectors; ++v)
        results.push_back(vector::FMAOp::create(builder, loc, all, columns[v], accumulators[row * vectors + v]));
    }
    return results;
  }

  /// Applies the epilogue to one vector of the product and stores the results.
  void emitEpilogue(Value product, ArrayRef<Value> point, int64_t active) {
    llvm::MapVector<Value, Value> values; // of the buffers that the group computes
    values[this->product.out->get()] = product;
    for (linalg::GenericOp op : group.epilogue)
      emitOperation(op, values, point, active);
    for (auto &[buffer, value] : values) {
      if (group.registers.contains(buffer))
        continue;
      SmallVector<Value> indices = llvm::map_to_vector(group.buffers[buffer], [&](unsigned dim) { return point[dim]; });
      storeVector(value, buffer, indices, active);
    }
  }

  void emitOperation(linalg::GenericOp op, llvm::MapVector<Value, Value> &values, ArrayRef<Value> point, int64_t active) {
    SmallVector<unsigned> order = group.getDims(op);
    SmallVector<Value> dimValues = llvm::map_to_vector(order, [&](unsigned dim) { return point[dim]; });
    unsigned columnDim = llvm::find(order, product.column) - order.begin();
    SmallVector<Value> arguments;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (op.isDpsInit(&operand) || !op.payloadUsesValueFromOperand(&operand))
        arguments.push_back(Value());
      else if (auto *computed = values.find(operand.get()); computed != values.end())
        arguments.push_back(computed->second);
      else if (op.isScalar(&operand))
        arguments.push_back(operand.get());
      else if (map.isFunctionOfDim(columnDim))
        arguments.push_back(loadVector(operand.get(), getIndices(map, dimValues), active));
      else
        arguments.push_back(memref::LoadOp::create(builder, loc, operand.get(), getIndices(map, dimValues)));
    }
    SmallVector<Value> results = evaluateBody(builder, op, arguments, lanes);
    for (auto [init, result] : llvm::zip_equal(op.getDpsInits(), results))
      values[init] = result;
  }

  OpBuilder &builder;
  Location loc;
  ProductGroup &group;
  const Product &product;
  int64_t lanes;
  BlockShape block;
  SmallVector<TileRange> ranges;
  SmallVector<Value> dims; ///< Values of the dimensions whose loops are open.
  Value panel;
};

} // namespace

void lockstep::emitProduct(OpBuilder &builder, ProductGroup &group, const CodegenTarget &target, Value tile, ArrayRef<Split> splits) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(group.getPosition());
  Emitter(builder, group, target).emit(tile, splits);
}
