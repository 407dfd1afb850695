//===- RoleDecisions.cpp - Where roles go together ------------------------===//

#include "passes/Roles/RoleDecisions.h"

#include "passes/Roles/RoleHomes.h"

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Interfaces/ExactOperations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

SmallVector<Value> lockstep::getDecisions(Operation *op) {
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](scf::ForOp loop) {
        return SmallVector<Value>{loop.getLowerBound(), loop.getUpperBound(),
                                  loop.getStep()};
      })
      .Case([](scf::IfOp branch) {
        return SmallVector<Value>{branch.getCondition()};
      })
      .Case([](scf::WhileOp loop) {
        return SmallVector<Value>{loop.getConditionOp().getCondition()};
      })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

static bool holdsCollectives(Operation *op) {
  return op->walk([](CollectiveOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether all who know where it goes have the same of `op`: a branch that is
/// no more than a choice.
static bool isChoice(Operation *op) {
  return isa<scf::IfOp>(op) && !holdsCollectives(op);
}

void lockstep::wrapNumbers(func::FuncOp step) {
  step.walk([](Operation *op) {
    if (!isTakenApart(op) || isChoice(op))
      return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Location loc = op->getLoc();
    for (OpResult result : op->getResults()) {
      Type type = result.getType();
      if (result.use_empty() || !type.isIntOrIndexOrFloat())
        continue;
      SmallVector<OpOperand *> uses = llvm::map_to_vector(
          result.getUses(), [](OpOperand &use) { return &use; });
      // An index is sent as a number whose width is known.
      Type sent = type.isIndex() ? builder.getI64Type() : type;
      Value number =
          sent == type ? Value(result)
                       : arith::IndexCastOp::create(builder, loc, sent, result)
                             .getResult();
      Value tensor = tensor::FromElementsOp::create(
          builder, loc, RankedTensorType::get({}, sent), number);
      Value again =
          tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
      if (sent != type)
        again = arith::IndexCastOp::create(builder, loc, type, again);
      for (OpOperand *use : uses)
        use->set(again);
    }
  });
}

namespace {

class DecisionFinder {
public:
  DecisionFinder(func::FuncOp step, const RoleHomes &homes)
      : step(step), homes(homes) {}

  SmallVector<Value> run() {
    step.walk([&](Operation *op) {
      if (isTakenApart(op) && isShared(op))
        for (Value decision : getDecisions(op))
          reach(decision);
    });
    for (size_t i = 0; i < reached.size(); ++i)
      visit(reached[i]);
    return found;
  }

private:
  void reach(Value value) { reached.insert(value); }
  template <typename Values> void reachAll(Values &&values) {
    for (Value value : values)
      reach(value);
  }

  /// Whether several roles have something in `op`, so that one may give
  /// something to another there.
  bool isShared(Operation *op) {
    if (auto known = shared.find(op); known != shared.end())
      return known->second;
    std::optional<Role> first;
    bool several = false;
    op->walk([&](Operation *inner) {
      several |= isa<CollectiveOpInterface>(inner);
      for (Value result : inner->getResults())
        if (std::optional<Role> home = homes.getHome(result)) {
          several |= first && *first != *home;
          first = home;
        }
    });
    return shared[op] = several;
  }

  void visit(Value value) {
    // What is at home somewhere is given from there.
    if (homes.getHome(value))
      return;
    Operation *op = value.getDefiningOp();
    ArrayRef<Value> flows = homes.getFlows(value);
    if (!op)
      return reachAll(flows);
    if (isChoice(op) && isSingleNumber(value)) {
      reachAll(getDecisions(op));
      return reachAll(flows);
    }
    if (!isTakenApart(op) && isAlike(cast<OpResult>(value)))
      return reachAll(getNeededValues(op));
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.hasStaticShape())
      found.push_back(value);
  }

  /// Whether everyone who computes a value from the same operands has the same.
  bool isAlike(OpResult value) {
    Operation *op = value.getOwner();
    if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
      Operation *from = elements.getElements()[0].getDefiningOp();
      if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(from))
        from = cast.getIn().getDefiningOp();
      return elements.getType().getRank() == 0 &&
             !(from && isTakenApart(from) && !isChoice(from));
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return generic.getNumLoops() == 0
                 ? llvm::all_of(
                       generic.getBody()->without_terminator(),
                       [](Operation &inner) { return isExact(&inner); })
                 : isExactByElements(generic, value);
    return isExact(op) || isMove(op) || op->hasTrait<OpTrait::ConstantLike>() ||
           isa<scf::IndexSwitchOp>(op) ||
           isa<tensor::ExtractOp, tensor::EmptyOp, tensor::DimOp>(op);
  }

  func::FuncOp step;
  const RoleHomes &homes;
  llvm::SetVector<Value> reached;
  llvm::DenseMap<Operation *, bool> shared;
  SmallVector<Value> found;
};

} // namespace

SmallVector<Value> lockstep::findUnlikeDecisions(func::FuncOp step,
                                                 const RoleHomes &homes) {
  return DecisionFinder(step, homes).run();
}
