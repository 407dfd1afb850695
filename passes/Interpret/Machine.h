//===- Machine.h - What the replicas of a run share -------------*- C++ -*-===//
//
// Each replica executes a step on its own thread, on its own copies of the variables. They meet at collectives: the last one
// that comes does for all of them what the collective means, so nothing depends on the order in which threads run.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_INTERPRET_MACHINE_H
#define LOCKSTEP_PASSES_INTERPRET_MACHINE_H

#include "passes/Interpret/Value.h"

#include "dialect/Replica/ReplicaDialect.h"
#include "llvm/ADT/MapVector.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

namespace lockstep::interpret {

/// A variable and its copies.
struct Variable {
  replica::VariableOp op;
  /// One a replica. A replica touches its own only, except where all of them have met.
  std::vector<Value> copies;
  /// The last assignment, for the error if copies that must be equal are not.
  mlir::Operation *assigned = nullptr;
};

using Variables = llvm::MapVector<mlir::StringAttr, Variable>;

/// The batches that a program loads: of each, its tensors, per replica.
struct BatchList {
  std::vector<std::vector<Value>> all;
  size_t loaded = 0;
};

/// One run of all replicas. `variables` and `batches` outlive it.
class Machine {
public:
  Machine(int64_t replicas, Variables &variables, BatchList &batches)
      : variables(variables), batches(batches), numReplicas(replicas), arrivals(replicas) {}

  int64_t replicas() const { return numReplicas; }
  Variables &variables;
  BatchList &batches;

  /// What a collective does, with the operands of each replica; gives each replica's results.
  using Combine = std::function<llvm::LogicalResult(llvm::ArrayRef<llvm::SmallVector<Value>> operands,
                                                    std::vector<llvm::SmallVector<Value>> &results)>;

  /// Waits until all replicas have come to a collective of the same kind. If that cannot happen, because one of them has ended
  /// its step or waits in another collective, it is an error that tells where both are.
  llvm::LogicalResult meet(int64_t replica, mlir::Operation *op, llvm::SmallVector<Value> operands, const Combine &combine,
                           llvm::SmallVectorImpl<Value> &results);

  /// Begins a step in which all replicas run.
  void begin();
  /// `replica` has executed its last operation, `terminator`.
  void end(int64_t replica, mlir::Operation *terminator);

  /// Records an error, if it is the first one, and wakes all replicas. Always fails.
  llvm::LogicalResult fail(int64_t replica, mlir::Operation *op, const llvm::Twine &message);
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }
  /// Takes over the error of a run inside of this one.
  void adoptFailure(const Machine &inner);
  /// Emits the error as a diagnostic; to be called when no replica runs any more.
  void emitFailure();

private:
  /// Where a replica is, as far as the others know.
  struct Arrival {
    enum State { Running, Waiting, Ended } state = Running;
    mlir::Operation *op = nullptr;
    llvm::SmallVector<Value> operands;
  };

  /// All are waiting or have ended: does the collective, or reports why it cannot be done. The lock is held.
  void resolve(const Combine &combine);
  void report(int64_t replica, mlir::Operation *op, std::string message, std::string note = {}, mlir::Operation *noteOp = nullptr);

  int64_t numReplicas;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Arrival> arrivals;
  std::vector<llvm::SmallVector<Value>> results;
  /// Replicas that run.
  int64_t running = 0;
  /// Collectives that have been done.
  uint64_t generation = 0;

  std::atomic<bool> failed = false;
  int64_t failedReplica = -1;
  mlir::Operation *failedOp = nullptr, *noteOp = nullptr;
  std::string failureMessage, noteMessage;
};

} // namespace lockstep::interpret

#endif
