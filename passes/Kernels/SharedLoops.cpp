//===- SharedLoops.cpp ----------------------------------------------------===//

#include "passes/Kernels/SharedLoops.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Kernels/Grouping.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace lockstep;
using namespace mlir;

/// The bytes of what an iteration of the outer loops computes: a part of a
/// core's second cache.
static constexpr int64_t kMostRowBytes = 256 << 10;
/// Fewer iterations leave processors without work, if only these are divided.
static constexpr int64_t kFewestIterations = 256;

namespace {
/// An operation with its loops in the order of the indices of its results.
struct Member {
  linalg::GenericOp op;
  SmallVector<unsigned> dims;
  SmallVector<int64_t> sizes;
};
} // namespace

/// Whether the code of a product may compute `op`: a factor is used for several
/// elements of the result.
static bool isContraction(linalg::GenericOp op) {
  auto [lhs, rhs] = getFactors(op);
  return lhs && !(op.getMatchingIndexingMap(lhs).isPermutation() &&
                  op.getMatchingIndexingMap(rhs).isPermutation());
}

static std::optional<Member> makeMember(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || isContraction(generic) ||
      llvm::any_of(generic.getStaticLoopRanges(), ShapedType::isDynamic))
    return std::nullopt;
  Member member{generic, {}, {}};
  AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  if (!map.isProjectedPermutation() ||
      map.getNumResults() != generic.getNumParallelLoops())
    return std::nullopt;
  for (OpOperand &init : generic.getDpsInitsMutable())
    if (generic.getMatchingIndexingMap(&init) != map)
      return std::nullopt;
  for (AffineExpr result : map.getResults()) {
    member.dims.push_back(cast<AffineDimExpr>(result).getPosition());
    member.sizes.push_back(generic.getStaticLoopRanges()[member.dims.back()]);
  }
  return member;
}

/// Whether the innermost loop reads neighbors in memory. Loops that read others
/// have been seen to take longer beside those of other operations.
static bool readsContiguously(const Member &member) {
  linalg::GenericOp op = member.op;
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (reductions.empty() && member.dims.empty())
    return true;
  unsigned inner = reductions.empty() ? member.dims.back() : reductions.back();
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    return !map.isFunctionOfDim(inner) ||
           (map.getResults().back() ==
                getAffineDimExpr(inner, map.getContext()) &&
            llvm::none_of(map.getResults().drop_back(), [&](AffineExpr result) {
              return result.isFunctionOfDim(inner);
            }));
  });
}

/// How many outer loops read with this map only what the same iteration has
/// written.
static unsigned countOwnLoops(const Member &reader, AffineMap map) {
  unsigned count = 0;
  for (; count < reader.dims.size() && count < map.getNumResults(); ++count) {
    unsigned dim = reader.dims[count];
    for (auto [i, result] : llvm::enumerate(map.getResults())) {
      bool isOwn =
          i == count && result == getAffineDimExpr(dim, map.getContext());
      if (!isOwn && (i == count || result.isFunctionOfDim(dim)))
        return count;
    }
  }
  return count;
}

/// Whether `op`, or an operation in it, has a value of `others` as an operand,
/// or one that views or scalar operations have made of it; without those that
/// `op` reads as its inputs.
static bool readsIndirectly(linalg::GenericOp op,
                            const llvm::SmallPtrSetImpl<Operation *> &others) {
  SmallVector<Value> worklist;
  llvm::SmallPtrSet<Operation *, 16> visited;
  op->walk([&](Operation *inner) {
    if (inner != op)
      llvm::append_range(worklist, inner->getOperands());
  });
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp();
        producer && !others.contains(producer))
      worklist.push_back(operand);
  while (!worklist.empty()) {
    Operation *producer = worklist.pop_back_val().getDefiningOp();
    if (!producer || producer->getBlock() != op->getBlock())
      continue;
    if (others.contains(producer))
      return true;
    // Other computations are not part of the kernel.
    if (classify(producer) == OpClass::Glue && visited.insert(producer).second)
      llvm::append_range(worklist, producer->getOperands());
  }
  return false;
}

bool lockstep::mayShareLoops(ArrayRef<Operation *> ops) {
  SmallVector<Member> members;
  llvm::SmallPtrSet<Operation *, 16> all(ops.begin(), ops.end());
  for (Operation *op : ops) {
    std::optional<Member> member = makeMember(op);
    if (!member || !readsContiguously(*member) ||
        readsIndirectly(member->op, all))
      return false;
    members.push_back(*member);
  }
  size_t depth = members.front().dims.size();
  for (const Member &member : members) {
    auto sizes = ArrayRef(members.front().sizes);
    depth = std::min(depth, member.dims.size());
    while (ArrayRef(member.sizes).take_front(depth) != sizes.take_front(depth))
      --depth;
    linalg::GenericOp op = member.op;
    for (OpOperand &operand : op->getOpOperands())
      if (Operation *producer = operand.get().getDefiningOp();
          producer && all.contains(producer))
        depth = std::min<size_t>(
            depth, countOwnLoops(member, op.getMatchingIndexingMap(&operand)));
  }
  if (depth == 0)
    return false;
  bool isElementwise = llvm::all_of(members, [&](const Member &member) {
    return lockstep::isElementwise(member.op) && member.dims.size() == depth;
  });
  // The only loop of vectors is not shared, but one of each operation.
  if (isElementwise && depth == 1)
    return false;
  int64_t iterations = 1, bytes = 0;
  for (int64_t size : ArrayRef(members.front().sizes).take_front(depth))
    iterations *= size;
  for (const Member &member : members)
    for (Type type : linalg::GenericOp(member.op).getResultTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      bytes +=
          tensor.getNumElements() * getElementBytes(tensor.getElementType());
    }
  return isElementwise || (iterations >= kFewestIterations &&
                           bytes / iterations <= kMostRowBytes);
}
