//===- Machine.h - The state that the replicas of a run share ---*- C++ -*-===//
//
// Each replica executes a step on its own thread, on its own copies of the
// variables. A collective is a rendezvous: the last replica to arrive computes
// the results of all, so that no result depends on the interleaving of the
// threads. With a schedule (`RandomSchedule.h`) exactly one thread runs at a
// time, and a seed determines when it is suspended and which replica runs next.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_MACHINE_H
#define LOCKSTEP_DIALECT_REFERENCE_MACHINE_H

#include "dialect/Reference/RandomSchedule.h"
#include "dialect/Reference/Value.h"

#include "dialect/Replica/ReplicaDialect.h"
#include "llvm/ADT/MapVector.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace lockstep::interpret {

/// A variable and its copies.
struct Variable {
  replica::VariableOp op;
  /// One for each replica. A replica accesses its own copy only, except while
  /// all replicas are at a rendezvous.
  std::vector<Value> copies;
  /// For each copy, the operations by which its replica wrote it in this run
  /// without communication: the last one that replaced it, and those that
  /// updated it since. They are the cause if copies that must be equal differ.
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> writers;

  /// `replica` has replaced or updated its copy with a value of its own.
  void noteWrite(int64_t replica, mlir::Operation *op, bool replaces) {
    llvm::SmallVector<mlir::Operation *, 2> &mine = writers[replica];
    if (replaces)
      mine.clear();
    if (!llvm::is_contained(mine, op))
      mine.push_back(op);
  }
  /// The copy of `replica` has been assigned a value that all copies are
  /// assigned.
  void noteEqual(int64_t replica) { writers[replica].clear(); }
  void forgetWriters() { writers.assign(copies.size(), {}); }
  /// Two replicas whose copies differ, if not all copies are equal.
  std::optional<std::pair<unsigned, unsigned>> findDifferentCopies() const;
};

using Variables = llvm::MapVector<mlir::StringAttr, Variable>;

/// The batches that a program loads: for each, its tensors, per replica.
struct BatchList {
  std::vector<std::vector<Value>> all;
  size_t loaded = 0;
};

/// The cost in `RunOptions::budget` of waiting in a collective, which switches
/// to another thread.
inline constexpr int64_t kCostOfWait = 5000;

/// The options of a run.
struct RunOptions {
  /// The replicas are interleaved, in an order drawn from this seed; without a
  /// seed, their threads run concurrently.
  std::optional<uint64_t> scheduleSeed;
  /// With a schedule: a replica continues until it has to wait.
  bool switchesOnlyAtWaits = false;
  /// A replica does not wait in a collective of all replicas whose results have
  /// no use (`isWithoutUse`), as long as the others may still arrive there, but
  /// waits at the end of its step. Deadlocks occur on the same inputs as
  /// otherwise, with fewer switches between threads, which dominate the run
  /// time.
  bool unusedCollectivesWaitLate = false;
  /// Tensors that have not been written yet hold different numbers on each
  /// replica, instead of zeros.
  bool unwrittenDiffers = false;
  /// Called when `replica` reaches a branch or loop, with a number for the path
  /// that it takes. Only with a schedule, so that two threads never call it at
  /// once.
  std::function<void(int64_t replica, mlir::Operation *branch, int64_t path)>
      onBranch;
  /// The number of element operations that are left, which runs count down; a
  /// run that needs more fails. Only with a schedule; outlives the run.
  int64_t *budget = nullptr;
};

/// What kind of error ended a run.
enum class FailureKind {
  /// A deadlock: replicas would wait for each other forever.
  Blocked,
  /// A value that must be equal on all replicas is not.
  ValuesDiffer,
  /// Replicas contribute different shapes to one collective.
  ShapesDiffer,
  /// `RunOptions::budget` is used up.
  TooLong,
  Other,
};

struct Failure {
  FailureKind kind = FailureKind::Other;
  mlir::Operation *op = nullptr;
  /// The variable whose copies differ; null for other failures.
  const Variable *variable = nullptr;
};

