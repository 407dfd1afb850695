//===- RecomputeValues.cpp - Values that are not stored -------------------===//

#include "passes/Kernels/RecomputeValues.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Kernels/Computation.h"
#include "passes/Kernels/SharedLoops.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace lockstep;
using namespace mlir;

/// What a GPU executes while it accesses a byte of its memory. An H200 has 132
/// multiprocessors, each of which executes 128 instructions of f32 in a cycle
/// of 1.75 GHz, and 4.8 TB/s: 6.2, of which some are left for addresses.
static constexpr int64_t kInstructionsPerByte = 5;

/// Of smaller values, a kernel accesses too little memory to save any time.
static constexpr int64_t kFewElements = 1 << 10;

static int64_t countBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// Whether the memory of `value` may have another value after its last use: a
/// variable and what a loop carries are updated, and a batch that the step
/// loads is replaced by the next one, and so may be what kernels make of these
/// themselves. The batch of the step itself is not.
static bool mayBeOverwritten(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    Operation *producer = value.getDefiningOp();
    return isa<device::LoadBatchOp>(producer) ||
           (classify(producer) == OpClass::Glue &&
            llvm::any_of(producer->getOperands(), mayBeOverwritten));
  }
  auto step = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!step)
    return true;
  auto binding = step.getArgAttrOfType<device::BindingAttr>(
      argument.getArgNumber(), "device.binding");
  return !binding || binding.getKind() != device::BindingKind::Batch;
}

namespace {
/// The kernels of a block, while values become recomputed.
class Recomputer : RewriterBase::Listener {
public:
  Recomputer(Block &block, Grouping &grouping, StringRef step)
      : block(block), grouping(grouping), step(step),
        rewriter(block.getParentOp()->getContext()) {
    for (auto [number, node] : llvm::enumerate(grouping.nodes))
      for (Operation *op : node.ops)
        nodeOf[op] = number;
    copies.resize(grouping.nodes.size());
  }

  void run() {
    // Values that others are computed from come first: these are then computed
    // from what is still stored.
    for (size_t node = 0; node < grouping.nodes.size(); ++node) {
      if (!grouping.nodes[node].isKernel)
        continue;
      std::vector<Operation *> ops = grouping.nodes[node].ops;
      for (Operation *op : ops)
        recomputeResults(op, node);
    }
    // A copy has results that only other kernels need.
    eraseUnused();
    for (size_t node : changed)
      fuseSingleUses(node);
    eraseUnused();
    llvm::erase_if(grouping.nodes,
                   [](const Grouping::Node &node) { return node.ops.empty(); });
  }

private:
  //===--------------------------------------------------------------------===//
  // Decisions
  //===--------------------------------------------------------------------===//

  /// Calls `body` with the node of each operation that uses `value`, also by
  /// views and scalars that kernels make of it themselves.
  void forEachUser(Value value, llvm::function_ref<void(size_t)> body) const {
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (!ancestor)
        continue;
      if (auto found = nodeOf.find(ancestor); found != nodeOf.end())
        body(found->second);
      else
        for (Value result : ancestor->getResults())
          forEachUser(result, body);
    }
  }

  bool isReadBy(Value value, size_t node) const {
    bool found = false;
    forEachUser(value, [&](size_t user) { found |= user == node; });
    return found;
  }

  /// Whether `value`, which is no view, is in memory between kernels.
  bool isStored(Value value) const {
    auto found = nodeOf.find(value.getDefiningOp());
    if (found == nodeOf.end() || !grouping.nodes[found->second].isKernel)
      return true;
    bool isUsedOutside = false;
    forEachUser(value,
                [&](size_t user) { isUsedOutside |= user != found->second; });
    return isUsedOutside;
  }

