//===- Uniformity.cpp - Which values are equal on all replicas ------------===//

#include "passes/Verify/Uniformity.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/Uniformity.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/CallInterfaces.h"

using namespace lockstep;
using namespace mlir;

/// Branches and loops of which the analysis knows how values flow through them.
static bool isStructured(Operation *op) { return isa<scf::IfOp, scf::IndexSwitchOp, scf::ForOp, scf::WhileOp, scf::ExecuteRegionOp>(op); }

/// Operations with regions that are like one large operation: what is used inside counts as an operand.
static bool isOpaque(Operation *op) {
  return op->getNumRegions() > 0 && !isStructured(op) && !isa<FunctionOpInterface, OpensContextInterface>(op);
}

static bool isAssignment(Operation *op) { return isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp, replica::ScatterOp>(op); }

static StringAttr getVariableName(Operation *op) { return op->getAttrOfType<FlatSymbolRefAttr>("variable").getAttr(); }

UniformityAnalysis::UniformityAnalysis(Operation *root) {
  addSources(root);
  propagate();
}

UniformityAnalysis::~UniformityAnalysis() = default;
UniformityAnalysis::UniformityAnalysis(UniformityAnalysis &&) = default;

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// The operation around `value`, or in the case of a block argument, any in its block.
static Operation *getPlace(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op;
  Block *block = cast<BlockArgument>(value).getOwner();
  return block->empty() ? nullptr : &block->front();
}

bool UniformityAnalysis::isUniform(Value value) const {
  if (reasons.contains(value))
    return false;
  if (divergent.empty())
    return true;
  Operation *place = getPlace(value);
  return place && !getDivergenceAround(place);
}

std::optional<Reason> UniformityAnalysis::getReason(Value value) const {
  if (auto it = reasons.find(value); it != reasons.end())
    return it->second;
  if (Operation *place = getPlace(value))
    if (Divergence divergence = getDivergenceAround(place))
      return Reason{VaryingBy::Control, divergence.branch, divergence.condition};
  return std::nullopt;
}

SmallVector<std::pair<Value, Reason>> UniformityAnalysis::explain(Value value) const {
  SmallVector<std::pair<Value, Reason>> way;
  // A value is marked after the value it came from, so this ends.
  while (std::optional<Reason> reason = getReason(value)) {
    way.emplace_back(value, *reason);
    if (!(value = reason->from))
      break;
  }
  return way;
}

Divergence UniformityAnalysis::getDivergenceAround(Operation *op) const {
  Divergence outermost;
  for (Block *block = op->getBlock(); block; block = block->getParentOp()->getBlock()) {
    if (Divergence found = divergentBlocks.lookup(block))
      outermost = found;
    Operation *parent = block->getParentOp();
    if (Value condition = divergent.lookup(parent))
      outermost = {parent, condition};
    if (!parent || isa<FunctionOpInterface>(parent))
      break;
  }
  return outermost;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void UniformityAnalysis::addSources(Operation *root) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<replica::StepOp, replica::ProgramOp, func::FuncOp>(op))
      return isa<FunctionOpInterface>(op) ? WalkResult::skip() : WalkResult::advance();
    addArguments(op);
    op->walk([&](Operation *inner) { addSource(inner); });
    return WalkResult::skip();
  });
}

/// True if each replica gets the same value for argument `index` of `function`.
static bool isUniformArgument(FunctionOpInterface function, unsigned index) {
  // What an iterator gives differs; what it is does not.
  if (function.getArgAttr(index, "replica.scalar") || function.getArgAttr(index, "replica.batches"))
    return true;
  auto isMirrored = [&](StringRef name) {
    auto variable = SymbolTable::lookupNearestSymbolFrom<replica::VariableOp>(function, StringAttr::get(function.getContext(), name));
    return !variable || !variable.isOnRead();
  };
  auto binding = function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  if (!binding)
    return false;
  if (binding.getKind() == device::BindingKind::Variable)
    return isMirrored(binding.getName());
  return binding.getKind() == device::BindingKind::Scalar;
}

void UniformityAnalysis::addArguments(Operation *op) {
  auto function = cast<FunctionOpInterface>(op);
  if (function.isExternal())
    return;
  for (BlockArgument argument : function.getArguments())
    if (!isUniformArgument(function, argument.getArgNumber()))
      mark(argument, {VaryingBy::Argument, op, Value()});
}

