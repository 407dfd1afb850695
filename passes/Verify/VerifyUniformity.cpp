//===- VerifyUniformity.cpp - Replicas do the same, copies stay equal -----===//
//
// The checks that need to know which values are equal on all replicas. Each
// handles one kind of operation that requires uniform operands; the order of
// collectives is checked in CollectiveOrder.h.
//
//===----------------------------------------------------------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/Strategy.h"
#include "passes/Analysis/InlinedSteps.h"
#include "passes/Analysis/UserLocation.h"
#include "passes/Passes.h"
#include "passes/Verify/CollectiveOrder.h"
#include "passes/Verify/ReasonNotes.h"
#include "passes/Verify/Shapes.h"
#include "passes/Verify/Verdict.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_VERIFYUNIFORMITYPASS
#include "passes/Passes.h.inc"

namespace {

/// Checks one step, or one function in collective form.
class StepVerifier {
public:
  StepVerifier(FunctionOpInterface function,
               const UniformityAnalysis &uniformity, bool findsExamples)
      : function(function), uniformity(uniformity),
        judge(function, uniformity, findsExamples) {}

  LogicalResult verify() {
    uniformity.walkEntered(function, [&](Operation *op) {
      if (isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp,
              replica::ScatterOp, replica::UpdateOp>(op))
        getEnclosingContext(op) == Context::Replica ? verifyAssignment(op)
                                                    : verifyUpdate(op);
      else if (auto merge = dyn_cast<replica::MergeCallOp>(op))
        verifyMergeCall(merge);
      else if (isa<replica::UpdateNonSlotOp>(op))
        verifyUpdate(op);
      else if (isa<replica::RunOp>(op))
        verifyEqualResults(op);
      else if (isa<CallOpInterface>(op))
        verifyCall(op);
      else if (op->hasTrait<OpTrait::ReturnLike>() &&
               op->getParentOp() == function)
        verifyReturn(op);
    });
    if (failed(verifyCollectiveOrder(function, uniformity, judge)))
      valid = false;
    // Sizes cannot be followed through kernels of functions in collective form.
    if (isa<replica::StepOp, replica::ProgramOp>(function) &&
        !uniformity.isBroken(UniformityRule::SizesMayDiffer) &&
        failed(verifyCollectiveShapes(function, uniformity, judge)))
      valid = false;
    return success(valid);
  }

private:
  InFlightDiagnostic error(Location location) {
    valid = false;
    return emitUserError(location);
  }

  /// Mirrored variables stay mirrored: values that no aggregation combines must
  /// be equal already (reference, section 5.2). [5.2-uniform, 10-mirrored]
  void verifyAssignment(Operation *op) {
    replica::VariableOp variable =
        replica::lookupVariable(op, uniformity.getSymbols());
    if (variable.isOnRead() ||
        variable.getAggregation() != replica::Aggregation::Uniform)
      return;
    Divergence divergence = uniformity.getDivergenceAround(op);
    auto varying = llvm::find_if(op->getOperands(), [&](Value value) {
      return !uniformity.isUniform(value);
    });
    if (uniformity.isBroken(UniformityRule::AssignmentsMayBeMissing))
      divergence = {};
    if (uniformity.isBroken(UniformityRule::AssignedValuesMayDiffer))
      varying = op->operand_end();
    if (!divergence && varying == op->operand_end())
      return;
    InFlightDiagnostic diagnostic = error(op->getLoc());
    if (divergence)
      diagnostic << "variable '" << variable.getSymName()
                 << "' is assigned under control flow that may differ between "
                    "replicas";
    else
      diagnostic << "variable '" << variable.getSymName()
                 << "' is assigned a value that may differ between replicas";
    diagnostic
        << ", and has no aggregation: its copies would diverge [E_AGG_NONE]";
    Verdict verdict = divergence ? judge.judgeReached(op, divergence)
                                 : judge.judgeValue(*varying, op);
    attachVerdict(diagnostic, verdict);
    diagnostic.attachNote(getUserLocation(variable.getLoc()))
        << "the variable is declared here, without an aggregation";
    if (divergence)
      attachDivergenceNotes(diagnostic, uniformity, divergence);
    else
      attachReasonChain(diagnostic, uniformity, *varying);
  }

