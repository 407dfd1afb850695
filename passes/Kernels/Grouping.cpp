//===- Grouping.cpp - Which operations share a kernel ---------------------===//

#include "passes/Kernels/Grouping.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Kernels/LibraryEpilogue.h"
#include "passes/Kernels/SharedLoops.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <queue>

using namespace lockstep;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

namespace {

/// The dependence graph of one block. Its nodes are compute and step operations
/// and glue that stays in the step, numbered in program order.
class Dependences {
public:
  Dependences(Block &block, llvm::function_ref<bool(Operation *)> mustStay) {
    for (Operation &op : block) {
      OpClass kind = classify(&op);
      // A view or an extracted scalar that the step itself uses stays in the
      // step.
      bool isNode =
          kind == OpClass::Step ||
          (kind == OpClass::Glue && !matchPattern(&op, m_Constant()) &&
           (mustStay(&op) || feedsStep(&op)));
      if (!isNode && kind != OpClass::Compute)
        continue;
      index[&op] = ops.size();
      ops.push_back(&op);
      isCompute.push_back(kind == OpClass::Compute);
    }
    sources.resize(ops.size());
    users.resize(ops.size());
    std::optional<unsigned> lastCommunication;
    for (auto [i, op] : llvm::enumerate(ops)) {
      llvm::SetVector<unsigned> found;
      llvm::SmallPtrSet<Operation *, 16> visited;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          collect(operand, block, found, visited);
      });
      found.remove(i);
      // Collectives stay in program order with each other: all ranks issue the
      // same sequence.
      if (communicates(op)) {
        if (lastCommunication)
          found.insert(*lastCommunication);
        lastCommunication = i;
      }
      // The terminator comes last. A batch is loaded after all operations
      // before it, since it overwrites the previous batch.
      if (op->hasTrait<OpTrait::IsTerminator>() || loadsBatch(op))
        for (unsigned j = 0; j < i; ++j)
          found.insert(j);
      for (unsigned source : found) {
        sources[i].push_back(source);
        users[source].push_back(i);
      }
    }
  }

  std::vector<Operation *> ops;
  std::vector<bool> isCompute;
  std::vector<std::vector<unsigned>> sources, users;
  llvm::DenseMap<Operation *, unsigned> index;