/// True if `op` is a collective of all replicas that has no effect beside its
/// results, and they have no use.
bool isWithoutUse(mlir::Operation *op);

/// One run of all replicas. `variables` and `batches` outlive it.
class Machine {
public:
  Machine(int64_t replicas, Variables &variables, BatchList &batches)
      : variables(variables), batches(batches), numReplicas(replicas),
        wakes(replicas), places(replicas) {}

  int64_t replicas() const { return numReplicas; }
  Variables &variables;
  BatchList &batches;
  RunOptions options;
  /// The options of a run nested in this one: the same with another seed of the
  /// schedule, if there is a schedule.
  RunOptions optionsOfInnerRun();

  /// Computes a collective: from the operands of each member of the group, the
  /// results of each member.
  using Combine = std::function<llvm::LogicalResult(
      llvm::ArrayRef<llvm::SmallVector<Value>> operands,
      std::vector<llvm::SmallVector<Value>> &results)>;

  /// The ranks that take part in a collective, ascending, and what identifies
  /// their rendezvous: the name of the group, and the channel if there is one.
  /// Without ranks, all replicas.
  struct Group {
    std::string name;
    int64_t channel = -1;
    llvm::SmallVector<int64_t> ranks;
  };

  /// `replica` begins its next collective in `group`, without waiting for the
  /// others; the last member to arrive executes `combine`. Collectives of a
  /// group match in the order in which each rank begins them. Returns a number
  /// to wait for.
  llvm::FailureOr<uint64_t> start(int64_t replica, mlir::Operation *op,
                                  const Group &group,
                                  llvm::SmallVector<Value> operands,
                                  const Combine &combine);
  /// Waits, at `op`, until all members of the group have begun the collective
  /// `number`. If that cannot happen, because some of them have ended their
  /// step or wait for others, reports where each replica is and what it waits
  /// for.
  llvm::LogicalResult wait(int64_t replica, mlir::Operation *op,
                           uint64_t number, llvm::SmallVectorImpl<Value> &mine);
  /// A collective of all replicas: starts it and waits for it, unless the wait
  /// may be deferred (`RunOptions::unusedCollectivesWaitLate`). Its results,
  /// which have no use, are then missing.
  llvm::LogicalResult rendezvous(int64_t replica, mlir::Operation *op,
                                 llvm::SmallVector<Value> operands,
                                 const Combine &combine,
                                 llvm::SmallVectorImpl<Value> &results);

  /// Begins a step in which all replicas run.
  void begin();
  /// Executes `body` for every replica, each on a separate thread, and returns
  /// when all have ended.
  void runReplicas(llvm::function_ref<void(int64_t replica)> body);
  /// `replica` has executed its last operation, `terminator`.
  void end(int64_t replica, mlir::Operation *terminator);
  /// Called between two operations of `replica`: may suspend it and run another
  /// one.
  void pause(int64_t replica) {
    if (schedule && replica >= 0 && !options.switchesOnlyAtWaits)
      yieldToSchedule(replica);
  }
  /// Charges the budget for what `op` is about to do. Fails if that is more
  /// than is left.
  llvm::LogicalResult spend(int64_t replica, mlir::Operation *op,
                            int64_t operations) {
    if (!options.budget)
      return llvm::success();
    if (operations <= *options.budget) {
      *options.budget -= operations;
      return llvm::success();
    }
    *options.budget = 0;
    return fail(replica, op, "expected fewer operations", FailureKind::TooLong);
  }
  /// `replica` takes path `path` of `branch`.
  void noteBranch(int64_t replica, mlir::Operation *branch, int64_t path) {
    if (options.onBranch)
      options.onBranch(replica, branch, path);
  }

