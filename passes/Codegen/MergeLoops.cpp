//===- MergeLoops.cpp - One loop instead of two in a product --------------===//

#include "passes/Codegen/MergeLoops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Two loops of an operation, as positions in its domain: `inner` follows
/// `outer` in all operands.
struct LoopPair {
  unsigned outer = 0, inner = 0;
};

/// The index of an operand that is the outer loop of the pair, if the next one
/// is the inner loop. None if the operand has neither loop. Failure if they are
/// used in another manner.
FailureOr<std::optional<unsigned>> findIndex(AffineMap map, LoopPair pair) {
  if (!map.isFunctionOfDim(pair.outer) && !map.isFunctionOfDim(pair.inner))
    return std::optional<unsigned>();
  std::optional<unsigned> outer = getOnlyResult(map, pair.outer),
                          inner = getOnlyResult(map, pair.inner);
  if (!outer || !inner || *outer + 1 != *inner)
    return failure();
  return outer;
}

/// The dimensions of a tensor of which two become one.
SmallVector<ReassociationIndices> mergeIndices(int64_t rank, unsigned first) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i)
    if (i == first + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  return groups;
}

bool canMerge(linalg::GenericOp op, LoopPair pair) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (iterators[pair.outer] != iterators[pair.inner] || op.hasIndexSemantics())
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    FailureOr<std::optional<unsigned>> index =
        findIndex(op.getMatchingIndexingMap(&operand), pair);
    if (failed(index))
      return false;
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    return !*index || (type && type.hasStaticShape() &&
                       memref::CollapseShapeOp::isGuaranteedCollapsible(
                           type, mergeIndices(type.getRank(), **index)));
  });
}

/// The indices of an operand after its loops have been merged.
AffineMap mergeMap(AffineMap map, LoopPair pair) {
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    dims.push_back(
        getAffineDimExpr(dim - (dim > pair.inner), map.getContext()));
  SmallVector<AffineExpr> results;
  for (AffineExpr result : map.getResults())
    if (!result.isFunctionOfDim(pair.inner))
      results.push_back(result.replaceDims(dims));
  return AffineMap::get(map.getNumDims() - 1, 0, results, map.getContext());
}

/// Merges loops of all operations of a group.
class LoopMerger {
public:
  explicit LoopMerger(ProductGroup &group)
      : builder(group.product.op), product(group.product.op) {
    auto add = [&](linalg::GenericOp op, ArrayRef<unsigned> dims) {
      members.push_back({op, SmallVector<unsigned>(dims)});
    };
    if (group.fill)
      add(group.fill, getFillDims(group));
    add(product, llvm::to_vector(llvm::seq<unsigned>(product.getNumLoops())));
    for (linalg::GenericOp op : group.epilogue)
      add(op, group.getDims(op));
    for (auto &[buffer, dims] : group.buffers)
      if (group.registers.contains(buffer))
        registers.push_back(buffer.getDefiningOp<memref::AllocOp>());
  }

  linalg::GenericOp run() {
    bool isChanged = false;
    while (std::optional<LoopPair> pair = findPair()) {
      merge(*pair);
      isChanged = true;
    }
    return isChanged ? product : linalg::GenericOp();
  }

private:
  struct Member {
    linalg::GenericOp op;
    /// For each of its loops, that of the product.
    SmallVector<unsigned> dims;
  };

  /// The loops of the product in the order of those of the fill.
  static SmallVector<unsigned> getFillDims(ProductGroup &group) {
    AffineMap map =
        group.fill.getMatchingIndexingMap(group.fill.getDpsInitOperand(0));
    SmallVector<unsigned> dims(map.getNumDims());
    for (auto [index, dim] :
         llvm::enumerate(group.buffers[group.product.out->get()]))
      dims[map.getDimPosition(index)] = dim;
    return dims;
  }

