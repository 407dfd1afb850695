//===- ApplyStrategy.cpp - The rules of a strategy ------------------------===//
//
// What is allowed depends on the strategy and on the number of replicas: a
// scalar cannot be gathered from two replicas, but a gather of one replica
// returns its operand. Each rule names the section of the reference that it is
// from. Later passes are independent of the kind of the strategy: variables are
// synchronized on write or on read, and there are no literals.
//
//===----------------------------------------------------------------------===//

#include "dialect/Replica/Strategy.h"
#include "passes/Analysis/UserLocation.h"
#include "passes/Passes.h"
#include "passes/Verify/ReasonNotes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_APPLYSTRATEGYPASS
#include "passes/Passes.h.inc"

namespace {
using namespace replica;

class StrategyRules {
public:
  StrategyRules(ModuleOp module, int64_t replicas)
      : module(module), strategy(StrategyProperties::of(module)),
        replicas(replicas) {}

  LogicalResult apply() {
    for (auto variable : module.getOps<VariableOp>())
      applyTo(variable);
    module.walk([&](Operation *op) { check(op); });
    module.walk([&](LiteralOp literal) { replace(literal); });
    return success(valid);
  }

private:
  InFlightDiagnostic error(Operation *op) {
    valid = false;
    InFlightDiagnostic diagnostic = emitUserError(op->getLoc());
    diagnostic << "'" << op->getName() << "': ";
    return diagnostic;
  }

  InFlightDiagnostic error(Operation *op, VariableOp variable) {
    InFlightDiagnostic diagnostic = error(op);
    diagnostic.attachNote(getUserLocation(variable.getLoc()))
        << "variable '" << variable.getSymName() << "' is declared here";
    return diagnostic;
  }