  /// Shuffles work that `replica` may do in any order, with the seed of the
  /// schedule; leaves it unchanged without a schedule.
  template <typename List> void shuffle(int64_t replica, List &list) {
    if (!options.scheduleSeed)
      return;
    std::mt19937_64 random(*options.scheduleSeed * 31 +
                           static_cast<uint64_t>(replica));
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[random() % i]);
  }

  /// Records an error, if it is the first one, and wakes all replicas. Always
  /// fails.
  llvm::LogicalResult fail(int64_t replica, mlir::Operation *op,
                           const llvm::Twine &message,
                           FailureKind kind = FailureKind::Other);
  /// Fails if copies of `variable` differ that must be equal; the error is
  /// reported at `op`, or if that is null, at an operation that wrote them.
  llvm::LogicalResult checkCopies(const Variable &variable,
                                  mlir::Operation *op);
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  /// The error, if there is one; to be called after all replicas have ended.
  const Failure &getFailure() const { return error; }
  /// Adopts the error of a run nested in this one.
  void adoptFailure(const Machine &inner);
  /// Emits the error as a diagnostic; to be called after all replicas have
  /// ended.
  void emitFailure();

private:
  /// The state of a replica that the others can observe.
  struct Place {
    enum State { Running, Waiting, Ended } state = Running;
    mlir::Operation *op = nullptr;
    /// The collective that it waits for.
    uint64_t number = 0;
    /// The number of collectives that it has begun, by group and channel.
    std::map<std::pair<std::string, int64_t>, uint64_t> begun;
    /// The collectives whose wait is deferred to the end of its step.
    std::vector<std::pair<mlir::Operation *, uint64_t>> late;
  };

  /// One execution of a collective: the operation by which each member has
  /// begun it (null: not yet), with its operands and results.
  struct Exchange {
    struct Member {
      int64_t rank = 0;
      mlir::Operation *op = nullptr;
      llvm::SmallVector<Value> operands, results;
    };
    std::vector<Member> members;
    bool done = false;

    Member &of(int64_t rank);
    bool isComplete() const;
    /// Two members have begun it by collectives that do not match: it cannot
    /// become complete.
    bool isMismatched() const;
  };

  using Note = std::pair<mlir::Operation *, std::string>;

  Exchange &find(int64_t replica, const Group &group, uint64_t &number);
  bool mayBecomeComplete(uint64_t number);
  llvm::LogicalResult combineAll(Exchange &exchange, const Combine &combine,
                                 std::unique_lock<std::mutex> &lock);
  void yieldToSchedule(int64_t replica);
  void waitUntilScheduled(int64_t replica, std::unique_lock<std::mutex> &lock);
  void scheduleNext();
  /// Wakes the scheduled replica; all replicas without a schedule, or if the
  /// run has failed.
  void wakeUp();
  /// Sets the state of `replica`, which stops running; reports a deadlock if no
  /// replica runs any more and some wait. The lock is held.
  void stop(int64_t replica, Place::State state, mlir::Operation *op);
  void reportBlocked();
  /// A rank that has not begun the collective in which `replica` waits.
  int64_t findMissing(int64_t replica);
  std::string describePlace(int64_t replica);
  void report(int64_t replica, const Failure &what, std::string message,
              std::vector<Note> notes = {});

  int64_t numReplicas;
  std::mutex mutex;
  /// One for each replica: with a schedule, only one replica is to be woken.
  std::deque<std::condition_variable> wakes;
  std::vector<Place> places;
  /// By number; a deque, since replicas keep references to one while others
  /// append more.
  std::deque<Exchange> exchanges;
  std::map<std::tuple<std::string, int64_t, uint64_t>, uint64_t> numbers;
  /// The number of replicas that neither wait nor have ended.
  int64_t running = 0;
  std::optional<RandomSchedule> schedule;
  /// The number of runs begun, including nested ones: each has another seed.
  uint64_t runs = 0;

  std::atomic<bool> failed = false;
  int64_t failedReplica = -1;
  Failure error;
  std::string failureMessage;
  std::vector<Note> failureNotes;
};

} // namespace lockstep::interpret

#endif
