//===- RolePlacement.cpp - Which role computes what -----------------------===//

#include "passes/Lower/RolePlacement.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Lower/SizeBounds.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <deque>

using namespace lockstep;
using namespace mlir;

collective::StartOp lockstep::createWithOperand(OpBuilder &builder, collective::StartOp start, Value operand, Type result) {
  return collective::StartOp::create(builder, start.getLoc(), collective::PendingType::get(builder.getContext(), result), start.getKindAttr(),
                                     start.getReductionAttr(), start.getGroupAttr(), start.getChannelAttr(), operand, /*sizes=*/ValueRange(),
                                     start.getAxisAttr(), start.getBytesPerPackAttr(), /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr());
}

bool RolePlacement::has(Role role, Value value) const {
  auto it = holders.find(value);
  return it != holders.end() && it->second.test(role);
}

bool RolePlacement::executes(Role role, Operation *op) const {
  auto it = executors.find(op);
  return it != executors.end() && it->second.test(role);
}

std::optional<Role> RolePlacement::getHome(Value value) const {
  auto it = homes.find(value);
  return it == homes.end() ? std::nullopt : std::optional<Role>(it->second);
}

std::optional<Exchange> RolePlacement::getExchange(collective::StartOp start) const {
  auto it = exchanges.find(start);
  return it == exchanges.end() ? std::nullopt : std::optional<Exchange>(it->second);
}

bool RolePlacement::takesPart(Role role) const {
  return llvm::any_of(holders, [&](const auto &holder) { return holder.second.test(role); });
}

SmallVector<Role> RolePlacement::getTransfers(Value value) const {
  SmallVector<Role> roles;
  std::optional<Role> home = getHome(value);
  auto it = holders.find(value);
  if (home && it != holders.end())
    for (unsigned role : it->second.set_bits())
      if (role != *home)
        roles.push_back(role);
  return roles;
}

namespace {

/// Control flow whose regions are taken apart. Other operations with regions belong to one role as a whole.
bool isControlFlow(Operation *op) { return isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op); }

/// Values that are one and the same in different iterations or branches: what flows into `to` are all the `from`.
struct Flow {
  Value to;
  SmallVector<Value, 2> from;
};

/// The results and carried values of control flow, and what flows into them.
SmallVector<Flow> getFlows(Operation *op) {
  SmallVector<Flow> flows;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults())) {
      flows.push_back({argument, {init, yielded}});
      flows.push_back({result, {argument}});
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults())
      flows.push_back({result,
                       {branch.thenYield().getOperand(result.getResultNumber()), branch.elseYield().getOperand(result.getResultNumber())}});
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [init, argument, yielded] : llvm::zip_equal(loop.getInits(), loop.getBeforeArguments(), loop.getYieldOp()->getOperands()))
      flows.push_back({argument, {init, yielded}});
    for (auto [forwarded, argument, result] : llvm::zip_equal(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults())) {
      flows.push_back({argument, {forwarded}});
      flows.push_back({result, {forwarded}});
    }
  }
  return flows;
}

/// The values that decide where control flow goes.
SmallVector<Value> getDecisions(Operation *op) {
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([](scf::ForOp loop) { return SmallVector<Value>{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}; })
      .Case([](scf::IfOp branch) { return SmallVector<Value>{branch.getCondition()}; })
      .Case([](scf::WhileOp loop) { return SmallVector<Value>{loop.getConditionOp().getCondition()}; })
      .Default([](Operation *) { return SmallVector<Value>(); });
}

collective::WaitOp getWait(collective::StartOp start) { return cast<collective::WaitOp>(*start->user_begin()); }

/// Whether a server alone may get the result of a collective of all replicas: one operand, of static shape, is reduced or gathered.
bool isConvertible(collective::StartOp start) {
  auto group = SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(start, start.getGroupAttr());
  bool isCombined = start.getKind() == collective::Kind::AllReduce || start.getKind() == collective::Kind::AllGather;
  return isCombined && start.getInputs().size() == 1 && start.getSizes().empty() && group && !group.getRanks();
}

/// What an operation needs, its regions included.
SmallVector<Value> getNeeded(Operation *op) {
  llvm::SetVector<Value> needed(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() > 0)
    getUsedValuesDefinedAbove(op->getRegions(), needed);
  return needed.takeVector();
}

} // namespace

