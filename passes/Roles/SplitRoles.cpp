//===- SplitRoles.cpp - Project a step to each role -----------------------===//
//
// Endpoint projection: projects a step, a choreography which all roles execute
// together, to the part of each role. Every part preserves the order of the
// whole, and both ends of an exchange are at the same position in it, so the
// parts cannot deadlock.
//
//===----------------------------------------------------------------------===//

#include "passes/Roles/RoleDecisions.h"
#include "passes/Roles/RoleExchanges.h"
#include "passes/Roles/RolePlacement.h"
#include "passes/Roles/Roles.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Canonicalization.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SPLITROLESPASS
#include "passes/Passes.h.inc"

namespace {

/// Builds the part of one role.
class PartBuilder {
public:
  PartBuilder(func::FuncOp step, const RolePlacement &placement, Roles &roles,
              Channels &channels, Role role, SymbolTableCollection &symbols)
      : step(step), placement(placement), roles(roles), role(role),
        symbols(symbols), builder(step),
        exchanges(placement, roles, channels, role, builder, mapping) {
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      assigned.insert(
          step.getResultAttrOfType<device::BindingAttr>(i, "device.binding"));
  }

  func::FuncOp run() {
    builder.setInsertionPoint(step);
    SmallVector<unsigned> arguments = getArguments(), results = getResults();
    auto types = [](auto range, ArrayRef<unsigned> kept) {
      return llvm::map_to_vector(kept,
                                 [&](unsigned i) { return Type(range[i]); });
    };
    auto type =
        builder.getFunctionType(types(step.getArgumentTypes(), arguments),
                                types(step.getResultTypes(), results));
    std::string name = step.getSymName().str();
    if (role != kReplicas)
      name += ("." + roles.get(role).getSymName()).str();
    auto part = func::FuncOp::create(builder, step.getLoc(), name, type);
    part->setAttr(device::kRole, FlatSymbolRefAttr::get(roles.get(role)));
    if (role != kReplicas)
      part->setAttr(device::kStep, step.getSymNameAttr());
    part.setArgAttrsAttr(pick(step.getArgAttrsAttr(), arguments));
    part.setResAttrsAttr(pick(step.getResAttrsAttr(), results));

    Block *body = part.addEntryBlock();
    for (auto [to, from] : llvm::enumerate(arguments))
      mapping.map(step.getArgument(from), body->getArgument(to));
    builder.setInsertionPointToStart(body);
    Block &whole = step.getBody().front();
    buildBlock(whole);
    auto returned = llvm::map_to_vector(results, [&](unsigned i) {
      return mapping.lookup(whole.getTerminator()->getOperand(i));
    });
    func::ReturnOp::create(builder, whole.getTerminator()->getLoc(), returned);
    return part;
  }

private:
  /// The elements of `attributes`, if there are any, at the positions `kept`.
  ArrayAttr pick(ArrayAttr attributes, ArrayRef<unsigned> kept) {
    if (!attributes)
      return {};
    return builder.getArrayAttr(
        llvm::map_to_vector(kept, [&](unsigned i) { return attributes[i]; }));
  }

  /// Replicas keep all arguments that the host passes, used or not.
  SmallVector<unsigned> getArguments() {
    SmallVector<unsigned> kept;
    for (BlockArgument argument : step.getArguments()) {
      auto binding = step.getArgAttrOfType<device::BindingAttr>(
          argument.getArgNumber(), "device.binding");
      bool isVariable = binding.getKind() == device::BindingKind::Variable;
      // A variable that is assigned without being read is an argument, too.
      if (isOwn(argument) ||
          (isVariable ? isOfRole(binding) && isAssigned(binding)
                      : role == kReplicas))
        kept.push_back(argument.getArgNumber());
    }
    return kept;
  }

  SmallVector<unsigned> getResults() {
    SmallVector<unsigned> kept;
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      if (isOfRole(step.getResultAttrOfType<device::BindingAttr>(
              i, "device.binding")))
        kept.push_back(i);
    }
    return kept;
  }

  bool isAssigned(device::BindingAttr variable) {
    return assigned.contains(variable);
  }

