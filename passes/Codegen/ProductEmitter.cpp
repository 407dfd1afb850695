//===- ProductEmitter.cpp - Common code of product emitters ---------------===//

#include "passes/Codegen/ProductEmitter.h"

#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

BlockShape lockstep::chooseBlock(const Product &product,
                                 const CodegenTarget &target) {
  int64_t lanes =
      target.getLanes(product.getElementType().getIntOrFloatBitWidth());
  int64_t vectors = product.getNumColumns() > lanes ? 2 : 1;
  // Accumulators, the vectors of the right operand, and one broadcast element
  // share the registers.
  int64_t most = (target.numRegisters - vectors - 1) / vectors;
  if (target.numRegisters == 16 && vectors == 2)
    most = 6;
  int64_t rows = product.getNumRows();
  if (rows <= most)
    return {rows, vectors};
  for (int64_t candidate = most; candidate > most / 2; --candidate)
    if (rows % candidate == 0)
      return {candidate, vectors};
  // Blocks of nearly equal height.
  return {static_cast<int64_t>(
              llvm::divideCeil(rows, llvm::divideCeil(rows, most))),
          vectors};
}

ProductEmitter::ProductEmitter(OpBuilder &builder, ProductGroup &group,
                               const CodegenTarget &target)
    : builder(builder), loc(group.product.op.getLoc()), group(group),
      product(group.product),
      lanes(target.getLanes(product.getElementType().getIntOrFloatBitWidth())),
      block(chooseBlock(product, target)) {
  dims.assign(product.sizes.size(), Value());
}

Value ProductEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ProductEmitter::offset(Value index, int64_t by) {
  return by == 0
             ? index
             : Value(arith::AddIOp::create(builder, loc, index, constant(by)));
}

void ProductEmitter::forLoop(Value begin, Value end, int64_t step,
                             llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void ProductEmitter::emitLoops(ArrayRef<unsigned> order,
                               llvm::function_ref<void()> body) {
  if (order.empty())
    return body();
  unsigned dim = order.front();
  forLoop(ranges[dim].begin, ranges[dim].end, 1, [&](Value index) {
    dims[dim] = index;
    emitLoops(order.drop_front(), body);
  });
}

void ProductEmitter::emitBlocks(unsigned dim, int64_t step,
                                llvm::function_ref<void(int64_t)> body) {
  const TileRange &range = ranges[dim];
  int64_t rest = range.size % step;
  if (range.size >= step) {
    Value full = constant(range.size - rest);
    if (!range.isWhole) {
      Value length =
          arith::SubIOp::create(builder, loc, range.end, range.begin);
      Value blocks =
          arith::DivUIOp::create(builder, loc, length, constant(step));
      full = arith::AddIOp::create(
          builder, loc, range.begin,
          arith::MulIOp::create(builder, loc, blocks, constant(step)));
    }
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
  // The remainder belongs to the last part that is not empty. Parts are
  // multiples of the step, so an empty one begins at the end.
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       range.end, constant(range.size));
  Value isFilled = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, range.begin, range.end);
  auto branch = scf::IfOp::create(
      builder, loc, arith::AndIOp::create(builder, loc, isLast, isFilled));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitRest();
}

void ProductEmitter::setRanges(Value tile, ArrayRef<Split> splits,
                               int64_t columnMultiple, int64_t rowMultiple) {
  SmallVector<int64_t> multiples;
  for (Split split : splits)
    multiples.push_back(split.dim == product.column ? columnMultiple
                        : split.dim == product.row  ? rowMultiple
                                                    : 1);
  ranges = getTileRanges(builder, loc, tile, product.sizes, splits, multiples);
}

SmallVector<Value> ProductEmitter::getIndices(AffineMap map,
                                              ArrayRef<Value> values) {
  SmallVector<Value> filled(values);
  for (Value &value : filled)
    if (!value)
      value = constant(0);
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr result) {
    return affine::expandAffineExpr(builder, loc, result, filled, {});
  });
}

Value ProductEmitter::getMask(int64_t active) {
  return vector::ConstantMaskOp::create(
      builder, loc, VectorType::get(lanes, builder.getI1Type()),
      ArrayRef<int64_t>{active});
}

Value ProductEmitter::loadVector(Value memory, ValueRange indices,
                                 int64_t active) {
  auto type = VectorType::get(
      lanes, cast<MemRefType>(memory.getType()).getElementType());
  if (active == lanes)
    return vector::LoadOp::create(builder, loc, type, memory, indices);
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(builder, loc, type, memory, indices,
                                      getMask(active), zeros);
}

void ProductEmitter::storeVector(Value value, Value memory, ValueRange indices,
                                 int64_t active) {
  if (active == lanes)
    vector::StoreOp::create(builder, loc, value, memory, indices);
  else
    vector::MaskedStoreOp::create(builder, loc, memory, indices,
                                  getMask(active), value);
}

Value ProductEmitter::loadBroadcast(Value memory, ValueRange indices) {
  Value element = memref::LoadOp::create(builder, loc, memory, indices);
  if (element.getType() != product.getElementType())
    element =
        arith::ExtFOp::create(builder, loc, product.getElementType(), element);
  return broadcast(builder, loc, element, lanes);
}

Value ProductEmitter::getInitial(ArrayRef<Value> point, int64_t active) {
  if (group.initial)
    return broadcast(builder, loc, group.initial, lanes);
  return loadVector(product.out->get(),
                    getIndices(product.getMap(product.out), point), active);
}

int64_t ProductEmitter::getNumVectors(int64_t width) {
  return llvm::divideCeil(width, lanes);
}

void ProductEmitter::emitEpilogue(Value value, ArrayRef<Value> point,
                                  int64_t active) {
  llvm::MapVector<Value, Value>
      values; // of the buffers that the group computes
  values[product.out->get()] = value;
  for (linalg::GenericOp op : group.epilogue)
    emitOperation(op, values, point, active);
  for (auto &[buffer, computed] : values) {
    if (group.registers.contains(buffer))
      continue;
    SmallVector<Value> indices = llvm::map_to_vector(
        group.buffers[buffer], [&](unsigned dim) { return point[dim]; });
    storeVector(computed, buffer, indices, active);
  }
}

void ProductEmitter::emitOperation(linalg::GenericOp op,
                                   llvm::MapVector<Value, Value> &values,
                                   ArrayRef<Value> point, int64_t active) {
  SmallVector<unsigned> order = group.getDims(op);
  SmallVector<Value> dimValues =
      llvm::map_to_vector(order, [&](unsigned dim) { return point[dim]; });
  unsigned columnDim = llvm::find(order, product.column) - order.begin();
  SmallVector<Value> arguments;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (op.isDpsInit(&operand) || !op.payloadUsesValueFromOperand(&operand))
      arguments.push_back(Value());
    else if (auto *computed = values.find(operand.get());
             computed != values.end())
      arguments.push_back(computed->second);
    else if (op.isScalar(&operand))
      arguments.push_back(operand.get());
    else if (map.isFunctionOfDim(columnDim))
      arguments.push_back(
          loadVector(operand.get(), getIndices(map, dimValues), active));
    else
      arguments.push_back(memref::LoadOp::create(builder, loc, operand.get(),
                                                 getIndices(map, dimValues)));
  }
  SmallVector<Value> results =
      evaluateBody(builder, op, arguments, lanes, dimValues, columnDim);
  for (auto [init, result] : llvm::zip_equal(op.getDpsInits(), results))
    values[init] = result;
}
