//===- SpeculateBranches.cpp - Selects instead of branches ----------------===//
//
// A branch whose sides are element-wise is one kernel with all that it computes
// if it stays a branch. As selects, its results are computed like any other
// element-wise operations: each by a kernel of its own that is divided among
// the workers, fused with its neighbors, and in the place of the old value.
//
//===----------------------------------------------------------------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/Strategy.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SPECULATEBRANCHESPASS
#include "passes/Passes.h.inc"

namespace {

/// More operations for each element of the results take longer than to read
/// and write it, so that a side that is not wanted costs something. AdamW has
/// about five.
constexpr int64_t kMostOperations = 16;
/// Results with fewer elements may take as many operations as these.
constexpr int64_t kFewElements = 1 << 10;

/// Whether the branch is executed once per step: it is in no loop, or in one
/// around steps, which have collectives.
bool isOncePerStep(scf::IfOp branch) {
  for (Operation *parent = branch->getParentOp(); !isa<func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    if (isa<scf::IfOp>(parent))
      continue;
    WalkResult found = parent->walk(
        [](collective::StartOp) { return WalkResult::interrupt(); });
    if (!isa<scf::ForOp, scf::WhileOp>(parent) || !found.wasInterrupted())
      return false;
  }
  return true;
}

bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || tensor.hasStaticShape();
}

/// Whether `op` is arithmetic on scalars that cannot fail.
bool isArithmetic(Operation &op) {
  return isa<linalg::YieldOp, linalg::IndexOp>(op) ||
         (op.getNumRegions() == 0 && isSpeculatable(&op) &&
          isMemoryEffectFree(&op) &&
          llvm::none_of(op.getOperandTypes(), llvm::IsaPred<ShapedType>) &&
          llvm::none_of(op.getResultTypes(), llvm::IsaPred<ShapedType>));
}

/// The number of element-wise operations that `op` executes, or nothing if it
/// is no operation that may be executed in vain: one that may fail, or accesses
/// elements at positions of which only the condition may know that they exist.
std::optional<int64_t> countOperations(Operation &op) {
  if (!llvm::all_of(op.getOperandTypes(), isStatic) ||
      !llvm::all_of(op.getResultTypes(), isStatic))
    return std::nullopt;
  if (matchPattern(&op, m_Constant()) ||
      isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::CastOp>(op))
    return 0;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return extract.getIndices().empty() ? std::optional<int64_t>(0)
                                        : std::nullopt;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (!linalgOp.hasPureTensorSemantics() ||
        linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() ||
        !llvm::all_of(*linalgOp.getBlock(), isArithmetic))
      return std::nullopt;
    int64_t iterations = 1;
    for (int64_t size : linalgOp.getStaticLoopRanges())
      iterations *= size;
    return iterations * int64_t(linalgOp.getBlock()->getOperations().size());
  }
  if (isArithmetic(op))
    return 1;
  if (op.getNumRegions() != 0 || !OpTrait::hasElementwiseMappableTraits(&op) ||
      !isSpeculatable(&op) || !isMemoryEffectFree(&op))
    return std::nullopt;
  return cast<RankedTensorType>(op.getResultTypes().front()).getNumElements();
}

/// The results of a branch that are to be selected.
struct Selection {
  /// Their numbers.
  llvm::SmallSetVector<unsigned, 4> results;
  /// The operations of both sides that they need, in their order.
  SmallVector<Operation *> needed;
  int64_t bytes = 0;
};

class BranchMatcher {
public:
  explicit BranchMatcher(scf::IfOp branch) : branch(branch) {}

