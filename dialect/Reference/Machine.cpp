//===- Machine.cpp - The state that the replicas of a run share -----------===//

#include "dialect/Reference/Machine.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"

#include <thread>

using namespace mlir;

namespace lockstep::interpret {

/// Whether replicas that have reached `a` and `b` are in the same collective.
/// These may be different operations, in different branches: they match if they
/// are equivalent in attributes, types and regions.
static bool isSameCollective(Operation *a, Operation *b) {
  if (a == b)
    return true;
  auto isSameRegion = [](auto regions) {
    return OperationEquivalence::isRegionEquivalentTo(
        &std::get<0>(regions), &std::get<1>(regions),
        OperationEquivalence::IgnoreLocations);
  };
  return a->getName() == b->getName() &&
         a->getAttrDictionary() == b->getAttrDictionary() &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getResultTypes() == b->getResultTypes() &&
         llvm::all_of(llvm::zip_equal(a->getRegions(), b->getRegions()),
                      isSameRegion);
}

Machine::Exchange::Member &Machine::Exchange::of(int64_t rank) {
  return *llvm::find_if(
      members, [&](const Member &member) { return member.rank == rank; });
}

bool Machine::Exchange::isComplete() const {
  return llvm::all_of(members, [&](const Member &member) {
    return member.op && isSameCollective(members.front().op, member.op);
  });
}

bool Machine::Exchange::isMismatched() const {
  auto first =
      llvm::find_if(members, [](const Member &member) { return member.op; });
  return llvm::any_of(members, [&](const Member &member) {
    return member.op && !isSameCollective(first->op, member.op);
  });
}

bool isWithoutUse(Operation *op) {
  return isa<replica::AllReduceOp, replica::AllGatherOp,
             replica::AllReduceSlicesOp>(op) &&
         op->use_empty();
}

//===----------------------------------------------------------------------===//
// Steps and the schedule
//===----------------------------------------------------------------------===//

void Machine::begin() {
  places.assign(numReplicas, Place());
  exchanges.clear();
  numbers.clear();
  running = numReplicas;
  failed = false;
  failedReplica = -1;
  schedule.reset();
  if (options.scheduleSeed) {
    schedule.emplace(*optionsOfInnerRun().scheduleSeed, numReplicas);
    scheduleNext();
  }
}

RunOptions Machine::optionsOfInnerRun() {
  RunOptions inner = options;
  if (inner.scheduleSeed)
    *inner.scheduleSeed += 0x9e3779b97f4a7c15 * runs++;
  return inner;
}

void Machine::runReplicas(llvm::function_ref<void(int64_t replica)> body) {
  auto run = [&](int64_t replica) {
    if (schedule) {
      std::unique_lock lock(mutex);
      waitUntilScheduled(replica, lock);
    }
    body(replica);
  };
  std::vector<std::thread> threads;
  for (int64_t replica = 1; replica < replicas(); ++replica)
    threads.emplace_back(run, replica);
  run(0);
  for (std::thread &thread : threads)
    thread.join();
}

void Machine::scheduleNext() {
  if (schedule)
    schedule->next([&](int64_t replica) {
      return places[replica].state == Place::Running;
    });
}

void Machine::wakeUp() {
  if (!schedule || hasFailed())
    for (std::condition_variable &wake : wakes)
      wake.notify_one();
  else if (schedule->current() >= 0)
    wakes[schedule->current()].notify_one();
}

void Machine::waitUntilScheduled(int64_t replica,
                                 std::unique_lock<std::mutex> &lock) {
  wakes[replica].wait(
      lock, [&] { return schedule->current() == replica || hasFailed(); });
}

void Machine::yieldToSchedule(int64_t replica) {
  // Only the scheduled replica executes this.
  if (hasFailed() || !schedule->isOver())
    return;
  std::unique_lock lock(mutex);
  scheduleNext();
  if (schedule->current() == replica)
    return;
  wakeUp();
  waitUntilScheduled(replica, lock);
}

void Machine::stop(int64_t replica, Place::State state, Operation *op) {
  places[replica].state = state;
  places[replica].op = op;
  if (--running == 0)
    reportBlocked();
  scheduleNext();
  if (schedule)
    wakeUp();
}

void Machine::end(int64_t replica, Operation *terminator) {
  for (auto [op, number] : places[replica].late) {
    SmallVector<Value> results;
    if (mlir::failed(wait(replica, op, number, results)))
      break;
  }
  std::lock_guard lock(mutex);
  stop(replica, Place::Ended, terminator);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Machine::Exchange &Machine::find(int64_t replica, const Group &group,
                                 uint64_t &number) {
  uint64_t count = places[replica].begun[{group.name, group.channel}]++;
  auto [it, inserted] =
      numbers.try_emplace({group.name, group.channel, count}, exchanges.size());
  number = it->second;
  if (!inserted)
    return exchanges[number];
  Exchange &exchange = exchanges.emplace_back();
  size_t size = group.ranks.empty() ? numReplicas : group.ranks.size();
  exchange.members.resize(size);
  for (size_t i = 0; i < size; ++i)
    exchange.members[i].rank =
        group.ranks.empty() ? static_cast<int64_t>(i) : group.ranks[i];
  return exchange;
}

LogicalResult Machine::combineAll(Exchange &exchange, const Combine &combine,
                                  std::unique_lock<std::mutex> &lock) {
  SmallVector<SmallVector<Value>> operands;
  for (Exchange::Member &member : exchange.members)
    operands.push_back(std::move(member.operands));
  std::vector<SmallVector<Value>> results(exchange.members.size());
  // The region of a merge_call reports errors through `fail`, which acquires
  // the lock.
  lock.unlock();
  LogicalResult combined = combine(operands, results);
  lock.lock();
  if (mlir::failed(combined))
    return failure();
  for (auto [member, mine] : llvm::zip_equal(exchange.members, results))
    member.results = std::move(mine);
  exchange.done = true;
  for (Place &place : places)
    if (place.state == Place::Waiting && exchanges[place.number].done) {
      place.state = Place::Running;
      ++running;
    }
  wakeUp();
  return success();
}

FailureOr<uint64_t> Machine::start(int64_t replica, Operation *op,
                                   const Group &group,
                                   SmallVector<Value> operands,
                                   const Combine &combine) {
  std::unique_lock lock(mutex);
  if (hasFailed())
    return failure();
  uint64_t number = 0;
  Exchange &exchange = find(replica, group, number);
  Exchange::Member &mine = exchange.of(replica);
  mine.op = op;
  mine.operands = std::move(operands);
  if (exchange.isComplete() &&
      mlir::failed(combineAll(exchange, combine, lock)))
    return failure();
  return number;
}

LogicalResult Machine::wait(int64_t replica, Operation *op, uint64_t number,
                            SmallVectorImpl<Value> &mine) {
  std::unique_lock lock(mutex);
  Exchange &exchange = exchanges[number];
  if (!exchange.done) {
    lock.unlock();
    if (mlir::failed(spend(replica, op, kCostOfWait)))
      return failure();
    lock.lock();
  }
  if (!exchange.done) {
    places[replica].number = number;
    stop(replica, Place::Waiting, op);
    wakes[replica].wait(lock, [&] {
      return hasFailed() ||
             (exchange.done && (!schedule || schedule->current() == replica));
    });
  }
  // A collective that completed before another replica failed is valid.
  if (!exchange.done)
    return failure();
  mine = std::move(exchange.of(replica).results);
  return success();
}

LogicalResult Machine::rendezvous(int64_t replica, Operation *op,
                                  SmallVector<Value> operands,
                                  const Combine &combine,
                                  SmallVectorImpl<Value> &results) {
  FailureOr<uint64_t> number =
      start(replica, op, Group(), std::move(operands), combine);
  if (mlir::failed(number))
    return failure();
  if (!options.unusedCollectivesWaitLate || !isWithoutUse(op) ||
      !mayBecomeComplete(*number))
    return wait(replica, op, *number, results);
  places[replica].late.emplace_back(op, *number);
  results.resize(op->getNumResults());
  return success();
}

/// False if members are in different collectives, or one has ended its step
/// without beginning this one.
bool Machine::mayBecomeComplete(uint64_t number) {
  std::lock_guard lock(mutex);
  const Exchange &exchange = exchanges[number];
  auto hasLeft = [&](const Exchange::Member &member) {
    return !member.op && places[member.rank].state == Place::Ended;
  };
  return !exchange.isMismatched() && llvm::none_of(exchange.members, hasLeft);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

int64_t Machine::findMissing(int64_t replica) {
  Exchange &exchange = exchanges[places[replica].number];
  Operation *mine = exchange.of(replica).op;
  for (const Exchange::Member &member : exchange.members)
    if (!member.op || !isSameCollective(mine, member.op))
      return member.rank;
  llvm_unreachable("a collective that all have begun is done");
}

static std::string quoted(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "'";
}

/// "replica 2", "replicas 0 and 2", "replicas 0, 1 and 3".
static std::string replicasText(ArrayRef<int64_t> replicas) {
  std::string text = replicas.size() == 1 ? "replica " : "replicas ";
  for (auto [index, replica] : llvm::enumerate(replicas))
    text += (index == 0                     ? ""
             : index + 1 == replicas.size() ? " and "
                                            : ", ") +
            std::to_string(replica);
  return text;
}

std::string Machine::describePlace(int64_t replica) {
  const Place &place = places[replica];
  return place.state == Place::Ended ? "has ended the step"
                                     : "waits in " + quoted(place.op);
}

void Machine::reportBlocked() {
  if (hasFailed())
    return;
  auto isWaiting = [](const Place &place) {
    return place.state == Place::Waiting;
  };
  auto first = llvm::find_if(places, isWaiting);
  if (first == places.end())
    return;
  int64_t waiter = first - places.begin(), missing = findMissing(waiter);
  // Replicas share a note if they wait in the same operation for the same
  // replica, or have ended at the same terminator.
  llvm::MapVector<std::pair<Operation *, int64_t>, SmallVector<int64_t>>
      together;
  for (int64_t replica = 0; replica < numReplicas; ++replica)
    together[{places[replica].op,
              isWaiting(places[replica]) ? findMissing(replica) : -1}]
        .push_back(replica);
  std::vector<Note> notes;
  for (auto &[place, replicas] : together) {
    auto [op, lacking] = place;
    bool several = replicas.size() > 1;
    if (lacking < 0)
      notes.push_back({op, replicasText(replicas) +
                               (several ? " have" : " has") +
                               " ended the step here"});
    else
      notes.push_back({op, replicasText(replicas) +
                               (several ? " wait" : " waits") + " here, in " +
                               quoted(op) + ", for replica " +
                               std::to_string(lacking)});
  }
  report(waiter, {FailureKind::Blocked, first->op},
         "blocked: replica " + std::to_string(waiter) + " waits in " +
             quoted(first->op) + " for replica " + std::to_string(missing) +
             ", which " + describePlace(missing) + " [E_COLLECTIVE_DIVERGENCE]",
         std::move(notes));
}

LogicalResult Machine::fail(int64_t replica, Operation *op,
                            const Twine &message, FailureKind kind) {
  std::lock_guard lock(mutex);
  report(replica, {kind, op}, message.str());
  return failure();
}

std::optional<std::pair<unsigned, unsigned>>
Variable::findDifferentCopies() const {
  for (unsigned replica = 1; replica < copies.size(); ++replica)
    if (!copies[replica].isIdentical(copies[0]))
      return std::make_pair(0U, replica);
  return std::nullopt;
}

LogicalResult Machine::checkCopies(const Variable &variable, Operation *op) {
  replica::VariableOp declaration = variable.op;
  std::optional<std::pair<unsigned, unsigned>> different;
  if (!declaration.isPerReplica())
    different = variable.findDifferentCopies();
  if (!different)
    return success();
  std::string when = op ? "" : " after the step";
  for (unsigned replica : {different->second, different->first})
    if (!op && !variable.writers[replica].empty())
      op = variable.writers[replica].back();
  std::lock_guard lock(mutex);
  report(-1,
         {FailureKind::ValuesDiffer, op ? op : declaration.getOperation(),
          &variable},
         ("expected variable '" + declaration.getSymName() +
          "' to be equal on all replicas" + when +
          ", found another value on replica " + Twine(different->second) +
          " than on replica " + Twine(different->first))
             .str());
  return failure();
}

void Machine::report(int64_t replica, const Failure &what, std::string message,
                     std::vector<Note> notes) {
  if (!hasFailed()) {
    failedReplica = replica;
    error = what;
    failureMessage = std::move(message);
    failureNotes = std::move(notes);
    failed = true;
  }
  wakeUp();
}

void Machine::adoptFailure(const Machine &inner) {
  std::lock_guard lock(mutex);
  report(inner.failedReplica, inner.error, inner.failureMessage,
         inner.failureNotes);
}

void Machine::emitFailure() {
  InFlightDiagnostic diagnostic = error.op->emitError(failureMessage);
  for (auto &[op, message] : failureNotes)
    diagnostic.attachNote(op->getLoc()) << message;
  if (failureNotes.empty() && failedReplica >= 0)
    diagnostic.attachNote(error.op->getLoc()) << "on replica " << failedReplica;
}

} // namespace lockstep::interpret
