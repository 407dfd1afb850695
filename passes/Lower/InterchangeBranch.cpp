//===- InterchangeBranch.cpp - Branches around control flow ---------------===//

#include "passes/Lower/InterchangeBranch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace lockstep;
using namespace mlir;

bool lockstep::haveSameControl(Operation *left, Operation *right) {
  if (auto one = dyn_cast<scf::IfOp>(left), other = dyn_cast<scf::IfOp>(right);
      one && other)
    return one.getCondition() == other.getCondition();
  auto one = dyn_cast<scf::ForOp>(left), other = dyn_cast<scf::ForOp>(right);
  return one && other && one.getLowerBound() == other.getLowerBound() &&
         one.getUpperBound() == other.getUpperBound() &&
         one.getStep() == other.getStep() &&
         one.getUnsignedCmp() == other.getUnsignedCmp();
}

Value lockstep::createPlaceholder(OpBuilder &builder, Location loc, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value none = tensor.hasStaticShape()
                   ? Value()
                   : arith::ConstantIndexOp::create(builder, loc, 0);
  return tensor::EmptyOp::create(
      builder, loc, tensor,
      SmallVector<Value>(tensor.getNumDynamicDims(), none));
}

namespace {

class BranchInterchanger {
public:
  explicit BranchInterchanger(scf::IfOp branch)
      : branch(branch), builder(branch) {}

  SmallVector<scf::IfOp> run(Operation *left, Operation *right) {
    builder.setInsertionPoint(branch);
    SmallVector<Shared> shared = pairResults(left, right);
    SmallVector<scf::IfOp> inner;
    Operation *common =
        isa<scf::ForOp>(left)
            ? exchangeLoops(cast<scf::ForOp>(left), cast<scf::ForOp>(right),
                            shared, inner)
            : exchangeBranches(cast<scf::IfOp>(left), cast<scf::IfOp>(right),
                               shared, inner);
    for (auto [i, one] : llvm::enumerate(shared)) {
      if (one.left)
        left->getResult(*one.left).replaceAllUsesWith(common->getResult(i));
      if (one.right)
        right->getResult(*one.right).replaceAllUsesWith(common->getResult(i));
    }
    left->erase();
    right->erase();
    return inner;
  }

private:
  /// A result of the merged loop or branch. It replaces result `left` of the
  /// operation on the then-side and result `right` of that on the else-side;
  /// one of them may be missing.
  struct Shared {
    Type type;
    std::optional<unsigned> left, right;
  };

  /// The result of the branch as which its side yields `result`, if any.
  std::optional<unsigned> getPlace(OpResult result) const {
    for (OpOperand &use : result.getUses())
      if (isa<scf::YieldOp>(use.getOwner()) &&
          use.getOwner()->getParentOp() == branch)
        return use.getOperandNumber();
    return std::nullopt;
  }

  /// Pairs results of equal types. A variable that both sides change has to
  /// stay one value, so results are paired preferably if their initial values
  /// are the same, or if the branch yields them as the same result.
  SmallVector<Shared> pairResults(Operation *left, Operation *right) const {
    auto begin = [](Operation *op, unsigned i) {
      auto loop = dyn_cast<scf::ForOp>(op);
      return loop ? loop.getInitArgs()[i] : Value();
    };
    auto score = [&](unsigned i, unsigned j) {
      Value one = begin(left, i);
      std::optional<unsigned> place = getPlace(left->getResult(i));
      return 4 * (one && one == begin(right, j)) +
             2 * (place && place == getPlace(right->getResult(j))) + (i == j);
    };
    SmallVector<Shared> shared;
    llvm::SmallBitVector taken(right->getNumResults());
    for (unsigned i = 0; i < left->getNumResults(); ++i) {
      Shared one{left->getResult(i).getType(), i, std::nullopt};
      for (unsigned j = 0; j < right->getNumResults(); ++j)
        if (!taken[j] && right->getResult(j).getType() == one.type &&
            (!one.right || score(i, j) > score(i, *one.right)))
          one.right = j;
      if (one.right)
        taken.set(*one.right);
      shared.push_back(one);
    }
    for (unsigned j = 0; j < right->getNumResults(); ++j)
      if (!taken[j])
        shared.push_back({right->getResult(j).getType(), std::nullopt, j});
    return shared;
  }

