//===- FuseSiblings.cpp - Fuse siblings with common inputs ----------------===//

#include "passes/Kernels/Fusion.h"

#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Kernels/Structure.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <set>

using namespace lockstep;
using namespace mlir;

/// Whether `second` uses `first` only element by element: an iteration reads
/// what the same one of `first` has computed.
static bool readsSameElements(linalg::GenericOp second,
                              linalg::GenericOp first) {
  return llvm::all_of(first->getUses(), [&](OpOperand &use) {
    return use.getOwner() != second ||
           (second.isDpsInput(&use) &&
            second.getMatchingIndexingMap(&use).isIdentity());
  });
}

/// Merges `second` into `first`: both are element-wise on the same shape, and
/// `readsSameElements`.
static linalg::GenericOp fusePair(IRRewriter &rewriter, linalg::GenericOp first,
                                  linalg::GenericOp second) {
  SmallVector<Value> inputs(first.getDpsInputs()), inits(first.getDpsInits());
  // What `first` computes is no input.
  for (Value input : second.getDpsInputs())
    if (input.getDefiningOp() != first)
      inputs.push_back(input);
  llvm::append_range(inits, second.getDpsInits());
  SmallVector<AffineMap> maps;
  auto appendMaps = [&](bool ofInits) {
    for (linalg::GenericOp op : {first, second})
      for (OpOperand &operand : op->getOpOperands())
        if (op.isDpsInit(&operand) == ofInits &&
            operand.get().getDefiningOp() != first)
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
        ValueRange ofInputs = arguments.take_front(inputs.size());
        ValueRange ofInits = arguments.drop_front(inputs.size());
        for (linalg::GenericOp op : {first, second}) {
          IRMapping mapping;
          for (auto [operand, argument] :
               llvm::zip(op->getOpOperands(), op.getBody()->getArguments())) {
            if (operand.get().getDefiningOp() == first) {
              unsigned result = cast<OpResult>(operand.get()).getResultNumber();
              mapping.map(argument, yielded[result]);
              continue;
            }
            ValueRange &left = op.isDpsInit(&operand) ? ofInits : ofInputs;
            mapping.map(argument, left.front());
            left = left.drop_front();
          }
          for (Operation &inner : op.getBody()->without_terminator())
            b.clone(inner, mapping);
          for (Value value : op.getBody()->getTerminator()->getOperands())
            yielded.push_back(mapping.lookupOrDefault(value));
        }
        linalg::YieldOp::create(b, loc, yielded);
      });
  unsigned split = first.getNumResults();
  rewriter.replaceOp(second, fused.getResults().drop_front(split));
  rewriter.replaceOp(first, fused.getResults().take_front(split));
  return fused;
}

/// Whether `first`, which is before `second` in its block, may be moved to the
/// position of `second`.
static bool mayMoveTo(linalg::GenericOp first, linalg::GenericOp second) {
  for (Operation *user : first->getUsers()) {
    Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || (user != second && !second->isBeforeInBlock(ancestor)))
      return false;
  }
  return true;
}

/// Whether the results of an operation are uniform. Fused with one whose
/// results are not, they would no longer be known to be uniform, nor be
/// computed once per process.
static bool isUniform(const UniformityAnalysis &uniformity, Operation *op) {
  return llvm::all_of(op->getResults(), [&](Value result) {
    return uniformity.isUniform(result);
  });
}

bool lockstep::fuseEpilogues(func::FuncOp function) {
  SmallVector<linalg::LinalgOp> products;
  function.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && op->getNumResults() == 1)
      products.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  std::optional<UniformityAnalysis> uniformity;
  // Whether operations created after the analysis are uniform.
  llvm::DenseMap<Operation *, bool> fused;
  auto isUniformEpilogue = [&](linalg::GenericOp op) {
    if (!uniformity)
      uniformity.emplace(function);
    auto known = fused.find(op);
    return known == fused.end() ? isUniform(*uniformity, op) : known->second;
  };
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
    if (epilogues.size() != 2 || !mayMoveTo(epilogues[0], epilogues[1]) ||
        !readsSameElements(epilogues[1], epilogues[0]))
      continue;
    bool isFirst = isUniformEpilogue(epilogues[0]);
    if (isFirst == isUniformEpilogue(epilogues[1]))
      fused[fusePair(rewriter, epilogues[0], epilogues[1])] = isFirst;
  }
  return !fused.empty();
}

namespace {

/// Fuses siblings of one block, from the first operation to the last.
class SiblingFusion {
public:
  SiblingFusion(ArrayRef<linalg::GenericOp> ops,
                const UniformityAnalysis &uniformity)
      : rewriter(ops.front()->getContext()) {
    for (linalg::GenericOp op : ops)
      candidates.push_back({op, isUniform(uniformity, op)});
  }