  /// In cross-replica context all copies are assigned one value (reference,
  /// section 4); only copies of an on_read variable may be assigned different
  /// values. [5.2-cross-per-replica]
  void verifyUpdate(Operation *op) {
    if (uniformity.isBroken(UniformityRule::UpdatesMayDiffer))
      return;
    replica::VariableOp variable =
        isa<replica::UpdateNonSlotOp>(op)
            ? nullptr
            : replica::lookupVariable(op, uniformity.getSymbols());
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (uniformity.isEqualWhereDefined(operand) ||
          (isa<replica::UpdateOp>(op) && variable.isOnRead()))
        continue;
      InFlightDiagnostic diagnostic = error(op->getLoc());
      diagnostic << "operand " << index << " of '" << op->getName()
                 << "' may differ between replicas, with which ";
      if (variable)
        diagnostic << "the copies of variable '" << variable.getSymName()
                   << "'";
      else
        diagnostic << "what is computed on each of them";
      diagnostic << " would diverge; reduce it first [E_PER_REPLICA_IN_UPDATE]";
      attachVerdict(diagnostic, judge.judgeValue(operand, op));
      attachReasonChain(diagnostic, uniformity, operand);
    }
  }

  /// A result that is not of per-replica type must be equal on all replicas.
  void verifyEqualResults(Operation *op) {
    for (OpResult result : op->getResults()) {
      if (isa<replica::PerReplicaType>(result.getType()) ||
          uniformity.isBroken(UniformityRule::ResultsOfRunsMayDiffer) ||
          uniformity.isEqualWhereDefined(result))
        continue;
      InFlightDiagnostic diagnostic = error(op->getLoc());
      diagnostic << "result " << result.getResultNumber() << " of '"
                 << op->getName()
                 << "' may differ between replicas; expected type "
                 << replica::PerReplicaType::get(
                        op->getContext(),
                        replica::getComponent(result.getType()))
                 << ", found " << result.getType();
      attachVerdict(diagnostic, judge.judgeValue(result, op));
      attachReasonChain(diagnostic, uniformity, result);
    }
  }

  /// A plain argument is one value for all replicas. (The check of the order of
  /// collectives ensures that two different merge_calls that match have equal
  /// plain arguments.) [2.3-arguments]
  void verifyMergeCall(replica::MergeCallOp op) {
    for (auto [index, operand, argument] :
         llvm::enumerate(op.getOperands(), op.getBody().getArguments())) {
      if (isa<replica::PerReplicaType>(argument.getType()) ||
          uniformity.isBroken(UniformityRule::PlainValuesMayDiffer) ||
          uniformity.isEqualWhereDefined(operand))
        continue;
      InFlightDiagnostic diagnostic = error(op.getLoc());
      diagnostic << "argument " << index
                 << " of 'replica.merge_call' may differ between replicas, but "
                    "its region takes one value of type "
                 << argument.getType() << "; expected "
                 << replica::PerReplicaType::get(
                        op.getContext(), cast<TensorType>(operand.getType()));
      attachVerdict(diagnostic, judge.judgeValue(operand, op));
      attachReasonChain(diagnostic, uniformity, operand);
    }
  }

  void verifyCall(Operation *op) {
    if (uniformity.isBroken(UniformityRule::CallsAreAllowed))
      return;
    InFlightDiagnostic diagnostic = error(op->getLoc());
    diagnostic
        << "'" << op->getName()
        << "' is not inlined, so the order of collectives cannot be proven";
    attachVerdict(diagnostic, {false, "what is called is not known", nullptr});
  }

