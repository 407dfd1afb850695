//===- UniformityAnalysis.cpp - Which values are equal on all replicas ----===//

#include "passes/Analysis/UniformityAnalysis.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/Uniformity.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"

using namespace lockstep;
using namespace mlir;

/// Branches and loops whose data flow the analysis models.
static bool isStructured(Operation *op) {
  return isa<scf::IfOp, scf::IndexSwitchOp, scf::ForOp, scf::WhileOp,
             scf::ExecuteRegionOp>(op);
}

/// Operations with regions that are treated as one operation: every value that
/// is used inside counts as an operand.
static bool isOpaque(Operation *op) {
  return op->getNumRegions() > 0 && !isStructured(op) &&
         !isa<FunctionOpInterface, OpensContextInterface>(op);
}

static bool isAssignment(Operation *op) {
  return isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp,
             replica::ScatterOp>(op);
}

static StringAttr getVariableName(Operation *op) {
  return op->getAttrOfType<FlatSymbolRefAttr>("variable").getAttr();
}

/// With more ranks, partitions are not tracked: values are uniform or varying.
static constexpr unsigned kMostRanks = 4096;

/// The number of replicas that execute the code below `root`; 0 if it is not
/// known.
static int64_t getReplicas(Operation *root) {
  auto module = isa<ModuleOp>(root) ? cast<ModuleOp>(root)
                                    : root->getParentOfType<ModuleOp>();
  if (!module)
    return 0;
  for (auto strategy : module.getOps<replica::StrategyOp>())
    return strategy.getReplicas().value_or(0);
  // Replicas are the first ranks.
  for (auto role : module.getOps<device::RoleOp>())
    if (role.getFirstRank() == 0)
      return role.getRanks();
  return 0;
}

static PartitionTable makePartitions(Operation *root, int64_t replicas) {
  if (replicas > 0)
    return replicas <= kMostRanks ? PartitionTable(replicas, /*isOpen=*/false)
                                  : PartitionTable(0, /*isOpen=*/true);
  int64_t named = 0;
  auto module = isa<ModuleOp>(root) ? cast<ModuleOp>(root)
                                    : root->getParentOfType<ModuleOp>();
  if (module)
    for (auto group : module.getOps<collective::GroupOp>())
      if (group.getRanks())
        named = std::max(named, group.getRanks()->back() + 1);
  return PartitionTable(named <= kMostRanks ? named : 0, /*isOpen=*/true);
}

UniformityAnalysis::UniformityAnalysis(Operation *root, UniformityRule broken)
    : broken(broken), replicas(getReplicas(root)),
      partitions(makePartitions(root, replicas)),
      constants(std::min<int64_t>(replicas, kMostRanks + 1),
                broken == UniformityRule::RanksAreEqual) {
  addSources(root);
  propagate();
}

UniformityAnalysis::~UniformityAnalysis() = default;
UniformityAnalysis::UniformityAnalysis(UniformityAnalysis &&) = default;

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// The operation that defines `value`, or the first in the block of an
/// argument.
static Operation *getPlace(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op;
  Block *block = cast<BlockArgument>(value).getOwner();
  return block->empty() ? nullptr : &block->front();
}

PartitionId UniformityAnalysis::getPartition(Value value) const {
  return facts.lookup(value).partition;
}

ArrayRef<Divergence> UniformityAnalysis::getDivergencesOf(Block *block) const {
  auto found = divergentBlocks.find(block);
  return found == divergentBlocks.end() ? ArrayRef<Divergence>()
                                        : ArrayRef<Divergence>(found->second);
}

bool UniformityAnalysis::isUniform(Value value) const {
  if (!isEqualWhereDefined(value))
    return false;
  if (divergent.empty())
    return true;
  Operation *place = getPlace(value);
  return place && !getDivergenceAround(place);
}

SmallVector<std::pair<Value, Reason>>
UniformityAnalysis::explain(Value value, std::optional<RankPair> ranks) const {
  SmallVector<std::pair<Value, Reason>> chain;
  // Terminates, since each step was added after that of the value it depends
  // on.
  while (value) {
    Fact fact = facts.lookup(value);
    uint32_t step = fact.firstStep;
    while (ranks && step != kNoStep &&
           partitions.areInSameClass(steps[step].partition, *ranks))
      step = steps[step].next;
    if (step == kNoStep)
      step = fact.firstStep;
    Reason reason;
    if (step != kNoStep)
      reason = steps[step].reason;
    else if (Operation *place = chain.empty() ? getPlace(value) : nullptr;
             Divergence divergence =
                 place ? getDivergenceAround(place) : Divergence())
      reason = {VaryingBy::Control, divergence.branch, divergence.condition};
    else
      break;
    chain.emplace_back(value, reason);
    value = reason.from;
  }
  return chain;
}

