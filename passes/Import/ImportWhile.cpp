//===- ImportWhile.cpp - Import stablehlo.while ---------------------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// A while loop whose trip count is known before it starts: a counter is
/// compared with a loop-invariant bound, and incremented by a constant. JAX
/// creates such loops for `scan` and `fori_loop`.
struct Counted {
  /// The position of the counter among the carried values.
  unsigned counter;
  int64_t step;
  /// The loop continues while the counter is less than this bound, a scalar or
  /// a rank-0 tensor from outside of the loop.
  Value bound;
  bool isUnsigned;
};

class While {
public:
  explicit While(Operation *op)
      : op(op), condition(op->getRegion(0).front()),
        body(op->getRegion(1).front()) {}

  void import();

private:
  void dropInvariants();
  std::optional<Counted> matchCounted();
  std::optional<int64_t> matchStep(unsigned index);
  void buildFor(const Counted &counted);
  void buildWhile();
  /// Moves `body`, with a new terminator of kind `Terminator`, to `target`, and
  /// replaces the carried values by `arguments`.
  template <typename Terminator>
  void moveBody(Block *target, ValueRange arguments);

  Operation *op;
  Block &condition, &body;
  /// The positions of the values that the new loop carries.
  SmallVector<unsigned> carried;
};

} // namespace

/// The operation of type `Op` that computes the only result of a linalg
/// operation without loops; null if there is none.
template <typename Op> static Op getOnlyScalarOp(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumLoops() != 0 || generic.getNumResults() != 1)
    return Op();
  return generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<Op>();
}

/// The rank-0 tensor of which `scalar`, a value in a linalg operation, is the
/// element; `scalar` itself if it is from outside of the operation.
static Value getSource(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto generic =
      argument ? dyn_cast<linalg::GenericOp>(argument.getOwner()->getParentOp())
               : linalg::GenericOp();
  return generic ? generic->getOperand(argument.getArgNumber()) : scalar;
}

/// The value of a constant integer, a scalar or a rank-0 tensor.
static std::optional<APInt> getConstantBits(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant;
  DenseIntElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<APInt>();
  return std::nullopt;
}

static std::optional<int64_t> getConstant(Value value) {
  std::optional<APInt> bits = getConstantBits(value);
  return bits ? std::optional(bits->getSExtValue()) : std::nullopt;
}

/// An integer scalar, or the element of a rank-0 tensor, as an index.
static Value getAsIndex(OpBuilder &builder, Location loc, Value value,
                        bool isUnsigned) {
  if (std::optional<APInt> bits = getConstantBits(value))
    return stablehlo::getIndex(
        builder, loc, isUnsigned ? bits->getZExtValue() : bits->getSExtValue());
  if (isa<RankedTensorType>(value.getType()))
    value = tensor::ExtractOp::create(builder, loc, value, ValueRange());
  if (isUnsigned)
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        value);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

/// Replaces values that the body returns unchanged by their initial values, so
/// that they are not carried.
void While::dropInvariants() {
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Value initial = op->getOperand(i);
    if (body.getTerminator()->getOperand(i) != body.getArgument(i)) {
      carried.push_back(i);
      continue;
    }
    condition.getArgument(i).replaceAllUsesWith(initial);
    body.getArgument(i).replaceAllUsesWith(initial);
    op->getResult(i).replaceAllUsesWith(initial);
  }
}

/// The constant that the body adds to carried integer `index`; nullopt if it
/// computes the next value in another way.
std::optional<int64_t> While::matchStep(unsigned index) {
  auto add =
      getOnlyScalarOp<arith::AddIOp>(body.getTerminator()->getOperand(index));
  if (!add)
    return std::nullopt;
  Value lhs = getSource(add.getLhs()), rhs = getSource(add.getRhs());
  if (rhs == body.getArgument(index))
    std::swap(lhs, rhs);
  return lhs == body.getArgument(index) ? getConstant(rhs) : std::nullopt;
}

std::optional<Counted> While::matchCounted() {
  auto compare =
      getOnlyScalarOp<arith::CmpIOp>(condition.getTerminator()->getOperand(0));
  auto isFree = [](Operation &nested) { return isMemoryEffectFree(&nested); };
  if (!compare || !llvm::all_of(llvm::drop_end(condition), isFree))
    return std::nullopt;
  Value lhs = getSource(compare.getLhs()), rhs = getSource(compare.getRhs());
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (predicate == arith::CmpIPredicate::sgt ||
      predicate == arith::CmpIPredicate::ugt) {
    std::swap(lhs, rhs);
    predicate = predicate == arith::CmpIPredicate::sgt
                    ? arith::CmpIPredicate::slt
                    : arith::CmpIPredicate::ult;
  }
  if (predicate != arith::CmpIPredicate::slt &&
      predicate != arith::CmpIPredicate::ult)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(lhs);
  if (!counter || counter.getOwner() != &condition ||
      op->isAncestor(rhs.getParentBlock()->getParentOp()))
    return std::nullopt;
  std::optional<int64_t> step = matchStep(counter.getArgNumber());
  if (!step || *step <= 0)
    return std::nullopt;
  return Counted{counter.getArgNumber(), *step, rhs,
                 predicate == arith::CmpIPredicate::ult};
}

