//===- RolePlacement.cpp - The operations that each role executes ---------===//

#include "passes/Roles/RolePlacement.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/SizeBounds.h"
#include "passes/Roles/RoleDecisions.h"

#include <deque>

using namespace lockstep;
using namespace mlir;

collective::StartOp lockstep::createWithOperand(OpBuilder &builder,
                                                collective::StartOp start,
                                                Value operand, Type result) {
  return collective::StartOp::create(
      builder, start.getLoc(),
      collective::PendingType::get(builder.getContext(), result),
      start.getKindAttr(), start.getReductionAttr(), start.getGroupAttr(),
      start.getChannelAttr(), operand,
      /*sizes=*/ValueRange(), start.getAxisAttr(), start.getBytesPerPackAttr(),
      /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr(),
      /*sources=*/DenseI64ArrayAttr());
}

bool RolePlacement::has(Role role, Value value) const {
  auto it = holders.find(value);
  return it != holders.end() && it->second.test(role);
}

bool RolePlacement::executes(Role role, Operation *op) const {
  auto it = executors.find(op);
  return it != executors.end() && it->second.test(role);
}

bool RolePlacement::takesPart(Role role) const {
  return llvm::any_of(
      holders, [&](const auto &holder) { return holder.second.test(role); });
}

SmallVector<Role> RolePlacement::getHolders(Value value) const {
  auto it = holders.find(value);
  return it == holders.end() ? SmallVector<Role>()
                             : llvm::to_vector_of<Role>(it->second.set_bits());
}

SmallVector<Role> RolePlacement::getTransfers(Value value) const {
  std::optional<Role> home = getHome(value);
  if (!home)
    return {};
  SmallVector<Role> roles = getHolders(value);
  llvm::erase(roles, *home);
  return roles;
}

namespace {

collective::WaitOp getWait(collective::StartOp start) {
  return cast<collective::WaitOp>(*start->user_begin());
}

} // namespace

namespace lockstep {

class RolePlacer {
public:
  RolePlacer(func::FuncOp step, const UniformityAnalysis &uniformity,
             Role roles, int64_t replicas, llvm::SetVector<Value> decisions)
      : step(step), uniformity(uniformity), roles(roles), replicas(replicas) {
    placement.homes = RoleHomes::compute(step, uniformity, replicas, decisions);
    placement.decisions = std::move(decisions);
  }

  FailureOr<RolePlacement> run() {
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
  void placeRoots() {
    auto returnOp =
        cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [index, value] : llvm::enumerate(returnOp.getOperands()))
      need(value, placement.homes.getResultRole(index));
    // Replicas load batches and take part in barriers even if no role needs the
    // results.
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
    if (Operation *op = value.getDefiningOp())
      execute(op, role);
    for (Value from : placement.homes.getFlows(value))
      need(from, role);
  }

  void checkTransfer(Value value, Role role, Role home) {
    auto type = cast<RankedTensorType>(value.getType());
    bool isBounded = true;
    for (int64_t dimension = 0; dimension < type.getRank(); ++dimension)
      isBounded &= findSizeBound(value, dimension, replicas).has_value();
    bool isEqual =
        home != kReplicas || replicas == 1 || uniformity.isUniform(value);
    if (isBounded && isEqual)
      return;
    valid = false;
    InFlightDiagnostic error = emitError(value.getLoc());
    if (!isBounded)
      error << "a value of type " << type
            << " is needed by another role than the one that computes it, "
               "expected sizes with known bounds";
    else
      error << "a value that may differ between replicas is needed by a "
               "parameter server";
  }

  void execute(Operation *op, Role role) {
    if (!setBit(placement.executors[op], role))
      return;
    if (Operation *parent = op->getParentOp(); parent != step)
      execute(parent, role);
    if (isProjected(op)) {
      for (Value decision : getDecisions(op)) {
        if (role != kReplicas && replicas > 1 &&
            !uniformity.isUniform(decision)) {
          op->emitError("a part of this is for a parameter server, but "
                        "replicas may decide it differently");
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
    for (Value operand : getNeededValues(op))
      need(operand, role);
  }

  /// If one role takes part in an exchange, the replicas and the server do.
  void executeCollective(collective::StartOp start, Role role) {
    execute(getWait(start), role);
    std::optional<Exchange> exchange = placement.getExchange(start);
    if (!exchange || exchange->sends(role))
      for (Value operand : start.getInputs())
        need(operand, role);
    if (!exchange || !exchange->sends(role))
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
  std::deque<std::pair<Value, Role>> pending;
  bool valid = true;
};

} // namespace lockstep

FailureOr<RolePlacement>
RolePlacement::compute(func::FuncOp step, const UniformityAnalysis &uniformity,
                       Role roles, int64_t replicas,
                       llvm::SetVector<Value> decisions) {
  return RolePlacer(step, uniformity, roles, replicas, std::move(decisions))
      .run();
}