private:
  static bool communicates(Operation *op) {
    return op
        ->walk([](Operation *inner) {
          return isOrdered(inner) ? WalkResult::interrupt()
                                  : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static bool loadsBatch(Operation *op) {
    return op->walk([](device::LoadBatchOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  /// Whether a step operation of the same block uses a result of the glue `op`
  /// directly or through other glue that stays.
  static bool feedsStep(Operation *op) {
    if (isa<tensor::EmptyOp>(op))
      return false;
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || ancestor == op)
        return false;
      if (ancestor != user) {
        // A use inside of a loop or branch of the step: if it is in a kernel,
        // the glue is repeated there like any other.
        return classify(user) == OpClass::Step && isStepControlFlow(ancestor);
      }
      return classify(user) == OpClass::Step ||
             (classify(user) == OpClass::Glue && feedsStep(user));
    });
  }

  /// Adds the nodes on which `value` depends, through glue that is not a node.
  void collect(Value value, Block &block, llvm::SetVector<unsigned> &found,
               llvm::SmallPtrSetImpl<Operation *> &visited) {
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != &block ||
        !visited.insert(producer).second)
      return;
    if (auto it = index.find(producer); it != index.end()) {
      found.insert(it->second);
      // Glue that stays is also repeated in kernels, which then depend on its
      // operands.
      if (classify(producer) != OpClass::Glue)
        return;
    }
    for (Value operand : producer->getOperands())
      collect(operand, block, found, visited);
  }
};

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

class Merger {
public:
  Merger(const Dependences &graph, const GroupingOptions &options,
         const GroupingHooks &hooks)
      : group(graph.ops.size()), graph(graph), options(options) {
    for (unsigned i = 0; i < group.size(); ++i) {
      group[i] = i;
      members.push_back({i});
    }
    for (Operation *op : graph.ops) {
      isUniform.push_back(llvm::all_of(op->getResults(), hooks.isUniform));
      isLate.push_back(hooks.isScheduledLate(op));
      isExchanged.push_back(feedsCommunication(op));
    }
  }

  void run() {
    for (unsigned i = 0; i < graph.ops.size(); ++i) {
      mergeWithSources(i, &Merger::isProductWithEpilogue);
      mergeWithSources(i, &Merger::shouldMerge);
    }
    // A pad shares loops with nothing, nor does what it is merged with.
    if (options.mergePadding)
      for (unsigned i = 0; i < graph.ops.size(); ++i)
        mergeWithSources(i, &Merger::isPadded);
    if (options.mergeUpdates)
      mergeUpdates();
  }

  std::vector<unsigned> group;
  std::vector<std::vector<unsigned>> members;

private:
  /// Work, in scalar operations, up to which an operation is executed together
  /// with its neighbours by one worker: a launch of its own would cost about as
  /// much.
  static constexpr int64_t kSmallWork = 1 << 14;
  static constexpr int64_t kSmallGroupWork = 1 << 17;

  void mergeWithSources(unsigned op,
                        bool (Merger::*isWanted)(unsigned, unsigned)) {
    for (unsigned source : graph.sources[op])
      if (graph.isCompute[op] && graph.isCompute[source] &&
          group[op] != group[source] && isUniform[op] == isUniform[source] &&
          !device::isAttention(graph.ops[op]) &&
          !device::isAttention(graph.ops[source]) &&
          (this->*isWanted)(source, op) &&
          mayMerge(group[source], group[op], /*last=*/op))
        merge(group[source], group[op]);
  }

  /// Merges updates of small variables, which need nothing of each other, in
  /// program order: their launches would take longer than they do. No more than
  /// `kSmallWork` in a group, since the first one may have to wait for what the
  /// last one needs.
  void mergeUpdates() {
    // The group that takes further updates, of those that are uniform and of
    // the others.
    std::optional<unsigned> open[2];
    for (unsigned i = 0; i < graph.ops.size(); ++i) {
      unsigned g = group[i];
      std::optional<unsigned> &into = open[isUniform[i]];
      if (members[g].front() != i || !isSmallUpdate(g) || into == g)
        continue;
      if (into &&
          groupWork(i) + groupWork(members[*into].front()) <= kSmallWork &&
          fitTogether(i, members[*into].front()) && !shareTensors(*into, g) &&
          mayMerge(*into, g, /*last=*/graph.ops.size() - 1))
        merge(*into, g);
      else
        into = g;
    }
  }

  /// Whether groups read a tensor in common, such as the old value of a
  /// variable that one of them replaces: the one that only reads it comes first
  /// then.
  bool shareTensors(unsigned a, unsigned b) const {
    llvm::SmallDenseSet<Value> read;
    auto forTensors = [&](unsigned g, llvm::function_ref<void(Value)> body) {
      for (unsigned member : members[g])
        for (Value operand : graph.ops[member]->getOperands())
          if (auto type = dyn_cast<RankedTensorType>(operand.getType());
              type && type.getRank() > 0 &&
              !operand.getDefiningOp<tensor::EmptyOp>())
            body(operand);
    };
    forTensors(a, [&](Value value) { read.insert(value); });
    bool found = false;
    forTensors(b, [&](Value value) { found = found || read.contains(value); });
    return found;
  }

  /// Whether a group is element-wise, computes nothing but new values of
  /// variables, and takes no longer than a launch.
  bool isSmallUpdate(unsigned g) {
    return groupWork(members[g].front()) <= kSmallWork &&
           llvm::all_of(members[g], [&](unsigned member) {
             auto generic = dyn_cast<linalg::GenericOp>(graph.ops[member]);
             return isLate[member] && !isExchanged[member] && generic &&
                    lockstep::isElementwise(generic);
           });
  }

  bool isProductWithEpilogue(unsigned producer, unsigned consumer) {
    auto product = dyn_cast<linalg::LinalgOp>(graph.ops[producer]);
    auto epilogue = dyn_cast<linalg::GenericOp>(graph.ops[consumer]);
    return product && isProduct(product) && epilogue &&
           members[group[producer]].size() == 1 &&
           members[group[consumer]].size() == 1 &&
           isEpilogueOf(epilogue, product) && usedOnlyBy(product, epilogue) &&
           (isRounding(epilogue) ||
            !isByLibrary(product, options.libraryProducts,
                         options.libraryConvolutions) ||
            isLibraryEpilogue(epilogue, product, options.libraryActivations,
                              options.tf32));
  }

  /// Whether an element-wise operation that is alone computes nothing but what
  /// the consumer pads.
  bool isPadded(unsigned producer, unsigned consumer) {
    auto op = dyn_cast<linalg::GenericOp>(graph.ops[producer]);
    Operation *pad = graph.ops[consumer];
    auto insert = dyn_cast<tensor::InsertSliceOp>(pad);
    bool isPad = isa<tensor::PadOp>(pad) ||
                 (insert && insert.getDest().getDefiningOp<linalg::FillOp>());
    return isPad && op && lockstep::isElementwise(op) &&
           op->getNumResults() == 1 && op->hasOneUse() &&
           pad->getOperand(0) == op.getResult(0) &&
           members[group[producer]].size() == 1 &&
           members[group[consumer]].size() == 1 &&
           isLate[producer] == isLate[consumer];
  }

  bool shouldMerge(unsigned producer, unsigned consumer) {
    if (sharesLoops(producer, consumer))
      return true;
    return groupWork(producer) <= kSmallGroupWork &&
           groupWork(consumer) <= kSmallGroupWork && !holdsProduct(producer) &&
           !holdsProduct(consumer) && work(graph.ops[producer]) <= kSmallWork &&
           work(graph.ops[consumer]) <= kSmallWork &&
           groupWork(producer) + groupWork(consumer) <= kSmallGroupWork &&
           fitTogether(producer, consumer);
  }

  /// Whether one kernel may have the arguments of the groups of two operations.
  bool fitTogether(unsigned a, unsigned b) {
    // A GPU gets 32,764 bytes, eight for each.
    constexpr size_t mostTensors = 4000;
    size_t tensors = 0;
    for (unsigned g : {group[a], group[b]})
      for (unsigned member : members[g])
        tensors += graph.ops[member]->getNumOperands() +
                   graph.ops[member]->getNumResults();
    return tensors <= mostTensors;
  }

  /// Whether a collective, or a loop or branch around one, uses a result,
  /// directly or through views.
  static bool feedsCommunication(Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || ancestor->hasTrait<OpTrait::IsTerminator>())
        return false;
      OpClass kind = classify(ancestor);
      return kind == OpClass::Step ||
             (kind == OpClass::Glue && feedsCommunication(ancestor));
    });
  }

  /// Whether common loops would compute both groups. What is exchanged does not
  /// wait for operations that it does not need.
  bool sharesLoops(unsigned producer, unsigned consumer) {
    constexpr size_t mostMembers = 16;
    // Values that are far apart, such as those of a forward and a backward
    // pass, are not in a cache at the same time.
    constexpr unsigned mostOperations = 512;
    unsigned a = group[producer], b = group[consumer];
    if (consumer - members[a].front() > mostOperations ||
        members[a].size() + members[b].size() > mostMembers)
      return false;
    SmallVector<unsigned> both;
    for (unsigned g : {a, b})
      llvm::append_range(both, members[g]);
    llvm::sort(both);
    SmallVector<Operation *> ops;
    for (unsigned member : both) {
      ops.push_back(graph.ops[member]);
      if (isLate[member] != isLate[consumer])
        return false;
    }
    return !isDelayed(a, b, consumer) && mayShareLoops(ops);
  }

  /// Whether others would wait longer if group `a` shared a kernel with `b`, to
  /// which `consumer` belongs: if `a` has a value that is exchanged; if
  /// `consumer` is exchanged, and does not need all of `a`; or if `consumer`
  /// waits for a collective, and `a` is not only for it.
  bool isDelayed(unsigned a, unsigned b, unsigned consumer) {
    bool waits = llvm::any_of(graph.sources[consumer], [&](unsigned source) {
      return !graph.isCompute[source] && source > members[a].front();
    });
    for (unsigned member : members[a]) {
      bool isNeeded = false;
      for (unsigned user : graph.users[member]) {
        bool isInside = group[user] == a || group[user] == b;
        isNeeded |= isInside;
        if (waits && !isInside)
          return true;
      }
      if (isExchanged[member] || (isExchanged[consumer] && !isNeeded))
        return true;
    }
    return false;
  }

  static bool usedOnlyBy(Operation *producer, Operation *consumer) {
    return llvm::all_of(producer->getUsers(),
                        [&](Operation *user) { return user == consumer; });
  }

  bool holdsProduct(unsigned op) {
    return llvm::any_of(members[group[op]], [&](unsigned member) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(graph.ops[member]);
      return linalgOp && isProduct(linalgOp);
    });
  }

  int64_t groupWork(unsigned op) {
    int64_t total = 0;
    for (unsigned member : members[group[op]])
      total += work(graph.ops[member]);
    return total;
  }

  static int64_t work(Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      int64_t points = 1;
      for (int64_t range : linalgOp.getStaticLoopRanges())
        points *= ShapedType::isDynamic(range) ? 1 << 20 : range;
      return points;
    }
    int64_t elements = 0;
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        elements += tensor.hasStaticShape() ? tensor.getNumElements() : 1 << 20;
    // The body of a loop is not inspected: it counts as large unless its result
    // is tiny.
    return isa<linalg::LinalgOp>(op)
               ? elements
               : (op->getNumRegions() > 0 ? elements * 16 : elements);
  }

  /// Whether merging two groups creates no cycle: no path leads from one of
  /// them through a third group to the other. `last` is the last operation that
  /// belongs to a group with others, so that no path leads back from the
  /// operations after it.
  bool mayMerge(unsigned a, unsigned b, unsigned last) {
    llvm::DenseSet<unsigned> visited;
    SmallVector<unsigned> worklist;
    auto leave = [&](unsigned node) {
      for (unsigned user : graph.users[node])
        if (user <= last && group[user] != a && group[user] != b &&
            visited.insert(group[user]).second)
          worklist.push_back(group[user]);
    };
    for (unsigned g : {a, b})
      for (unsigned member : members[g])
        leave(member);
    while (!worklist.empty()) {
      unsigned g = worklist.pop_back_val();
      for (unsigned member : members[g])
        for (unsigned user : graph.users[member]) {
          if (user > last)
            continue;
          if (group[user] == a || group[user] == b)
            return false;
          if (visited.insert(group[user]).second)
            worklist.push_back(group[user]);
        }
    }
    return true;
  }

  void merge(unsigned a, unsigned b) {
    for (unsigned member : members[b]) {
      group[member] = a;
      members[a].push_back(member);
    }
    members[b].clear();
    llvm::sort(members[a]);
  }

  const Dependences &graph;
  const GroupingOptions &options;
  /// Of each operation.
  std::vector<bool> isUniform, isLate, isExchanged;
};

} // namespace

