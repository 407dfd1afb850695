//===- UniformitySources.cpp - Values that differ by themselves -----------===//
//
// Where values that are not equal on all replicas come from: arguments of
// steps, operations whose results differ, and results of collectives.
//
//===----------------------------------------------------------------------===//

#include "passes/Analysis/UniformityAnalysis.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/Uniformity.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// What follows from the name of an operation alone, computed once for each
/// name: a step has few names and many operations.
class SourceNames {
public:
  /// The same as `lockstep::isFunctionOfOperands`.
  bool isFunctionOfOperands(Operation *op) {
    return get(op).isFunctionOfOperands;
  }

  /// False if the results of `op` depend only on its operands and regions.
  bool mayBeSource(Operation *op) {
    return get(op).mayBeSource ||
           llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
  }

private:
  struct Entry {
    bool isFunctionOfOperands, mayBeSource;
  };

  const Entry &get(Operation *op) {
    auto [found, isNew] = entries.try_emplace(op->getName());
    if (isNew) {
      bool isKnown = lockstep::isFunctionOfOperands(op);
      found->second = {isKnown,
                       !isKnown ||
                           isa<UniformityOpInterface, CallOpInterface,
                               replica::ValuesFromFunctionOp, replica::ReadOp,
                               collective::WaitOp, device::InvokeOp>(op)};
    }
    return found->second;
  }

  llvm::DenseMap<OperationName, Entry> entries;
};

} // namespace

void UniformityAnalysis::addSources(Operation *root) {
  SourceNames names;
  if (auto module = isa<ModuleOp>(root) ? cast<ModuleOp>(root)
                                        : root->getParentOfType<ModuleOp>())
    for (auto kernel : module.getOps<device::KernelOp>())
      if (kernel
              .walk([&](Operation *op) {
                return WalkResult(success(names.isFunctionOfOperands(op)));
              })
              .wasInterrupted())
        unknownKernels.insert(kernel.getSymNameAttr());
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<replica::StepOp, replica::ProgramOp, func::FuncOp>(op))
      return isa<FunctionOpInterface>(op) ? WalkResult::skip()
                                          : WalkResult::advance();
    SmallVector<Operation *> sources;
    op->walk([&](Operation *inner) {
      if (names.mayBeSource(inner))
        sources.push_back(inner);
    });
    constants.evaluate(
        op, /*readsId=*/llvm::any_of(sources, llvm::IsaPred<replica::IdOp>));
    addArguments(op);
    for (Operation *source : sources)
      addSource(source);
    return WalkResult::skip();
  });
}

bool UniformityAnalysis::isUniformArgument(FunctionOpInterface function,
                                           unsigned index) {
  // An iterator is uniform; only the batches that are taken from it vary.
  if (function.getArgAttr(index, "replica.scalar") ||
      function.getArgAttr(index, "replica.batches"))
    return true;
  auto isMirrored = [&](StringRef name) {
    auto variable = symbols->lookupNearestSymbolFrom<replica::VariableOp>(
        function, StringAttr::get(function.getContext(), name));
    return !variable || !variable.isPerReplica();
  };
  auto binding =
      function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  if (!binding)
    return false;
  if (binding.getKind() == device::BindingKind::Variable)
    return isMirrored(binding.getName());
  return binding.getKind() == device::BindingKind::Scalar;
}

void UniformityAnalysis::addArguments(Operation *op) {
  auto function = cast<FunctionOpInterface>(op);
  if (function.isExternal() || isBroken(UniformityRule::ArgumentsAreEqual))
    return;
  for (BlockArgument argument : function.getArguments())
    if (!isUniformArgument(function, argument.getArgNumber()))
      mark(argument, {VaryingBy::Argument, op, Value()},
           PartitionTable::kSingletons);
}

void UniformityAnalysis::addSource(Operation *op) {
  Reason source{VaryingBy::Source, op, Value()};
  if ((isa<replica::IdOp>(op) && isBroken(UniformityRule::IdsAreEqual)) ||
      (isa<collective::WaitOp>(op) && isBroken(UniformityRule::PartsAreEqual)))
    return;
  if (isa<collective::WaitOp>(op))
    return addGroupResult(op);
  bool isEqual = isa<replica::ReadOp>(op) &&
                 isBroken(UniformityRule::PrivateVariablesAreEqual);
  if (auto uniformity = dyn_cast<UniformityOpInterface>(op);
      uniformity && !isEqual) {
    for (OpResult result : op->getResults())
      if (uniformity.getResultUniformity(result.getResultNumber(), *symbols) ==
          ResultUniformity::Varying)
        mark(result, source, PartitionTable::kSingletons);
  }
  if (auto values = dyn_cast<replica::ValuesFromFunctionOp>(op))
    mark(values.getBody().getArgument(0), source, PartitionTable::kSingletons);
  if (auto read = dyn_cast<replica::ReadOp>(op))
    reads[read.getVariableAttr().getAttr()].push_back(read.getResult());
  // A callee may contain any source, and memory is not tracked.
  auto invoke = dyn_cast<device::InvokeOp>(op);
  bool isUnknown =
      invoke ? unknownKernels.contains(invoke.getKernelAttr().getAttr())
             : !isFunctionOfOperands(op);
  if (isUnknown || isa<CallOpInterface>(op) ||
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    markAll(op->getResults(), source, PartitionTable::kSingletons);
}

/// True for collectives of which only the root receives the result.
static bool isReducedOrGathered(collective::StartOp start) {
  return start.getKindProperties().resultHolders == runtime::Holders::root;
}

/// The members of a group receive equal results; other ranks receive nothing
/// and keep the previous value.
void UniformityAnalysis::addGroupResult(Operation *op) {
  auto wait = cast<collective::WaitOp>(op);
  // A result that only a server receives exists on one rank. It needs no mark,
  // although the steps of servers and replicas are not yet separated.
  if (collective::StartOp start = wait.getStart();
      start && start.getRoot() && isReducedOrGathered(start) && replicas > 0 &&
      static_cast<int64_t>(*start.getRoot()) >= replicas)
    return;
  for (OpResult result : op->getResults()) {
    if (wait.getResultUniformity(result.getResultNumber(), *symbols) !=
        ResultUniformity::Varying)
      continue;
    PartitionId partition = PartitionTable::kSingletons;
    collective::StartOp start = wait.getStart();
    if (start && start.getKindProperties().isSameForAll())
      if (std::optional<llvm::BitVector> members = getMembers(start);
          members && members->any())
        partition = partitions.getGroup(*members);
    mark(result, {VaryingBy::Source, op, Value()}, partition);
  }
}
