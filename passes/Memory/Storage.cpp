//===- Storage.cpp - Which values share memory, and for how long ----------===//

#include "passes/Memory/Storage.h"

#include "passes/Memory/Lifetimes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

namespace {

device::BindingAttr getResultBinding(func::FuncOp step, unsigned index) {
  return step.getResultAttrOfType<device::BindingAttr>(index, "device.binding");
}

class StorageAssigner {
public:
  StorageAssigner(func::FuncOp step, int64_t replicas, bool reuse, StepLayout &layout)
      : step(step), replicas(replicas), reuse(reuse), layout(layout), lifetimes(step), uniformity(step) {}

  FailureOr<StoragePlan> run() {
    WalkResult dynamic = step.walk([](Operation *op) {
      for (Value result : op->getResults())
        if (auto tensor = dyn_cast<RankedTensorType>(result.getType()); tensor && !tensor.hasStaticShape() && !hasKnownSizes(result)) {
          op->emitError("expected a tensor of static shape from '") << op->getName() << "', found " << tensor;
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (dynamic.wasInterrupted())
      return failure();

    assignArguments();
    findOnce();
    wantVariables();
    if (failed(assignBlock(step.getBody().front())))
      return failure();
    assignReturn(cast<func::ReturnOp>(step.getBody().front().getTerminator()));
    return std::move(plan);
  }

private:
  //===--------------------------------------------------------------------===//
  // What is done once
  //===--------------------------------------------------------------------===//

  /// An invocation with uniform results is executed once a process if it works on values that are stored once (results of
  /// collectives or of other such work), or gives a variable its new value. Everything else is cheaper to
  /// repeat than to meet for.
  void findOnce() {
    if (replicas == 1)
      return;
    llvm::DenseSet<Value> assigned;
    auto returnOp = cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands()))
      if (auto binding = getResultBinding(step, i); binding.getKind() == device::BindingKind::Variable &&
                                                    plan.storages[variableStorage(binding.getName())].space == device::Space::Variable)
        assigned.insert(value);
    // Loops feed results of one iteration to the next: until nothing changes.
    bool changed = true;
    while (changed) {
      changed = false;
      step.walk([&](Operation *op) {
        bool isShared = llvm::any_of(op->getOperands(), [&](Value v) { return shared.contains(v); });
        if (isa<collective::WaitOp>(op))
          isShared = true;
        if (auto invoke = dyn_cast<device::InvokeOp>(op)) {
          isShared |= llvm::any_of(op->getResults(), [&](Value v) { return assigned.contains(v); });
          isShared &= llvm::all_of(op->getResults(), [&](Value v) { return uniformity.isUniform(v); });
          if (isShared && plan.once.insert(op).second)
            changed = true;
        }
        // What a part of the ranks exchanges differs from rank to rank.
        if (isShared && (isa<collective::WaitOp, device::InvokeOp>(op) || isView(op)))
          for (Value result : op->getResults())
            changed |= uniformity.isUniform(result) && shared.insert(result).second;
        shareCarried(op, changed);
      });
    }
  }

  /// Values that loops and branches yield are stored once if they are uniform and some yielded value is.
  void shareCarried(Operation *op, bool &changed) {
    auto share = [&](Value from, Value to) {
      if (shared.contains(from) && uniformity.isUniform(to))
        changed |= shared.insert(to).second;
    };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [yielded, argument, result] :
           llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs(), loop.getResults())) {
        share(yielded, argument);
        share(argument, result);
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!region->empty() && branch.getNumResults() > 0)
          for (auto [yielded, result] : llvm::zip_equal(region->front().getTerminator()->getOperands(), branch.getResults()))
            share(yielded, result);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      for (auto [yielded, argument] : llvm::zip_equal(loop.getYieldOp()->getOperands(), loop.getBeforeArguments()))
        share(yielded, argument);
      for (auto [forwarded, argument, result] :
           llvm::zip_equal(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults())) {
        share(forwarded, argument);
        share(forwarded, result);
      }
    }
  }

  device::Space spaceOf(Value value) const {
    return shared.contains(value) ? device::Space::Shared : device::Space::Replica;
  }

  //===--------------------------------------------------------------------===//
  // Storages
  //===--------------------------------------------------------------------===//

  StorageId createStorage(device::Space space, int64_t size) {
    Storage storage;
    storage.space = space;
    storage.size = size;
    plan.storages.push_back(storage);
    return plan.storages.size() - 1;
  }

  StorageId createFixed(Place place, Value value) {
    StorageId id = createStorage(place.space, getByteSize(value));
    plan.storages[id].fixed = true;
    plan.storages[id].offset = place.offset;
    return id;
  }

  /// Says that `value` is in `id` from position `begin` until its last use.
  void hold(Value value, StorageId id, int64_t begin) {
    plan.storageOf[value] = id;
    extend(id, begin, std::max(begin, lifetimes.getLastUse(value)));
  }

  void extend(StorageId id, int64_t begin, int64_t end) {
    Storage &storage = plan.storages[id];
    storage.begin = std::min(storage.begin, begin);
    storage.end = std::max(storage.end, end);
  }

  void copyBefore(Operation *op, Value source, StorageId destination) {
    plan.copiesBefore[op].push_back(
        {plan.storageOf.at(source), destination, source, op->getLoc()});
    extend(plan.storageOf.at(source), lifetimes.getFirst(op), lifetimes.getFirst(op));
    extend(destination, lifetimes.getFirst(op), lifetimes.getFirst(op));
  }

  void assignArguments() {
    for (BlockArgument argument : step.getArguments())
      hold(argument, createFixed(layout.getArgument(argument.getArgNumber()), argument), -1);
  }

  //===--------------------------------------------------------------------===//
  // Wanted storages: a value that should be computed where it is needed in the end
  //===--------------------------------------------------------------------===//

  struct Wanted {
    StorageId storage;
    /// Values that are in the storage before.
    SmallVector<Value> residents;
  };

  void want(Value value, StorageId storage, ArrayRef<Value> residents) {
    wanted.try_emplace(value, Wanted{storage, SmallVector<Value>(residents)});
  }

  void wantVariables() {
    llvm::StringMap<BlockArgument> variables;
    for (BlockArgument argument : step.getArguments())
      if (auto binding = step.getArgAttrOfType<device::BindingAttr>(argument.getArgNumber(), "device.binding");
          binding.getKind() == device::BindingKind::Variable)
        variables[binding.getName()] = argument;
    auto returnOp = cast<func::ReturnOp>(step.getBody().front().getTerminator());
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands()))
      if (getResultBinding(step, i).getKind() == device::BindingKind::Variable) {
        BlockArgument old = variables.lookup(getResultBinding(step, i).getName());
        want(value, plan.storageOf.at(old), {old});
      }
  }

  /// Whether `result` of `invoke` may be computed into the storage it is wanted in: everything in there has been read, or is read by
  /// the invocation itself at the positions where it writes.
  bool mayTakeWanted(device::InvokeOp invoke, OpResult result, const Wanted &target) {
    const Storage &storage = plan.storages[target.storage];
    bool isOnce = replicas == 1 || plan.once.contains(invoke);
    if ((storage.space == device::Space::Variable || storage.space == device::Space::Shared) && !isOnce)
      return false;
    if (isPrivate(storage.space) && plan.once.contains(invoke))
      return false;
    for (Value resident : target.residents) {
      if (resident.getParentBlock() != invoke->getBlock() && !isa<BlockArgument>(resident))
        return false;
      if (!mayOverwrite(invoke, result, resident))
        return false;
    }
    return true;
  }

  bool mayOverwrite(device::InvokeOp invoke, OpResult result, Value resident) {
    if (lifetimes.getLastUse(resident) < lifetimes.getFirst(invoke))
      return true;
    if (lifetimes.getLastUse(resident) > lifetimes.getFirst(invoke))
      return false;
    // Read by the invocation itself: only as the operand whose memory the result may take over.
    auto kernel = SymbolTable::lookupNearestSymbolFrom<device::KernelOp>(invoke, invoke.getKernelAttr());
    std::optional<unsigned> operand = kernel.getInPlaceArgument(result.getResultNumber());
    return operand && invoke.getOperand(*operand) == resident && llvm::count(invoke->getOperands(), resident) == 1 &&
           llvm::none_of(resident.getUsers(), isView);
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  LogicalResult assignBlock(Block &block) {
    for (Operation &op : block) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<device::InvokeOp, device::LoadBatchOp, collective::StartOp, collective::WaitOp, scf::ForOp, scf::IfOp, scf::WhileOp>(
                  [&](auto typed) { return assign(typed); })
              .Case<tensor::ExtractOp, arith::IndexCastOp, func::ReturnOp, scf::YieldOp, scf::ConditionOp, collective::BarrierOp>(
                  [](Operation *) { return success(); })
              .Default([&](Operation *other) { return assignOther(other); });
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult assignOther(Operation *op) {
    if (isView(op)) {
      hold(op->getResult(0), plan.storageOf.at(op->getOperand(0)), lifetimes.getFirst(op));
      return success();
    }
    DenseElementsAttr value;
    if (!matchPattern(op, m_Constant()))
      return op->emitError("expected a kernel invocation, a collective or control flow, found '") << op->getName() << "'";
    if (matchPattern(op, m_Constant(&value)))
      hold(op->getResult(0),
           createFixed({device::Space::Constant, layout.getModule().addConstant(value)}, op->getResult(0)),
           lifetimes.getFirst(op));
    return success();
  }

  LogicalResult assign(device::InvokeOp invoke) {
    int64_t position = lifetimes.getFirst(invoke);
    auto kernel = SymbolTable::lookupNearestSymbolFrom<device::KernelOp>(invoke, invoke.getKernelAttr());
    for (OpResult result : invoke->getResults()) {
      auto it = wanted.find(result);
      if (it != wanted.end() && mayTakeWanted(invoke, result, it->second)) {
        hold(result, it->second.storage, position);
        continue;
      }
      if (std::optional<StorageId> reused = takeOver(invoke, kernel, result)) {
        hold(result, *reused, position);
        continue;
      }
      hold(result, createStorage(spaceOf(result), getByteSize(result)), position);
    }
    if (kernel.getScratch() > 0) {
      StorageId id = createStorage(device::Space::Replica, kernel.getScratch() * kernel.getGrid());
      extend(id, position, position);
      plan.scratch[invoke] = id;
    }
    return success();
  }

  /// The storage of the operand that `result` may take over, if nobody needs it afterwards.
  std::optional<StorageId> takeOver(device::InvokeOp invoke, device::KernelOp kernel, OpResult result) {
    std::optional<unsigned> argument = kernel.getInPlaceArgument(result.getResultNumber());
    if (!reuse || !argument)
      return std::nullopt;
    Value operand = invoke.getOperand(*argument);
    StorageId id = plan.storageOf.at(operand);
    const Storage &storage = plan.storages[id];
    bool isOwn = !storage.fixed && storage.bucket < 0 && operand.getParentBlock() == invoke->getBlock() && !isa<BlockArgument>(operand) &&
                 storage.space == spaceOf(result) && storage.size >= getByteSize(result) && storage.end <= lifetimes.getFirst(invoke);
    if (!isOwn || llvm::count(invoke->getOperands(), operand) != 1 || carried.contains(id))
      return std::nullopt;
    // Another operand may be a view of the same bytes.
    for (auto [i, other] : llvm::enumerate(invoke->getOperands()))
      if (i != *argument && isa<RankedTensorType>(other.getType()) && plan.storageOf.at(other) == id)
        return std::nullopt;
    return id;
  }

  /// A batch is there until the next one is loaded.
  LogicalResult assign(device::LoadBatchOp load) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (auto binding = step.getArgAttrOfType<device::BindingAttr>(i, "device.binding"); binding.getKind() == device::BindingKind::Batch)
        return load.emitError("expected all data of a program with an iterator to come from it, found batch tensor '") << binding.getName() << "'";
    int64_t position = lifetimes.getFirst(load);
    for (auto [name, result] : llvm::zip_equal(load.getNames().getAsValueRange<StringAttr>(), load.getResults())) {
      hold(result, createFixed(layout.getBatchTensor(name), result), position);
      int64_t last = lifetimes.getLastUse(result);
      WalkResult kept = step.walk([&](device::LoadBatchOp other) {
        return other != load && position < lifetimes.getFirst(other) && lifetimes.getFirst(other) <= last ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (kept.wasInterrupted())
        return load.emitError("tensor '") << name << "' of this batch is used after the next batch has been loaded, which is not supported";
    }
    return success();
  }

  LogicalResult assign(collective::StartOp start) {
    int64_t position = lifetimes.getFirst(start);
    auto wait = cast<collective::WaitOp>(*start->user_begin());
    int64_t waited = lifetimes.getFirst(wait);
    int64_t bucket = createBucket();
    std::vector<StorageId> operands;
    for (Value operand : start.getInputs()) {
      StorageId id = plan.storageOf.at(operand);
      const Storage &storage = plan.storages[id];
      if (storage.space != device::Space::Replica || storage.fixed || storage.bucket >= 0) {
        id = createStorage(device::Space::Replica, getByteSize(operand));
        copyBefore(start, operand, id);
      }
      joinBucket(bucket, id);
      extend(id, position, waited);
      operands.push_back(id);
    }
    plan.startOperands[start] = operands;
    // Results are written from the start on: once all members have arrived.
    int64_t resultBucket = createBucket();
    for (OpResult result : wait->getResults()) {
      StorageId id = createStorage(spaceOf(result), getByteSize(result));
      joinBucket(resultBucket, id);
      extend(id, position, waited);
      hold(result, id, position);
    }
    return success();
  }

  int64_t createBucket() {
    plan.buckets.emplace_back();
    return plan.buckets.size() - 1;
  }

  void joinBucket(int64_t bucket, StorageId id) {
    Storage &storage = plan.storages[id];
    storage.bucket = bucket;
    storage.bucketOffset = plan.buckets[bucket].size;
    plan.buckets[bucket].size += llvm::alignTo(storage.size, kAlignment);
    plan.buckets[bucket].members.push_back(id);
  }

  LogicalResult assign(collective::WaitOp) { return success(); }

  /// The storage of a value that a loop carries, with `init` in it before the loop.
  StorageId assignCarried(Operation *loop, Value init, Value argument) {
    StorageId initial = plan.storageOf.at(init);
    if (mayCarry(loop, init, spaceOf(argument))) {
      carried.insert(initial);
      extend(initial, lifetimes.getFirst(loop), lifetimes.getLast(loop));
      plan.storageOf[argument] = initial;
      return initial;
    }
    StorageId id = createStorage(spaceOf(argument), getByteSize(argument));
    carried.insert(id);
    copyBefore(loop, init, id);
    extend(id, lifetimes.getFirst(loop), lifetimes.getLast(loop));
    plan.storageOf[argument] = id;
    return id;
  }

  /// Whether the loop may work on the memory of `init` itself: a value of a kernel that nobody else reads.
  bool mayCarry(Operation *loop, Value init, device::Space space) const {
    const Storage &storage = plan.storages[plan.storageOf.at(init)];
    return init.getDefiningOp<device::InvokeOp>() && init.hasOneUse() && init.getParentBlock() == loop->getBlock() && !storage.fixed &&
           storage.bucket < 0 && storage.space == space && !carried.contains(plan.storageOf.at(init));
  }

  /// Copies what `terminator` yields to `destinations`, where it is not computed there already.
  void copyYielded(Operation *terminator, ValueRange yielded, ArrayRef<StorageId> destinations) {
    // A source that is itself overwritten goes through memory of its own.
    for (auto [value, destination] : llvm::zip_equal(yielded, destinations)) {
      StorageId source = plan.storageOf.at(value);
      if (source == destination)
        continue;
      if (!llvm::is_contained(destinations, source)) {
        copyBefore(terminator, value, destination);
        continue;
      }
      StorageId temporary =
          createStorage(isPrivate(plan.storages[source].space) ? device::Space::Replica : device::Space::Shared, getByteSize(value));
      int64_t position = lifetimes.getFirst(terminator);
      extend(temporary, position, position);
      std::vector<StorageCopy> &copies = plan.copiesBefore[terminator];
      copies.insert(copies.begin(), {source, temporary, value, terminator->getLoc()});
      copies.push_back({temporary, destination, value, terminator->getLoc()});
    }
  }

  LogicalResult assign(scf::ForOp loop) {
    std::vector<StorageId> ids;
    for (auto [init, argument, result, yielded] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults(), loop.getYieldedValues())) {
      if (failed(expectTensor(loop, argument)))
        return failure();
      ids.push_back(assignCarried(loop, init, argument));
      hold(result, ids.back(), lifetimes.getLast(loop));
      want(yielded, ids.back(), {argument});
    }
    if (failed(assignBlock(*loop.getBody())))
      return failure();
    copyYielded(loop.getBody()->getTerminator(), loop.getYieldedValues(), ids);
    return success();
  }

  LogicalResult assign(scf::IfOp branch) {
    std::vector<StorageId> ids;
    for (OpResult result : branch.getResults()) {
      if (failed(expectTensor(branch, result)))
        return failure();
      ids.push_back(createStorage(spaceOf(result), getByteSize(result)));
      extend(ids.back(), lifetimes.getFirst(branch), lifetimes.getLast(branch));
      hold(result, ids.back(), lifetimes.getLast(branch));
    }
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
      if (region->empty())
        continue;
      Operation *yield = region->front().getTerminator();
      for (auto [yielded, id] : llvm::zip_equal(yield->getOperands(), ids))
        want(yielded, id, {});
      if (failed(assignBlock(region->front())))
        return failure();
      copyYielded(yield, yield->getOperands(), ids);
    }
    return success();
  }

  LogicalResult assign(scf::WhileOp loop) {
    std::vector<StorageId> ids;
    for (auto [init, argument] : llvm::zip_equal(loop.getInits(), loop.getBeforeArguments())) {
      if (failed(expectTensor(loop, argument)))
        return failure();
      ids.push_back(assignCarried(loop, init, argument));
    }
    if (failed(assignBlock(*loop.getBeforeBody())))
      return failure();
    for (auto [forwarded, argument, result] :
         llvm::zip_equal(loop.getConditionOp().getArgs(), loop.getAfterArguments(), loop.getResults())) {
      StorageId id = plan.storageOf.at(forwarded);
      hold(argument, id, lifetimes.getFirst(loop));
      hold(result, id, lifetimes.getFirst(loop));
      extend(id, lifetimes.getFirst(loop), lifetimes.getLast(loop));
    }
    // A carried value may be overwritten when what the condition forwarded of it has been read.
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldOp()->getOperands())) {
      SmallVector<Value> residents;
      for (BlockArgument argument : loop.getAfterArguments())
        if (plan.storageOf.at(argument) == ids[i])
          residents.push_back(argument);
      want(yielded, ids[i], residents);
    }
    if (failed(assignBlock(*loop.getAfterBody())))
      return failure();
    copyYielded(loop.getYieldOp(), loop.getYieldOp()->getOperands(), ids);
    return success();
  }

  LogicalResult expectTensor(Operation *op, Value carriedValue) {
    if (auto type = dyn_cast<RankedTensorType>(carriedValue.getType()); type && type.hasStaticShape())
      return success();
    return op->emitError("expected values that loops and branches of a step carry to be tensors of static shape, found ")
           << carriedValue.getType();
  }

  void assignReturn(func::ReturnOp returnOp) {
    SmallVector<Value> values;
    std::vector<StorageId> destinations;
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands())) {
      if (getResultBinding(step, i).getKind() == device::BindingKind::Variable) {
        values.push_back(value);
        destinations.push_back(variableStorage(getResultBinding(step, i).getName()));
      } else {
        plan.outputs[i] = assignOutput(returnOp, value);
      }
    }
    copyYielded(returnOp, values, destinations);
  }

  /// Whether `value` stays where it is after the step.
  bool keepsOutput(func::ReturnOp returnOp, Value value) const {
    StorageId id = plan.storageOf.at(value);
    switch (plan.storages[id].space) {
    case device::Space::Input:
    case device::Space::Scalar:
    case device::Space::Rank:
      return false;
    case device::Space::Variable:
    case device::Space::ReplicaVariable:
      // What is in a variable then is its new value, if it gets one.
      for (auto [i, assigned] : llvm::enumerate(returnOp.getOperands()))
        if (getResultBinding(step, i).getKind() == device::BindingKind::Variable && variableStorage(getResultBinding(step, i).getName()) == id)
          return plan.storageOf.at(assigned) == id;
      return true;
    default:
      return true;
    }
  }

  /// The host reads an output after the end: from memory of the program, which holds it till then. What belongs to others (inputs,
  /// scalars), and the old value of a variable, is copied first.
  StorageId assignOutput(func::ReturnOp returnOp, Value value) {
    StorageId id = plan.storageOf.at(value);
    if (!keepsOutput(returnOp, value)) {
      StorageId own = createStorage(device::Space::Replica, getByteSize(value));
      copyBefore(returnOp, value, own);
      id = own;
    }
    extend(id, lifetimes.getFirst(returnOp), std::numeric_limits<int64_t>::max());
    return id;
  }

  StorageId variableStorage(StringRef name) const {
    for (BlockArgument argument : func::FuncOp(step).getArguments()) {
      auto binding = func::FuncOp(step).getArgAttrOfType<device::BindingAttr>(argument.getArgNumber(), "device.binding");
      if (binding.getKind() == device::BindingKind::Variable && binding.getName() == name)
        return plan.storageOf.at(argument);
    }
    llvm_unreachable("a variable that is assigned is an argument");
  }

  func::FuncOp step;
  int64_t replicas;
  bool reuse;
  StepLayout &layout;
  Lifetimes lifetimes;
  UniformityAnalysis uniformity;
  StoragePlan plan;
  llvm::DenseSet<Value> shared;
  llvm::DenseMap<Value, Wanted> wanted;
  /// Storages that hold loop-carried values.
  llvm::DenseSet<StorageId> carried;
};

} // namespace

FailureOr<StoragePlan> lockstep::assignStorages(func::FuncOp step, int64_t replicas, bool reuse, StepLayout &layout) {
  return StorageAssigner(step, replicas, reuse, layout).run();
}
