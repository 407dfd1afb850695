//===- ScheduleRemarks.cpp - Remarks about the schedule -------------------===//

#include "passes/Schedule/ScheduleRemarks.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Analysis/Views.h"
#include "passes/Remarks/Remarks.h"

#include "llvm/ADT/DenseSet.h"

using namespace lockstep;
using namespace mlir;

/// How many kernels after the wait of a collective are searched for one that
/// could hide the collective.
static constexpr size_t kLookahead = 64;

ScheduleRemarks::ScheduleRemarks(Block &block, StringRef function,
                                 bool keepsOrder, bool sharesProcess)
    : block(block), function(function), keepsOrder(keepsOrder),
      sharesProcess(sharesProcess) {
  size_t written = 0;
  for (Operation &op : block) {
    written += isa<device::InvokeOp>(op);
    if (isa<collective::StartOp>(op))
      before[&op] = written;
  }
}

void ScheduleRemarks::emit() {
  // Remarks are disabled, or there are no collectives.
  if (!block.getParentOp()->getContext()->getRemarkEngine() || before.empty())
    return;
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
    if (auto invoke = dyn_cast<device::InvokeOp>(op))
      kernels.push_back(invoke);
    kernelsUpTo.push_back(kernels.size());
  }
  collective::StartOp previous;
  for (auto start : block.getOps<collective::StartOp>()) {
    if (keepsOrder && previous)
      explainOrder(start, previous);
    explain(start);
    explainMembers(start);
    previous = start;
  }
}

ArrayRef<device::InvokeOp>
ScheduleRemarks::kernelsBetween(unsigned first, unsigned last) const {
  if (last <= first + 1)
    return {};
  size_t begin = kernelsBefore(first + 1);
  return ArrayRef(kernels).slice(begin, kernelsBefore(last) - begin);
}

Operation *ScheduleRemarks::producerOf(Value value) const {
  Operation *producer = value.getDefiningOp();
  while (producer && isView(producer))
    producer = producer->getOperand(0).getDefiningOp();
  return producer ? block.findAncestorOpInBlock(*producer) : nullptr;
}

/// Reports where a collective starts, what it waits for, and which kernels are
/// executed until its results are needed, or why none are.
void ScheduleRemarks::explain(collective::StartOp start) {
  auto wait = cast<collective::WaitOp>(*start->user_begin());
  unsigned from = position(start), to = position(wait);

  // Where the collective starts.
  Operation *last = lastProducer(start);
  size_t now = kernelsBefore(from), written = before.lookup(start);
  std::string text = collectiveText(start) + " starts at " +
                     std::to_string(now) + " of " +
                     countText(kernels.size(), "kernel");
  if (written > now)
    text += ", " + std::to_string(written - now) + " earlier than written";
  if (last)
    text += "; its last operand is computed by " + operationText(last);

  // The first use of the results.
  Operation *user = nullptr;
  SmallVector<Operation *> users(wait->getUsers());
  for (unsigned i = 0; i < users.size(); ++i)
    if (isView(users[i]))
      llvm::append_range(users, users[i]->getUsers());
    else if (Operation *ancestor = block.findAncestorOpInBlock(*users[i]);
             ancestor && (!user || position(ancestor) < position(user)))
      user = ancestor;
  if (user)
    text += "; its first use is " + operationText(user);

  if (ArrayRef<device::InvokeOp> hiding = kernelsBetween(from, to);
      !hiding.empty()) {
    remark::passed(start.getLoc(),
                   decision(Stage::Schedule, "Overlapped", function))
        << text + "; " + countText(hiding.size(), "kernel") +
               " can hide it: " + listText(hiding.size(), [&](size_t i) {
                 return ("@" + device::InvokeOp(hiding[i]).getKernel()).str();
               });
    return;
  }
  remark::missed(start.getLoc(), decision(Stage::Schedule, "Exposed", function))
      << text + "; no kernel hides it: " + reasonOfExposure(wait);
}

std::string ScheduleRemarks::reasonOfExposure(collective::WaitOp wait) const {
  // Kernels that depend on the results of this collective cannot hide it, nor
  // can those that depend on a later wait.
  llvm::DenseSet<Operation *> dependents;
  size_t searched = 0;
  for (Operation *op : ArrayRef(ops).drop_front(position(wait))) {
    bool depends = isa<collective::WaitOp>(op) ||
                   op->walk([&](Operation *inner) {
                       return llvm::any_of(inner->getOperands(),
                                           [&](Value operand) {
                                             return dependents.contains(
                                                 operand.getDefiningOp());
                                           })
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     }).wasInterrupted();
    if (depends)
      dependents.insert(op);
    if (!isa<device::InvokeOp>(op))
      continue;
    if (!depends)
      return operationText(op) + " does not depend on it, but " +
             (sharesProcess ? "is executed once, when all replicas have arrived"
                            : "is scheduled after its expected end");
    if (++searched == kLookahead)
      return "the next " + std::to_string(searched) + " kernels depend on it";
  }
  return "every later kernel depends on its result, or on that of a later "
         "collective";
}

Operation *ScheduleRemarks::lastProducer(collective::StartOp start) const {
  Operation *last = nullptr;
  for (Value operand : start.getInputs())
    if (Operation *producer = producerOf(operand);
        producer && (!last || position(producer) > position(last)))
      last = producer;
  return last;
}

/// Reports a collective whose operands are ready before the previous collective
/// starts. It has to wait for that, since collectives keep their order.
void ScheduleRemarks::explainOrder(collective::StartOp start,
                                   collective::StartOp previous) {
  Operation *last = lastProducer(start);
  if (!last)
    return;
  if (size_t waited = kernelsBetween(position(last), position(previous)).size())
    remark::missed(start.getLoc(),
                   decision(Stage::Schedule, "Delayed", function))
        << collectiveText(start) + " could start " +
               countText(waited, "kernel") + " earlier, after " +
               operationText(last) +
               ", but collectives keep their order, and the " +
               collectiveText(previous) + " before it is not ready";
}

/// Reports how many bytes of a bucket are ready before its last member, and how
/// many kernels are executed between its first and its last one.
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
             bytesText(ready) + " are ready earlier, the first of them " +
             countText(waited, "kernel") +
             " earlier; smaller buckets (bytes_per_pack) let them start "
             "earlier";
}
