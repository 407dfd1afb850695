//===- DividedUpdates.cpp - Updates that replicas divide ------------------===//

#include "passes/Simplify/DividedUpdates.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

static StringAttr getVariable(device::BindingAttr binding) {
  return binding && binding.getKind() == device::BindingKind::Variable
             ? StringAttr::get(binding.getContext(), binding.getName())
             : StringAttr();
}

StringAttr lockstep::getBoundVariable(func::FuncOp function,
                                      BlockArgument argument) {
  return getVariable(function.getArgAttrOfType<device::BindingAttr>(
      argument.getArgNumber(), "device.binding"));
}

StringAttr lockstep::getBoundVariable(func::FuncOp function, unsigned result) {
  return getVariable(function.getResultAttrOfType<device::BindingAttr>(
      result, "device.binding"));
}

Location lockstep::getUpdateLocation(replica::VariableOp variable) {
  auto module = variable->getParentOfType<ModuleOp>();
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!function.isExternal() &&
          getBoundVariable(function, i) == variable.getSymNameAttr())
        return function.getBody()
            .front()
            .getTerminator()
            ->getOperand(i)
            .getLoc();
  return variable.getLoc();
}

//===----------------------------------------------------------------------===//
// Element-wise operations
//===----------------------------------------------------------------------===//

/// The operands of an element-wise `linalg.generic`; nullopt for another one.
static std::optional<SmallVector<Value>>
getOperands(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() != 0 || generic.hasIndexSemantics() ||
      !generic.hasPureTensorSemantics())
    return std::nullopt;
  SmallVector<Value> operands;
  for (OpOperand &operand : generic->getOpOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    if (map.isIdentity())
      operands.push_back(operand.get());
    else if (map.getNumResults() != 0 || generic.isDpsInit(&operand))
      return std::nullopt;
  }
  return operands;
}

std::optional<SmallVector<Value>>
lockstep::getElementwiseOperands(Operation *op) {
  auto hasStaticShape = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (op->getNumResults() == 0 ||
      !llvm::all_of(op->getResultTypes(), hasStaticShape))
    return std::nullopt;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return getOperands(generic);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return SmallVector<Value>{op->getOperand(0)};
  if (isa<tensor::EmptyOp, linalg::FillOp>(op) ||
      matchPattern(op, m_Constant<SplatElementsAttr>(nullptr)))
    return SmallVector<Value>();
  if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op);
      broadcast && broadcast.getInput().getType().getRank() == 0)
    return SmallVector<Value>();
  // One condition for all elements.
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && select.getCondition().getType().isInteger(1))
    return SmallVector<Value>{select.getTrueValue(), select.getFalseValue()};
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumRegions() == 0 &&
      llvm::all_of(op->getOperandTypes(), [&](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        auto result = cast<RankedTensorType>(op->getResult(0).getType());
        return tensor && tensor.getShape() == result.getShape();
      }))
    return SmallVector<Value>(op->getOperands());
  return std::nullopt;
}

/// Whether `op` adds all elements of a tensor, beginning with zero.
static bool isSumOfElements(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumResults() != 1 ||
      generic.getNumReductionLoops() != generic.getNumLoops() ||
      !generic.getIndexingMapsArray().front().isIdentity() ||
      !llvm::hasNItems(*generic.getBlock(), 2))
    return false;
  Block &body = *generic.getBlock();
  Operation &add = body.front();
  return isa<arith::AddFOp, arith::AddIOp>(add) &&
         add.getOperand(0) != add.getOperand(1) &&
         llvm::all_of(add.getOperands(), llvm::IsaPred<BlockArgument>) &&
         body.getTerminator()->getOperand(0) == add.getResult(0) &&
         (matchPattern(generic.getOutputs().front(), m_AnyZeroFloat()) ||
          matchPattern(generic.getOutputs().front(), m_Zero()));
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

DividedUpdates::DividedUpdates(func::FuncOp function, int64_t replicas,
                               bool reassociate)
    : function(function), replicas(replicas), reassociate(reassociate) {
  for (Operation &op : getBody())
    if (isSum(&op))
      dependent.insert(&op);
    else if (auto operands = getElementwiseOperands(&op);
             operands && llvm::any_of(*operands, [&](Value operand) {
               return dependent.contains(operand.getDefiningOp());
             }))
      dependent.insert(&op);
}

/// Whether `op` waits for sums over all replicas.
bool DividedUpdates::isSum(Operation *op) const {
  auto wait = dyn_cast<collective::WaitOp>(op);
  collective::StartOp start = wait ? wait.getStart() : nullptr;
  if (!start || start.getKind() != collective::Kind::AllReduce)
    return false;
  auto group = SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(
      start, start.getGroupAttr());
  return group && !group.getRanks();
}