  /// Whether `op` may be fused with a sibling.
  static bool isCandidate(linalg::GenericOp op) {
    auto type = dyn_cast<RankedTensorType>(op->getResultTypes().front());
    if (!lockstep::isElementwise(op) || !type || !type.hasStaticShape())
      return false;
    return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
      return op.getMatchingIndexingMap(&init).isIdentity();
    });
  }

  /// Returns whether any operations were fused.
  bool run() {
    bool changed = false;
    for (size_t i = 0; i < candidates.size(); ++i) {
      std::set<size_t> others;
      findReaders(i, i, others);
      while (!others.empty()) {
        // The nearest one first.
        size_t j = *others.rbegin();
        others.erase(j);
        if (!fitsBeside(candidates[j], candidates[i]))
          continue;
        // A user between them blocks fusion with all later candidates, too.
        if (!mayMoveTo(candidates[j].op, candidates[i].op) ||
            !readsSameElements(candidates[i].op, candidates[j].op)) {
          candidates[j].op = nullptr;
          continue;
        }
        candidates[i].op =
            fusePair(rewriter, candidates[j].op, candidates[i].op);
        changed = true;
        candidates[j].op = nullptr;
        findReaders(i, j, others);
      }
      for (const Input &input : getInputs(candidates[i]))
        readers[input].push_back(i);
    }
    return changed;
  }

private:
  struct Candidate {
    linalg::GenericOp op;
    bool isUniform;
  };

  /// The key that siblings share: a tensor with an element for each iteration,
  /// its indexing map, and whether the results are uniform.
  using Input = std::tuple<Value, AffineMap, unsigned>;

  static SmallVector<Input> getInputs(const Candidate &candidate) {
    linalg::GenericOp op = candidate.op;
    SmallVector<Input> inputs;
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op->getResultTypes().front()).getShape();
    for (OpOperand *input : op.getDpsInputOperands())
      if (auto type = dyn_cast<RankedTensorType>(input->get().getType());
          type && type.getShape() == shape)
        inputs.push_back({input->get(), op.getMatchingIndexingMap(input),
                          candidate.isUniform});
    return inputs;
  }

  /// Collects the candidates before `end` that read an input of candidate `i`.
  void findReaders(size_t i, size_t end, std::set<size_t> &found) {
    for (const Input &input : getInputs(candidates[i])) {
      auto it = readers.find(input);
      if (it == readers.end())
        continue;
      // Drop candidates that can no longer be fused with any other.
      llvm::erase_if(it->second, [&](size_t reader) {
        return !fitsBesideAny(candidates[reader]);
      });
      found.insert(it->second.begin(), llvm::lower_bound(it->second, end));
    }
  }

  /// With more tensors than registers, fusion gains nothing.
  static constexpr size_t kMostTensors = 12;

  /// The number of tensors that one loop for all `ops` accesses: those that
  /// several read with the same indices, or that one computes, count once,
  /// scalars do not.
  static size_t countTensors(ArrayRef<linalg::GenericOp> ops) {
    std::set<std::pair<void *, void *>> inputs;
    size_t results = 0;
    for (linalg::GenericOp op : ops) {
      results += op.getNumResults();
      for (OpOperand *input : op.getDpsInputOperands())
        if (AffineMap map = op.getMatchingIndexingMap(input);
            map.getNumResults() > 0 &&
            !llvm::is_contained(ops, input->get().getDefiningOp()))
          inputs.insert({input->get().getAsOpaquePointer(),
                         const_cast<void *>(map.getAsOpaquePointer())});
    }
    return inputs.size() + results;
  }

  static bool fitsBesideAny(const Candidate &candidate) {
    return candidate.op && countTensors(candidate.op) < kMostTensors;
  }

  static bool fitsBeside(const Candidate &first, const Candidate &second) {
    return first.op && countTensors({first.op, second.op}) <= kMostTensors;
  }

  IRRewriter rewriter;
  SmallVector<Candidate> candidates;
  /// The numbers of candidates that read an input, in ascending order.
  llvm::DenseMap<Input, SmallVector<size_t>> readers;
};

} // namespace

bool lockstep::fuseSiblings(func::FuncOp function) {
  llvm::MapVector<Block *, SmallVector<linalg::GenericOp>> candidates;
  function.walk([&](linalg::GenericOp op) {
    if (SiblingFusion::isCandidate(op))
      candidates[op->getBlock()].push_back(op);
  });
  candidates.remove_if(
      [](const auto &entry) { return entry.second.size() < 2; });
  if (candidates.empty())
    return false;
  UniformityAnalysis uniformity(function);
  bool changed = false;
  for (auto &[block, ops] : candidates)
    changed |= SiblingFusion(ops, uniformity).run();
  return changed;
}
