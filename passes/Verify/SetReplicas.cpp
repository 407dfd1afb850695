//===- SetReplicas.cpp - Fixes the strategy and its counts ----------------===//
//
// The options supply what the module leaves open; what both specify must agree.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/Strategy.h"
#include "passes/Passes.h"

#include "runtime/artifact/Verifier.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SETREPLICASPASS
#include "passes/Passes.h.inc"

namespace {
using replica::StrategyProperties;

struct SetReplicas : impl::SetReplicasPassBase<SetReplicas> {
  using SetReplicasPassBase::SetReplicasPassBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    FailureOr<replica::StrategyOp> strategy = findStrategy();
    if (failed(strategy) || failed(setReplicas(*strategy)) ||
        failed(setServers(*strategy)) || failed(checkRanks(*strategy)) ||
        failed(checkGroups(*strategy)) || failed(checkMembers(*strategy)) ||
        failed(setPartitioner(*strategy)))
      signalPassFailure();
  }

private:
  LogicalResult checkOptions() {
    if (replicas < 0)
      return getOperation().emitError(
                 "expected a replica count that is positive, found ")
             << replicas.getValue();
    if (servers < 0)
      return getOperation().emitError(
                 "expected a number of servers that is positive, found ")
             << servers.getValue() << " [E_CLUSTER]";
    if (!strategy.empty() && !replica::symbolizeKind(strategy)) {
      InFlightDiagnostic error =
          getOperation().emitError("expected a strategy among ");
      for (unsigned i = 0; i <= replica::getMaxEnumValForKind(); ++i)
        if (std::optional<replica::Kind> kind = replica::symbolizeKind(i))
          error << (i ? ", " : "") << stringifyKind(*kind);
      return error << "; found '" << strategy << "'";
    }
    return success();
  }

  /// The module's strategy. If it has none, creates one of the requested kind,
  /// or of one that fits the count. [1.3-none-given]
  FailureOr<replica::StrategyOp> findStrategy() {
    ModuleOp module = getOperation();
    auto strategies = module.getOps<replica::StrategyOp>();
    std::optional<replica::Kind> requested = replica::symbolizeKind(strategy);
    if (!strategies.empty()) {
      replica::StrategyOp found = *strategies.begin();
      if (requested && *requested != found.getKind())
        return found.emitError("the strategy is '")
               << stringifyKind(found.getKind())
               << "', but --strategy asks for '" << strategy << "'";
      return found;
    }
    auto captured =
        module->getAttrOfType<IntegerAttr>(replica::kCapturedReplicas);
    if (!requested && replicas == 0 && !captured)
      return module.emitError(
          "expected a replica count, by --replicas or a 'replica.strategy'");
    int64_t count =
        replicas != 0 || !captured ? replicas.getValue() : captured.getInt();
    replica::Kind kind = requested.value_or(
        count == 1 ? replica::Kind::OneDevice : replica::Kind::Mirrored);
    // The symbol table renames the strategy if a variable has its name.
    SymbolTable symbols(module);
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto created =
        replica::StrategyOp::create(builder, module.getLoc(), "strategy", kind,
                                    /*replicas=*/nullptr, /*servers=*/nullptr,
                                    /*partitioner=*/nullptr);
    symbols.insert(created);
    return created;
  }

  /// The location of the first step, or of the module.
  Location getStepLocation() {
    auto steps = getOperation().getOps<FunctionOpInterface>();
    return steps.empty() ? getOperation().getLoc() : (*steps.begin()).getLoc();
  }

  LogicalResult setReplicas(replica::StrategyOp strategy) {
    std::optional<int64_t> declared = strategy.getReplicas();
    if (StrategyProperties::of(strategy.getKind()).isSingle)
      declared = 1;
    auto captured =
        getOperation()->getAttrOfType<IntegerAttr>(replica::kCapturedReplicas);
    if (int64_t requested = declared.value_or(replicas);
        captured && requested != 0 && requested != captured.getInt())
      return emitError(getStepLocation())
             << "the step was captured for " << captured.getInt()
             << (captured.getInt() == 1 ? " replica" : " replicas")
             << ", found a strategy with " << requested
             << "; capture it for that number, or without one";
    if (captured)
      declared = captured.getInt();
    if (!declared && replicas == 0)
      return strategy.emitError(
          "expected a replica count, in the strategy or by --replicas");
    if (declared && replicas != 0 && *declared != replicas)
      return strategy.emitError("the strategy has ")
             << *declared << (*declared == 1 ? " replica" : " replicas")
             << ", but --replicas asks for " << replicas.getValue();
    strategy.setReplicas(declared.value_or(replicas));
    return success();
  }