void UniformityAnalysis::addSource(Operation *op) {
  Reason source{VaryingBy::Source, op, Value()};
  if (auto uniformity = dyn_cast<UniformityOpInterface>(op)) {
    for (OpResult result : op->getResults())
      if (uniformity.getResultUniformity(result.getResultNumber()) == ResultUniformity::Varying)
        mark(result, source);
  }
  if (auto values = dyn_cast<replica::ValuesFromFunctionOp>(op))
    mark(values.getBody().getArgument(0), source);
  if (isa<replica::ReadOp>(op))
    reads[getVariableName(op)].push_back(op->getResult(0));
  // What is called may hold any source; and memory is not tracked.
  if (isa<CallOpInterface>(op) || llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    markAll(op->getResults(), source);
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

void UniformityAnalysis::mark(Value value, Reason reason) {
  if (reasons.try_emplace(value, reason).second)
    worklist.push_back(value);
}

void UniformityAnalysis::markAll(ValueRange values, Reason reason) {
  for (Value value : values)
    mark(value, reason);
}

void UniformityAnalysis::propagate() {
  for (size_t next = 0; next < worklist.size(); ++next)
    for (OpOperand &use : worklist[next].getUses())
      visitUse(use);
  worklist = {};
}

void UniformityAnalysis::visitUse(OpOperand &use) {
  visitOperation(use);
  visitOpaqueParents(use);
}

void UniformityAnalysis::visitOpaqueParents(OpOperand &use) {
  for (Operation *parent = use.getOwner()->getParentOp(); parent && !isa<FunctionOpInterface>(parent); parent = parent->getParentOp()) {
    if (!isOpaque(parent))
      continue;
    Reason reason{VaryingBy::Operand, parent, use.get()};
    markAll(parent->getResults(), reason);
    for (Region &region : parent->getRegions())
      markAll(region.getArguments(), reason);
  }
}

/// True if `op` is a size that is the same whatever the contents of its operand.
static bool isStaticSize(Operation *op) {
  auto dim = dyn_cast<tensor::DimOp>(op);
  if (!dim)
    return isa<tensor::RankOp>(op);
  auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
  std::optional<int64_t> index = dim.getConstantIndex();
  return type && index && *index >= 0 && *index < type.getRank() && !type.isDynamicDim(*index);
}

void UniformityAnalysis::visitOperation(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<replica::UpdateOp>(op))
    return mark(op->getRegion(0).getArgument(use.getOperandNumber() + 1), {VaryingBy::Operand, op, use.get()});
  if (isa<OpensContextInterface>(op))
    return mark(op->getRegion(0).getArgument(use.getOperandNumber()), {VaryingBy::Operand, op, use.get()});
  if (isa<replica::YieldOp>(op))
    return visitYield(use);
  visitAssignment(op, use.get());
  if (isStructured(op))
    return visitRegionBranch(use, op);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    if (op->getNumSuccessors() > 0)
      return visitBlockBranch(use);
    if (Operation *parent = op->getParentOp(); parent && isStructured(parent))
      visitRegionBranch(use, parent);
    return;
  }
  if (isStaticSize(op))
    return;
  Reason reason{VaryingBy::Operand, op, use.get()};
  auto uniformity = dyn_cast<UniformityOpInterface>(op);
  for (OpResult result : op->getResults())
    if (!uniformity || uniformity.getResultUniformity(result.getResultNumber()) == ResultUniformity::FromOperands)
      mark(result, reason);
  for (Region &region : op->getRegions())
    markAll(region.getArguments(), reason);
}

//===----------------------------------------------------------------------===//
// Cross-replica context and variables
//===----------------------------------------------------------------------===//

void UniformityAnalysis::visitYield(OpOperand &use) {
  Operation *parent = use.getOwner()->getParentOp();
  unsigned index = use.getOperandNumber();
  if (!isa<replica::UpdateOp>(parent))
    mark(parent->getResult(index), {VaryingBy::Operand, parent, use.get()});
  else if (index == 0)
    markVariable(getVariableName(parent), {VaryingBy::Variable, parent, use.get()});
  else
    mark(parent->getResult(index - 1), {VaryingBy::Operand, parent, use.get()});
}

void UniformityAnalysis::visitAssignment(Operation *assignment, Value from) {
  if (!isAssignment(assignment))
    return;
  replica::VariableOp variable = replica::lookupVariable(assignment);
  if (!variable || variable.isOnRead())
    return;
  // In replica context an aggregation makes one value of the replicas' values.
  bool aggregates = variable.getAggregation() != replica::Aggregation::Uniform && getEnclosingContext(assignment) == Context::Replica;
  if (!aggregates)
    markVariable(getVariableName(assignment), {VaryingBy::Variable, assignment, from});
}

void UniformityAnalysis::markVariable(StringAttr name, Reason reason) {
  if (varyingVariables.insert(name).second)
    markAll(reads.lookup(name), reason);
}
