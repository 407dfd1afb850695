//===- MemoryRemarks.cpp - Remarks about the memory plan ------------------===//

#include "passes/Memory/MemoryRemarks.h"

#include "passes/Remarks/Remarks.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// An operation in a remark: "@step_26 (model.py:57)" for a kernel, otherwise
/// for example "'scf.for' (model.py:126)".
std::string nameOf(Operation *op) {
  auto invoke = dyn_cast<device::InvokeOp>(op);
  return (invoke ? ("@" + invoke.getKernel()).str()
                 : ("'" + op->getName().getStringRef() + "'").str()) +
         atLine(op->getLoc());
}

std::string sizeText(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return typeText(type) + " (" + bytesText(getByteSize(value)) + ")";
}

/// Emits the remarks about the memory plan of one step.
class MemoryExplainer {
public:
  MemoryExplainer(func::FuncOp step, const StoragePlan &plan,
                  const PlacementResult &placement, int64_t replicas)
      : step(step), plan(plan), placement(placement), replicas(replicas) {}

  void run() {
    explainArena("a replica's memory", placement.replicaSize,
                 placement.replicaBound);
    explainArena("memory that all replicas of a process share",
                 placement.sharedSize, placement.sharedBound);
    explainShared();
    explainInPlace();
    step.walk([&](collective::StartOp start) { explainBucket(start); });
    explainVariables();
    step.walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        explainCarried(loop, loop.getYieldedValues(), loop.getRegionIterArgs());
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        explainCarried(loop, loop.getYieldOp()->getOperands(),
                       loop.getBeforeArguments());
    });
  }

