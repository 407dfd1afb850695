//===- ScheduleRemarks.cpp - Remarks about the schedule -------------------===//

#include "passes/Schedule/ScheduleRemarks.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Remarks/Remarks.h"

#include "llvm/ADT/SetVector.h"

using namespace lockstep;
using namespace mlir;

ScheduleRemarks::ScheduleRemarks(Block &block, StringRef function,
                                 bool keepsOrder)
    : block(block), function(function), keepsOrder(keepsOrder) {
  for (Operation &op : block) {
    if (isa<device::InvokeOp>(op))
      kernels.push_back(&op);
    if (isa<collective::StartOp>(op))
      before[&op] = kernels.size();
  }
}

void ScheduleRemarks::emit() {
  // Remarks are disabled, or there are no collectives.
  if (!block.getParentOp()->getContext()->getRemarkEngine() || before.empty())
    return;
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
    kernelsUpTo.push_back(kernelsUpTo.back() + isa<device::InvokeOp>(op));
  }
  for (auto start : block.getOps<collective::StartOp>()) {
    explain(start);
    explainMembers(start);
  }
}

SmallVector<device::InvokeOp>
ScheduleRemarks::kernelsBetween(unsigned first, unsigned last) const {
  SmallVector<device::InvokeOp> kernels;
  for (unsigned i = first + 1; i < last; ++i)
    if (auto invoke = dyn_cast<device::InvokeOp>(ops[i]))
      kernels.push_back(invoke);
  return kernels;
}

Operation *ScheduleRemarks::producerOf(Value value) const {
  Operation *producer = value.getDefiningOp();
  return producer ? block.findAncestorOpInBlock(*producer) : nullptr;
}

size_t ScheduleRemarks::kernelsBefore(unsigned end) const {
  return kernelsUpTo[end];
}

/// "@step_19 (model.py:37)", "the loop (model.py:126)"
static std::string nameOf(Operation *op) {
  auto invoke = dyn_cast<device::InvokeOp>(op);
  std::string name = invoke ? ("@" + invoke.getKernel()).str()
                            : ("'" + op->getName().getStringRef() + "'").str();
  return name + atLine(op->getLoc());
}

/// The operations of the block that depend on a result of `root`.
static llvm::SetVector<Operation *> getDependents(Operation *root,
                                                  Block &block) {
  llvm::SetVector<Operation *> dependents;
  dependents.insert(root);
  for (unsigned i = 0; i < dependents.size(); ++i)
    for (Operation *user : dependents[i]->getUsers())
      if (Operation *ancestor = block.findAncestorOpInBlock(*user))
        dependents.insert(ancestor);
  return dependents;
}

void ScheduleRemarks::explain(collective::StartOp start) {
  auto wait = cast<collective::WaitOp>(*start->user_begin());
  unsigned from = position(start), to = position(wait);
  if (keepsOrder)
    explainOrder(start);

  // The position of the start.
  Operation *last = lastProducer(start);
  std::string text = collectiveText(start) + " starts at " +
                     std::to_string(kernelsBefore(from)) + " of " +
                     countText(kernelsBefore(ops.size()), "kernel");
  if (int64_t overtaken = llvm::count_if(
          ArrayRef(kernels).take_front(before.lookup(start)),
          [&](Operation *kernel) { return position(kernel) > from; }))
    text += ", " + std::to_string(overtaken) + " earlier than written";
  if (last)
    text += "; its last operand is of " + nameOf(last);

  // The first use of the results.
  Operation *user = nullptr;
  for (Operation *candidate : wait->getUsers())
    if (Operation *ancestor = block.findAncestorOpInBlock(*candidate);
        ancestor && (!user || position(ancestor) < position(user)))
      user = ancestor;
  if (user)
    text += "; its first use is " + nameOf(user);

  SmallVector<device::InvokeOp> overlapped = kernelsBetween(from, to);
  if (!overlapped.empty()) {
    SmallVector<std::string> names =
        llvm::map_to_vector(overlapped, [](device::InvokeOp invoke) {
          return ("@" + invoke.getKernel()).str();
        });
    remark::passed(start.getLoc(),
                   decision(Stage::Schedule, "Overlapped", function))
        << text + "; " + countText(overlapped.size(), "kernel") +
               " can hide it: " + listText(names);
    return;
  }
  llvm::SetVector<Operation *> dependents = getDependents(wait, block);
  int64_t independent =
      llvm::count_if(kernelsBetween(to, ops.size()), [&](Operation *kernel) {
        return !dependents.contains(kernel);
      });
  std::string reason =
      independent == 0
          ? "every kernel behind it needs its result"
          : countText(independent, "kernel") +
                " behind it could, but for these all replicas have to arrive";
  remark::missed(start.getLoc(), decision(Stage::Schedule, "Exposed", function))
      << text + "; no kernel hides it: " + reason;
}

Operation *ScheduleRemarks::lastProducer(collective::StartOp start) const {
  Operation *last = nullptr;
  for (Value operand : start.getInputs())
    if (Operation *producer = producerOf(operand);
        producer && (!last || position(producer) > position(last)))
      last = producer;
  return last;
}

/// Reports a collective whose operands are ready, but which has to wait for the
/// start of the previous one, as the order does not change.
void ScheduleRemarks::explainOrder(collective::StartOp start) {
  collective::StartOp previous;
  for (auto other : block.getOps<collective::StartOp>())
    if (position(other) < position(start))
      previous = other;
  Operation *last = lastProducer(start);
  if (!previous || !last)
    return;
  if (size_t waited = kernelsBetween(position(last), position(previous)).size())
    remark::missed(start.getLoc(),
                   decision(Stage::Schedule, "Delayed", function))
        << collectiveText(start) + " could start " +
               countText(waited, "kernel") + " earlier, after " + nameOf(last) +
               ", but collectives keep their order, and the " +
               collectiveText(previous) + " before it is not ready";
}

/// Reports for how many kernels the first ready member of a bucket waits for
/// the last one.
void ScheduleRemarks::explainMembers(collective::StartOp start) {
  Value first, last;
  for (Value operand : start.getInputs()) {
    Operation *producer = producerOf(operand);
    if (!producer)
      continue;
    if (!first || position(producer) < position(producerOf(first)))
      first = operand;
    if (!last || position(producer) > position(producerOf(last)))
      last = operand;
  }
  if (!first || first == last)
    return;
  size_t waited =
      kernelsBetween(position(producerOf(first)), position(producerOf(last)))
          .size() +
      1;
  int64_t ready = 0;
  for (Value operand : start.getInputs()) {
    Operation *producer = producerOf(operand);
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.hasStaticShape() &&
        (!producer || position(producer) < position(producerOf(last))))
      ready += type.getNumElements() * getElementBytes(type.getElementType());
  }
  remark::analysis(start.getLoc(),
                   decision(Stage::Schedule, "BucketReadiness", function))
      << "its bucket waits for the last member, " + valueText(last) + ": " +
             bytesText(ready) + " are ready before, the first " +
             countText(waited, "kernel") +
             " before; a bound (bytes_per_pack) lets them start earlier";
}
