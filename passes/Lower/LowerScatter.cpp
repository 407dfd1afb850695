//===- LowerScatter.cpp - Scatters to loops -------------------------------===//

#include "passes/Lower/LowerScatter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// What becomes of element `old` and the element `update` of the slices.
static Value combine(OpBuilder &b, Location loc, replica::Scatter kind, Value old, Value update) {
  bool isFloat = isa<FloatType>(old.getType());
  switch (kind) {
  case replica::Scatter::Add:
    return isFloat ? arith::AddFOp::create(b, loc, old, update).getResult() : arith::AddIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Sub:
    return isFloat ? arith::SubFOp::create(b, loc, old, update).getResult() : arith::SubIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Mul:
    return isFloat ? arith::MulFOp::create(b, loc, old, update).getResult() : arith::MulIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Div:
    return isFloat ? arith::DivFOp::create(b, loc, old, update).getResult() : arith::DivSIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Min:
    return isFloat ? arith::MinimumFOp::create(b, loc, old, update).getResult() : arith::MinSIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Max:
    return isFloat ? arith::MaximumFOp::create(b, loc, old, update).getResult() : arith::MaxSIOp::create(b, loc, old, update).getResult();
  case replica::Scatter::Update:
    return update;
  }
  llvm_unreachable("unknown way of scattering");
}

/// Row `source` of `values` into row `target` of `table`, by a loop for each further dimension.
static Value scatterRow(OpBuilder &builder, Location loc, replica::Scatter kind, Value table, Value values, SmallVector<Value> target,
                        SmallVector<Value> source) {
  auto type = cast<RankedTensorType>(table.getType());
  if (static_cast<int64_t>(target.size()) == type.getRank()) {
    Value old = tensor::ExtractOp::create(builder, loc, table, target), update = tensor::ExtractOp::create(builder, loc, values, source);
    return tensor::InsertOp::create(builder, loc, combine(builder, loc, kind, old, update), table, target);
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value size = arith::ConstantIndexOp::create(builder, loc, type.getDimSize(target.size()));
  return scf::ForOp::create(builder, loc, zero, size, one, table,
                            [&](OpBuilder &b, Location, Value index, ValueRange carried) {
                              target.push_back(index);
                              source.push_back(index);
                              scf::YieldOp::create(b, loc, scatterRow(b, loc, kind, carried[0], values, target, source));
                            })
      .getResult(0);
}

Value lockstep::scatterRows(OpBuilder &builder, Location loc, replica::Scatter kind, Value table, Value indices, Value values, Value count) {
  auto type = cast<RankedTensorType>(table.getType());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value rows = arith::ConstantIndexOp::create(builder, loc, type.getDimSize(0));
  return scf::ForOp::create(builder, loc, zero, count, one, table,
                            [&](OpBuilder &b, Location, Value i, ValueRange carried) {
                              Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), tensor::ExtractOp::create(b, loc, indices, i));
                              // Compared as unsigned, a negative index is too large.
                              Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, rows);
                              auto written = scf::IfOp::create(
                                  b, loc, inside,
                                  [&](OpBuilder &nested, Location) {
                                    scf::YieldOp::create(nested, loc, scatterRow(nested, loc, kind, carried[0], values, {index}, {i}));
                                  },
                                  [&](OpBuilder &nested, Location) { scf::YieldOp::create(nested, loc, carried[0]); });
                              scf::YieldOp::create(b, loc, written.getResult(0));
                            })
      .getResult(0);
}
