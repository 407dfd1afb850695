//===- ImportControlFlow.cpp - Import stablehlo.case and if ---------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

/// The tensor<i1> from which `index`, a tensor<i32> of 0 or 1, was converted;
/// null if it was not. `lax.cond` selects its branch by such an index.
static Value getConvertedPredicate(Value index) {
  auto generic = index.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumLoops() != 0 ||
      generic.getNumDpsInputs() != 1 || generic.getNumResults() != 1)
    return Value();
  Block *body = generic.getBody();
  auto extend =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::ExtUIOp>();
  Value predicate = generic.getDpsInputs().front();
  if (!extend || extend.getIn() != body->getArgument(0) ||
      !extend.getIn().getType().isInteger(1))
    return Value();
  return predicate;
}

/// Whether the index of a `case` is `value`, as the i1 of a branch.
static Value isIndex(OpBuilder &builder, Location loc, Value index,
                     int64_t value) {
  Value scalar = tensor::ExtractOp::create(builder, loc, index, ValueRange());
  Value constant = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(scalar.getType(), value));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, scalar,
                               constant);
}

/// Moves the operations of a region's only block to `block`, and its results to
/// a yield.
static void moveBody(Region &region, Block *block) {
  block->getOperations().splice(block->end(), region.front().getOperations());
  Operation *terminator = block->getTerminator();
  OpBuilder builder(terminator);
  scf::YieldOp::create(builder, terminator->getLoc(),
                       terminator->getOperands());
  terminator->erase();
}

/// Builds `if condition then else` with the given regions, of which the second
/// may be built by `buildElse`.
static scf::IfOp buildIf(OpBuilder &builder, Operation *op, Value condition,
                         Region &thenRegion,
                         function_ref<void(Block *)> buildElse) {
  auto ifOp = scf::IfOp::create(builder, op->getLoc(), op->getResultTypes(),
                                condition, /*addThenBlock=*/true,
                                /*addElseBlock=*/true);
  moveBody(thenRegion, ifOp.thenBlock());
  buildElse(ifOp.elseBlock());
  return ifOp;
}

static LogicalResult verifyBranches(Operation *op, unsigned minimum) {
  if (op->getNumOperands() != 1 || op->getNumRegions() < minimum)
    return stablehlo::emitCannotImport(op)
           << ": expected one operand and at least " << minimum << " branches";
  for (Region &region : op->getRegions())
    if (!stablehlo::isReturning(region) || region.getNumArguments() != 0 ||
        region.front().getTerminator()->getOperandTypes() !=
            op->getResultTypes())
      return stablehlo::emitCannotImport(op)
             << ": expected branches without arguments that return ("
             << op->getResultTypes() << ")";
  return success();
}

static void replace(Operation *op, scf::IfOp ifOp) {
  op->replaceAllUsesWith(ifOp.getResults());
  op->erase();
}

LogicalResult stablehlo::importIf(Operation *op) {
  if (failed(verifyBranches(op, 2)))
    return failure();
  OpBuilder builder(op);
  Value condition = tensor::ExtractOp::create(builder, op->getLoc(),
                                              op->getOperand(0), ValueRange());
  replace(op,
          buildIf(builder, op, condition, op->getRegion(0),
                  [&](Block *block) { moveBody(op->getRegion(1), block); }));
  return success();
}

/// Builds the branches from number `first` on. The last one is also taken if
/// the index is out of range.
static scf::IfOp buildBranches(OpBuilder &builder, Operation *op,
                               unsigned first) {
  Value condition = isIndex(builder, op->getLoc(), op->getOperand(0), first);
  return buildIf(
      builder, op, condition, op->getRegion(first), [&](Block *block) {
        if (first + 2 == op->getNumRegions())
          return moveBody(op->getRegion(first + 1), block);
        OpBuilder nested = OpBuilder::atBlockEnd(block);
        scf::IfOp rest = buildBranches(nested, op, first + 1);
        scf::YieldOp::create(nested, op->getLoc(), rest.getResults());
      });
}

LogicalResult stablehlo::importCase(Operation *op) {
  if (failed(verifyBranches(op, 1)))
    return failure();
  OpBuilder builder(op);
  if (op->getNumRegions() == 1) {
    Block &branch = op->getRegion(0).front();
    op->replaceAllUsesWith(branch.getTerminator()->getOperands());
    branch.getTerminator()->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           branch.getOperations());
    op->erase();
    return success();
  }
  if (Value predicate = getConvertedPredicate(op->getOperand(0));
      predicate && op->getNumRegions() == 2) {
    Value condition = tensor::ExtractOp::create(builder, op->getLoc(),
                                                predicate, ValueRange());
    replace(op,
            buildIf(builder, op, condition, op->getRegion(1),
                    [&](Block *block) { moveBody(op->getRegion(0), block); }));
    return success();
  }
  replace(op, buildBranches(builder, op, 0));
  return success();
}

LogicalResult stablehlo::importOptimizationBarrier(Operation *op) {
  // It only restrains XLA's own rewrites.
  op->replaceAllUsesWith(op->getOperands());
  op->erase();
  return success();
}
