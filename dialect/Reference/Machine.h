//===- Machine.h - What the replicas of a run share -------------*- C++ -*-===//
//
// Each replica executes a step on its own thread, on its own copies of the
// variables. They meet at collectives: the last one that comes does for all of
// them what the collective means, so nothing that they compute depends on the
// order in which threads run. With a schedule (`Turns.h`) they do not even run
// side by side: one has its turn, and a seed says for how long and who is next.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_MACHINE_H
#define LOCKSTEP_DIALECT_REFERENCE_MACHINE_H

#include "dialect/Reference/Turns.h"
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
  /// One a replica. A replica touches its own only, except where all of them
  /// have met.
  std::vector<Value> copies;
  /// Of each copy, what one replica alone has written to it in this run: the
  /// last operation that replaced it, and those that changed it since. Where
  /// copies that must be equal are not, these are to blame.
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> writers;

  /// `replica` has replaced its copy, or changed it.
  void noteWrite(int64_t replica, mlir::Operation *op, bool replaces) {
    llvm::SmallVector<mlir::Operation *, 2> &mine = writers[replica];
    if (replaces)
      mine.clear();
    if (!llvm::is_contained(mine, op))
      mine.push_back(op);
  }
  /// The copy of `replica` has become what all of them are.
  void noteEqual(int64_t replica) { writers[replica].clear(); }
  void forgetWriters() { writers.assign(copies.size(), {}); }
  /// Two of the copies, if not all are equal.
  std::optional<std::pair<unsigned, unsigned>> findDifferentCopies() const;
};

using Variables = llvm::MapVector<mlir::StringAttr, Variable>;

/// The batches that a program loads: of each, its tensors, per replica.
struct BatchList {
  std::vector<std::vector<Value>> all;
  size_t loaded = 0;
};

/// What it counts in `RunOptions::budget` that a replica waits in a collective:
/// another thread has its turn.
inline constexpr int64_t kCostOfWait = 5000;

/// What a run may be told beside its arguments.
struct RunOptions {
  /// Replicas take turns, in an order drawn from this seed; without it, their
  /// threads run side by side.
  std::optional<uint64_t> scheduleSeed;
  /// With turns: a replica goes on until it has to wait.
  bool turnsEndAtWaits = false;
  /// A replica does not wait in a collective of all of them whose results
  /// nobody uses (`isWithoutUse`), but goes on as long as the others may still
  /// come; at its end it waits. Replicas block each other on the same inputs as
  /// otherwise, and what takes the time, handing over to another thread, is
  /// done less often.
  bool unusedCollectivesWaitLate = false;
  /// Tensors that nobody has written yet hold other numbers on each replica,
  /// instead of zeros.
  bool unwrittenDiffers = false;
  /// Called when `replica` goes into a branch or loop, with a number for the
  /// way that it goes. Only with turns: then never from two threads at once.
  std::function<void(int64_t replica, mlir::Operation *branch, int64_t way)>
      onBranch;
  /// The element operations that are left, which runs count down; one that
  /// needs more fails. Only with turns; outlives the run.
  int64_t *budget = nullptr;
};

/// What kind of error ended a run.
enum class FailureKind {
  /// Replicas wait for each other for ever.
  Blocked,
  /// What must be equal on all replicas is not.
  ValuesDiffer,
  /// Replicas bring different shapes to one collective.
  ShapesDiffer,
  /// `RunOptions::budget` is used up.
  TooLong,
  Other,
};

struct Failure {
  FailureKind kind = FailureKind::Other;
  mlir::Operation *op = nullptr;
  /// Of which the copies differ; null if it is something else.
  const Variable *variable = nullptr;
};

