//===- PackPanel.cpp - Pack panels of a product's right operand -----------===//

#include "passes/Codegen/PackPanel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

SmallVector<Value> lockstep::transposeSquare(OpBuilder &builder, Location loc,
                                             ArrayRef<Value> rows) {
  // log2(n) rounds of interleaving row i with row i + n/2.
  int64_t n = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  SmallVector<Value> current(rows);
  for (int64_t round = 1; round < n; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i) {
      next.push_back(vector::ShuffleOp::create(builder, loc, current[i],
                                               current[i + n / 2], low));
      next.push_back(vector::ShuffleOp::create(builder, loc, current[i],
                                               current[i + n / 2], high));
    }
    current = std::move(next);
  }
  return current;
}

namespace {
class Packer {
public:
  Packer(OpBuilder &builder, Location loc, const Product &product,
         ArrayRef<Value> dims, int64_t width, int64_t lanes, Value panel)
      : builder(builder), loc(loc), product(product), dims(dims), width(width),
        lanes(lanes), panel(panel), source(product.rhs->get()),
        map(product.getMap(product.rhs)), element(product.getElementType()) {
    Value zero = constant(0);
    for (Value &dim : this->dims)
      if (!dim)
        dim = zero;
  }

  /// Packs a block of the only reduction dimension instead of all dimensions.
  void setBlock(Value length, Value number) {
    count = length;
    first = dims[product.kDims[0]];
    panelNumber = number;
  }

  void pack() {
    SmallVector<unsigned> order(product.kDims);
    bool isContiguous = isInnermostContiguous(source);
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (isContiguous && last && last.getPosition() == product.column)
      return emitLoops(order, [&] { copyRow(); });
    if (isContiguous && last && getOnlyResult(map, last.getPosition()) &&
        llvm::is_contained(order, last.getPosition()) &&
        product.sizes[last.getPosition()] >= lanes) {
      llvm::erase(order, last.getPosition());
      return emitLoops(order, [&] { transposeRows(last.getPosition()); });
    }
    emitLoops(order, [&] { gatherRow(); });
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value offset(Value index, int64_t by) {
    return by == 0 ? index
                   : Value(arith::AddIOp::create(builder, loc, index,
                                                 constant(by)));
  }

  void forLoop(Value begin, Value end, int64_t step,
               llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, begin, end, constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  void emitLoops(ArrayRef<unsigned> order, llvm::function_ref<void()> body) {
    if (order.empty())
      return body();
    Value begin = count ? first : constant(0);
    Value end = count ? Value(arith::AddIOp::create(builder, loc, first, count))
                      : constant(product.sizes[order.front()]);
    forLoop(begin, end, 1, [&](Value index) {
      Value before = std::exchange(dims[order.front()], index);
      emitLoops(order.drop_front(), body);
      dims[order.front()] = before;
    });
  }

  SmallVector<Value> getSourceIndices(ArrayRef<Value> point) {
    return llvm::map_to_vector(map.getResults(), [&](AffineExpr result) {
      return affine::expandAffineExpr(builder, loc, result, point, {});
    });
  }

  SmallVector<Value> getPanelIndices(ArrayRef<Value> point, Value column) {
    SmallVector<Value> indices;
    if (count) {
      indices = {
          panelNumber,
          arith::SubIOp::create(builder, loc, point[product.kDims[0]], first)};
    } else {
      indices = llvm::map_to_vector(product.kDims,
                                    [&](unsigned dim) { return point[dim]; });
    }
    indices.push_back(column);
    return indices;
  }

  Value load(ValueRange indices, int64_t active) {
    auto type = VectorType::get(
        lanes, cast<MemRefType>(source.getType()).getElementType());
    Value value;
    if (active == lanes) {
      value = vector::LoadOp::create(builder, loc, type, source, indices);
    } else {
      Value zeros =
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      Value mask = vector::ConstantMaskOp::create(
          builder, loc, VectorType::get(lanes, builder.getI1Type()),
          ArrayRef<int64_t>{active});
      value = vector::MaskedLoadOp::create(builder, loc, type, source, indices,
                                           mask, zeros);
    }
    return type.getElementType() == element
               ? value
               : Value(arith::ExtFOp::create(
                     builder, loc, VectorType::get(lanes, element), value));
  }

  Value zeros() {
    return arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(VectorType::get(lanes, element)));
  }

  /// Packs an operand that is contiguous along the column.
  void copyRow() {
    for (int64_t column = 0; column < width; column += lanes) {
      SmallVector<Value> point(dims);
      point[product.column] = offset(dims[product.column], column);
      Value value =
          load(getSourceIndices(point), std::min(lanes, width - column));
      vector::StoreOp::create(builder, loc, value, panel,
                              getPanelIndices(dims, constant(column)));
    }
  }

  /// Packs an operand that is contiguous along the reduction dimension `along`.
  void transposeRows(unsigned along) {
    int64_t size = product.sizes[along], rest = size % lanes;
    if (!count) {
      forLoop(constant(0), constant(size - rest), lanes,
              [&](Value index) { transposeSquares(along, index, lanes); });
      if (rest != 0)
        transposeSquares(along, constant(size - rest), rest);
      return;
    }
    // Blocks consist of whole squares, except for the end of the last one.
    Value squares =
        arith::DivUIOp::create(builder, loc, count, constant(lanes));
    Value full = arith::AddIOp::create(
        builder, loc, first,
        arith::MulIOp::create(builder, loc, squares, constant(lanes)));
    forLoop(first, full, lanes,
            [&](Value index) { transposeSquares(along, index, lanes); });
    if (rest == 0)
      return;
    Value end = arith::AddIOp::create(builder, loc, first, count);
    auto branch = scf::IfOp::create(
        builder, loc,
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, full,
                              end));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    transposeSquares(along, constant(size - rest), rest);
  }