bool DividedUpdates::isDivisible(collective::WaitOp sum) const {
  return llvm::all_of(sum.getResultTypes(), [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.hasStaticShape() && tensor.getNumElements() >= replicas;
  });
}

void DividedUpdates::forSummedVariables(
    llvm::function_ref<void(StringAttr, Value)> use) const {
  for (auto [i, value] :
       llvm::enumerate(getBody().getTerminator()->getOperands()))
    if (StringAttr name = getBoundVariable(function, i);
        name && dependent.contains(value.getDefiningOp()))
      use(name, value);
}

SmallVector<collective::WaitOp> DividedUpdates::getSums() const {
  SmallVector<collective::WaitOp> sums;
  for (auto wait : getBody().getOps<collective::WaitOp>())
    if (isComputedInParts(wait))
      sums.push_back(wait);
  return sums;
}

void DividedUpdates::propagateNeeds() {
  auto need = [&](Value value) {
    if (Operation *source = value.getDefiningOp())
      needed.insert(source);
  };
  for (Operation &op : llvm::reverse(getBody()))
    if (isReduced(&op))
      need(op.getOperand(0));
    else if (isComputedInParts(&op) && !isa<collective::WaitOp>(op))
      llvm::for_each(*getElementwiseOperands(&op), need);
}

void DividedUpdates::findReduced() {
  // Operations that depend only on sums that are divided for a variable.
  llvm::DenseSet<Operation *> divided;
  for (Operation &op : getBody()) {
    if (isSumOfElements(&op)) {
      bool isExact = getElementTypeOrSelf(op.getResult(0)).isInteger();
      if ((isExact || reassociate) &&
          divided.contains(op.getOperand(0).getDefiningOp()))
        reduced.insert(&op);
    } else if (isa<collective::WaitOp>(op)) {
      if (isComputedInParts(&op))
        divided.insert(&op);
    } else if (dependent.contains(&op) &&
               llvm::all_of(*getElementwiseOperands(&op), [&](Value operand) {
                 Operation *source = operand.getDefiningOp();
                 return !dependent.contains(source) || divided.contains(source);
               })) {
      divided.insert(&op);
    }
  }
}

void DividedUpdates::find(
    llvm::function_ref<bool(StringAttr)> isDivided,
    llvm::function_ref<void(StringAttr, std::string)> refuse) {
  dividedArguments.clear();
  dividedResults.clear();
  local.clear();
  needed.clear();
  reduced.clear();
  Block &body = getBody();
  Operation *terminator = body.getTerminator();
  for (BlockArgument argument : body.getArguments())
    if (StringAttr name = getBoundVariable(function, argument);
        name && isDivided(name))
      dividedArguments.insert(argument.getArgNumber());
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (StringAttr name = getBoundVariable(function, i);
        name && isDivided(name)) {
      dividedResults.insert(i);
      if (Operation *source = value.getDefiningOp())
        needed.insert(source);
    }
  auto isLocal = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == &body &&
             dividedArguments.contains(argument.getArgNumber());
    return local.contains(value.getDefiningOp());
  };
  for (Operation &op : body)
    if (auto operands = getElementwiseOperands(&op);
        operands && llvm::all_of(*operands, isLocal))
      local.insert(&op);
  propagateNeeds();
  findReduced();
  propagateNeeds();

  // Sums that are needed whole: directly, by a use that is not divided, or by
  // an operation whose whole result is needed.
  llvm::DenseMap<Operation *, Operation *> wholeFor;
  for (Operation &op : llvm::reverse(body)) {
    if (!dependent.contains(&op))
      continue;
    for (OpOperand &use : op.getUses()) {
      Operation *user = use.getOwner();
      bool isPart = user == terminator
                        ? dividedResults.contains(use.getOperandNumber())
                        : isReduced(user) || (dependent.contains(user) &&
                                              isComputedInParts(user));
      if (!isPart)
        wholeFor.try_emplace(&op, user);
      else if (Operation *reason = wholeFor.lookup(user))
        wholeFor.try_emplace(&op, reason);
    }
    if (auto sum = dyn_cast<collective::WaitOp>(op); sum && !isDivisible(sum))
      wholeFor.try_emplace(&op, &op);
  }
  // What depends on them is not worth dividing.
  for (Operation &op : body) {
    if (!dependent.contains(&op) || isa<collective::WaitOp>(op))
      continue;
    std::optional<SmallVector<Value>> operands = getElementwiseOperands(&op);
    for (Value operand : *operands)
      if (Operation *reason = wholeFor.lookup(operand.getDefiningOp()))
        wholeFor.try_emplace(&op, reason);
  }
  for (unsigned i : dividedResults)
    if (Operation *reason =
            wholeFor.lookup(terminator->getOperand(i).getDefiningOp()))
      refuse(getBoundVariable(function, i),
             "the sum of its gradients is needed as a whole" +
                 atLine(reason->getLoc()));
}