  /// The pair of loops of a member; none if it has neither. Failure if it has
  /// only one of them.
  static FailureOr<std::optional<LoopPair>> getPair(const Member &member,
                                                    LoopPair pair) {
    auto *outer = llvm::find(member.dims, pair.outer),
         *inner = llvm::find(member.dims, pair.inner), *end = member.dims.end();
    if (outer == end && inner == end)
      return std::optional<LoopPair>();
    if (outer == end || inner == end)
      return failure();
    return std::optional<LoopPair>(
        LoopPair{unsigned(outer - member.dims.begin()),
                 unsigned(inner - member.dims.begin())});
  }

  bool canMergeAll(LoopPair pair) {
    return llvm::all_of(members, [&](Member &member) {
      FailureOr<std::optional<LoopPair>> own = getPair(member, pair);
      return succeeded(own) && (!*own || canMerge(member.op, **own));
    });
  }

  /// Two loops of the product that can be merged, the inner one behind the
  /// outer one in the order of execution: that of the terms of a sum.
  std::optional<LoopPair> findPair() {
    SmallVector<utils::IteratorType> iterators =
        product.getIteratorTypesArray();
    for (unsigned outer = 0; outer < iterators.size(); ++outer)
      for (unsigned inner = outer + 1; inner < iterators.size(); ++inner) {
        if (iterators[inner] != iterators[outer])
          continue;
        if (canMergeAll({outer, inner}))
          return LoopPair{outer, inner};
        // Between terms of two loops there may not be those of a third one.
        if (iterators[outer] == utils::IteratorType::reduction)
          break;
      }
    return std::nullopt;
  }

  void merge(LoopPair pair) {
    // The same view for all operations, which recognize buffers by it.
    views.clear();
    for (Member &member : members) {
      if (std::optional<LoopPair> own = *getPair(member, pair)) {
        linalg::GenericOp merged = mergeIn(member.op, *own);
        if (member.op == product)
          product = merged;
        member.op.erase();
        member.op = merged;
        member.dims.erase(member.dims.begin() + own->inner);
      }
      for (unsigned &dim : member.dims)
        dim -= dim > pair.inner;
    }
    for (memref::AllocOp &alloc : registers)
      replaceAlloc(alloc);
  }

  linalg::GenericOp mergeIn(linalg::GenericOp op, LoopPair pair) {
    builder.setInsertionPoint(op);
    SmallVector<Value> operands;
    SmallVector<AffineMap> maps;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      std::optional<unsigned> index = *findIndex(map, pair);
      operands.push_back(index ? getView(operand.get(), *index)
                               : operand.get());
      maps.push_back(mergeMap(map, pair));
    }
    SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
    iterators.erase(iterators.begin() + pair.inner);
    ArrayRef<Value> all(operands);
    auto merged = linalg::GenericOp::create(
        builder, op.getLoc(), all.take_front(op.getNumDpsInputs()),
        all.drop_front(op.getNumDpsInputs()), maps, iterators);
    merged->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    merged.getRegion().takeBody(op.getRegion());
    return merged;
  }

  Value getView(Value memory, unsigned index) {
    Value &view = views[{memory, index}];
    if (!view)
      view = memref::CollapseShapeOp::create(
          builder, memory.getLoc(), memory,
          mergeIndices(cast<MemRefType>(memory.getType()).getRank(), index));
    return view;
  }

  /// Buffers that stay in registers are no views.
  static void replaceAlloc(memref::AllocOp &alloc) {
    auto view =
        alloc->use_empty()
            ? memref::CollapseShapeOp()
            : dyn_cast<memref::CollapseShapeOp>(*alloc->getUsers().begin());
    if (!view || !alloc->hasOneUse())
      return;
    OpBuilder builder(alloc);
    auto replacement = memref::AllocOp::create(builder, alloc.getLoc(),
                                               cast<MemRefType>(view.getType()),
                                               alloc.getAlignmentAttr());
    view.replaceAllUsesWith(replacement.getResult());
    view.erase();
    alloc.erase();
    alloc = replacement;
  }

  OpBuilder builder;
  linalg::GenericOp product;
  /// In the order of the block.
  SmallVector<Member> members;
  SmallVector<memref::AllocOp> registers;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> views;
};

} // namespace

linalg::GenericOp lockstep::mergeLoops(ProductGroup &group) {
  return LoopMerger(group).run();
}