private:
  /// The options of a remark called `name` about this step.
  remark::RemarkOpts about(StringRef name) {
    return decision(Stage::Memory, name, step.getSymName());
  }

  void explainArena(StringRef what, int64_t size, int64_t bound) {
    if (size == 0)
      return;
    int64_t percent = bound == 0 ? 0 : (size - bound) * 100 / bound;
    remark::analysis(step.getLoc(), about("Arena"))
        << (what + ": " + bytesText(size) + ", " + Twine(percent) +
            " % above the " + bytesText(bound) + " that are in use at one time")
               .str();
  }

  /// The number of the storages that are placed in `space`, and the sum of
  /// their sizes in bytes.
  std::pair<int64_t, int64_t> measure(device::Space space) const {
    int64_t count = 0, bytes = 0;
    for (const Storage &storage : plan.storages)
      if (!storage.fixed && storage.space == space) {
        ++count;
        bytes += storage.size;
      }
    return {count, bytes};
  }

  void explainShared() {
    auto [count, bytes] = measure(device::Space::Shared);
    if (count > 0 && replicas > 1)
      remark::passed(step.getLoc(), about("Shared"))
          << countText(count, "value") +
                 " equal on all replicas: stored once per process, " +
                 bytesText(bytes) + " instead of " +
                 bytesText(bytes * replicas);
  }

  /// Reports how many kernels' results are written to the memory of an operand.
  void explainInPlace() {
    int64_t count = 0;
    step.walk([&](device::InvokeOp invoke) {
      for (Value result : invoke.getResults())
        count += llvm::any_of(invoke.getOperands(), [&](Value operand) {
          return isa<RankedTensorType>(operand.getType()) &&
                 plan.storageOf.at(operand) == plan.storageOf.at(result);
        });
    });
    if (count > 0)
      remark::passed(step.getLoc(), about("InPlace"))
          << countText(count, "result") +
                 " of kernels in the memory of an operand";
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// Reports which operands of a collective are computed in the memory from
  /// which it reads, and why others are copied there.
  void explainBucket(collective::StartOp start) {
    ArrayRef<StorageId> storages = plan.startOperands.at(start);
    std::string channel =
        start.getChannel()
            ? " of channel " + std::to_string(*start.getChannel())
            : std::string();
    int64_t inPlace = 0;
    for (auto [operand, id] : llvm::zip_equal(start.getInputs(), storages)) {
      const Storage &source = plan.storages[plan.storageOf.at(operand)];
      if (plan.storageOf.at(operand) == id) {
        ++inPlace;
        continue;
      }
      StringRef reason =
          "its memory already belongs to another operand or collective";
      if (source.space == device::Space::Shared)
        reason =
            "it is stored once for all replicas, but each replica needs an "
            "operand of its own";
      else if (source.fixed)
        reason =
            "it is a variable, an argument or a constant, whose address is "
            "fixed";
      remark::missed(start.getLoc(), about("Copied"))
          << (sizeText(operand) + atLine(operand.getLoc()) +
              " is copied to the operands" + channel + ": " + reason)
                 .str();
    }
    if (inPlace > 0)
      remark::passed(start.getLoc(), about("Bucket"))
          << (std::to_string(inPlace) + " of " +
              countText(storages.size(), "operand") + channel +
              " computed in place" +
              (storages.size() > 1 ? ", side by side" : ""));
  }

  device::BindingAttr getResultBinding(unsigned index) {
    return step.getResultAttrOfType<device::BindingAttr>(index,
                                                         "device.binding");
  }

  /// Reports which variables are updated in place, and why the new values of
  /// others are copied.
  void explainVariables() {
    llvm::StringMap<BlockArgument> variables;
    for (BlockArgument argument : step.getArguments())
      if (auto binding = step.getArgAttrOfType<device::BindingAttr>(
              argument.getArgNumber(), "device.binding");
          binding.getKind() == device::BindingKind::Variable)
        variables[binding.getName()] = argument;
    // Copies with the same reason are reported together.
    struct Copies {
      std::string reason;
      SmallVector<Location> locations;
      SmallVector<std::string> names;
      int64_t bytes = 0;
    };
    std::vector<Copies> copies;
    int64_t total = 0, inPlace = 0;
    for (auto [i, value] : llvm::enumerate(
             step.getBody().front().getTerminator()->getOperands())) {
      device::BindingAttr binding = getResultBinding(i);
      if (binding.getKind() != device::BindingKind::Variable)
        continue;
      ++total;
      BlockArgument old = variables.lookup(binding.getName());
      if (plan.storageOf.at(value) == plan.storageOf.at(old)) {
        ++inPlace;
        continue;
      }
      std::string reason = reasonFor(value, old);
      auto known = llvm::find_if(
          copies, [&](const Copies &other) { return other.reason == reason; });
      Copies &group = known == copies.end() ? copies.emplace_back() : *known;
      group.reason = reason;
      group.locations.push_back(value.getLoc());
      group.names.push_back(binding.getName().str());
      group.bytes += getByteSize(value);
    }
    for (const Copies &group : copies)
      remark::missed(FusedLoc::get(step.getContext(), group.locations),
                     about("Copied"))
          << (group.names.size() == 1
                  ? "the new value of variable "
                  : "the new values of " +
                        countText(group.names.size(), "variable") + ", ") +
                 listText(group.names) + " (" + bytesText(group.bytes) + ") " +
                 (group.names.size() == 1 ? "is copied to its"
                                          : "are copied to their") +
                 " place: " + group.reason;
    if (inPlace > 0)
      remark::passed(step.getLoc(), about("InPlace"))
          << std::to_string(inPlace) + " of " + countText(total, "variable") +
                 " updated in place";
  }

  /// Why `value`, the new value of a variable, is not computed in the memory of
  /// its old value `old`.
  std::string reasonFor(Value value, BlockArgument old) {
    Operation *producer = value.getDefiningOp();
    auto invoke = dyn_cast_or_null<device::InvokeOp>(producer);
    if (!producer)
      return "it is not computed, but an argument of the step";
    if (!invoke)
      return "it is not the result of a kernel, but of " + nameOf(producer);
    for (Operation *user : old.getUsers()) {
      Operation *ancestor = producer->getBlock()->findAncestorOpInBlock(*user);
      if (ancestor && ancestor != producer &&
          producer->isBeforeInBlock(ancestor) && !isa<func::ReturnOp>(ancestor))
        return nameOf(ancestor) + " still reads the old value after " +
               nameOf(producer);
    }
    if (llvm::is_contained(invoke.getOperands(), old))
      return nameOf(producer) +
             " reads the old value, and cannot overwrite it in place";
    return "its memory has to be shared, but " + nameOf(producer) +
           " runs on each replica";
  }

  /// Reports how many values that a loop carries are copied in each iteration.
  void explainCarried(Operation *loop, ValueRange yielded,
                      ValueRange arguments) {
    int64_t count = 0, bytes = 0;
    for (auto [value, argument] : llvm::zip_equal(yielded, arguments))
      if (plan.storageOf.at(value) != plan.storageOf.at(argument)) {
        ++count;
        bytes += getByteSize(value);
      }
    if (count > 0)
      remark::missed(loop->getLoc(), about("Copied"))
          << std::to_string(count) + " of " +
                 countText(yielded.size(), "value") +
                 " that the loop carries copied in each iteration (" +
                 bytesText(bytes) +
                 "): the old ones are still read when the new ones are "
                 "computed";
  }

  func::FuncOp step;
  const StoragePlan &plan;
  const PlacementResult &placement;
  int64_t replicas;
};

} // namespace

void lockstep::explainMemory(func::FuncOp step, const StoragePlan &plan,
                             const PlacementResult &placement,
                             int64_t replicas) {
  if (step.getContext()->getRemarkEngine())
    MemoryExplainer(step, plan, placement, replicas).run();
}

void lockstep::explainOnce(device::ProgramOp program, int64_t replicas) {
  program.walk([&](device::OnceOp once) {
    int64_t kernels = llvm::range_size(once.getOps<device::LaunchOp>()),
            copies = llvm::range_size(once.getOps<device::CopyOp>());
    remark::passed(once.getLoc(),
                   decision(Stage::Memory, "Once", program.getSymName()))
        << countText(kernels, "kernel") +
               (copies ? " and " + (copies == 1
                                        ? "1 copy"
                                        : std::to_string(copies) + " copies")
                       : std::string()) +
               " executed once for " + std::to_string(replicas) +
               " replicas (channel " + std::to_string(once.getChannel()) +
               "): their results are equal on all replicas";
  });
}
