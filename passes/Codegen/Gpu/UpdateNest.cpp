//===- UpdateNest.cpp - Loops that update elements of buffers -------------===//

#include "passes/Codegen/Gpu/UpdateNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// With so many threads, a large GPU is occupied; with more, each of which
/// executes the loops that are not distributed, it would be slower.
static constexpr int64_t kManyThreads = 65536;

SmallVector<int64_t> UpdateNest::getSizes() const {
  SmallVector<int64_t> sizes = {parts};
  for (scf::ForOp loop : distributed)
    sizes.push_back(loop.getStaticTripCount()->getZExtValue());
  return sizes;
}

int64_t UpdateNest::getThreads() const {
  uint64_t product = 1;
  for (int64_t size : getSizes())
    product = llvm::SaturatingMultiply<uint64_t>(product, size);
  return std::min<uint64_t>(product, INT64_MAX);
}

namespace {
/// The accesses of a nest to the buffers that it writes.
class Updates {
public:
  /// None if the nest has operations other than loops, branches, arithmetic
  /// and accesses to single elements, or accesses what it writes through
  /// different views.
  static std::optional<Updates> collect(scf::ForOp root,
                                        const Aliases &aliases) {
    llvm::MapVector<Value, SmallVector<Operation *>> accesses;
    llvm::SmallSetVector<Value, 4> written;
    WalkResult result = root.walk([&](Operation *op) {
      if (auto store = dyn_cast<memref::StoreOp>(op)) {
        written.insert(store.getMemRef());
        accesses[store.getMemRef()].push_back(op);
      } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
        accesses[load.getMemRef()].push_back(op);
      } else if (!isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op) &&
                 (op->getNumRegions() > 0 || !isMemoryEffectFree(op))) {
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted() || written.empty())
      return std::nullopt;
    Updates updates;
    for (Value target : written) {
      // Views that differ from iteration to iteration may overlap.
      if (root->isAncestor(target.getParentRegion()->getParentOp()))
        return std::nullopt;
      for (const auto &[other, ops] : accesses)
        if (other != target && aliases.mayAlias(target, other))
          return std::nullopt;
      updates.accesses[target] = accesses[target];
    }
    return updates;
  }

  /// The indices of the first access.
  SmallVector<Value> getCandidates() const {
    return llvm::to_vector(getIndices(accesses.front().second.front()));
  }

  /// The size of the dimension of each buffer of which all accesses have this
  /// index, so that elements of different iterations are different: the
  /// smallest one, dynamic if one of them is. None if a buffer has no such
  /// dimension.
  std::optional<int64_t> getSizeOf(Value index) const {
    std::optional<int64_t> smallest;
    for (const auto &[buffer, ops] : accesses) {
      auto type = cast<MemRefType>(buffer.getType());
      bool isFound = false;
      for (int64_t dim = 0; dim < type.getRank() && !isFound; ++dim) {
        isFound = llvm::all_of(ops, [&, dim = dim](Operation *op) {
          return getIndices(op)[dim] == index;
        });
        if (isFound)
          smallest = std::min(smallest.value_or(type.getDimSize(dim)),
                              type.getDimSize(dim));
      }
      if (!isFound)
        return std::nullopt;
    }
    return smallest;
  }

  /// Finds the operations of the block of `nest.owner` that have accesses.
  /// Returns whether nothing after them uses what they compute.
  bool findOwned(UpdateNest &nest) const {
    Block *block = nest.owner.getParentBlock();
    for (const auto &[buffer, ops] : accesses)
      for (Operation *op : ops) {
        Operation *ancestor = block->findAncestorOpInBlock(*op);
        if (!nest.firstOwned || ancestor->isBeforeInBlock(nest.firstOwned))
          nest.firstOwned = ancestor;
        if (!nest.lastOwned || nest.lastOwned->isBeforeInBlock(ancestor))
          nest.lastOwned = ancestor;
      }
    for (Operation *op = nest.firstOwned;; op = op->getNextNode()) {
      for (Operation *user : op->getUsers()) {
        Operation *ancestor = block->findAncestorOpInBlock(*user);
        if (nest.lastOwned->isBeforeInBlock(ancestor))
          return false;
      }
      if (op == nest.lastOwned)
        return true;
    }
  }

private:
  static OperandRange getIndices(Operation *op) {
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return store.getIndices();
    return cast<memref::LoadOp>(op).getIndices();
  }

  llvm::MapVector<Value, SmallVector<Operation *>> accesses;
};
} // namespace

/// The loop of `root` whose variable is `value`, if each of its iterations has
/// a value of its own, whatever those of the loops around it are.
static scf::ForOp getDistributableLoop(Value value, scf::ForOp root) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return nullptr;
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || loop.getInductionVar() != value || loop.getNumResults() > 0)
    return nullptr;
  for (Value bound : {loop.getLowerBound(), loop.getStep()})
    if (root->isAncestor(bound.getParentRegion()->getParentOp()) &&
        !matchPattern(bound, m_Constant()))
      return nullptr;
  std::optional<APInt> count = loop.getStaticTripCount();
  return count && !count->isZero() && count->getActiveBits() < 32 ? loop
                                                                  : nullptr;
}

std::optional<UpdateNest> lockstep::matchUpdateNest(Operation &op,
                                                    const Aliases &aliases) {
  auto root = dyn_cast<scf::ForOp>(op);
  if (!root || root.getNumResults() > 0)
    return std::nullopt;
  std::optional<Updates> updates = Updates::collect(root, aliases);
  if (!updates)
    return std::nullopt;
  UpdateNest nest;
  nest.root = root;
  SmallVector<std::pair<Value, int64_t>> others;
  for (Value index : updates->getCandidates()) {
    std::optional<int64_t> size = updates->getSizeOf(index);
    if (!size || !root->isAncestor(index.getParentRegion()->getParentOp()) ||
        matchPattern(index, m_Constant()))
      continue;
    if (scf::ForOp loop = getDistributableLoop(index, root)) {
      if (!llvm::is_contained(nest.distributed, loop))
        nest.distributed.push_back(loop);
    } else if (!ShapedType::isDynamic(*size)) {
      others.push_back({index, *size});
    }
  }
  llvm::sort(nest.distributed,
             [](scf::ForOp a, scf::ForOp b) { return a->isProperAncestor(b); });
  int64_t iterations = nest.getThreads();
  if (iterations >= int64_t(1) << 31)
    return std::nullopt;
  size_t numLoops = 0;
  root.walk([&](scf::ForOp) { ++numLoops; });
  // Where all loops are distributed, parts would have nothing to leave out.
  if (numLoops == nest.distributed.size())
    others.clear();
  llvm::stable_sort(
      others, [](const auto &a, const auto &b) { return a.second > b.second; });
  for (auto [index, size] : others) {
    nest.owner = index;
    nest.firstOwned = nest.lastOwned = nullptr;
    nest.parts = std::min<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(kManyThreads, iterations)),
        llvm::bit_floor<uint64_t>(std::max<int64_t>(size, 1)));
    if (nest.parts > 1 && updates->findOwned(nest))
      break;
    nest.owner = nullptr;
    nest.parts = 1;
  }
  if (nest.getThreads() == 1)
    return std::nullopt;
  return nest;
}