namespace lockstep {

class RolePlacer {
public:
  RolePlacer(func::FuncOp step, const UniformityAnalysis &uniformity, Role roles, int64_t replicas)
      : step(step), uniformity(uniformity), roles(roles), replicas(replicas) {}

  FailureOr<RolePlacement> run() {
    for (auto role : step->getParentOfType<ModuleOp>().getOps<device::RoleOp>())
      firstRanks.push_back(role.getFirstRank());
    llvm::sort(firstRanks);
    step.walk([&](Operation *op) {
      if (auto start = dyn_cast<collective::StartOp>(op); start && start.getRoot())
        findExchange(start);
      if (!isControlFlow(op))
        return;
      for (Flow &flow : getFlows(op))
        flowsInto[flow.to] = flow.from;
    });
    aim();
    settle();
    placeRoots();
    while (!pending.empty() && valid) {
      auto [value, role] = pending.front();
      pending.pop_front();
      place(value, role);
    }
    if (!valid)
      return failure();
    return std::move(placement);
  }

private:
  Role getRoleOfRank(int64_t rank) const { return std::distance(firstRanks.begin(), llvm::upper_bound(firstRanks, rank)) - 1; }

  void findExchange(collective::StartOp start) {
    bool serverGives = start.getKind() == collective::Kind::Broadcast || start.getKind() == collective::Kind::Scatter;
    placement.exchanges.insert({start, {start.getKind(), getRoleOfRank(*start.getRoot()), serverGives}});
  }

  //===--- Aims: which server a value goes to in the end ------------------===//

  /// From the next values of servers' variables back through what is equal on all replicas. The nearest variable counts, so that the
  /// gradient of a variable goes to its server even if the updates of all depend on all gradients, as in clipping by a global norm.
  ///
  /// With one replica everything is equal on all of them. Then the way back ends where values are no longer like the variable: a server
  /// updates its variables, and does not compute gradients.
  void aim() {
    struct Reached {
      Value value;
      Role role;
      Type variable;
    };
    std::deque<Reached> queue;
    auto reach = [&](Value value, Role role, Type variable) {
      if ((uniformity.isUniform(value) || (replicas == 1 && isPartOfUpdate(value, variable))) && aims.try_emplace(value, role).second)
        queue.push_back({value, role, variable});
    };
    auto returnOp = cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [index, value] : llvm::enumerate(returnOp.getOperands()))
      if (Role role = getResultRole(index); role != kReplicas)
        reach(value, role, value.getType());
    // What a server gives, and how much it gets, it computes.
    for (auto [op, exchange] : placement.exchanges) {
      auto start = cast<collective::StartOp>(op);
      for (Value value : exchange.serverGives ? ValueRange(start.getInputs()) : ValueRange(start.getSizes()))
        reach(value, exchange.server, value.getType());
    }
    while (!queue.empty()) {
      auto [value, role, variable] = queue.front();
      queue.pop_front();
      if (auto flows = flowsInto.find(value); flows != flowsInto.end())
        for (Value from : flows->second)
          reach(from, role, variable);
      else if (Operation *op = value.getDefiningOp(); op && isMemoryEffectFree(op))
        for (Value operand : getNeeded(op))
          reach(operand, role, variable);
    }
  }

  /// Of the shape of the variable and computed element by element or row by row, or a number on the way there.
  bool isPartOfUpdate(Value value, Type variable) {
    if (!isa<TensorType>(value.getType()) || flowsInto.contains(value))
      return !isa<TensorType>(value.getType()) || value.getType() == variable;
    auto generic = value.getDefiningOp<linalg::GenericOp>();
    bool isElementwise = generic && generic.getNumLoops() == generic.getNumParallelLoops();
    return value.getType() == variable && (isElementwise || value.getDefiningOp<tensor::InsertOp>() || value.getDefiningOp<tensor::InsertSliceOp>());
  }

  Role getVariableRole(StringRef name) {
    auto variable = SymbolTable::lookupNearestSymbolFrom(step, StringAttr::get(step.getContext(), name));
    device::RoleOp role = variable ? device::getRole(variable) : nullptr;
    return role ? getRoleOfRank(role.getFirstRank()) : kReplicas;
  }

