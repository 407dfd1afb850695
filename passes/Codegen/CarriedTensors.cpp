//===- CarriedTensors.cpp - Loops keep their tensors in place -------------===//

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
  // Of what is computed before the condition, a copy goes to the place of the
  // argument; arguments stay where they are.
  return llvm::all_of(llvm::enumerate(forwarded), [&](auto indexed) {
    auto argument = dyn_cast<BlockArgument>(indexed.value());
    return !argument || argument.getOwner() != loop.getBeforeBody() ||
           argument.getArgNumber() == indexed.index();
  });
}

/// What is in the place of a value before it has been computed; never used.
static Value createPlace(OpBuilder &builder, Location loc, Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                   tensor.getElementType());
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// The loop carries what it did, then what is computed before its condition and
/// handed on.
static void align(scf::WhileOp loop) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> inits(loop.getInits());
  // For each value that is handed on, which carried one it is.
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
  // Inner ones first: outer ones are cloned with what is in them.
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
/// bufferization keeps it in the same place anyway, unless somebody still needs
/// the argument. False where there is a branch between them: of a branch,
/// upstream asks both sides for the type of the memory, and of a carried value
/// the loop, so that the time for a chain of branches in a loop doubles with
/// each.
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
/// What a terminator hands to the arguments of its loop.
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

/// Of a value that is chosen, bufferization takes the memory: the alternatives
/// may be one then, and nothing can be written to any of them. So copies are
/// chosen instead.
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