  /// The results that should be selected, if any.
  std::optional<Selection> match() {
    // What a side checks, it checks before it yields.
    if (!isOncePerStep(branch) || !isMemoryEffectFree(branch))
      return std::nullopt;
    Selection selection;
    int64_t elements = 0;
    for (auto [i, first, second] :
         llvm::enumerate(branch.thenYield().getOperands(),
                         branch.elseYield().getOperands())) {
      auto type = dyn_cast<RankedTensorType>(first.getType());
      if (type ? !type.hasStaticShape()
               : !first.getType().isIntOrIndexOrFloat())
        continue;
      if (!isCheap(first) || !isCheap(second))
        continue;
      selection.results.insert(i);
      if (type && first != second) {
        elements += type.getNumElements();
        selection.bytes += getByteSize(type);
      }
      collect(first);
      collect(second);
    }
    int64_t operations = 0;
    for (Block *side : {branch.thenBlock(), branch.elseBlock()})
      for (Operation &op : *side)
        if (needed.contains(&op)) {
          selection.needed.push_back(&op);
          operations += *countOperations(op);
        }
    if (selection.results.empty() ||
        operations > kMostOperations * std::max(elements, kFewElements))
      return std::nullopt;
    return selection;
  }

private:
  /// Whether `value` is computed outside of the branch, or by operations of one
  /// side that may be executed in vain.
  bool isCheap(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !branch->isProperAncestor(op))
      return true;
    auto [known, isNew] = cheap.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool result = countOperations(*op).has_value();
    forOperands(op,
                [&](Value operand) { result = result && isCheap(operand); });
    return cheap[op] = result;
  }

  /// Adds the operations of a side that `value` needs.
  void collect(Value value) {
    Operation *op = value.getDefiningOp();
    if (op && branch->isProperAncestor(op) && needed.insert(op).second)
      forOperands(op, [&](Value operand) { collect(operand); });
  }

  /// Calls `body` for what `op` and its regions use of values outside of it.
  static void forOperands(Operation *op, llvm::function_ref<void(Value)> body) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          body(operand);
    });
  }

  scf::IfOp branch;
  llvm::DenseMap<Operation *, bool> cheap;
  llvm::DenseSet<Operation *> needed;
};

struct SpeculateBranches : impl::SpeculateBranchesPassBase<SpeculateBranches> {
  void runOnOperation() override {
    // Asynchronous workers change variables at any time: a path that changes
    // nothing must not store the value that it has read.
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (replica::StrategyProperties::of(module).placement ==
        replica::Placement::Servers)
      return;
    SmallVector<scf::IfOp> branches;
    // Inner ones first: what is left of them decides about the outer ones.
    getOperation().walk<WalkOrder::PostOrder>([&](scf::IfOp branch) {
      if (branch.getNumResults() > 0)
        branches.push_back(branch);
    });
    IRRewriter rewriter(&getContext());
    for (scf::IfOp branch : branches)
      if (std::optional<Selection> selection = BranchMatcher(branch).match()) {
        explain(branch, *selection);
        select(rewriter, branch, *selection);
      }
  }

  void explain(scf::IfOp branch, const Selection &selection) {
    size_t selected = selection.results.size(), all = branch.getNumResults();
    std::string text =
        selected == all
            ? "both sides of the branch" + atLine(branch.getLoc()) +
                  " are computed element by element, and its results ("
            : "of the branch" + atLine(branch.getLoc()) + ", " +
                  std::to_string(selected) + " of " + std::to_string(all) +
                  " results are computed element by element on both sides, "
                  "and (";
    remark::passed(branch.getLoc(), decision(Stage::Simplify, "Speculated",
                                             getOperation().getSymName()))
        << text + bytesText(selection.bytes) + ") are selected";
  }

  static void select(IRRewriter &rewriter, scf::IfOp branch,
                     const Selection &selection) {
    for (Operation *op : selection.needed)
      rewriter.moveOpBefore(op, branch);
    rewriter.setInsertionPoint(branch);
    SmallVector<Value> taken, other, results;
    for (auto [i, first, second] :
         llvm::enumerate(branch.thenYield().getOperands(),
                         branch.elseYield().getOperands())) {
      if (selection.results.contains(i)) {
        rewriter.replaceAllUsesWith(
            branch.getResult(i),
            rewriter.createOrFold<arith::SelectOp>(
                branch.getLoc(), branch.getCondition(), first, second));
        continue;
      }
      taken.push_back(first);
      other.push_back(second);
      results.push_back(branch.getResult(i));
    }
    if (results.empty())
      return rewriter.eraseOp(branch);
    auto left = scf::IfOp::create(rewriter, branch.getLoc(),
                                  TypeRange(ValueRange(results)),
                                  branch.getCondition(), /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
    left.getThenRegion().takeBody(branch.getThenRegion());
    left.getElseRegion().takeBody(branch.getElseRegion());
    rewriter.modifyOpInPlace(left.thenYield(),
                             [&] { left.thenYield()->setOperands(taken); });
    rewriter.modifyOpInPlace(left.elseYield(),
                             [&] { left.elseYield()->setOperands(other); });
    rewriter.replaceAllUsesWith(ValueRange(results), left.getResults());
    rewriter.eraseOp(branch);
  }
};

} // namespace
} // namespace lockstep
