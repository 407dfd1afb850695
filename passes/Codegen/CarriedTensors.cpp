//===- CarriedTensors.cpp - Keep loop-carried tensors in place ------------===//

#include "passes/Codegen/CarriedTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace lockstep;
using namespace mlir;

//===----------------------------------------------------------------------===//
// While loops
//===----------------------------------------------------------------------===//

static bool isAligned(scf::WhileOp loop) {
  OperandRange forwarded = loop.getConditionOp().getArgs();
  if (forwarded.getTypes() != loop.getInits().getTypes())
    return false;
  // A value computed in the before-region is copied to the memory of the
  // argument; an argument must be forwarded at its own position.
  return llvm::all_of(llvm::enumerate(forwarded), [&](auto indexed) {
    auto argument = dyn_cast<BlockArgument>(indexed.value());
    return !argument || argument.getOwner() != loop.getBeforeBody() ||
           argument.getArgNumber() == indexed.index();
  });
}

/// A placeholder for the initial value of a value that is computed in the loop;
/// never read.
static Value createPlace(OpBuilder &builder, Location loc, Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                   tensor.getElementType());
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// Makes the loop carry, after its previous values, the values that the
/// before-region computes and forwards.
static void align(scf::WhileOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> inits(loop.getInits());
  // For each forwarded value, the position at which it is carried.
  SmallVector<unsigned> places;
  SmallVector<Value> computed;
  for (Value value : loop.getConditionOp().getArgs()) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == loop.getBeforeBody()) {
      places.push_back(argument.getArgNumber());
      continue;
    }
    places.push_back(inits.size());
    inits.push_back(createPlace(builder, loc, value.getType()));
    computed.push_back(value);
  }
  SmallVector<Type> types =
      llvm::map_to_vector(inits, [](Value value) { return value.getType(); });
  unsigned carried = loop.getInits().size();
  auto aligned = scf::WhileOp::create(
      builder, loc, types, inits,
      [&](OpBuilder &before, Location, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(loop.getBeforeArguments(), arguments.take_front(carried));
        for (Operation &op : loop.getBeforeBody()->without_terminator())
          before.clone(op, mapping);
        SmallVector<Value> forwarded(arguments.take_front(carried));
        for (Value value : computed)
          forwarded.push_back(mapping.lookupOrDefault(value));
        scf::ConditionOp::create(
            before, loc,
            mapping.lookupOrDefault(loop.getConditionOp().getCondition()),
            forwarded);
      },
      [&](OpBuilder &after, Location, ValueRange arguments) {
        IRMapping mapping;
        for (auto [old, place] :
             llvm::zip_equal(loop.getAfterArguments(), places))
          mapping.map(old, arguments[place]);
        for (Operation &op : loop.getAfterBody()->without_terminator())
          after.clone(op, mapping);
        SmallVector<Value> yielded;
        for (Value value : loop.getYieldOp().getOperands())
          yielded.push_back(mapping.lookupOrDefault(value));
        llvm::append_range(yielded, arguments.drop_front(carried));
        scf::YieldOp::create(after, loc, yielded);
      });
  for (auto [result, place] : llvm::zip_equal(loop.getResults(), places))
    result.replaceAllUsesWith(aligned.getResult(place));
  loop.erase();
}

void lockstep::alignWhileLoops(Operation *root) {
  SmallVector<scf::WhileOp> loops;
  // Inner loops first: outer ones are cloned with their contents.
  root->walk<WalkOrder::PostOrder>(
      [&](scf::WhileOp loop) { loops.push_back(loop); });
  for (scf::WhileOp loop : loops)
    if (!isAligned(loop))
      align(loop);
}

//===----------------------------------------------------------------------===//
// Tensors in place
//===----------------------------------------------------------------------===//