  void transposeSquares(unsigned along, Value begin, int64_t active) {
    for (int64_t column = 0; column < width; column += lanes) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < lanes; ++i) {
        SmallVector<Value> point(dims);
        point[along] = begin;
        point[product.column] = offset(dims[product.column], column + i);
        rows.push_back(column + i < width
                           ? load(getSourceIndices(point), active)
                           : zeros());
      }
      rows = transposeSquare(builder, loc, rows);
      for (int64_t i = 0; i < active; ++i) {
        SmallVector<Value> point(dims);
        point[along] = offset(begin, i);
        vector::StoreOp::create(builder, loc, rows[i], panel,
                                getPanelIndices(point, constant(column)));
      }
    }
  }

  /// Packs any other operand, one element at a time.
  void gatherRow() {
    int64_t padded = llvm::alignTo(width, lanes);
    for (int64_t column = width / lanes * lanes; column < padded;
         column += lanes)
      vector::StoreOp::create(builder, loc, zeros(), panel,
                              getPanelIndices(dims, constant(column)));
    forLoop(constant(0), constant(width), 1, [&](Value column) {
      SmallVector<Value> point(dims);
      point[product.column] =
          arith::AddIOp::create(builder, loc, dims[product.column], column);
      Value value =
          memref::LoadOp::create(builder, loc, source, getSourceIndices(point));
      if (value.getType() != element)
        value = arith::ExtFOp::create(builder, loc, element, value);
      memref::StoreOp::create(builder, loc, value, panel,
                              getPanelIndices(dims, column));
    });
  }

  OpBuilder &builder;
  Location loc;
  const Product &product;
  SmallVector<Value> dims;
  int64_t width, lanes;
  Value panel, source;
  Value count, first, panelNumber; ///< Of a block.
  AffineMap map;
  Type element;
};
} // namespace

void lockstep::packPanel(OpBuilder &builder, Location loc,
                         const Product &product, ArrayRef<Value> dims,
                         int64_t width, int64_t lanes, Value panel) {
  Packer(builder, loc, product, dims, width, lanes, panel).pack();
}

void lockstep::packPanelBlock(OpBuilder &builder, Location loc,
                              const Product &product, ArrayRef<Value> dims,
                              Value count, int64_t width, int64_t lanes,
                              Value panels, Value panel) {
  Packer packer(builder, loc, product, dims, width, lanes, panels);
  packer.setBlock(count, panel);
  packer.pack();
}