  void check(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<AllReduceOp, AllReduceSlicesOp, AllGatherOp, ReduceToOp,
              BatchReduceToOp, ReduceOp, ReduceSlicesOp, GatherOp, ReadOp,
              ScatterOp, LookupOp>([&](auto typed) { checkOp(typed); })
        .Case<AssignOp, AssignAddOp, AssignSubOp>(
            [&](auto typed) { checkAssignment(typed); });
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  /// Section 5.1. [5.1-auto, 5.1-none, 5.1-mean-int, 5.2-central]
  void applyTo(VariableOp variable) {
    Synchronization synchronization = variable.getSynchronization();
    if (strategy.checksDeclarations && synchronization == Synchronization::None)
      error(variable) << "expected a variable that is synchronized on write or "
                         "on read, found synchronization 'none' [E_SYNC_NONE]";
    if (strategy.checksDeclarations &&
        variable.getAggregation() == Aggregation::Mean && !hasFloats(variable))
      error(variable) << "expected floats for aggregation 'mean', found "
                      << variable.getType() << " [E_MEAN_INT_VAR]";
    bool onRead =
        synchronization == Synchronization::OnRead && strategy.honoursOnRead;
    variable.setSynchronization(onRead ? Synchronization::OnRead
                                       : Synchronization::OnWrite);
    // A single replica may assign any value: there are no copies to diverge.
    if (!onRead && replicas == 1)
      variable.setAggregation(Aggregation::Uniform);
  }

  static bool hasFloats(VariableOp variable) {
    return isa<FloatType>(getElementTypeOrSelf(variable.getType()));
  }

  /// Sections 5.2 and 5.3. [5.2-none, 5.2-mean-int, 5.3-add-sum]
  template <typename AssignOpTy> void checkAssignment(AssignOpTy op) {
    VariableOp variable = lookupVariable(op, symbols);
    Aggregation aggregation = variable.getAggregation();
    bool crossReplica = getEnclosingContext(op) == Context::CrossReplica;
    // The assignment adds numbers: the copies of an on_read variable, the
    // values that replicas assign, or a value and what the variable holds.
    bool adds = !isa<AssignOp>(op) || (aggregation == Aggregation::Sum &&
                                       crossReplica == variable.isOnRead());
    bool addsBooleans =
        adds && getElementTypeOrSelf(variable.getType()).isInteger(1);
    if (variable.isOnRead() && crossReplica && !isa<AssignOp>(op) &&
        aggregation == Aggregation::Sum)
      error(op, variable)
          << "the variable is the sum of its copies, which one value cannot "
             "change in cross-replica context; assign "
             "the new sum instead [E_ONREAD_ASSIGN_ADD_SUM]";
    else if (!variable.isOnRead() && !crossReplica &&
             aggregation == Aggregation::None)
      error(op, variable)
          << "replicas assign a variable without an aggregation, its copies "
             "could diverge; give it one, or assign "
             "it in a merge_call [E_AGG_NONE]";
    else if (addsBooleans)
      error(op, variable) << "expected a variable of numbers, found "
                          << variable.getType() << " [E_DTYPE_UNSUPPORTED]";
    if (variable.isOnRead() || crossReplica || addsBooleans)
      return;
    bool literal = op.getValue().template getDefiningOp<LiteralOp>() != nullptr;
    if (aggregation == Aggregation::Sum)
      checkSum(op, op.getValue());
    if (aggregation == Aggregation::Mean && !literal && !hasFloats(variable))
      error(op, variable) << "expected floats for aggregation 'mean', found "
                          << variable.getType() << " [E_MEAN_INT_VAR]";
  }

  void checkOp(ReadOp op) {
    VariableOp variable = lookupVariable(op, symbols);
    // Copies that are synchronized on read need not be equal.
    Aggregation aggregation = variable.getAggregation();
    if (op.combinesCopies(variable) &&
        (aggregation == Aggregation::None ||
         (aggregation == Aggregation::Uniform && replicas > 1)))
      error(op, variable)
          << "reads a variable whose copies no aggregation combines "
          << (op.getAggregated() ? "for all replicas together"
                                 : "in cross-replica context")
          << " [E_AGG_NONE]";
  }

  void checkOp(ScatterOp op) {
    VariableOp variable = lookupVariable(op, symbols);
    if (variable.isOnRead())
      error(op, variable)
          << "expected a variable whose copies are equal, found one that is "
             "synchronized on read [E_SCATTER_ONREAD]";
    if (getEnclosingContext(op) == Context::CrossReplica)
      return;
    Aggregation aggregation = variable.getAggregation();
    // The slices of several replicas reach a copy as one sum, in no order, so a
    // scatter must not depend on their order. With one copy per variable, the
    // owner applies the slices of the replicas one after the other.
    bool ordered = op.getKind() == Scatter::Min ||
                   op.getKind() == Scatter::Max ||
                   op.getKind() == Scatter::Update;
    ordered &= !strategy.hasOwners();
    if (aggregation == Aggregation::Mean && !hasFloats(variable))
      error(op, variable) << "expected floats for aggregation 'mean', found "
                          << variable.getType() << " [E_MEAN_INT_VAR]";
    if (aggregation == Aggregation::None)
      error(op, variable)
          << "replicas scatter into a variable without an aggregation, its "
             "copies could diverge [E_AGG_NONE]";
    else if ((aggregation == Aggregation::Sum ||
              aggregation == Aggregation::Mean) &&
             ordered)
      error(op, variable)
          << "expected 'add', 'sub', 'mul' or 'div' for aggregation '"
          << stringifyAggregation(aggregation) << "', found '"
          << stringifyScatter(op.getKind()) << "' [E_SCATTER_AGG]";
  }

  /// Constant ids must be in range (section 8). [8-lookup]
  void checkOp(LookupOp op) {
    VariableOp variable = lookupVariable(op, symbols);
    int64_t rows = cast<RankedTensorType>(variable.getType()).getDimSize(0);
    DenseIntElementsAttr ids;
    if (auto literal = op.getIds().getDefiningOp<LiteralOp>())
      ids = dyn_cast<DenseIntElementsAttr>(literal.getValue());
    else
      matchPattern(op.getIds(), m_Constant(&ids));
    if (!ids)
      return;
    auto outside = llvm::find_if(ids.getValues<APInt>(), [&](const APInt &id) {
      return id.getSExtValue() < 0 || id.getSExtValue() >= rows;
    });
    if (outside != ids.getValues<APInt>().end())
      error(op, variable) << "expected ids in [0, " << rows << "), found "
                          << (*outside).getSExtValue() << " [E_INDEX]";
  }

  //===--------------------------------------------------------------------===//
  // Reductions and gathers
  //===--------------------------------------------------------------------===//

  /// A literal is one number of the program, not one of each replica (section
  /// 3.1), so its sum is refused; a sum of zeros is zero in either reading.
  void checkSum(Operation *op, Value value) {
    auto literal = value.getDefiningOp<LiteralOp>();
    if (replicas > 1 && literal && !isZero(literal.getValue()))
      error(op) << "expected values of the replicas to add, found one literal "
                   "for all of them [E_NON_DISTRIBUTED_SUM]";
  }

  static bool isZero(ElementsAttr value) {
    return matchPattern(value, m_AnyZeroFloat()) ||
           matchPattern(value, m_Zero());
  }

  /// Values that are added must be numbers of equal shapes (sections 2.1
  /// and 3.1). [2.1-dtypes, 2.1-shape, 10-shape]
  void checkNumbers(Operation *op, Type type, bool orBooleans = false) {
    auto tensor = getComponent(type);
    Type element = tensor.getElementType();
    if (!element.isIntOrFloat() || (element.isInteger(1) && !orBooleans))
      error(op) << "expected elements that are numbers, found " << element
                << " [E_DTYPE_UNSUPPORTED]";
    if (!tensor.hasRank())
      error(op) << "expected equal shapes on all replicas, found different "
                   "ranks [E_SHAPE_MISMATCH]";
  }

  /// The mean of integers has a float type. (With one replica, whose value is
  /// returned unchanged, this is not checked.) [2.1-mean-int]
  void checkType(Operation *op, Reduction reduction, Type value, Type result) {
    TensorType expected = getReducedType(reduction, getComponent(value));
    if (getComponent(result) != expected)
      error(op) << "expected a result with components of type " << expected
                << ", found " << result;
  }

  void checkOp(AllReduceOp op) {
    // The values of a single replica are returned unchanged, also for the mean
    // of integers. [2.1-one-replica]
    if (replicas == 1)
      return;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults())) {
      checkType(op, op.getReduction(), operand.getType(), result.getType());
      checkNumbers(op, operand.getType(),
                   /*orBooleans=*/op.getReduction() == Reduction::Min ||
                       op.getReduction() == Reduction::Max);
      if (op.getReduction() == Reduction::Sum)
        checkSum(op, operand);
    }
  }