  /// The operands of other kernels that are `value`; none if others use it than
  /// operations that read each element once.
  SmallVector<OpOperand *> findReaders(Value value, size_t node) const {
    SmallVector<OpOperand *> readers;
    for (OpOperand &use : value.getUses()) {
      auto found = nodeOf.find(use.getOwner());
      if (found != nodeOf.end() && found->second == node)
        continue;
      auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!reader || found == nodeOf.end() || !reader.isDpsInput(&use) ||
          !reader.getMatchingIndexingMap(&use).isPermutation() ||
          llvm::any_of(reader.getStaticLoopRanges(), ShapedType::isDynamic))
        return {};
      readers.push_back(&use);
    }
    return readers;
  }

  /// The bytes of `source`, if they are in use only until an earlier kernel
  /// than that with the number `last`, which would read them; none if it must
  /// not.
  std::optional<int64_t> extendLife(Value source, size_t last) const {
    Value viewed = getViewed(source);
    size_t lastUse = 0;
    forEachUser(viewed,
                [&](size_t user) { lastUse = std::max(lastUse, user); });
    if (mayBeOverwritten(viewed)) {
      if (last < lastUse || isReadBy(viewed, last))
        return 0;
      return std::nullopt;
    }
    bool isInUse = last <= lastUse || !nodeOf.contains(viewed.getDefiningOp());
    return isInUse ? 0 : countBytes(viewed);
  }

  /// Whether a GPU computes `values` again, so many times, in the kernels
  /// `nodes`, in less time than it needs to access them.
  bool isCheaper(ArrayRef<Value> values, const Computation &computation,
                 const llvm::SetVector<size_t> &nodes, size_t times) const {
    int64_t elements = getStaticType(values.front()).getNumElements();
    size_t last = *std::max_element(nodes.begin(), nodes.end());
    int64_t stored = 0, extended = 0, read = 0;
    for (Value value : values)
      stored += countBytes(value);
    for (Value source : computation.sources) {
      RankedTensorType type = getStaticType(source);
      if (!type)
        continue;
      std::optional<int64_t> longer = extendLife(source, last);
      if (!longer)
        return false;
      if (type.getNumElements() <= elements / kMuchSmaller)
        continue;
      extended += *longer;
      for (size_t node : nodes)
        if (!isReadBy(getViewed(source), node))
          read += getElementBytes(type.getElementType()) *
                  std::min(type.getNumElements(), elements);
    }
    int64_t saved = stored * int64_t(1 + nodes.size()) - read,
            work = computation.instructions * elements * int64_t(times);
    return extended <= stored && work <= saved * kInstructionsPerByte;
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  /// Whether the operations of a kernel have loops in common with those that
  /// would be repeated in it: then they are repeated once.
  bool sharesLoops(size_t node, const Computation &computation) const {
    SmallVector<Operation *> all;
    llvm::append_range(all, computation.getOps());
    llvm::append_range(all, grouping.nodes[node].ops);
    return mayShareLoops(all);
  }

  /// Copies a computation to the kernel `node`, before `user`, unless it is
  /// among those that have been `copied` before.
  void copy(const Computation &computation, size_t node, Operation *user,
            IRMapping &copied) {
    std::vector<Operation *> &ops = grouping.nodes[node].ops;
    // Not copies for later users.
    IRMapping usable;
    for (auto [value, made] : copied.getValueMap())
      if (made.getDefiningOp()->isBeforeInBlock(user))
        usable.map(value, made);
    for (linalg::GenericOp op : computation.getOps()) {
      ArrayRef<Value> results =
          computation.results.find(op)->second.getArrayRef();
      if (llvm::all_of(results,
                       [&](Value result) { return usable.contains(result); }))
        continue;
      rewriter.setInsertionPoint(user);
      // A report about a kernel names what the kernel has been made for.
      linalg::GenericOp made =
          copyResults(rewriter, user->getLoc(), op, results, usable);
      for (IRMapping *mapping : {&usable, &copied})
        mapping->map(results, made.getResults());
      nodeOf[made] = node;
      mayFuse.insert(made);
      ops.insert(llvm::find(ops, user), made);
    }
  }

  /// Recomputes results of an operation for other kernels, all that can be, or
  /// else some.
  void recomputeResults(Operation *op, size_t node) {
    SmallVector<Value> values;
    for (Value result : op->getResults())
      if (RankedTensorType type = getStaticType(result);
          type && type.getNumElements() >= kFewElements &&
          !findReaders(result, node).empty())
        values.push_back(result);
    if (values.empty() || recompute(values, node) || values.size() == 1)
      return;
    for (Value value : values)
      recompute(value, node);
  }

  bool recompute(ArrayRef<Value> values, size_t node) {
    Computation computation;
    SmallVector<std::pair<OpOperand *, Value>> readers;
    for (Value value : values) {
      if (!computation.add(value, [&](Value other) { return isStored(other); }))
        return false;
      for (OpOperand *reader : findReaders(value, node))
        readers.push_back({reader, value});
    }
    llvm::SetVector<size_t> nodes, sharing;
    size_t times = 0;
    for (auto &[reader, value] : readers) {
      size_t other = nodeOf.lookup(reader->getOwner());
      if (nodes.insert(other) && sharesLoops(other, computation)) {
        sharing.insert(other);
        ++times;
      }
      times += !sharing.contains(other);
    }
    if (!isCheaper(values, computation, nodes, times))
      return false;
    llvm::sort(readers, [](auto &a, auto &b) {
      return a.first->getOwner()->isBeforeInBlock(b.first->getOwner());
    });
    for (auto &[reader, value] : readers) {
      size_t other = nodeOf.lookup(reader->getOwner());
      IRMapping own;
      IRMapping &copied = sharing.contains(other) ? copies[other] : own;
      copy(computation, other, reader->getOwner(), copied);
      reader->set(copied.lookup(value));
      changed.insert(other);
    }
    changed.insert(node);
    mayFuse.insert(values.front().getDefiningOp());
    for (Value value : values)
      remark::passed(value.getLoc(),
                     decision(Stage::Kernels, "Recomputed", step))
          << valueText(value) + ", not stored: computed again in " +
                 countText(nodes.size(), "kernel");
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Cleanup
  //===--------------------------------------------------------------------===//

  /// Fuses copies, and what others have copied, into their only user.
  void fuseSingleUses(size_t node) {
    std::vector<Operation *> &ops = grouping.nodes[node].ops;
    for (size_t i = 0; i < ops.size();) {
      OpOperand *use = getFusedUse(ops[i], node);
      if (!use) {
        ++i;
        continue;
      }
      Operation *producer = ops[i], *consumer = use->getOwner();
      rewriter.setInsertionPoint(consumer);
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, use);
      assert(succeeded(fused) && "expected operations that can be fused");
      for (auto [value, replacement] : fused->replacements)
        rewriter.replaceAllUsesWith(value, replacement);
      llvm::replace(ops, consumer, fused->fusedOp);
      nodeOf[fused->fusedOp] = node;
      if (mayFuse.contains(consumer))
        mayFuse.insert(fused->fusedOp);
      ops.erase(ops.begin() + i);
      for (Operation *op : {consumer, producer}) {
        forget(op);
        rewriter.eraseOp(op);
      }
    }
  }

  /// The operand into which `op` should be fused, or null.
  OpOperand *getFusedUse(Operation *op, size_t node) const {
    if (!mayFuse.contains(op) || op->getNumResults() != 1 || !op->hasOneUse())
      return nullptr;
    OpOperand &use = *op->use_begin();
    auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
    auto found = nodeOf.find(use.getOwner());
    bool isFusable = user && found != nodeOf.end() && found->second == node &&
                     user.isDpsInput(&use) &&
                     user.getMatchingIndexingMap(&use).isPermutation() &&
                     linalg::areElementwiseOpsFusable(&use);
    return isFusable ? &use : nullptr;
  }

  void forget(Operation *op) {
    nodeOf.erase(op);
    mayFuse.erase(op);
  }

  /// Erases results that are no longer used, with what only they needed.
  void eraseUnused() {
    SmallVector<Operation *> ops;
    for (size_t node : changed)
      llvm::append_range(ops, grouping.nodes[node].ops);
    RewritePatternSet patterns(rewriter.getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    (void)applyOpPatternsGreedily(
        ops, std::move(patterns),
        GreedyRewriteConfig()
            .setStrictness(GreedyRewriteStrictness::ExistingAndNewOps)
            .setListener(this));
    // What others of them have read is left, in the same kernels or in others.
    ops.clear();
    for (const Grouping::Node &node : grouping.nodes)
      if (node.isKernel)
        llvm::append_range(ops, node.ops);
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
    for (Operation *op : ops)
      if (isOpTriviallyDead(op)) {
        notifyOperationErased(op);
        op->erase();
      }
  }

  void notifyOperationReplaced(Operation *op, ValueRange values) override {
    auto found = nodeOf.find(op);
    auto value = llvm::find_if(values, [](Value value) { return bool(value); });
    if (found == nodeOf.end() || value == values.end())
      return;
    Operation *made = (*value).getDefiningOp();
    size_t node = found->second;
    llvm::replace(grouping.nodes[node].ops, op, made);
    nodeOf.erase(op);
    nodeOf[made] = node;
    if (mayFuse.erase(op))
      mayFuse.insert(made);
  }

  void notifyOperationErased(Operation *op) override {
    auto found = nodeOf.find(op);
    if (found == nodeOf.end())
      return;
    llvm::erase(grouping.nodes[found->second].ops, op);
    forget(op);
  }

  Block &block;
  Grouping &grouping;
  StringRef step;
  IRRewriter rewriter;
  /// The number of the node that an operation belongs to.
  llvm::DenseMap<Operation *, size_t> nodeOf;
  /// In each node, the copies that all of its operations may read.
  std::vector<IRMapping> copies;
  /// Nodes whose operations have changed.
  llvm::SetVector<size_t> changed;
  /// Operations that have been copied, and copies, also fused ones.
  llvm::SmallPtrSet<Operation *, 16> mayFuse;
};
} // namespace

void lockstep::recomputeValues(Block &block, Grouping &grouping,
                               StringRef step) {
  Recomputer(block, grouping, step).run();
}