  void verifyReturn(Operation *op) {
    if (uniformity.isBroken(UniformityRule::ReturnedValuesMayDiffer))
      return;
    Divergence divergence = uniformity.getDivergenceAround(op);
    for (OpOperand &operand : op->getOpOperands()) {
      std::string result = describeUniformResult(operand.getOperandNumber());
      if (result.empty() ||
          (uniformity.isUniform(operand.get()) && !divergence))
        continue;
      Location location = findUserLocation(operand.get().getLoc())
                              ? operand.get().getLoc()
                              : op->getLoc();
      InFlightDiagnostic diagnostic = error(location);
      diagnostic << result
                 << " may differ between replicas, expected a value that is "
                    "equal on all of them; all_reduce it first";
      attachVerdict(diagnostic, uniformity.isUniform(operand.get())
                                    ? judge.judgeReached(op, divergence)
                                    : judge.judgeValue(operand.get(), op));
      if (uniformity.isUniform(operand.get()))
        attachDivergenceNotes(diagnostic, uniformity, divergence);
      else
        attachReasonChain(diagnostic, uniformity, operand.get());
    }
  }

  /// A description of result `index` if it must be uniform, otherwise empty.
  /// (Sums and counts are added over the replicas later, and may differ.)
  std::string describeUniformResult(unsigned index) {
    if (auto name =
            function.getResultAttrOfType<StringAttr>(index, "replica.metric"))
      return ("metric '" + name.getValue() + "'").str();
    auto binding = function.getResultAttrOfType<device::BindingAttr>(
        index, "device.binding");
    if (!binding)
      return "";
    if (binding.getKind() == device::BindingKind::Metric)
      return ("metric '" + binding.getName() + "'").str();
    auto name = StringAttr::get(function.getContext(), binding.getName());
    auto variable =
        uniformity.getSymbols().lookupNearestSymbolFrom<replica::VariableOp>(
            function, name);
    bool mirrored = !variable || !variable.isPerReplica();
    if (binding.getKind() == device::BindingKind::Variable && mirrored)
      return ("the new value of variable '" + binding.getName() + "'").str();
    return "";
  }

  FunctionOpInterface function;
  const UniformityAnalysis &uniformity;
  Judge judge;
  bool valid = true;
};

/// A single rank has nothing to diverge from.
bool isOneRank(FunctionOpInterface function) {
  device::RoleOp role = device::getRole(function);
  return role && role.getRanks() == 1;
}

struct VerifyUniformity : impl::VerifyUniformityPassBase<VerifyUniformity> {
  using VerifyUniformityPassBase::VerifyUniformityPassBase;
  VerifyUniformity(const VerifyUniformity &other)
      : VerifyUniformityPassBase(other) {}

  /// Not in Passes.td, which documents options: this one is for tests only.
  Option<std::string> brokenRuleName{
      *this, "broken-rule", llvm::cl::Hidden,
      llvm::cl::desc(
          "leaves out one rule, so that a test can show what it is good for")};

  void runOnOperation() override {
    markAllAnalysesPreserved();
    std::optional<UniformityRule> broken = parseBrokenRule(brokenRuleName);
    if (!broken) {
      getOperation().emitError()
          << "unknown rule '" << brokenRuleName << "'; expected one of "
          << llvm::join(getRuleNames(), ", ");
      return signalPassFailure();
    }
    // A single replica has nothing to diverge from.
    for (auto strategy : getOperation().getOps<replica::StrategyOp>())
      if (replica::StrategyProperties::of(strategy.getKind()).isSingle ||
          strategy.getReplicas() == 1)
        return;
    if (failed(checkStepsAreInlined(getOperation())))
      return signalPassFailure();
    // With a rule left out it is another analysis, which nothing else asks for.
    std::optional<UniformityAnalysis> withoutRule;
    if (*broken != UniformityRule::None)
      withoutRule.emplace(getOperation(), *broken);
    const UniformityAnalysis &uniformity =
        withoutRule ? *withoutRule : getAnalysis<UniformityAnalysis>();
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (isa<replica::StepOp, replica::ProgramOp, func::FuncOp>(function) &&
          !function.isExternal() && !isOneRank(function) &&
          failed(StepVerifier(function, uniformity, findExamples).verify()))
        signalPassFailure();
  }
};

} // namespace
} // namespace lockstep
