//===- Storage.cpp - Assignment of values to storages ---------------------===//

#include "passes/Memory/Storage.h"

#include "passes/Memory/Sharing.h"
#include "passes/Memory/StorageAssigner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

static device::BindingAttr getResultBinding(func::FuncOp step, unsigned index) {
  return step.getResultAttrOfType<device::BindingAttr>(index, "device.binding");
}

StorageAssigner::StorageAssigner(func::FuncOp step, int64_t replicas,
                                 bool reuse, StepLayout &layout)
    : step(step), replicas(replicas), reuse(reuse), layout(layout),
      lifetimes(step), uniformity(step),
      preferred(
          lifetimes, plan, replicas,
          replica::StrategyProperties::of(step->getParentOfType<ModuleOp>()),
          uniformity.getSymbols()) {}

FailureOr<StoragePlan> StorageAssigner::run() {
  WalkResult dynamic = step.walk([](Operation *op) {
    for (Value result : op->getResults())
      if (auto tensor = dyn_cast<RankedTensorType>(result.getType());
          tensor && !tensor.hasStaticShape() && !hasKnownSizes(result)) {
        op->emitError("expected a tensor of static shape from '")
            << op->getName() << "', found " << tensor;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (dynamic.wasInterrupted())
    return failure();

  assignArguments();
  Sharing sharing = findSharing(step, replicas, uniformity, layout.getModule());
  shared = std::move(sharing.values);
  plan.once = std::move(sharing.once);
  preferVariables();
  if (failed(assignBlock(step.getBody().front())))
    return failure();
  assignReturn(cast<func::ReturnOp>(step.getBody().front().getTerminator()));
  return std::move(plan);
}

device::Space StorageAssigner::spaceOf(Value value) const {
  return shared.contains(value) ? device::Space::Shared
                                : device::Space::Replica;
}

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

StorageId StorageAssigner::createStorage(device::Space space, int64_t size) {
  Storage storage;
  storage.space = space;
  storage.size = size;
  plan.storages.push_back(storage);
  return plan.storages.size() - 1;
}

StorageId StorageAssigner::createFixed(Place place, Value value) {
  StorageId id = createStorage(place.space, getByteSize(value));
  plan.storages[id].fixed = true;
  plan.storages[id].offset = place.offset;
  return id;
}

void StorageAssigner::hold(Value value, StorageId id, int64_t begin) {
  plan.storageOf[value] = id;
  extend(id, begin, std::max(begin, lifetimes.getLastUse(value)));
}

void StorageAssigner::extend(StorageId id, int64_t begin, int64_t end) {
  Storage &storage = plan.storages[id];
  storage.begin = std::min(storage.begin, begin);
  storage.end = std::max(storage.end, end);
}

void StorageAssigner::copyBefore(Operation *op, Value source,
                                 StorageId destination) {
  plan.copiesBefore[op].push_back(
      {plan.storageOf.at(source), destination, source, op->getLoc()});
  extend(plan.storageOf.at(source), lifetimes.getFirst(op),
         lifetimes.getFirst(op));
  extend(destination, lifetimes.getFirst(op), lifetimes.getFirst(op));
}

void StorageAssigner::assignArguments() {
  for (BlockArgument argument : step.getArguments()) {
    hold(argument,
         createFixed(layout.getArgument(argument.getArgNumber()), argument),
         -1);
    if (auto binding = step.getArgAttrOfType<device::BindingAttr>(
            argument.getArgNumber(), "device.binding");
        binding.getKind() == device::BindingKind::Variable)
      variables[binding.getName()] = argument;
  }
}

void StorageAssigner::preferVariables() {
  auto returnOp = cast<func::ReturnOp>(step.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(returnOp.getOperands()))
    if (getResultBinding(step, i).getKind() == device::BindingKind::Variable) {
      BlockArgument old = variables.at(getResultBinding(step, i).getName());
      nextValues[plan.storageOf.at(old)] = value;
      preferred.prefer(value, plan.storageOf.at(old), {old});
    }
}

void StorageAssigner::storeAtOnce(device::InvokeOp invoke, OpResult result,
                                  const PreferredStorage &target) {
  if (!preferred.isStoredAtOnce(invoke, target))
    return;
  copyBefore(invoke->getNextNode(), result, target.storage);
  stored.insert({result, target.storage});
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult StorageAssigner::assignBlock(Block &block) {
  for (Operation &op : block) {
    LogicalResult result =
        TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<device::InvokeOp, device::LoadBatchOp, collective::StartOp,
                  collective::WaitOp, scf::ForOp, scf::IfOp, scf::WhileOp>(
                [&](auto typed) { return assign(typed); })
            .Case<tensor::ExtractOp, arith::IndexCastOp, func::ReturnOp,
                  scf::YieldOp, scf::ConditionOp, collective::BarrierOp>(
                [](Operation *) { return success(); })
            .Default([&](Operation *other) { return assignOther(other); });
    if (failed(result))
      return failure();
  }
  return success();
}

/// The operation to report for `op`: a transitive user that a step does not
/// support, because of which `op` is not in a kernel; `op` if there is none.
static Operation *findUnknownUser(Operation *op) {
  auto isUnknown = [](Operation *user) {
    return !isView(user) &&
           !isa<device::InvokeOp, collective::StartOp, collective::WaitOp,
                scf::ForOp, scf::IfOp, scf::WhileOp, tensor::ExtractOp,
                arith::IndexCastOp, func::ReturnOp, scf::YieldOp,
                scf::ConditionOp>(user);
  };
  for (;;) {
    auto user = llvm::find_if(op->getUsers(), isUnknown);
    if (user == op->user_end())
      return op;
    op = *user;
  }
}

/// The elements of the constant `op` in the form in which artifacts have them.
static FailureOr<DenseElementsAttr> getDense(Operation *op,
                                             ElementsAttr elements) {
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    return dense;
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  bool isSplat = false;
  if (!blob || elements.getElementType().isInteger(1) ||
      !DenseElementsAttr::isValidRawBuffer(elements.getShapedType(),
                                           blob->getData(), isSplat))
    return op->emitError("expected a constant 'dense', or 'dense_resource' "
                         "with the bytes of its elements, of a type other "
                         "than i1; found ")
           << elements;
  return DenseElementsAttr::getFromRawBuffer(elements.getShapedType(),
                                             blob->getData());
}

LogicalResult StorageAssigner::assignOther(Operation *op) {
  if (isView(op)) {
    hold(op->getResult(0), plan.storageOf.at(op->getOperand(0)),
         lifetimes.getFirst(op));
    return success();
  }
  if (!matchPattern(op, m_Constant())) {
    op = findUnknownUser(op);
    return op->emitError("expected a kernel invocation, a collective or "
                         "control flow, found '")
           << op->getName() << "'";
  }
  ElementsAttr elements;
  if (!matchPattern(op, m_Constant(&elements)))
    return success(); // A scalar, which has no memory.
  FailureOr<DenseElementsAttr> dense = getDense(op, elements);
  if (failed(dense))
    return failure();
  hold(op->getResult(0),
       createFixed(
           {device::Space::Constant, layout.getModule().addConstant(*dense)},
           op->getResult(0)),
       lifetimes.getFirst(op));
  return success();
}

LogicalResult StorageAssigner::assign(device::InvokeOp invoke) {
  int64_t position = lifetimes.getFirst(invoke);
  auto kernel =
      uniformity.getSymbols().lookupNearestSymbolFrom<device::KernelOp>(
          invoke, invoke.getKernelAttr());
  for (OpResult result : invoke->getResults()) {
    const PreferredStorage *target = preferred.find(result);
    if (target && preferred.mayUse(invoke, result, *target)) {
      hold(result, target->storage, position);
      continue;
    }
    if (std::optional<StorageId> reused =
            reuseOperandStorage(invoke, kernel, result)) {
      hold(result, *reused, position);
    } else {
      hold(result, createStorage(spaceOf(result), getByteSize(result)),
           position);
    }
    if (target)
      storeAtOnce(invoke, result, *target);
  }
  if (kernel.getScratch() > 0) {
    StorageId id = createStorage(device::Space::Replica,
                                 kernel.getScratch() * kernel.getGrid());
    extend(id, position, position);
    plan.scratch[invoke] = id;
  }
  return success();
}

std::optional<StorageId>
StorageAssigner::reuseOperandStorage(device::InvokeOp invoke,
                                     device::KernelOp kernel, OpResult result) {
  std::optional<unsigned> argument =
      kernel.getInPlaceArgument(result.getResultNumber());
  if (!reuse || !argument)
    return std::nullopt;
  Value operand = invoke.getOperand(*argument);
  StorageId id = plan.storageOf.at(operand);
  const Storage &storage = plan.storages[id];
  bool isOwn = !storage.fixed && storage.bucket < 0 &&
               operand.getParentBlock() == invoke->getBlock() &&
               !isa<BlockArgument>(operand) &&
               storage.space == spaceOf(result) &&
               storage.size >= getByteSize(result) &&
               storage.end <= lifetimes.getFirst(invoke);
  if (!isOwn || llvm::count(invoke->getOperands(), operand) != 1 ||
      carried.contains(id))
    return std::nullopt;
  // Another operand may be a view of the same bytes.
  for (auto [i, other] : llvm::enumerate(invoke->getOperands()))
    if (i != *argument && isa<RankedTensorType>(other.getType()) &&
        plan.storageOf.at(other) == id)
      return std::nullopt;
  return id;
}

LogicalResult StorageAssigner::assign(device::LoadBatchOp load) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (auto binding =
            step.getArgAttrOfType<device::BindingAttr>(i, "device.binding");
        binding.getKind() == device::BindingKind::Batch)
      return load.emitError("expected all data of a program with an iterator "
                            "to come from it, found batch tensor '")
             << binding.getName() << "'";
  int64_t position = lifetimes.getFirst(load);
  for (auto [name, result] : llvm::zip_equal(
           load.getNames().getAsValueRange<StringAttr>(), load.getResults())) {
    hold(result, createFixed(layout.getBatchTensor(name), result), position);
    int64_t last = lifetimes.getLastUse(result);
    WalkResult kept = step.walk([&](device::LoadBatchOp other) {
      return other != load && position < lifetimes.getFirst(other) &&
                     lifetimes.getFirst(other) <= last
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (kept.wasInterrupted())
      return load.emitError("tensor '")
             << name
             << "' of this batch is used after the next batch has been loaded, "
                "which is not supported";
  }
  return success();
}

LogicalResult StorageAssigner::assign(collective::StartOp start) {
  int64_t position = lifetimes.getFirst(start);
  auto wait = cast<collective::WaitOp>(*start->user_begin());
  int64_t waited = lifetimes.getFirst(wait);
  int64_t bucket = createBucket();
  std::vector<StorageId> operands;
  for (Value operand : start.getInputs()) {
    StorageId id = plan.storageOf.at(operand);
    const Storage &storage = plan.storages[id];
    // The operands of a broadcast are read in place, since they need not be
    // contiguous. But a variable that other workers may change at any time is
    // copied first.
    bool mayChange = preferred.isChangedByOthers(id);
    bool isBroadcast =
        start.getRoot() && start.getKindProperties().isSameForAll();
    if (isBroadcast && !mayChange) {
      extend(id, position, waited);
      operands.push_back(id);
      continue;
    }
    if (storage.space != device::Space::Replica || storage.fixed ||
        storage.bucket >= 0) {
      id = createStorage(device::Space::Replica, getByteSize(operand));
      copyBefore(start, operand, id);
    }
    joinBucket(bucket, id);
    extend(id, position, waited);
    operands.push_back(id);
  }
  plan.startOperands[start] = operands;
  // Results may be written from the start on, as soon as all members have
  // arrived.
  int64_t resultBucket = createBucket();
  for (OpResult result : wait->getResults()) {
    StorageId id = createStorage(spaceOf(result), getByteSize(result));
    joinBucket(resultBucket, id);
    extend(id, position, waited);
    hold(result, id, position);
  }
  return success();
}

int64_t StorageAssigner::createBucket() {
  plan.buckets.emplace_back();
  return plan.buckets.size() - 1;
}

void StorageAssigner::joinBucket(int64_t bucket, StorageId id) {
  Storage &storage = plan.storages[id];
  storage.bucket = bucket;
  storage.bucketOffset = plan.buckets[bucket].size;
  plan.buckets[bucket].size += llvm::alignTo(storage.size, kAlignment);
  plan.buckets[bucket].members.push_back(id);
}

//===----------------------------------------------------------------------===//
// The end of the step
//===----------------------------------------------------------------------===//

void StorageAssigner::assignReturn(func::ReturnOp returnOp) {
  SmallVector<Value> values;
  std::vector<StorageId> destinations;
  for (auto [i, value] : llvm::enumerate(returnOp.getOperands())) {
    if (getResultBinding(step, i).getKind() == device::BindingKind::Variable) {
      values.push_back(value);
      destinations.push_back(
          plan.storageOf.at(variables.at(getResultBinding(step, i).getName())));
    } else {
      plan.outputs[i] = assignOutput(returnOp, value);
    }
  }
  copyYielded(returnOp, values, destinations);
}

bool StorageAssigner::keepsOutput(Value value) const {
  StorageId id = plan.storageOf.at(value);
  switch (plan.storages[id].space) {
  case device::Space::Input:
  case device::Space::Scalar:
  case device::Space::Rank:
    return false;
  case device::Space::Variable:
  case device::Space::ReplicaVariable:
    // At the end, an assigned variable contains its new value.
    if (Value assigned = nextValues.lookup(id))
      return plan.storageOf.at(assigned) == id;
    return true;
  default:
    return true;
  }
}

StorageId StorageAssigner::assignOutput(func::ReturnOp returnOp, Value value) {
  StorageId id = plan.storageOf.at(value);
  if (!keepsOutput(value)) {
    StorageId own = createStorage(device::Space::Replica, getByteSize(value));
    copyBefore(returnOp, value, own);
    id = own;
  }
  extend(id, lifetimes.getFirst(returnOp), std::numeric_limits<int64_t>::max());
  return id;
}

FailureOr<StoragePlan> lockstep::assignStorages(func::FuncOp step,
                                                int64_t replicas, bool reuse,
                                                StepLayout &layout) {
  return StorageAssigner(step, replicas, reuse, layout).run();
}