/// True if `value` is `argument` with some elements overwritten, so that
/// bufferization keeps it in place anyway, unless the argument is still needed.
/// False if there is a branch between them: upstream computes the buffer type
/// of a branch from both sides, and that of a carried value from the loop, so
/// that the time doubles with each branch in a chain.
static bool isUpdateOf(Value value, Value argument) {
  while (value != argument) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    Operation *op = result.getOwner();
    if (auto insert = dyn_cast<tensor::InsertOp>(op))
      value = insert.getDest();
    else if (auto insertSlice = dyn_cast<tensor::InsertSliceOp>(op))
      value = insertSlice.getDest();
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      value = loop.getInitArgs()[result.getResultNumber()];
    else if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      value = structured.getDpsInits()[result.getResultNumber()];
    else
      return false;
  }
  return true;
}

namespace {
/// The operands of a terminator that are passed to arguments of its loop.
class Ties {
public:
  Ties(Operation *terminator, bool viaCopies)
      : terminator(terminator), viaCopies(viaCopies) {}

  void add(unsigned operand, Value argument) {
    Value value = terminator->getOperand(operand);
    if (isa<RankedTensorType>(value.getType()) &&
        value.getType() == argument.getType() && value != argument &&
        (viaCopies || !isUpdateOf(value, argument)))
      ties.emplace_back(operand, argument);
  }

  void tie() const {
    OpBuilder builder(terminator);
    Location loc = terminator->getLoc();
    if (viaCopies)
      for (auto [operand, argument] : ties) {
        Value value = terminator->getOperand(operand);
        Value copy = bufferization::AllocTensorOp::create(
            builder, loc, cast<RankedTensorType>(value.getType()), ValueRange(),
            value);
        terminator->setOperand(operand, copy);
      }
    for (auto [operand, argument] : ties) {
      Value value = terminator->getOperand(operand);
      auto tied = bufferization::MaterializeInDestinationOp::create(
          builder, loc, value.getType(), value, argument);
      terminator->setOperand(operand, tied.getResult());
    }
  }

private:
  Operation *terminator;
  bool viaCopies;
  SmallVector<std::pair<unsigned, Value>> ties;
};
} // namespace

/// Makes selects and branches choose between copies. Bufferization would choose
/// between the buffers of the alternatives, which the result may then alias, so
/// that none of them could be written in place.
static void chooseCopies(Operation *root) {
  SmallVector<arith::SelectOp> selects;
  root->walk([&](arith::SelectOp select) {
    if (isa<RankedTensorType>(select.getType()) &&
        select.getCondition().getType().isInteger(1))
      selects.push_back(select);
  });
  for (arith::SelectOp select : selects) {
    OpBuilder builder(select);
    auto yield = [&](Value value) {
      return [value](OpBuilder &side, Location loc) {
        scf::YieldOp::create(side, loc, value);
      };
    };
    auto branch = scf::IfOp::create(
        builder, select.getLoc(), select.getCondition(),
        yield(select.getTrueValue()), yield(select.getFalseValue()));
    select.replaceAllUsesWith(branch.getResult(0));
    select.erase();
  }
  root->walk([](scf::YieldOp yield) {
    if (!isa<scf::IfOp, scf::IndexSwitchOp>(yield->getParentOp()))
      return;
    OpBuilder builder(yield);
    for (OpOperand &operand : yield->getOpOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.get().getType());
          type && operand.get().getParentRegion() != yield->getParentRegion())
        operand.set(bufferization::AllocTensorOp::create(
            builder, yield.getLoc(), type, ValueRange(), operand.get()));
  });
}

void lockstep::tieCarriedTensors(Operation *root, bool viaCopies) {
  if (viaCopies)
    chooseCopies(root);
  root->walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Ties ties(loop.getBody()->getTerminator(), viaCopies);
      for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
        ties.add(i, argument);
      ties.tie();
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      Ties condition(loop.getConditionOp(), viaCopies),
          yield(loop.getYieldOp(), viaCopies);
      for (auto [i, argument] : llvm::enumerate(loop.getBeforeArguments()))
        condition.add(i + 1, argument);
      for (auto [i, argument] : llvm::enumerate(loop.getAfterArguments()))
        yield.add(i, argument);
      condition.tie();
      yield.tie();
    }
  });
}
