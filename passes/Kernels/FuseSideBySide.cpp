//===- FuseSideBySide.cpp - Fuses element-wise operations that read the same
//===//

#include "passes/Kernels/Fusion.h"

#include "passes/Analysis/Uniformity.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace lockstep;
using namespace mlir;

/// Merges `second` into `first`: both are element-wise on the same shape and
/// share an input.
static linalg::GenericOp fuseSideBySide(IRRewriter &rewriter,
                                        linalg::GenericOp first,
                                        linalg::GenericOp second) {
  SmallVector<Value> inputs(first.getDpsInputs()), inits(first.getDpsInits());
  llvm::append_range(inputs, second.getDpsInputs());
  llvm::append_range(inits, second.getDpsInits());
  SmallVector<AffineMap> maps;
  auto appendMaps = [&](bool ofInits) {
    for (linalg::GenericOp op : {first, second})
      for (OpOperand &operand : op->getOpOperands())
        if (op.isDpsInit(&operand) == ofInits)
          maps.push_back(op.getMatchingIndexingMap(&operand));
  };
  appendMaps(false);
  appendMaps(true);

  rewriter.setInsertionPoint(second);
  auto fused = linalg::GenericOp::create(
      rewriter, rewriter.getFusedLoc({first.getLoc(), second.getLoc()}),
      ValueRange(inits).getTypes(), inputs, inits, maps,
      first.getIteratorTypesArray(),
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        SmallVector<Value> yielded;
        unsigned inputOffset = 0, initOffset = inputs.size();
        for (linalg::GenericOp op : {first, second}) {
          IRMapping mapping;
          unsigned numInputs = op.getNumDpsInputs();
          for (auto [i, argument] :
               llvm::enumerate(op.getBody()->getArguments()))
            mapping.map(argument, i < numInputs
                                      ? arguments[inputOffset + i]
                                      : arguments[initOffset + i - numInputs]);
          for (Operation &inner : op.getBody()->without_terminator())
            b.clone(inner, mapping);
          for (Value value : op.getBody()->getTerminator()->getOperands())
            yielded.push_back(mapping.lookupOrDefault(value));
          inputOffset += numInputs;
          initOffset += op.getNumDpsInits();
        }
        linalg::YieldOp::create(b, loc, yielded);
      });
  unsigned split = first.getNumResults();
  rewriter.replaceOp(first, fused.getResults().take_front(split));
  rewriter.replaceOp(second, fused.getResults().drop_front(split));
  return fused;
}

/// Whether `first`, which comes before `second` in its block, may be computed
/// where `second` stands.
static bool mayMoveTo(linalg::GenericOp first, linalg::GenericOp second) {
  for (Operation *user : first->getUsers()) {
    Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || !second->isBeforeInBlock(ancestor))
      return false;
  }
  return true;
}

void lockstep::fuseEpilogues(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op->getNumResults() == 1)
      products.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::LinalgOp product : products) {
    SmallVector<linalg::GenericOp> epilogues;
    for (Operation *user : product->getUsers())
      if (auto generic = dyn_cast<linalg::GenericOp>(user);
          generic && generic->getBlock() == product->getBlock() &&
          isEpilogueOf(generic, product) &&
          !llvm::is_contained(epilogues, generic))
        epilogues.push_back(generic);
    llvm::sort(epilogues, [](linalg::GenericOp a, linalg::GenericOp b) {
      return a->isBeforeInBlock(b);
    });
    if (epilogues.size() == 2 && mayMoveTo(epilogues[0], epilogues[1]))
      fuseSideBySide(rewriter, epilogues[0], epilogues[1]);
  }
}

namespace {

/// Fuses siblings of one block, from the first operation to the last.
class SiblingFusion {
public:
  SiblingFusion(Block &block, const UniformityAnalysis &uniformity)
      : rewriter(block.getParentOp()->getContext()) {
    for (auto op : block.getOps<linalg::GenericOp>())
      if (isCandidate(op))
        candidates.push_back({op, llvm::all_of(op->getResults(), [&](Value v) {
                                return uniformity.isUniform(v);
                              })});
  }

  void run() {
    for (size_t i = 0; i < candidates.size(); ++i)
      for (size_t j = i; j-- > 0;)
        if (candidates[j].op && areSiblings(candidates[j], candidates[i]) &&
            mayMoveTo(candidates[j].op, candidates[i].op)) {
          candidates[i].op =
              fuseSideBySide(rewriter, candidates[j].op, candidates[i].op);
          candidates[j].op = nullptr;
        }
  }

private:
  struct Candidate {
    linalg::GenericOp op;
    bool isUniform;
  };

  /// More than fit into registers would not gain anything.
  static constexpr unsigned kMostOperands = 12;
  /// Below this many elements everything stays in the cache anyway.
  static constexpr int64_t kFewestElements = 1 << 10;

  static bool isCandidate(linalg::GenericOp op) {
    auto type = dyn_cast<RankedTensorType>(op->getResultTypes().front());
    if (!lockstep::isElementwise(op) || !type || !type.hasStaticShape() ||
        type.getNumElements() < kFewestElements)
      return false;
    return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return op.getMatchingIndexingMap(&init).isIdentity();
    });
  }

  /// Whether both run over the same elements and read one of them at the same
  /// place.
  static bool areSiblings(const Candidate &first, const Candidate &second) {
    linalg::GenericOp a = first.op, b = second.op;
    auto shape = cast<RankedTensorType>(a->getResultTypes().front()).getShape();
    if (first.isUniform != second.isUniform ||
        shape !=
            cast<RankedTensorType>(b->getResultTypes().front()).getShape() ||
        a->getNumOperands() + b->getNumOperands() > kMostOperands)
      return false;
    return llvm::any_of(a.getDpsInputOperands(), [&](OpOperand *left) {
      auto type = dyn_cast<RankedTensorType>(left->get().getType());
      return type && type.getShape() == shape &&
             llvm::any_of(b.getDpsInputOperands(), [&](OpOperand *right) {
               return left->get() == right->get() &&
                      a.getMatchingIndexingMap(left) ==
                          b.getMatchingIndexingMap(right);
             });
    });
  }

  IRRewriter rewriter;
  SmallVector<Candidate> candidates;
};

} // namespace

void lockstep::fuseSiblings(func::FuncOp function) {
  UniformityAnalysis uniformity(function);
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    if (!isa<linalg::LinalgOp>(block->getParentOp()))
      blocks.push_back(block);
  });
  for (Block *block : blocks)
    SiblingFusion(*block, uniformity).run();
}
