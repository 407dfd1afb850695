//===- BlockDependences.cpp - What must stay before what ------------------===//

#include "passes/Analysis/BlockDependences.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace lockstep;

BlockDependences::BlockDependences(Block &block, bool keepsOrder) {
  llvm::DenseMap<Operation *, unsigned> index;
  for (Operation &op : block) {
    index[&op] = ops.size();
    ops.push_back(&op);
  }
  users.resize(ops.size());
  // The last operation that all later collectives stay behind, and the
  // collectives since then.
  std::optional<unsigned> lastFixed;
  SmallVector<unsigned> movable;
  // The last operation that all before it stay before.
  std::optional<unsigned> lastLoad;
  for (auto [i, op] : llvm::enumerate(ops)) {
    llvm::SetVector<unsigned> before;
    bool isFixed = false, loadsBatch = false, startsCollective = false;
    op->walk([&](Operation *inner) {
      loadsBatch |= isa<device::LoadBatchOp>(inner);
      startsCollective |= isa<CollectiveOpInterface>(inner);
      isFixed |= isa<collective::BarrierOp>(inner);
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          if (auto it = index.find(producer);
              it != index.end() && it->second != i)
            before.insert(it->second);
    });
    isCommunication.push_back(startsCollective);
    if (startsCollective) {
      if (lastFixed)
        before.insert(*lastFixed);
      if (isFixed || keepsOrder) {
        before.insert_range(movable);
        movable.clear();
        lastFixed = i;
      } else {
        movable.push_back(i);
      }
    }
    // A batch is loaded after all operations before it, since it overwrites
    // the previous batch.
    if (op->hasTrait<OpTrait::IsTerminator>() || loadsBatch) {
      for (unsigned j = lastLoad.value_or(0); j < i; ++j)
        before.insert(j);
      lastLoad = i;
    }
    for (unsigned source : before)
      users[source].push_back(i);
    sources.emplace_back(before.begin(), before.end());
  }
}
