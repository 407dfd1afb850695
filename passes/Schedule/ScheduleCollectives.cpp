//===- ScheduleCollectives.cpp - Start early, wait late -------------------===//
//
// A list scheduler for each block. Among the ready operations it prefers starts
// of collectives, then computations of one replica, then waits, then
// computations that are executed once for all replicas: so communication
// overlaps as much as possible with computation, and the points at which
// replicas synchronize are few. On a network, where each replica is a process,
// no computation needs the others, and all come before waits: what depends on
// the first bucket is computed while the second is exchanged. Collectives start
// in the order in which their operands are ready. It is the same on all
// replicas, since they execute the same function, and `align-branches` has
// taken collectives out of branches that replicas may decide differently.
// Programs of several roles keep the order of collectives: all roles have to
// agree on it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Passes.h"
#include "passes/Schedule/ScheduleRemarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <queue>

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SCHEDULECOLLECTIVESPASS
#include "passes/Passes.h.inc"

namespace {

enum class Priority { Constant, Start, Replica, Wait, Uniform, Last };

class BlockScheduler {
public:
  /// With `sharesProcess`, the topology has all replicas in one process, which
  /// computes uniform values once.
  BlockScheduler(Block &block, const UniformityAnalysis &uniformity,
                 bool keepsOrder, bool sharesProcess)
      : block(block), uniformity(uniformity), keepsOrder(keepsOrder),
        sharesProcess(sharesProcess) {}

  void run() {
    collect();
    using Entry = std::pair<std::pair<unsigned, unsigned>, unsigned>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    // Collectives end in the order in which they start, so that is the order of
    // waits; all others keep that of the program.
    unsigned started = 0;
    auto enqueue = [&](unsigned i) {
      unsigned order = isa<collective::WaitOp>(ops[i]) ? started++ : i;
      ready.push({{static_cast<unsigned>(priority(ops[i])), order}, i});
    };
    for (unsigned i = 0; i < ops.size(); ++i)
      if (pending[i] == 0)
        enqueue(i);
    while (!ready.empty()) {
      unsigned i = ready.top().second;
      ready.pop();
      ops[i]->moveBefore(&block, block.end());
      for (unsigned user : users[i])
        if (--pending[user] == 0)
          enqueue(user);
    }
  }

private:
  Priority priority(Operation *op) const {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return Priority::Last;
    if (op->hasTrait<OpTrait::ConstantLike>())
      return Priority::Constant;
    if (isa<collective::StartOp>(op))
      return Priority::Start;
    if (isa<collective::WaitOp, collective::BarrierOp>(op))
      return Priority::Wait;
    if (sharesProcess && op->getNumResults() > 0 &&
        llvm::all_of(op->getResults(),
                     [&](Value v) { return uniformity.isUniform(v); }))
      return Priority::Uniform;
    return Priority::Replica;
  }

  void collect() {
    llvm::DenseMap<Operation *, unsigned> index;
    for (Operation &op : block) {
      index[&op] = ops.size();
      ops.push_back(&op);
    }
    users.resize(ops.size());
    pending.resize(ops.size());
    // The last operation that all later collectives stay behind, and the
    // collectives since then.
    std::optional<unsigned> lastFixed;
    SmallVector<unsigned> movable;
    for (auto [i, op] : llvm::enumerate(ops)) {
      llvm::SetVector<unsigned> sources;
      bool communicates = false, isFixed = false, loadsBatch = false;
      op->walk([&](Operation *inner) {
        loadsBatch |= isa<device::LoadBatchOp>(inner);
        // A wait depends only on its start, so that it can be late.
        communicates |=
            isa<collective::CollectiveDialect>(inner->getDialect()) &&
            !isa<collective::WaitOp>(inner);
        isFixed |= isa<collective::BarrierOp>(inner);
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp())
            if (auto it = index.find(producer);
                it != index.end() && it->second != i)
              sources.insert(it->second);
      });
      if (communicates) {
        if (lastFixed)
          sources.insert(*lastFixed);
        if (isFixed || keepsOrder) {
          sources.insert_range(movable);
          movable.clear();
          lastFixed = i;
        } else {
          movable.push_back(i);
        }
      }
      // A batch is loaded after all operations before it, since it overwrites
      // the previous batch.
      if (op->hasTrait<OpTrait::IsTerminator>() || loadsBatch)
        for (unsigned j = 0; j < i; ++j)
          sources.insert(j);
      pending[i] = sources.size();
      for (unsigned source : sources)
        users[source].push_back(i);
    }
  }

  Block &block;
  const UniformityAnalysis &uniformity;
  bool keepsOrder, sharesProcess;
  std::vector<Operation *> ops;
  std::vector<std::vector<unsigned>> users;
  std::vector<unsigned> pending;
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
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      ScheduleRemarks remarks(*block, getOperation().getSymName(), keepsOrder);
      BlockScheduler(*block, uniformity, keepsOrder, topology->reducesOnCompute)
          .run();
      if (explain)
        remarks.emit();
    }
  }
};
} // namespace
} // namespace lockstep