Grouping lockstep::groupOperations(Block &block, const GroupingOptions &options,
                                   const GroupingHooks &hooks) {
  Dependences graph(block, hooks.mustStay);
  Merger merger(graph, options, hooks);
  if (options.fuse)
    merger.run();

  // Topological order of the groups; among those that are ready, the first in
  // program order, but groups with operations that `isScheduledLate` last.
  unsigned count = graph.ops.size();
  std::vector<llvm::SetVector<unsigned>> successors(count);
  std::vector<unsigned> pending(count, 0);
  for (unsigned i = 0; i < count; ++i)
    for (unsigned source : graph.sources[i]) {
      unsigned from = merger.group[source], to = merger.group[i];
      if (from != to && successors[from].insert(to))
        ++pending[to];
    }
  using Entry = std::tuple<bool, unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto enqueue = [&](unsigned g) {
    bool isLate = llvm::any_of(merger.members[g], [&](unsigned member) {
      return hooks.isScheduledLate(graph.ops[member]);
    });
    ready.push({isLate, merger.members[g].front(), g});
  };
  for (unsigned g = 0; g < count; ++g)
    if (!merger.members[g].empty() && pending[g] == 0)
      enqueue(g);
  Grouping grouping;
  while (!ready.empty()) {
    unsigned g = std::get<2>(ready.top());
    ready.pop();
    Grouping::Node node;
    for (unsigned member : merger.members[g])
      node.ops.push_back(graph.ops[member]);
    node.isKernel = graph.isCompute[merger.members[g].front()];
    grouping.nodes.push_back(std::move(node));
    for (unsigned successor : successors[g])
      if (--pending[successor] == 0)
        enqueue(successor);
  }
  return grouping;
}