  Operation *exchangeLoops(scf::ForOp left, scf::ForOp right,
                           ArrayRef<Shared> shared,
                           SmallVector<scf::IfOp> &inner) {
    Location loc = builder.getFusedLoc({left.getLoc(), right.getLoc()});
    SmallVector<Value> inits;
    for (const Shared &one : shared) {
      Value own = one.left ? left.getInitArgs()[*one.left] : Value(),
            other = one.right ? right.getInitArgs()[*one.right] : Value();
      inits.push_back(own && other && own != other ? choose(loc, own, other)
                      : own                        ? own
                                                   : other);
    }
    auto loop = scf::ForOp::create(builder, loc, left.getLowerBound(),
                                   left.getUpperBound(), left.getStep(), inits,
                                   nullptr, left.getUnsignedCmp());
    loop.getBody()->clear();
    for (auto [i, one] : llvm::enumerate(shared)) {
      if (one.left)
        left.getRegionIterArg(*one.left).replaceAllUsesWith(
            loop.getRegionIterArg(i));
      if (one.right)
        right.getRegionIterArg(*one.right)
            .replaceAllUsesWith(loop.getRegionIterArg(i));
    }
    for (scf::ForOp side : {left, right})
      side.getInductionVar().replaceAllUsesWith(loop.getInductionVar());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    inner.push_back(createSides(loc, left.getBody(), right.getBody(), shared,
                                loop.getRegionIterArgs()));
    scf::YieldOp::create(builder, loc, inner.back().getResults());
    return loop;
  }

  Operation *exchangeBranches(scf::IfOp left, scf::IfOp right,
                              ArrayRef<Shared> shared,
                              SmallVector<scf::IfOp> &inner) {
    Location loc = builder.getFusedLoc({left.getLoc(), right.getLoc()});
    SmallVector<Type> types =
        llvm::map_to_vector(shared, [](const Shared &one) { return one.type; });
    auto fork = scf::IfOp::create(builder, loc, types, left.getCondition(),
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    for (bool isThen : {true, false}) {
      auto getSide = [&](scf::IfOp op) {
        return isThen ? op.thenBlock() : op.elseBlock();
      };
      getSide(fork)->clear();
      builder.setInsertionPointToStart(getSide(fork));
      inner.push_back(
          createSides(loc, getSide(left), getSide(right), shared, {}));
      scf::YieldOp::create(builder, loc, inner.back().getResults());
    }
    return fork;
  }

  /// The value of the side that is taken.
  Value choose(Location loc, Value left, Value right) {
    auto chosen = scf::IfOp::create(
        builder, loc, branch.getCondition(),
        [&](OpBuilder &side, Location) {
          scf::YieldOp::create(side, loc, left);
        },
        [&](OpBuilder &side, Location) {
          scf::YieldOp::create(side, loc, right);
        });
    return chosen.getResult(0);
  }

  /// A branch on the same condition, with the operations of `left` and `right`
  /// (null: none) on its sides. Its results are the shared values; for one that
  /// a side does not compute, it yields that of `kept`, or a placeholder.
  scf::IfOp createSides(Location loc, Block *left, Block *right,
                        ArrayRef<Shared> shared, ValueRange kept) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Type> types =
        llvm::map_to_vector(shared, [](const Shared &one) { return one.type; });
    auto sides = scf::IfOp::create(builder, loc, types, branch.getCondition(),
                                   /*withElseRegion=*/true);
    for (bool isThen : {true, false}) {
      Block &to = (isThen ? *sides.thenBlock() : *sides.elseBlock());
      to.clear();
      Block *from = isThen ? left : right;
      if (from)
        to.getOperations().splice(to.end(), from->getOperations(),
                                  from->begin(),
                                  Block::iterator(from->getTerminator()));
      builder.setInsertionPointToEnd(&to);
      SmallVector<Value> yielded;
      for (auto [i, one] : llvm::enumerate(shared)) {
        std::optional<unsigned> own = isThen ? one.left : one.right;
        yielded.push_back(own ? from->getTerminator()->getOperand(*own)
                          : kept.empty()
                              ? createPlaceholder(builder, loc, one.type)
                              : kept[i]);
      }
      scf::YieldOp::create(builder, loc, yielded);
    }
    return sides;
  }

  scf::IfOp branch;
  OpBuilder builder;
};

} // namespace

SmallVector<scf::IfOp> lockstep::interchangeBranch(scf::IfOp branch,
                                                   Operation *left,
                                                   Operation *right) {
  return BranchInterchanger(branch).run(left, right);
}