std::optional<llvm::BitVector>
UniformityAnalysis::getMembers(Operation *op) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return std::nullopt;
  auto [entry, isNew] = groups.try_emplace(collective.getGroupSymbol());
  auto group = isNew ? symbols->lookupNearestSymbolFrom<collective::GroupOp>(
                           op, collective.getGroupSymbol())
                     : nullptr;
  // Without partitions (too many ranks), a group may have any members.
  if (!group || group.hasAllReplicas() || partitions.getNumRanks() == 0)
    return entry->second;
  llvm::BitVector members(partitions.getNumRanks());
  llvm::ArrayRef<int64_t> ranks = *group.getRanks();
  for (int64_t rank : ranks)
    if (rank < partitions.getNumRanks())
      members.set(rank);
  entry->second = members;
  return members;
}

void UniformityAnalysis::walkEntered(
    Operation *op, llvm::function_ref<void(Operation *)> visit) const {
  for (Region &region : op->getRegions()) {
    if (constants.isNeverEntered(region))
      continue;
    for (Operation &inner : region.getOps()) {
      visit(&inner);
      walkEntered(&inner, visit);
    }
  }
}

bool UniformityAnalysis::isEntered(Operation *op) const {
  for (Region *region = op->getParentRegion();
       region && !isa<FunctionOpInterface>(region->getParentOp());
       region = region->getParentRegion())
    if (constants.isNeverEntered(*region))
      return false;
  return true;
}