/// True if `op`, a collective of all replicas, does nothing but give results,
/// and nobody uses them.
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
  /// Those of a run inside of this one: another order, if there is one at all.
  RunOptions optionsOfInnerRun();

  /// What a collective does, with the operands of each member of the group;
  /// gives each member's results.
  using Combine = std::function<llvm::LogicalResult(
      llvm::ArrayRef<llvm::SmallVector<Value>> operands,
      std::vector<llvm::SmallVector<Value>> &results)>;

  /// The ranks that take part in a collective, in order, and where they meet:
  /// its name, and the channel if there is one. Without ranks, all replicas.
  struct Group {
    std::string name;
    int64_t channel = -1;
    llvm::SmallVector<int64_t> ranks;
  };

  /// `replica` begins its next collective in `group`, without waiting for the
  /// others; `combine` is done by the last that comes. Collectives of a group
  /// match in the order in which each rank begins them. Gives a number to wait
  /// for.
  llvm::FailureOr<uint64_t> start(int64_t replica, mlir::Operation *op,
                                  const Group &group,
                                  llvm::SmallVector<Value> operands,
                                  const Combine &combine);
  /// Waits, at `op`, until all members of the group have begun the collective
  /// `number`. If that cannot happen, because some of them have ended their
  /// step or wait for others, it is an error that tells where all are and what
  /// each of them waits for.
  llvm::LogicalResult wait(int64_t replica, mlir::Operation *op,
                           uint64_t number, llvm::SmallVectorImpl<Value> &mine);
  /// A collective of all replicas: both at once, unless it may wait late
  /// (`RunOptions`). Then its results, which nobody uses, are missing.
  llvm::LogicalResult meet(int64_t replica, mlir::Operation *op,
                           llvm::SmallVector<Value> operands,
                           const Combine &combine,
                           llvm::SmallVectorImpl<Value> &results);

  /// Begins a step in which all replicas run.
  void begin();
  /// Executes `body` for every replica, each on a thread of its own, and
  /// returns when all have ended.
  void runReplicas(llvm::function_ref<void(int64_t replica)> body);
  /// `replica` has executed its last operation, `terminator`.
  void end(int64_t replica, mlir::Operation *terminator);
  /// Between two operations of `replica`: others may have their turn.
  void pause(int64_t replica) {
    if (turns && replica >= 0 && !options.turnsEndAtWaits)
      takeTurns(replica);
  }
  /// Takes what `op` is about to do off the budget. Fails if that is more than
  /// is left.
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
  /// `replica` goes into `branch`.
  void noteBranch(int64_t replica, mlir::Operation *branch, int64_t way) {
    if (options.onBranch)
      options.onBranch(replica, branch, way);
  }

  /// Brings what `replica` may do in any order into one that its schedule
  /// draws; leaves it as it is without a schedule.
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
  /// Fails if copies of `variable` differ that must be equal; at `op`, or if
  /// that is null at who wrote them.
  llvm::LogicalResult checkCopies(const Variable &variable,
                                  mlir::Operation *op);
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  /// The error, if there is one; to be called when no replica runs any more.
  const Failure &getFailure() const { return error; }
  /// Takes over the error of a run inside of this one.
  void adoptFailure(const Machine &inner);
  /// Emits the error as a diagnostic; to be called when no replica runs any
  /// more.
  void emitFailure();

private:
  /// Where a replica is, as far as the others know.
  struct Place {
    enum State { Running, Waiting, Ended } state = Running;
    mlir::Operation *op = nullptr;
    /// The collective that it waits for.
    uint64_t number = 0;
    /// Collectives that it has begun, by group and channel.
    std::map<std::pair<std::string, int64_t>, uint64_t> begun;
    /// Those that it has still to wait for at its end.
    std::vector<std::pair<mlir::Operation *, uint64_t>> late;
  };

  /// One collective: who has begun it, with what.
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
    /// Two members are in different collectives: it cannot become complete.
    bool isMismatched() const;
  };

  using Note = std::pair<mlir::Operation *, std::string>;

  Exchange &find(int64_t replica, const Group &group, uint64_t &number);
  bool mayBecomeComplete(uint64_t number);
  llvm::LogicalResult combineAll(Exchange &exchange, const Combine &combine,
                                 std::unique_lock<std::mutex> &lock);
  void takeTurns(int64_t replica);
  void waitForTurn(int64_t replica, std::unique_lock<std::mutex> &lock);
  void handOver();
  /// Wakes the one whose turn it is; all of them without turns, or if the run
  /// has failed.
  void wakeUp();
  /// The state of `replica` is `state`; if nobody runs any more although some
  /// wait, reports it. The lock is held.
  void stop(int64_t replica, Place::State state, mlir::Operation *op);
  void reportBlocked();
  /// The rank for which `replica` waits in vain.
  int64_t findMissing(int64_t replica);
  std::string describePlace(int64_t replica);
  void report(int64_t replica, const Failure &what, std::string message,
              std::vector<Note> notes = {});

  int64_t numReplicas;
  std::mutex mutex;
  /// One a replica: with turns, only one of them is to be woken.
  std::deque<std::condition_variable> wakes;
  std::vector<Place> places;
  /// By number; a deque, since replicas hold on to one while others begin more.
  std::deque<Exchange> exchanges;
  std::map<std::tuple<std::string, int64_t, uint64_t>, uint64_t> numbers;
  /// Replicas that run.
  int64_t running = 0;
  std::optional<Turns> turns;
  /// Runs that have begun here or inside: each has an order of its own.
  uint64_t runs = 0;

  std::atomic<bool> failed = false;
  int64_t failedReplica = -1;
  Failure error;
  std::string failureMessage;
  std::vector<Note> failureNotes;
};

} // namespace lockstep::interpret

#endif
