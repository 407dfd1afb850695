//===- PropagateSlices.cpp - Keep gradients of lookups sparse -------------===//
//
// A tensor that is made of slices is zero except for some rows. Linear
// operations on it are applied to the rows only, in program order; if it is
// subtracted from the variable in which the rows were looked up, that is a
// scatter. Other operations use the dense tensor, and a remark names them.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Elementwise.h"
#include "passes/Lower/LinearOperation.h"

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_PROPAGATESLICESPASS
#include "passes/Passes.h.inc"

namespace {

/// Rows of a tensor, and their row indices in it.
struct Slices {
  Value values, indices;
};

/// A tensor as a sum of slices, each added or subtracted, and of the value that
/// `base` reads from a variable, if it is not null.
struct Sum {
  struct Term {
    Slices slices;
    bool subtracted = false;
  };
  SmallVector<Term> terms;
  replica::ReadOp base;
};

/// Propagates slices through one step.
class StepPropagation {
public:
  StepPropagation(replica::StepOp step, int64_t replicas)
      : step(step), builder(step.getContext()), replicas(replicas) {}

  void run() {
    step.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
    // In reverse order, so that users are erased before their operands.
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  void visit(Operation *op) {
    builder.setInsertionPoint(op);
    bool done =
        TypeSwitch<Operation *, bool>(op)
            .Case<replica::SlicesToDenseOp, replica::AllReduceOp,
                  replica::AssignOp, replica::AssignAddOp,
                  replica::AssignSubOp>(
                [&](auto typed) { return propagate(typed); })
            .Default([&](Operation *other) { return propagateLinear(other); });
    if (done)
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (sums.contains(operand.get()))
        operand.set(getDense(operand.get(), op));
  }

  //===--------------------------------------------------------------------===//
  // Linear operations
  //===--------------------------------------------------------------------===//

  bool propagate(replica::SlicesToDenseOp op) {
    sums[op.getResult()].terms.push_back({{op.getValues(), op.getIndices()}});
    replaced.push_back(op);
    return true;
  }

  const Sum *lookup(Value value) {
    auto it = sums.find(value);
    return it == sums.end() ? nullptr : &it->second;
  }

  /// The slices of a tensor that has no base.
  const Sum *lookupSlices(Value value) {
    const Sum *sum = lookup(value);
    return sum && !sum->base ? sum : nullptr;
  }

  /// Replaces the sum of slices by a gather of rows, since rows of one index
  /// are added; dense operands remain in an all_reduce of their own.
  bool propagate(replica::AllReduceOp op) {
    if (op.getReduction() != replica::Reduction::Sum &&
        op.getReduction() != replica::Reduction::Mean)
      return false;
    auto isReduced = [&](unsigned i) {
      return lookupSlices(op.getOperand(i)) &&
             op.getOperand(i).getType() == op.getResult(i).getType();
    };
    auto numbers = llvm::seq<unsigned>(0, op.getNumOperands());
    if (llvm::none_of(numbers, isReduced))
      return false;
    SmallVector<Value> kept, keptResults;
    for (unsigned i : numbers) {
      if (!isReduced(i)) {
        kept.push_back(op.getOperand(i));
        keptResults.push_back(op.getResult(i));
        continue;
      }
      Sum all;
      for (const Sum::Term &term : lookup(op.getOperand(i))->terms)
        all.terms.push_back({reduce(op, term.slices), term.subtracted});
      sums[op.getResult(i)] = std::move(all);
    }
    if (!kept.empty()) {
      auto dense = replica::AllReduceOp::create(
          builder, op.getLoc(), op.getReduction(), kept, op.getBytesPerPack());
      // Materializes, and reports, those of its operands that are slices.
      visit(dense);
      for (auto [old, result] :
           llvm::zip_equal(keptResults, dense.getResults()))
        old.replaceAllUsesWith(result);
    }
    replaced.push_back(op);
    return true;
  }

  Slices reduce(replica::AllReduceOp op, Slices own) {
    auto all = [&](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = type.isDynamicDim(0) ? ShapedType::kDynamic
                                      : type.getDimSize(0) * replicas;
      return type.clone(shape);
    };
    auto reduced = replica::AllReduceSlicesOp::create(
        builder, op.getLoc(), all(own.values), all(own.indices),
        op.getReduction(), own.values, own.indices);
    return {reduced.getAllValues(), reduced.getAllIndices()};
  }

  bool propagateLinear(Operation *op) {
    std::optional<LinearOperation> linear = LinearOperation::match(
        op, [&](Value value) { return lookup(value) != nullptr; });
    if (!linear)
      return false;
    std::optional<Sum> sum = linear->other ? combine(*linear) : apply(*linear);
    if (!sum)
      return false;
    sums[op->getResult(0)] = std::move(*sum);
    replaced.push_back(op);
    return true;
  }

  /// Applies the operation to the rows of each term.
  std::optional<Sum> apply(const LinearOperation &linear) {
    const Sum *operand = lookupSlices(linear.operand);
    if (!operand)
      return std::nullopt;
    Sum result = *operand;
    for (Sum::Term &term : result.terms)
      term.slices.values = linear.applyTo(builder, term.slices.values);
    return result;
  }

  /// A sum or difference of two tensors of slices, or of a variable and one.
  std::optional<Sum> combine(const LinearOperation &linear) {
    Value first = linear.operand, second = linear.other;
    // In a sum, the variable may be the second operand.
    if (!linear.subtracts && !lookupSlices(second))
      std::swap(first, second);
    const Sum *lhs = lookup(first), *rhs = lookupSlices(second);
    auto read = first.getDefiningOp<replica::ReadOp>();
    if (!rhs || (!lhs && !read))
      return std::nullopt;
    Sum result = lhs ? *lhs : Sum{{}, read};
    for (Sum::Term term : rhs->terms) {
      term.subtracted ^= linear.subtracts;
      result.terms.push_back(term);
    }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  /// Assigning a variable its old value plus slices becomes scatters. The
  /// assigned value must be equal on all replicas.
  bool propagate(replica::AssignOp op) {
    const Sum *sum = lookup(op.getValue());
    replica::VariableOp variable = replica::lookupVariable(op, symbols);
    bool isEqual = op->hasAttr(replica::kCrossReplica) ||
                   variable.getAggregation() == replica::Aggregation::Uniform;
    replica::ReadOp base = sum ? sum->base : nullptr;
    if (!base || !isEqual || variable.isOnRead() ||
        base.getVariable() != op.getVariable() ||
        !isUnchangedBetween(base, op) || !op.getValue().hasOneUse())
      return false;
    scatter(op, variable, *sum, /*subtracts=*/false);
    return true;
  }

  /// A scatter aggregates slices like `assign_add` aggregates values.
  template <typename AssignOpTy> bool propagate(AssignOpTy op) {
    const Sum *sum = lookupSlices(op.getValue());
    replica::VariableOp variable = replica::lookupVariable(op, symbols);
    if (!sum || variable.isOnRead() || op->hasAttr(replica::kOwnCopy))
      return false;
    scatter(op, variable, *sum, isa<replica::AssignSubOp>(op));
    return true;
  }

  void scatter(Operation *op, replica::VariableOp variable, const Sum &sum,
               bool subtracts) {
    for (const Sum::Term &term : sum.terms) {
      auto kind = term.subtracted != subtracts ? replica::Scatter::Sub
                                               : replica::Scatter::Add;
      auto scatter = replica::ScatterOp::create(
          builder, op->getLoc(), kind, variable.getSymName(),
          term.slices.indices, term.slices.values);
      if (Attribute mark = op->getAttr(replica::kCrossReplica))
        scatter->setAttr(replica::kCrossReplica, mark);
      remark::passed(op->getLoc(),
                     decision(Stage::Lower, "Rows", step.getSymName()))
          << "variable '" + variable.getStoredName().str() +
                 "' is changed by the rows " + valueText(term.slices.values) +
                 ", not by all of " +
                 typeText(cast<RankedTensorType>(variable.getType()));
    }
    replaced.push_back(op);
  }

  /// Whether the variable that `read` reads still has the same value at `op`.
  static bool isUnchangedBetween(replica::ReadOp read, Operation *op) {
    if (read->getBlock() != op->getBlock() || !read->isBeforeInBlock(op))
      return false;
    auto changes = [&](Operation *other) {
      return isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp,
                 replica::ScatterOp>(other) &&
             other->getAttrOfType<FlatSymbolRefAttr>("variable") ==
                 read.getVariableAttr();
    };
    for (Operation *between = read->getNextNode(); between != op;
         between = between->getNextNode())
      if (between
              ->walk([&](Operation *inner) {
                return changes(inner) ? WalkResult::interrupt()
                                      : WalkResult::advance();
              })
              .wasInterrupted())
        return false;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Dense tensors
  //===--------------------------------------------------------------------===//

  /// `value` as a dense tensor, for `user`; created once, at the position of
  /// its original definition.
  Value getDense(Value value, Operation *user) {
    remark::missed(value.getLoc(),
                   decision(Stage::Lower, "Dense", step.getSymName()))
        << valueText(value) + " is made of rows, and made dense: '" +
               user->getName().getStringRef().str() + "'" +
               atLine(user->getLoc()) + " needs all of it";
    Value &dense = denseValues[value];
    if (dense)
      return dense;
    const Sum &sum = sums.find(value)->second;
    builder.setInsertionPoint(value.getDefiningOp());
    auto type = cast<RankedTensorType>(value.getType());
    if (replica::ReadOp base = sum.base)
      dense = base.getResult();
    for (const Sum::Term &term : sum.terms) {
      Value next = replica::SlicesToDenseOp::create(builder, value.getLoc(),
                                                    type, term.slices.values,
                                                    term.slices.indices);
      if (dense || term.subtracted)
        next = add(value.getLoc(), type, dense, next, term.subtracted);
      dense = next;
    }
    return dense;
  }

  /// The sum or difference of two tensors; if `lhs` is null, the negation of
  /// `rhs`.
  Value add(Location loc, RankedTensorType type, Value lhs, Value rhs,
            bool subtracts) {
    SmallVector<Value> inputs;
    if (lhs)
      inputs.push_back(lhs);
    inputs.push_back(rhs);
    return createElementwise(
        builder, loc, type, inputs, [&](OpBuilder &b, ValueRange in) -> Value {
          if (in.size() == 1)
            return arith::NegFOp::create(b, loc, in[0]);
          return subtracts
                     ? arith::SubFOp::create(b, loc, in[0], in[1]).getResult()
                     : arith::AddFOp::create(b, loc, in[0], in[1]).getResult();
        });
  }

  replica::StepOp step;
  OpBuilder builder;
  int64_t replicas;
  SymbolTableCollection symbols;
  llvm::DenseMap<Value, Sum> sums;
  /// The dense tensors that have been created.
  llvm::DenseMap<Value, Value> denseValues;
  /// Operations whose results are no longer used.
  SmallVector<Operation *> replaced;
};

struct PropagateSlices : impl::PropagateSlicesPassBase<PropagateSlices> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> replicas = replica::getReplicaCount(module);
    if (failed(replicas))
      return signalPassFailure();
    for (auto step : module.getOps<replica::StepOp>())
      StepPropagation(step, *replicas).run();
  }
};

} // namespace
} // namespace lockstep