  void checkOp(AllReduceSlicesOp op) {
    checkNumbers(op, op.getValues().getType());
  }
  void checkOp(ReduceSlicesOp op) {
    checkNumbers(op, op.getValues().getType());
  }

  /// The reduction of `value`, element by element, in cross-replica context
  /// (sections 3.1 and 4). [3.1-none-plain-sum, 4-reduce-to-mirrored]
  void checkReduction(Operation *op, Reduction reduction, Value value,
                      Type result) {
    bool perReplica = isa<PerReplicaType>(value.getType());
    if (perReplica && replicas > 1) {
      checkType(op, reduction, value.getType(), result);
      checkNumbers(op, value.getType());
    }
    auto literal = value.getDefiningOp<LiteralOp>();
    if (!perReplica && reduction == Reduction::Sum && replicas > 1 &&
        !(literal && isZero(literal.getValue())))
      error(op)
          << "expected a per-replica value for reduction 'sum', found "
          << value.getType()
          << ", which would be added once a replica [E_NON_DISTRIBUTED_SUM]";
  }

  void checkOp(ReduceToOp op) {
    checkReduction(op, op.getReduction(), op.getValue(),
                   op.getResult().getType());
  }

  void checkOp(BatchReduceToOp op) {
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      checkReduction(op, op.getReduction(), operand, result.getType());
  }

  void checkOp(ReduceOp op) {
    if (op.getAxes())
      checkNumbers(op, op.getValue().getType());
    else
      checkReduction(op, op.getReduction(), op.getValue(),
                     op.getResult().getType());
  }

  /// Section 2.2. [2.2-scalar, 2.2-axis-range, 2.2-rank]
  void checkGather(Operation *op, Type value, int64_t axis) {
    auto tensor = dyn_cast<RankedTensorType>(getComponent(value));
    if (!tensor)
      error(op) << "expected equal ranks on all replicas, found different ones "
                   "[E_RANK_MISMATCH]";
    else if (tensor.getRank() == 0)
      error(op) << "expected an operand with an axis to gather along, found "
                   "the scalar "
                << tensor << " [E_SCALAR_GATHER]";
    else if (axis < 0 || axis >= tensor.getRank())
      error(op) << "expected an axis in [0, " << tensor.getRank() << "), found "
                << axis << " [E_AXIS_RANGE]";
  }

  void checkOp(AllGatherOp op) {
    if (replicas > 1)
      for (Value operand : op.getOperands())
        checkGather(op, operand.getType(), op.getAxisAttr().getInt());
  }

  void checkOp(GatherOp op) {
    if (replicas > 1 && isa<PerReplicaType>(op.getValue().getType()))
      checkGather(op, op.getValue().getType(), op.getAxisAttr().getInt());
  }

  static void replace(LiteralOp literal) {
    OpBuilder builder(literal);
    auto constant = arith::ConstantOp::create(
        builder, literal.getLoc(), cast<TypedAttr>(literal.getValue()));
    literal.replaceAllUsesWith(constant.getResult());
    literal.erase();
  }

  ModuleOp module;
  const StrategyProperties &strategy;
  int64_t replicas;
  SymbolTableCollection symbols;
  bool valid = true;
};

struct ApplyStrategy : impl::ApplyStrategyPassBase<ApplyStrategy> {
  void runOnOperation() override {
    FailureOr<int64_t> replicas = replica::getReplicaCount(getOperation());
    if (failed(replicas) ||
        failed(StrategyRules(getOperation(), *replicas).apply()))
      signalPassFailure();
  }
};

} // namespace
} // namespace lockstep
