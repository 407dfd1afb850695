//===- RoleHomes.cpp - The roles that compute values of a step ------------===//

#include "passes/Roles/RoleHomes.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Roles/RoleDecisions.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <deque>

using namespace lockstep;
using namespace mlir;

std::optional<Role> RoleHomes::getHome(Value value) const {
  auto it = homes.find(value);
  return it == homes.end() ? std::nullopt : std::optional<Role>(it->second);
}

std::optional<Exchange>
RoleHomes::getExchange(collective::StartOp start) const {
  auto it = exchanges.find(start);
  return it == exchanges.end() ? std::nullopt
                               : std::optional<Exchange>(it->second);
}

ArrayRef<Value> RoleHomes::getFlows(Value value) const {
  auto it = flows.find(value);
  return it == flows.end() ? ArrayRef<Value>() : it->second;
}

bool lockstep::isProjected(Operation *op) {
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op);
}

SmallVector<Value> lockstep::getNeededValues(Operation *op) {
  llvm::SetVector<Value> needed(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() > 0)
    getUsedValuesDefinedAbove(op->getRegions(), needed);
  return needed.takeVector();
}

namespace {

/// Data flow through control flow: a value `to` that takes the value of one of
/// `from`, depending on the iteration or branch.
struct Flow {
  Value to;
  SmallVector<Value, 2> from;
};

/// The results and carried values of control flow, and the values that flow
/// into them.
SmallVector<Flow> getFlows(Operation *op) {
  SmallVector<Flow> flows;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                         loop.getYieldedValues(), loop.getResults())) {
      flows.push_back({argument, {init, yielded}});
      flows.push_back({result, {argument}});
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults())
      flows.push_back(
          {result,
           {branch.thenYield().getOperand(result.getResultNumber()),
            branch.elseYield().getOperand(result.getResultNumber())}});
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [init, argument, yielded] :
         llvm::zip_equal(loop.getInits(), loop.getBeforeArguments(),
                         loop.getYieldOp()->getOperands()))
      flows.push_back({argument, {init, yielded}});
    for (auto [forwarded, argument, result] :
         llvm::zip_equal(loop.getConditionOp().getArgs(),
                         loop.getAfterArguments(), loop.getResults())) {
      flows.push_back({argument, {forwarded}});
      flows.push_back({result, {forwarded}});
    }
  }
  return flows;
}

/// Whether the result of a collective of all replicas may be sent to one server
/// instead: one operand, of static shape, is reduced or gathered.
bool isConvertible(collective::StartOp start) {
  auto group = SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(
      start, start.getGroupAttr());
  bool isCombined = start.getKind() == collective::Kind::AllReduce ||
                    start.getKind() == collective::Kind::AllGather;
  return isCombined && start.getInputs().size() == 1 &&
         start.getSizes().empty() && group && !group.getRanks();
}

} // namespace

namespace lockstep {

class HomeFinder {
public:
  HomeFinder(func::FuncOp step, const UniformityAnalysis &uniformity,
             int64_t replicas, const llvm::SetVector<Value> &decisions)
      : step(step), uniformity(uniformity), replicas(replicas),
        decisions(decisions) {}

  RoleHomes run() {
    for (auto role : step->getParentOfType<ModuleOp>().getOps<device::RoleOp>())
      firstRanks.push_back(role.getFirstRank());
    llvm::sort(firstRanks);
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      found.resultRoles.push_back(findResultRole(i));
    step.walk([&](Operation *op) {
      if (auto start = dyn_cast<collective::StartOp>(op);
          start && start.getRoot())
        findExchange(start);
      if (!isProjected(op))
        return;
      for (Flow &flow : getFlows(op))
        found.flows[flow.to] = flow.from;
    });
    findTargets();
    findHomes();
    // Only control flow uses decisions, so no other home depends on theirs.
    for (Value decision : decisions)
      found.homes[decision] = findDecisionHome(decision);
    return std::move(found);
  }

private:
  Role getRoleOfRank(int64_t rank) const {
    return std::distance(firstRanks.begin(),
                         llvm::upper_bound(firstRanks, rank)) -
           1;
  }

  void findExchange(collective::StartOp start) {
    bool serverSends =
        start.getKindProperties().operandHolders == runtime::Holders::root;
    found.exchanges.insert(
        {start,
         {start.getKind(), getRoleOfRank(*start.getRoot()), serverSends}});
  }