Divergence UniformityAnalysis::getDivergenceAround(Operation *op) const {
  Divergence outermost;
  for (Block *block = op->getBlock(); block;
       block = block->getParentOp()->getBlock()) {
    if (ArrayRef<Divergence> found = getDivergencesOf(block); !found.empty())
      outermost = found.front();
    Operation *parent = block->getParentOp();
    if (Divergence found = divergent.lookup(parent))
      outermost = found;
    if (!parent || isa<FunctionOpInterface>(parent))
      break;
  }
  return outermost;
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

void UniformityAnalysis::mark(Value value, Reason reason,
                              PartitionId partition) {
  auto [entry, isNew] = facts.try_emplace(value);
  Fact &fact = entry->second;
  if (fact.isExact)
    return;
  if (isNew)
    if (ArrayRef<Attribute> known = constants.lookup(value); !known.empty()) {
      fact.isExact = true;
      llvm::DenseMap<Attribute, uint32_t> numbers;
      SmallVector<uint32_t> classes;
      for (Attribute constant : known)
        classes.push_back(
            numbers.try_emplace(constant, numbers.size()).first->second);
      partition = partitions.get(classes);
    }
  partition = partitions.meet(fact.partition, partition);
  if (partition == fact.partition)
    return;
  fact.partition = partition;
  uint32_t step = steps.size();
  steps.push_back({reason, partition});
  if (fact.lastStep == kNoStep)
    fact.firstStep = step;
  else
    steps[fact.lastStep].next = step;
  fact.lastStep = step;
  worklist.push_back(value);
}

void UniformityAnalysis::markAll(ValueRange values, Reason reason,
                                 PartitionId partition) {
  for (Value value : values)
    mark(value, reason, partition);
}

void UniformityAnalysis::propagate() {
  for (size_t next = 0; next < worklist.size(); ++next) {
    Value value = worklist[next];
    for (OpOperand &use : value.getUses())
      visitUse(use, getPartition(value));
  }
  worklist = {};
  operandPartitions = llvm::DenseMap<Operation *, PartitionId>();
}

void UniformityAnalysis::visitUse(OpOperand &use, PartitionId partition) {
  visitOperation(use, partition);
  if (!isBroken(UniformityRule::CapturesAreIgnored))
    visitOpaqueParents(use, partition);
}

void UniformityAnalysis::visitOpaqueParents(OpOperand &use,
                                            PartitionId partition) {
  for (Operation *parent = use.getOwner()->getParentOp();
       parent && !isa<FunctionOpInterface>(parent);
       parent = parent->getParentOp()) {
    if (!isOpaque(parent))
      continue;
    Reason reason{VaryingBy::Operand, parent, use.get()};
    markAll(parent->getResults(), reason, partition);
    for (Region &region : parent->getRegions())
      markAll(region.getArguments(), reason, partition);
  }
}

bool lockstep::isStaticSize(Operation *op) {
  auto dim = dyn_cast<tensor::DimOp>(op);
  if (!dim)
    return isa<tensor::RankOp>(op);
  auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
  std::optional<int64_t> index = dim.getConstantIndex();
  return type && index && *index >= 0 && *index < type.getRank() &&
         !type.isDynamicDim(*index);
}

void UniformityAnalysis::visitOperation(OpOperand &use, PartitionId partition) {
  Operation *op = use.getOwner();
  if (isa<replica::UpdateOp>(op))
    return mark(op->getRegion(0).getArgument(use.getOperandNumber() + 1),
                {VaryingBy::Operand, op, use.get()}, partition);
  if (isa<OpensContextInterface>(op))
    return mark(op->getRegion(0).getArgument(use.getOperandNumber()),
                {VaryingBy::Operand, op, use.get()}, partition);
  if (isa<replica::YieldOp>(op))
    return visitYield(use, partition);
  visitAssignment(op, use.get(), partition);
  if (isStructured(op))
    return visitRegionBranch(use, op, partition);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    if (op->getNumSuccessors() > 0)
      return visitBlockBranch(use, partition);
    if (Operation *parent = op->getParentOp(); parent && isStructured(parent))
      visitRegionBranch(use, parent, partition);
    return;
  }
  if (isStaticSize(op))
    return;
  if (op->getNumOperands() > 1 &&
      (op->getNumResults() > 1 || op->getNumRegions() > 0)) {
    PartitionId &known =
        operandPartitions.try_emplace(op, PartitionTable::kWhole).first->second;
    PartitionId both = partitions.meet(known, partition);
    if (both == known)
      return;
    known = both;
  }
  Reason reason{VaryingBy::Operand, op, use.get()};
  auto uniformity = dyn_cast<UniformityOpInterface>(op);
  for (OpResult result : op->getResults())
    if (!uniformity ||
        uniformity.getResultUniformity(result.getResultNumber(), *symbols) ==
            ResultUniformity::FromOperands)
      mark(result, reason, partition);
  for (Region &region : op->getRegions())
    markAll(region.getArguments(), reason, partition);
}

//===----------------------------------------------------------------------===//
// Cross-replica context and variables
//===----------------------------------------------------------------------===//

void UniformityAnalysis::visitYield(OpOperand &use, PartitionId partition) {
  Operation *parent = use.getOwner()->getParentOp();
  unsigned index = use.getOperandNumber();
  if (!isa<replica::UpdateOp>(parent))
    mark(parent->getResult(index), {VaryingBy::Operand, parent, use.get()},
         partition);
  else if (index == 0)
    markVariable(getVariableName(parent),
                 {VaryingBy::Variable, parent, use.get()}, partition);
  else
    mark(parent->getResult(index - 1), {VaryingBy::Operand, parent, use.get()},
         partition);
}

void UniformityAnalysis::visitAssignment(Operation *assignment, Value from,
                                         PartitionId partition) {
  if (!isAssignment(assignment) || !isEntered(assignment))
    return;
  replica::VariableOp variable = replica::lookupVariable(assignment, *symbols);
  if (!variable || variable.isOnRead())
    return;
  // In replica context an aggregation combines the values of all replicas.
  bool aggregates =
      variable.getAggregation() != replica::Aggregation::Uniform &&
      getEnclosingContext(assignment) == Context::Replica;
  if (!aggregates)
    markVariable(getVariableName(assignment),
                 {VaryingBy::Variable, assignment, from}, partition);
}

void UniformityAnalysis::markVariable(StringAttr name, Reason reason,
                                      PartitionId partition) {
  PartitionId &known =
      varyingVariables.try_emplace(name, PartitionTable::kWhole).first->second;
  known = partitions.meet(known, partition);
  markAll(reads.lookup(name), reason, known);
}
