//===- ScheduleCollectives.cpp - Start early, wait late -------------------===//
//
// A list scheduler for each block. Among the ready operations it prefers starts
// of collectives, then computations of one replica, then waits, then
// computations that are executed once for all replicas: so communication
// overlaps as much as possible with computation, and the points at which
// replicas synchronize are few.
//
// On a network, where each replica is a process, no computation needs the
// others, and all come before waits: what depends on the first bucket is
// computed while the second is exchanged. Computations from which a collective
// follows come before those that only hide it. A wait from which a collective
// follows comes as soon as the cost model says that what it waits for has
// arrived, so that the link has something to transfer again.
//
// Collectives start in the order in which their operands are ready. It is the
// same on all replicas, since they execute the same function, and
// `align-branches` has taken collectives out of branches that replicas may
// decide differently. Programs of several roles keep the order of collectives:
// all roles have to agree on it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/BlockDependences.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/OperationTimes.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Analysis/Views.h"
#include "passes/Passes.h"
#include "passes/Schedule/ScheduleRemarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <queue>

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SCHEDULECOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

/// In the order of preference.
enum class Priority { Free, Start, Compute, Wait, Uniform, Last };

class BlockScheduler {
public:
  /// `times` is null if the topology has all replicas in one process, which
  /// computes uniform values once.
  BlockScheduler(Block &block, const UniformityAnalysis &uniformity,
                 bool keepsOrder, OperationTimes *times)
      : block(block), uniformity(uniformity), times(times),
        dependences(block, keepsOrder), ops(dependences.getOperations()) {
    if (times)
      link = times->makeLink();
  }

  void run() {
    findCritical();
    for (unsigned i = 0; i < ops.size(); ++i) {
      pending.push_back(dependences.sourcesOf(i).size());
      if (pending[i] == 0)
        enqueue(i);
    }
    while (!ready.empty() || !urgent.empty()) {
      unsigned i = next();
      execute(ops[i]);
      ops[i]->moveBefore(&block, block.end());
      for (unsigned user : dependences.usersOf(i))
        if (--pending[user] == 0)
          enqueue(user);
    }
  }

private:
  /// Priority, position among equals, index of the operation: the least first.
  using Entry = std::tuple<Priority, double, unsigned>;
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  Priority priority(Operation *op) const {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return Priority::Last;
    // What needs no command: a collective of a reshaped operand starts as soon
    // as the operand is computed.
    if (op->hasTrait<OpTrait::ConstantLike>() || isView(op))
      return Priority::Free;
    if (isa<collective::StartOp>(op))
      return Priority::Start;
    if (isa<collective::WaitOp, collective::BarrierOp>(op))
      return Priority::Wait;
    if (!times && op->getNumResults() > 0 &&
        llvm::all_of(op->getResults(),
                     [&](Value v) { return uniformity.isUniform(v); }))
      return Priority::Uniform;
    return Priority::Compute;
  }

  void enqueue(unsigned i) {
    Operation *op = ops[i];
    Priority own = priority(op);
    if (times && own == Priority::Wait && isCritical[i]) {
      urgent.push({own, arrivalOf(op), i});
      return;
    }
    // Collectives end in the order in which they start, so that is the order of
    // waits; all others keep that of the program.
    double order = isa<collective::WaitOp>(op) ? started++ : i;
    if (times && own == Priority::Compute && !isCritical[i] &&
        !dependences.communicates(i))
      order += static_cast<double>(ops.size());
    ready.push({own, order, i});
  }

  /// Takes the next operation from the queues.
  unsigned next() {
    auto take = [](Queue &queue) {
      unsigned i = std::get<unsigned>(queue.top());
      queue.pop();
      return i;
    };
    if (urgent.empty())
      return take(ready);
    bool isEarlier = !ready.empty() &&
                     std::get<Priority>(ready.top()) <= Priority::Compute &&
                     (std::get<Priority>(ready.top()) != Priority::Compute ||
                      std::get<double>(urgent.top()) > now);
    return take(isEarlier ? ready : urgent);
  }

  //===--------------------------------------------------------------------===//
  // The cost model's time
  //===--------------------------------------------------------------------===//

  /// When what an operation waits for has arrived; a barrier at once.
  double arrivalOf(Operation *op) const { return arrival.lookup(op); }

  void execute(Operation *op) {
    if (!times)
      return;
    if (auto start = dyn_cast<collective::StartOp>(op)) {
      arrival[*op->user_begin()] =
          link.carry(now, times->transferOf(start)).end;
      return;
    }
    if (isa<collective::WaitOp>(op))
      now = std::max(now, arrivalOf(op));
    else
      now += times->of(op);
  }

  /// Finds the operations from which a collective follows.
  void findCritical() {
    isCritical.assign(ops.size(), false);
    for (unsigned i = ops.size(); i-- > 0;)
      for (unsigned user : dependences.usersOf(i))
        if (isCritical[user] || dependences.communicates(user))
          isCritical[i] = true;
  }

  Block &block;
  const UniformityAnalysis &uniformity;
  OperationTimes *times;
  BlockDependences dependences;
  ArrayRef<Operation *> ops;
  /// For each operation, how many of those that come before it are left.
  std::vector<size_t> pending;
  /// Whether a start or a barrier depends on an operation.
  std::vector<bool> isCritical;
  /// Ready operations; waits on which a collective depends are in `urgent`, in
  /// the order of arrival.
  Queue ready, urgent;
  unsigned started = 0;
  /// When the replica has executed the operations so far, in seconds from the
  /// start of the block; and the link with what they have started.
  double now = 0;
  runtime::LinkTimeline link;
  /// For each wait, when its collective ends.
  llvm::DenseMap<Operation *, double> arrival;
};

struct ScheduleCollectives
    : impl::ScheduleCollectivesPassBase<ScheduleCollectives> {
  using ScheduleCollectivesPassBase::ScheduleCollectivesPassBase;

  void runOnOperation() override {
    const auto &uniformity = getAnalysis<UniformityAnalysis>();
    bool keepsOrder = device::getRole(getOperation()) != nullptr;
    FailureOr<runtime::Topology> topology =
        getTopology(getOperation()->getParentOfType<ModuleOp>());
    if (failed(topology))
      return signalPassFailure();
    SymbolTableCollection symbols;
    std::optional<OperationTimes> times;
    if (!topology->reducesOnCompute) {
      FailureOr<int64_t> replicas =
          replica::getReplicaCount(getOperation()->getParentOfType<ModuleOp>());
      if (failed(replicas))
        return signalPassFailure();
      times.emplace(*topology, *replicas, symbols);
    }
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      ScheduleRemarks remarks(*block, getOperation().getSymName(), keepsOrder,
                              topology->reducesOnCompute);
      BlockScheduler(*block, uniformity, keepsOrder, times ? &*times : nullptr)
          .run();
      if (explain)
        remarks.emit();
    }
  }
};
} // namespace
} // namespace lockstep