  Role getVariableRole(StringRef name) {
    auto variable = uniformity.getSymbols().lookupNearestSymbolFrom(
        step, StringAttr::get(step.getContext(), name));
    device::RoleOp role = variable ? device::getRole(variable) : nullptr;
    return role ? getRoleOfRank(role.getFirstRank()) : kReplicas;
  }

  Role findResultRole(unsigned index) {
    auto binding =
        step.getResultAttrOfType<device::BindingAttr>(index, "device.binding");
    return binding.getKind() == device::BindingKind::Variable
               ? getVariableRole(binding.getName())
               : kReplicas;
  }

  //===--- Targets: the server that a value is finally used by ------------===//

  /// Walks def-use chains backwards from the new values of servers' variables,
  /// through values that are equal on all replicas. The search is breadth-first
  /// and the nearest variable wins, so that the gradient of a variable is sent
  /// to its server even if all updates depend on all gradients, as in clipping
  /// by a global norm.
  ///
  /// With one replica all values are equal. Then the walk stops at values that
  /// `isPartOfUpdate` rejects: a server updates its variables, and does not
  /// compute gradients.
  void findTargets() {
    struct Reached {
      Value value;
      Role role;
      Type variable;
    };
    std::deque<Reached> queue;
    auto reach = [&](Value value, Role role, Type variable) {
      if ((uniformity.isUniform(value) ||
           (replicas == 1 && isPartOfUpdate(value, variable))) &&
          targets.try_emplace(value, role).second)
        queue.push_back({value, role, variable});
    };
    auto returnOp =
        cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [index, value] : llvm::enumerate(returnOp.getOperands()))
      if (Role role = found.getResultRole(index); role != kReplicas)
        reach(value, role, value.getType());
    // A server computes the operands that it sends, and the sizes of the
    // results that it receives.
    for (auto [op, exchange] : found.exchanges) {
      auto start = cast<collective::StartOp>(op);
      for (Value value : exchange.serverSends ? ValueRange(start.getInputs())
                                              : ValueRange(start.getSizes()))
        reach(value, exchange.server, value.getType());
    }
    while (!queue.empty()) {
      auto [value, role, variable] = queue.front();
      queue.pop_front();
      ArrayRef<Value> flows = found.getFlows(value);
      for (Value from : flows)
        reach(from, role, variable);
      if (Operation *op = flows.empty() ? value.getDefiningOp() : nullptr;
          op && isMemoryEffectFree(op))
        for (Value operand : getNeededValues(op))
          reach(operand, role, variable);
    }
  }

  /// True for a value of the variable's type that is computed element by
  /// element or row by row, and for the scalars that it is computed from.
  bool isPartOfUpdate(Value value, Type variable) {
    if (!isa<TensorType>(value.getType()) || found.flows.contains(value))
      return !isa<TensorType>(value.getType()) || value.getType() == variable;
    auto generic = value.getDefiningOp<linalg::GenericOp>();
    bool isElementwise =
        generic && generic.getNumLoops() == generic.getNumParallelLoops();
    return value.getType() == variable &&
           (isElementwise || value.getDefiningOp<tensor::InsertOp>() ||
            value.getDefiningOp<tensor::InsertSliceOp>());
  }

  //===--- Homes ----------------------------------------------------------===//

