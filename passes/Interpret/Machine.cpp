//===- Machine.cpp - What the replicas of a run share ---------------------===//

#include "passes/Interpret/Machine.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace lockstep::interpret {

/// Whether replicas that have come to `a` and `b` are in the same collective. Two operations in two branches may be: what
/// counts is what they say to the other replicas.
static bool isSameCollective(Operation *a, Operation *b) {
  if (a == b)
    return true;
  auto isSameRegion = [](auto regions) {
    return OperationEquivalence::isRegionEquivalentTo(&std::get<0>(regions), &std::get<1>(regions), OperationEquivalence::IgnoreLocations);
  };
  return a->getName() == b->getName() && a->getAttrDictionary() == b->getAttrDictionary() && a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() && llvm::all_of(llvm::zip_equal(a->getRegions(), b->getRegions()), isSameRegion);
}

void Machine::begin() {
  arrivals.assign(numReplicas, Arrival());
  running = numReplicas;
}

void Machine::end(int64_t replica, Operation *terminator) {
  std::lock_guard lock(mutex);
  arrivals[replica] = {Arrival::Ended, terminator, {}};
  if (--running == 0)
    resolve(nullptr);
}

LogicalResult Machine::meet(int64_t replica, Operation *op, SmallVector<Value> operands, const Combine &combine,
                            SmallVectorImpl<Value> &mine) {
  std::unique_lock lock(mutex);
  uint64_t before = generation;
  arrivals[replica] = {Arrival::Waiting, op, std::move(operands)};
  if (--running == 0)
    resolve(combine);
  else
    wake.wait(lock, [&] { return generation != before || hasFailed(); });
  // A collective that was done before an error of another replica counts.
  if (generation == before)
    return failure();
  mine.assign(std::make_move_iterator(results[replica].begin()), std::make_move_iterator(results[replica].end()));
  return success();
}

void Machine::resolve(const Combine &combine) {
  if (hasFailed())
    return;
  auto isWaiting = [](const Arrival &arrival) { return arrival.state == Arrival::Waiting; };
  auto waiting = llvm::find_if(arrivals, isWaiting);
  if (waiting == arrivals.end())
    return;
  auto other =
      llvm::find_if(arrivals, [&](const Arrival &arrival) { return !isWaiting(arrival) || !isSameCollective(waiting->op, arrival.op); });
  if (other != arrivals.end()) {
    std::string waiter = llvm::Twine(waiting - arrivals.begin()).str(), blocker = llvm::Twine(other - arrivals.begin()).str();
    std::string what =
        other->state == Arrival::Ended ? "has ended the step" : "waits in '" + other->op->getName().getStringRef().str() + "'";
    report(waiting - arrivals.begin(), waiting->op,
           "blocked: replica " + waiter + " waits in '" + waiting->op->getName().getStringRef().str() + "' for replica " + blocker +
               ", which " + what + " [E_COLLECTIVE_DIVERGENCE]",
           "replica " + blocker + " is here", other->op);
    return;
  }
  SmallVector<SmallVector<Value>> operands;
  for (Arrival &arrival : arrivals) {
    operands.push_back(std::move(arrival.operands));
    arrival = Arrival();
  }
  results.assign(numReplicas, {});
  // Regions of a merge_call report their errors through `fail`, which takes the lock.
  mutex.unlock();
  LogicalResult combined = combine(operands, results);
  mutex.lock();
  if (mlir::failed(combined))
    return;
  running = numReplicas;
  ++generation;
  wake.notify_all();
}

LogicalResult Machine::fail(int64_t replica, Operation *op, const Twine &message) {
  std::lock_guard lock(mutex);
  report(replica, op, message.str());
  return failure();
}

void Machine::report(int64_t replica, Operation *op, std::string message, std::string note, Operation *notePlace) {
  if (!hasFailed()) {
    failedReplica = replica;
    failedOp = op;
    failureMessage = std::move(message);
    noteMessage = std::move(note);
    noteOp = notePlace;
    failed = true;
  }
  wake.notify_all();
}

void Machine::adoptFailure(const Machine &inner) {
  std::lock_guard lock(mutex);
  report(inner.failedReplica, inner.failedOp, inner.failureMessage, inner.noteMessage, inner.noteOp);
}

void Machine::emitFailure() {
  InFlightDiagnostic diagnostic = failedOp->emitError(failureMessage);
  if (!noteMessage.empty())
    diagnostic.attachNote(noteOp->getLoc()) << noteMessage;
  else if (failedReplica >= 0)
    diagnostic.attachNote(failedOp->getLoc()) << "on replica " << failedReplica;
}

} // namespace lockstep::interpret