  Role getResultRole(unsigned index) {
    auto binding = step.getResultAttrOfType<device::BindingAttr>(index, "device.binding");
    return binding.getKind() == device::BindingKind::Variable ? getVariableRole(binding.getName()) : kReplicas;
  }

  //===--- Homes ----------------------------------------------------------===//

  void settle() {
    for (BlockArgument argument : step.getArguments()) {
      auto binding = step.getArgAttrOfType<device::BindingAttr>(argument.getArgNumber(), "device.binding");
      if (binding.getKind() == device::BindingKind::Variable)
        placement.homes[argument] = getVariableRole(binding.getName());
      else if (binding.getKind() != device::BindingKind::Scalar)
        placement.homes[argument] = kReplicas;
    }
    // Carried values are at home everywhere until something that is not flows into them.
    for (bool changed = true; changed;) {
      changed = false;
      step.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (isControlFlow(op)) {
          for (Flow &flow : getFlows(op))
            changed |= settleFlow(flow);
          return WalkResult::advance();
        }
        if (!op->hasTrait<OpTrait::IsTerminator>())
          for (OpResult result : op->getResults())
            if (std::optional<Role> home = findHome(op, result))
              changed |= placement.homes.try_emplace(result, *home).second;
        // What is inside of others goes where they go.
        return op == step ? WalkResult::advance() : WalkResult::skip();
      });
    }
  }

  bool settleFlow(const Flow &flow) {
    if (placement.homes.contains(flow.to) || !isa<TensorType>(flow.to.getType()) || llvm::none_of(flow.from, [&](Value from) { return placement.homes.contains(from); }))
      return false;
    // What a loop carries and what it ends with are one value.
    auto result = dyn_cast<OpResult>(flow.to);
    if (result && isa<scf::ForOp>(result.getOwner())) {
      placement.homes[flow.to] = placement.homes.lookup(flow.from.front());
      return true;
    }
    auto aim = aims.find(flow.to);
    placement.homes[flow.to] = aim == aims.end() ? kReplicas : aim->second;
    return true;
  }

  /// Nothing: everywhere, as far as is known.
  std::optional<Role> findHome(Operation *op, OpResult result) {
    auto aim = aims.find(result);
    if (auto wait = dyn_cast<collective::WaitOp>(op)) {
      if (std::optional<Exchange> exchange = placement.getExchange(wait.getStart()))
        return exchange->serverGives ? kReplicas : exchange->server;
      if (aim == aims.end() || !isConvertible(wait.getStart()))
        return kReplicas;
      auto kind = wait.getStart().getKind() == collective::Kind::AllReduce ? collective::Kind::Reduce : collective::Kind::Gather;
      placement.exchanges.insert({wait.getStart(), {kind, aim->second, /*serverGives=*/false}});
      return aim->second;
    }
    if (!isMemoryEffectFree(op))
      return kReplicas;
    // Whoever needs a number computes it from the tensors that it comes from.
    if (!isa<TensorType>(result.getType()))
      return std::nullopt;
    bool atReplicas = false, atServers = false;
    // What makes little of much, as a norm does, is computed where most of it is.
    int64_t most = getBytes(result);
    std::optional<Role> where;
    for (Value operand : getNeeded(op)) {
      std::optional<Role> home = placement.getHome(operand);
      atServers |= home && *home != kReplicas;
      if (home && *home != kReplicas && getBytes(operand) > most) {
        most = getBytes(operand);
        where = home;
      }
      // What does not change in a loop is given once, before it.
      atReplicas |= home == kReplicas && !(aim != aims.end() && isInvariant(operand, op));
    }
    if (atServers && aim != aims.end())
      return where.value_or(aim->second);
    if (atReplicas || atServers)
      return kReplicas;
    bool depends = llvm::any_of(getNeeded(op), [&](Value operand) { return placement.getHome(operand).has_value(); });
    return depends ? std::optional<Role>(aim->second) : std::nullopt;
  }

  /// Of a tensor of numbers and of static shape; 0 for others.
  static int64_t getBytes(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() && type.getElementType().isIntOrFloat() ? collective::getByteSize(type) : 0;
  }

  /// Whether `value` comes from outside of a loop that `op` is in.
  bool isInvariant(Value value, Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    return loop && loop.isDefinedOutsideOfLoop(value);
  }

  //===--- Parts: what each role has to execute ---------------------------===//

  void placeRoots() {
    auto returnOp = cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [index, value] : llvm::enumerate(returnOp.getOperands()))
      need(value, getResultRole(index));
    // Batches are loaded and barriers passed whoever needs what comes of it.
    step.walk([&](Operation *op) {
      if (isa<device::LoadBatchOp, collective::BarrierOp>(op))
        execute(op, kReplicas);
    });
  }

  void need(Value value, Role role) { pending.push_back({value, role}); }

  bool setBit(llvm::SmallBitVector &bits, Role role) {
    bits.resize(roles);
    bool isNew = !bits.test(role);
    bits.set(role);
    return isNew;
  }

  void place(Value value, Role role) {
    if (!setBit(placement.holders[value], role))
      return;
    if (Operation *owner = value.getParentBlock()->getParentOp(); owner != step)
      execute(owner, role);
    std::optional<Role> home = placement.getHome(value);
    if (home && *home != role) {
      checkTransfer(value, role, *home);
      return need(value, *home);
    }
    if (auto flows = flowsInto.find(value); flows != flowsInto.end()) {
      if (Operation *op = value.getDefiningOp())
        execute(op, role);
      for (Value from : flows->second)
        need(from, role);
    } else if (Operation *op = value.getDefiningOp()) {
      execute(op, role);
    }
  }

  void checkTransfer(Value value, Role role, Role home) {
    auto type = cast<RankedTensorType>(value.getType());
    bool isBounded = true;
    for (int64_t dimension = 0; dimension < type.getRank(); ++dimension)
      isBounded &= findSizeBound(value, dimension, replicas).has_value();
    bool isEqual = home != kReplicas || replicas == 1 || uniformity.isUniform(value);
    if (isBounded && isEqual)
      return;
    valid = false;
    InFlightDiagnostic error = emitError(value.getLoc());
    if (!isBounded)
      error << "a value of type " << type << " is needed by another role than the one that computes it, expected sizes with known bounds";
    else
      error << "a value that may differ between replicas is needed by a parameter server";
  }

  void execute(Operation *op, Role role) {
    if (!setBit(placement.executors[op], role))
      return;
    if (Operation *parent = op->getParentOp(); parent != step)
      execute(parent, role);
    if (isControlFlow(op)) {
      for (Value decision : getDecisions(op)) {
        if (role != kReplicas && replicas > 1 && !uniformity.isUniform(decision)) {
          op->emitError("a part of this is for a parameter server, but replicas may decide it differently");
          valid = false;
        }
        need(decision, role);
      }
      return;
    }
    if (auto start = dyn_cast<collective::StartOp>(op))
      return executeCollective(start, role);
    if (auto wait = dyn_cast<collective::WaitOp>(op))
      return execute(wait.getStart(), role);
    for (Value operand : getNeeded(op))
      need(operand, role);
  }

  /// Whoever takes part, all whom it concerns do.
  void executeCollective(collective::StartOp start, Role role) {
    execute(getWait(start), role);
    std::optional<Exchange> exchange = placement.getExchange(start);
    if (!exchange || exchange->gives(role))
      for (Value operand : start.getInputs())
        need(operand, role);
    if (!exchange || !exchange->gives(role))
      for (Value size : start.getSizes())
        need(size, role);
    if (exchange) {
      execute(start, kReplicas);
      execute(start, exchange->server);
    }
  }

  func::FuncOp step;
  const UniformityAnalysis &uniformity;
  Role roles;
  int64_t replicas;
  RolePlacement placement;
  llvm::DenseMap<Value, Role> aims;
  llvm::DenseMap<Value, SmallVector<Value, 2>> flowsInto;
  /// The first rank of each role.
  SmallVector<int64_t> firstRanks;
  std::deque<std::pair<Value, Role>> pending;
  bool valid = true;
};

} // namespace lockstep

FailureOr<RolePlacement> RolePlacement::compute(func::FuncOp step, const UniformityAnalysis &uniformity, Role roles, int64_t replicas) {
  return RolePlacer(step, uniformity, roles, replicas).run();
}