  void findHomes() {
    for (BlockArgument argument : step.getArguments()) {
      auto binding = step.getArgAttrOfType<device::BindingAttr>(
          argument.getArgNumber(), "device.binding");
      if (binding.getKind() == device::BindingKind::Variable)
        found.homes[argument] = getVariableRole(binding.getName());
      else if (binding.getKind() != device::BindingKind::Scalar)
        found.homes[argument] = kReplicas;
    }
    // A fixed point: carried values are at home everywhere until a value with
    // one home flows into them.
    for (bool changed = true; changed;) {
      changed = false;
      step.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (isProjected(op)) {
          for (Flow &flow : getFlows(op))
            changed |= findHomeOfFlow(flow);
          return WalkResult::advance();
        }
        if (!op->hasTrait<OpTrait::IsTerminator>())
          for (OpResult result : op->getResults())
            if (std::optional<Role> home = findHome(op, result))
              changed |= found.homes.try_emplace(result, *home).second;
        // Other operations with regions have the same home as their contents.
        return op == step ? WalkResult::advance() : WalkResult::skip();
      });
    }
  }

  bool findHomeOfFlow(const Flow &flow) {
    if (found.homes.contains(flow.to) || !isa<TensorType>(flow.to.getType()) ||
        llvm::none_of(flow.from,
                      [&](Value from) { return found.homes.contains(from); }))
      return false;
    // A loop-carried value and the result have the same home.
    auto result = dyn_cast<OpResult>(flow.to);
    if (result && isa<scf::ForOp>(result.getOwner())) {
      found.homes[flow.to] = found.homes.lookup(flow.from.front());
      return true;
    }
    auto target = targets.find(flow.to);
    found.homes[flow.to] = target == targets.end() ? kReplicas : target->second;
    return true;
  }

  /// The server from whose values alone a decision is computed, else the
  /// replicas.
  Role findDecisionHome(Value decision) {
    llvm::SetVector<Value> needed;
    needed.insert(decision);
    std::optional<Role> only;
    for (size_t i = 0; i < needed.size(); ++i) {
      Value value = needed[i];
      if (std::optional<Role> home = found.getHome(value);
          home && value != decision) {
        if (*home == kReplicas || (only && *only != *home))
          return kReplicas;
        only = home;
        continue;
      }
      ArrayRef<Value> flows = found.getFlows(value);
      needed.insert(flows.begin(), flows.end());
      Operation *op = value.getDefiningOp();
      SmallVector<Value> operands = !op             ? SmallVector<Value>()
                                    : flows.empty() ? getNeededValues(op)
                                                    : getDecisions(op);
      needed.insert(operands.begin(), operands.end());
    }
    return only.value_or(kReplicas);
  }

  /// The role that computes a result; nullopt: every role that needs it, as far
  /// as is known in this round.
  std::optional<Role> findHome(Operation *op, OpResult result) {
    auto target = targets.find(result);
    if (auto wait = dyn_cast<collective::WaitOp>(op)) {
      if (std::optional<Exchange> exchange = found.getExchange(wait.getStart()))
        return exchange->serverSends ? kReplicas : exchange->server;
      if (target == targets.end() || !isConvertible(wait.getStart()))
        return kReplicas;
      auto kind = wait.getStart().getKind() == collective::Kind::AllReduce
                      ? collective::Kind::Reduce
                      : collective::Kind::Gather;
      found.exchanges.insert(
          {wait.getStart(), {kind, target->second, /*serverSends=*/false}});
      return target->second;
    }
    if (!isMemoryEffectFree(op))
      return kReplicas;
    // A scalar is computed by every role that needs it, from tensors.
    if (!isa<TensorType>(result.getType()))
      return std::nullopt;
    bool atReplicas = false, atServers = false;
    // An operation with operands larger than its result, such as a norm, is
    // computed by the server that has the largest operand.
    int64_t most = getBytes(result);
    std::optional<Role> where;
    for (Value operand : getNeededValues(op)) {
      std::optional<Role> home = found.getHome(operand);
      atServers |= home && *home != kReplicas;
      if (home && *home != kReplicas && getBytes(operand) > most) {
        most = getBytes(operand);
        where = home;
      }
      // A loop-invariant operand is sent once, before the loop.
      atReplicas |= home == kReplicas &&
                    !(target != targets.end() && isInvariant(operand, op));
    }
    if (atServers && target != targets.end())
      return where.value_or(target->second);
    if (atReplicas || atServers)
      return kReplicas;
    bool depends = llvm::any_of(getNeededValues(op), [&](Value operand) {
      return found.getHome(operand).has_value();
    });
    return depends ? std::optional<Role>(target->second) : std::nullopt;
  }

  /// The size of a tensor of numbers and of static shape; 0 for other values.
  static int64_t getBytes(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() && type.getElementType().isIntOrFloat()
               ? getByteSize(type)
               : 0;
  }

  /// Whether `value` is defined outside of the innermost loop around `op`.
  bool isInvariant(Value value, Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    return loop && loop.isDefinedOutsideOfLoop(value);
  }

  func::FuncOp step;
  const UniformityAnalysis &uniformity;
  int64_t replicas;
  const llvm::SetVector<Value> &decisions;
  RoleHomes found;
  llvm::DenseMap<Value, Role> targets;
  /// The first rank of each role.
  SmallVector<int64_t> firstRanks;
};

} // namespace lockstep

RoleHomes RoleHomes::compute(func::FuncOp step,
                             const UniformityAnalysis &uniformity,
                             int64_t replicas,
                             const llvm::SetVector<Value> &decisions) {
  return HomeFinder(step, uniformity, replicas, decisions).run();
}