/// The value, after `trips` iterations, of an integer that starts as `initial`
/// and is incremented by `step`.
static Value getCount(OpBuilder &builder, Location loc, Value initial,
                      int64_t step, Value trips) {
  auto type = cast<RankedTensorType>(initial.getType());
  Type element = type.getElementType();
  Value count = arith::IndexCastOp::create(builder, loc, element, trips);
  if (step != 1)
    count = arith::MulIOp::create(
        builder, loc, count,
        arith::ConstantOp::create(builder, loc,
                                  builder.getIntegerAttr(element, step)));
  if (getConstant(initial) != 0)
    count = arith::AddIOp::create(
        builder, loc,
        tensor::ExtractOp::create(builder, loc, initial, ValueRange()), count);
  return tensor::FromElementsOp::create(builder, loc, type, count);
}

template <typename Terminator>
void While::moveBody(Block *target, ValueRange arguments) {
  for (auto [index, argument] : llvm::zip_equal(carried, arguments))
    body.getArgument(index).replaceAllUsesWith(argument);
  Operation *terminator = body.getTerminator();
  OpBuilder builder(terminator);
  Terminator::create(builder, terminator->getLoc(),
                     llvm::map_to_vector(carried, [&](unsigned index) {
                       return terminator->getOperand(index);
                     }));
  terminator->erase();
  target->getOperations().splice(target->end(), body.getOperations());
}

void While::buildFor(const Counted &counted) {
  Location loc = op->getLoc();
  OpBuilder builder(op);
  Value initial = op->getOperand(counted.counter);
  Value lower = getAsIndex(builder, loc, initial, counted.isUnsigned);
  Value upper = getAsIndex(builder, loc, counted.bound, counted.isUnsigned);

  // Integers that are incremented by a constant are computed from the number of
  // the iteration, and not carried.
  SmallVector<std::pair<unsigned, int64_t>> counters;
  llvm::erase_if(carried, [&](unsigned index) {
    std::optional<int64_t> step = matchStep(index);
    if (step)
      counters.emplace_back(index, *step);
    return step.has_value();
  });
  auto initials = llvm::map_to_vector(
      carried, [&](unsigned index) { return op->getOperand(index); });
  auto loop = scf::ForOp::create(
      builder, loc, lower, upper,
      stablehlo::getIndex(builder, loc, counted.step), initials);
  // The number of previous iterations, as an index; the induction variable
  // starts at the initial value of the counter.
  bool countsTrips = getConstant(initial) == 0 && counted.step == 1;
  auto getTrips = [&](OpBuilder &at, Value end) -> Value {
    if (countsTrips)
      return end;
    Value distance = arith::SubIOp::create(at, loc, end, lower);
    return arith::CeilDivSIOp::create(
        at, loc, distance, stablehlo::getIndex(at, loc, counted.step));
  };

  Block *target = loop.getBody();
  if (initials.empty())
    target->getTerminator()->erase();
  OpBuilder inside = OpBuilder::atBlockBegin(target);
  for (auto [index, step] : counters) {
    BlockArgument argument = body.getArgument(index);
    if (!argument.use_empty())
      argument.replaceAllUsesWith(
          getCount(inside, loc, op->getOperand(index), step,
                   getTrips(inside, loop.getInductionVar())));
    if (op->getResult(index).use_empty())
      continue;
    Value end = arith::MaxSIOp::create(builder, loc, lower, upper);
    op->getResult(index).replaceAllUsesWith(getCount(
        builder, loc, op->getOperand(index), step, getTrips(builder, end)));
  }
  moveBody<scf::YieldOp>(target, loop.getRegionIterArgs());
  for (auto [index, result] : llvm::zip_equal(carried, loop.getResults()))
    op->getResult(index).replaceAllUsesWith(result);
}

void While::buildWhile() {
  Location loc = op->getLoc();
  OpBuilder builder(op);
  auto initials = llvm::map_to_vector(
      carried, [&](unsigned index) { return op->getOperand(index); });
  TypeRange types = ValueRange(initials).getTypes();
  auto loop = scf::WhileOp::create(builder, loc, types, initials);
  SmallVector<Location> locations(initials.size(), loc);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types, locations);
  Block *after = builder.createBlock(&loop.getAfter(), {}, types, locations);

  for (auto [index, argument] :
       llvm::zip_equal(carried, before->getArguments()))
    condition.getArgument(index).replaceAllUsesWith(argument);
  before->getOperations().splice(before->end(), condition.getOperations());
  Operation *terminator = before->getTerminator();
  builder.setInsertionPoint(terminator);
  Value proceed = tensor::ExtractOp::create(
      builder, terminator->getLoc(), terminator->getOperand(0), ValueRange());
  scf::ConditionOp::create(builder, terminator->getLoc(), proceed,
                           before->getArguments());
  terminator->erase();

  moveBody<scf::YieldOp>(after, after->getArguments());
  for (auto [index, result] : llvm::zip_equal(carried, loop.getResults()))
    op->getResult(index).replaceAllUsesWith(result);
}

void While::import() {
  dropInvariants();
  if (std::optional<Counted> counted = matchCounted())
    buildFor(*counted);
  else
    buildWhile();
  op->erase();
}

LogicalResult stablehlo::importWhile(Operation *op) {
  auto fits = [&](Region &region) {
    return isReturning(region) &&
           region.getArgumentTypes() == op->getOperandTypes();
  };
  if (op->getNumRegions() != 2 || !llvm::all_of(op->getRegions(), fits) ||
      op->getRegion(0).front().getTerminator()->getNumOperands() != 1 ||
      op->getRegion(1).front().getTerminator()->getOperandTypes() !=
          op->getOperandTypes())
    return emitCannotImport(op)
           << ": expected a condition and a body on the operands' types ("
           << op->getOperandTypes() << ")";
  While(op).import();
  return success();
}