  /// Whether the role owns the bound variable; other bindings belong to the
  /// replicas.
  bool isOfRole(device::BindingAttr binding) {
    auto variable = binding.getKind() == device::BindingKind::Variable
                        ? symbols.lookupNearestSymbolFrom(
                              step, builder.getStringAttr(binding.getName()))
                        : nullptr;
    device::RoleOp owner = variable ? device::getRole(variable) : nullptr;
    return (owner ? owner : roles.get(kReplicas)) == roles.get(role);
  }

  /// Whether the role computes or carries the value, instead of receiving it.
  bool isOwn(Value value) const {
    return placement.has(role, value) &&
           placement.getHome(value).value_or(role) == role;
  }

  void buildBlock(Block &block) {
    exchanges.transfer(block.getArguments());
    for (Operation &op : block.without_terminator()) {
      buildOperation(op);
      exchanges.transfer(op.getResults());
    }
  }

  void buildOperation(Operation &op) {
    if (!placement.executes(role, &op))
      return;
    if (auto wait = dyn_cast<collective::WaitOp>(op)) {
      exchanges.buildWait(wait);
    } else if (auto start = dyn_cast<collective::StartOp>(op)) {
      exchanges.buildStart(start);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      buildFor(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      buildIf(branch);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      buildWhile(loop);
    } else {
      builder.clone(op, mapping);
    }
  }

  //===--- Control flow: with the values that the role carries ------------===//

  template <typename RangeT> SmallVector<unsigned> getOwn(RangeT values) {
    SmallVector<unsigned> kept;
    for (auto [index, value] : llvm::enumerate(values))
      if (isOwn(value))
        kept.push_back(index);
    return kept;
  }

  SmallVector<Value> lookup(ValueRange values, ArrayRef<unsigned> kept) {
    return llvm::map_to_vector(
        kept, [&](unsigned i) { return mapping.lookup(values[i]); });
  }

  void map(ValueRange from, ArrayRef<unsigned> kept, ValueRange to) {
    for (auto [index, value] : llvm::zip_equal(kept, to))
      mapping.map(from[index], value);
  }

  void buildFor(scf::ForOp loop) {
    SmallVector<unsigned> kept = getOwn(loop.getRegionIterArgs());
    auto own = scf::ForOp::create(
        builder, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
        mapping.lookup(loop.getUpperBound()), mapping.lookup(loop.getStep()),
        lookup(loop.getInitArgs(), kept));
    mapping.map(loop.getInductionVar(), own.getInductionVar());
    map(loop.getRegionIterArgs(), kept, own.getRegionIterArgs());
    map(loop.getResults(), kept, own.getResults());
    OpBuilder::InsertionGuard guard(builder);
    // Without carried values, the body has a terminator already.
    if (!own.getBody()->empty())
      own.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(own.getBody());
    buildBlock(*loop.getBody());
    scf::YieldOp::create(builder, loop.getLoc(),
                         lookup(loop.getYieldedValues(), kept));
  }

  void buildIf(scf::IfOp branch) {
    SmallVector<unsigned> kept = getOwn(branch.getResults());
    auto types = llvm::map_to_vector(
        kept, [&](unsigned i) { return branch.getResultTypes()[i]; });
    auto own = scf::IfOp::create(builder, branch.getLoc(), types,
                                 mapping.lookup(branch.getCondition()),
                                 /*addThenBlock=*/false,
                                 /*addElseBlock=*/false);
    map(branch.getResults(), kept, own.getResults());
    OpBuilder::InsertionGuard guard(builder);
    for (auto [from, to] :
         llvm::zip_equal(branch->getRegions(), own->getRegions())) {
      if (from.empty())
        continue;
      builder.createBlock(&to);
      buildBlock(from.front());
      scf::YieldOp::create(
          builder, branch.getLoc(),
          lookup(from.front().getTerminator()->getOperands(), kept));
    }
  }

  void buildWhile(scf::WhileOp loop) {
    SmallVector<unsigned> carried = getOwn(loop.getBeforeArguments()),
                          forwarded;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (isOwn(loop.getResult(i)) || isOwn(loop.getAfterArguments()[i]))
        forwarded.push_back(i);
    auto types = llvm::map_to_vector(
        forwarded, [&](unsigned i) { return loop.getResultTypes()[i]; });
    auto own = scf::WhileOp::create(builder, loop.getLoc(), types,
                                    lookup(loop.getInits(), carried));
    map(loop.getResults(), forwarded, own.getResults());
    OpBuilder::InsertionGuard guard(builder);
    auto locations = [&](size_t count) {
      return SmallVector<Location>(count, loop.getLoc());
    };
    auto carriedTypes = llvm::map_to_vector(carried, [&](unsigned i) {
      return loop.getBeforeArguments()[i].getType();
    });
    Block *before = builder.createBlock(&own.getBefore(), {}, carriedTypes,
                                        locations(carried.size()));
    map(loop.getBeforeArguments(), carried, before->getArguments());
    buildBlock(*loop.getBeforeBody());
    scf::ConditionOp::create(
        builder, loop.getLoc(),
        mapping.lookup(loop.getConditionOp().getCondition()),
        lookup(loop.getConditionOp().getArgs(), forwarded));
    Block *after = builder.createBlock(&own.getAfter(), {}, types,
                                       locations(forwarded.size()));
    map(loop.getAfterArguments(), forwarded, after->getArguments());
    buildBlock(*loop.getAfterBody());
    scf::YieldOp::create(builder, loop.getLoc(),
                         lookup(loop.getYieldOp()->getOperands(), carried));
  }

  func::FuncOp step;
  const RolePlacement &placement;
  Roles &roles;
  Role role;
  /// Finds the variables.
  SymbolTableCollection &symbols;
  /// The bindings of the results of the step.
  llvm::DenseSet<Attribute> assigned;
  OpBuilder builder;
  IRMapping mapping;
  RoleExchanges exchanges;
};

/// Splits an all_reduce into one per operand, so that each can be placed
/// separately.
void unbundle(collective::StartOp start) {
  if (start.getInputs().size() == 1 ||
      start.getKind() != collective::Kind::AllReduce)
    return;
  auto wait = cast<collective::WaitOp>(*start->user_begin());
  OpBuilder builder(start);
  SmallVector<collective::StartOp> starts;
  for (auto [input, type] :
       llvm::zip_equal(start.getInputs(), wait.getResultTypes()))
    starts.push_back(createWithOperand(builder, start, input, type));
  builder.setInsertionPoint(wait);
  for (auto [single, result] : llvm::zip_equal(starts, wait.getResults()))
    result.replaceAllUsesWith(
        collective::WaitOp::create(builder, wait.getLoc(), result.getType(),
                                   single, single.getInputs())
            .getResult(0));
  wait.erase();
  start.erase();
}

struct SplitRoles : impl::SplitRolesPassBase<SplitRoles> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Roles roles(module);
    if (roles.size() < 2)
      return;
    SmallVector<collective::StartOp> starts;
    module.walk([&](collective::StartOp start) { starts.push_back(start); });
    for (collective::StartOp start : starts)
      unbundle(start);
    llvm::DenseMap<Operation *, llvm::SetVector<Value>> decisions;
    for (auto step : module.getOps<func::FuncOp>())
      decisions[step] = wrapDecisions(step);
    UniformityAnalysis uniformity(module);
    for (auto step :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      FailureOr<RolePlacement> placement = RolePlacement::compute(
          step, uniformity, roles.size(), roles.get(kReplicas).getRanks(),
          std::move(decisions[step]));
      if (failed(placement))
        return signalPassFailure();
      Channels channels;
      SmallVector<func::FuncOp> parts;
      for (Role role = kReplicas; role < roles.size(); ++role)
        if (role == kReplicas || placement->takesPart(role))
          parts.push_back(PartBuilder(step, *placement, roles, channels, role,
                                      uniformity.getSymbols())
                              .run());
      for (func::FuncOp part : parts)
        part->setAttr(device::kSharedChannels,
                      Builder(step).getI64IntegerAttr(channels.size()));
      step.erase();
    }
    if (failed(cleanUp(module)))
      signalPassFailure();
  }

  /// Removes from each part what only other roles need.
  LogicalResult cleanUp(ModuleOp module) {
    OpPassManager pm(ModuleOp::getOperationName());
    // Loops and branches around exchanges have to be the same in all roles.
    // These patterns could merge two branches in one role, but not in another
    // one that has operations between them.
    pm.addPass(createCanonicalizer({"(anonymous namespace)::CombineIfs",
                                    "(anonymous namespace)::CombineNestedIfs",
                                    "(anonymous namespace)::WhileMoveIfDown"}));
    pm.addPass(createCSEPass());
    return runPipeline(pm, module);
  }
};

} // namespace
} // namespace lockstep