  LogicalResult setServers(replica::StrategyOp strategy) {
    bool hasServers = StrategyProperties::of(strategy.getKind()).placement ==
                      replica::Placement::Servers;
    std::optional<int64_t> declared = strategy.getServers();
    if (!hasServers && servers != 0)
      return strategy.emitError("strategy '")
             << stringifyKind(strategy.getKind())
             << "' has no servers, but --servers asks for "
             << servers.getValue() << " [E_CLUSTER]";
    if (!hasServers)
      return success();
    if (!declared && servers == 0)
      return strategy.emitError("expected a number of servers, in the strategy "
                                "or by --servers [E_CLUSTER]");
    if (declared && servers != 0 && *declared != servers)
      return strategy.emitError("the strategy has ")
             << *declared << (*declared == 1 ? " server" : " servers")
             << ", but --servers asks for " << servers.getValue()
             << " [E_CLUSTER]";
    strategy.setServers(declared.value_or(servers));
    return success();
  }

  /// An artifact limits the number of ranks.
  LogicalResult checkRanks(replica::StrategyOp strategy) {
    int64_t most = runtime::verify::maxReplicas,
            found = *strategy.getReplicas(),
            ofServers = strategy.getServers().value_or(0);
    if (found <= most && ofServers <= most - found)
      return success();
    return strategy.emitError("expected at most ")
           << most << " replicas and servers together, found " << found
           << " and " << ofServers;
  }

  /// Collectives in a group of all replicas are valid for their number.
  LogicalResult checkMembers(replica::StrategyOp strategy) {
    if (!strategy.getReplicas())
      return success();
    auto ranks =
        llvm::to_vector(llvm::seq<int64_t>(0, *strategy.getReplicas()));
    SymbolTableCollection symbols;
    WalkResult result = getOperation().walk([&](collective::StartOp start) {
      auto group = symbols.lookupNearestSymbolFrom<collective::GroupOp>(
          start, start.getGroupAttr());
      bool isOfReplicas = group && !group.getRanks();
      return isOfReplicas && failed(collective::verifyMembers(start, ranks))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Groups and roots name existing ranks: the replicas, then the servers.
  LogicalResult checkGroups(replica::StrategyOp strategy) {
    int64_t ranks = *strategy.getReplicas() + strategy.getServers().value_or(0);
    for (auto group : getOperation().getOps<collective::GroupOp>())
      if (group.getRanks() && group.getRanks()->back() >= ranks)
        return group.emitOpError("expected ranks below ")
               << ranks << ", found " << group.getRanks()->back();
    WalkResult result = getOperation().walk([&](collective::StartOp start) {
      if (!start.getRoot() || static_cast<int64_t>(*start.getRoot()) < ranks)
        return WalkResult::advance();
      return WalkResult(start.emitOpError("expected a root below ")
                        << ranks << ", found " << *start.getRoot());
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult setPartitioner(replica::StrategyOp strategy) {
    if (partitioner.empty())
      return success();
    if (!strategy.getServers())
      return strategy.emitError("strategy '")
             << stringifyKind(strategy.getKind())
             << "' has no servers, but --partitioner asks for '" << partitioner
             << "'";
    std::string message;
    replica::PartitionerAttr requested;
    {
      ScopedDiagnosticHandler handler(&getContext(),
                                      [&](Diagnostic &diagnostic) {
                                        message = diagnostic.str();
                                        return success();
                                      });
      requested = dyn_cast_or_null<replica::PartitionerAttr>(parseAttribute(
          "#replica.partitioner<" + partitioner + ">", &getContext()));
    }
    if (!requested)
      return strategy.emitError(
                 "--partitioner: expected 'fixed N', 'min_size [bytes B] "
                 "[shards M]' or 'max_size bytes B [shards M]', found '")
             << partitioner << "': " << message;
    if (strategy.getPartitioner() && strategy.getPartitionerAttr() != requested)
      return strategy.emitError("the strategy has the partitioner ")
             << strategy.getPartitionerAttr() << ", but --partitioner asks for "
             << requested;
    strategy.setPartitionerAttr(requested);
    return success();
  }
};
} // namespace
} // namespace lockstep
