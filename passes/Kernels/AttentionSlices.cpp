//===- AttentionSlices.cpp - Attention of a few heads at a time -----------===//
//
// Scores have no dimension that an attention and what follows it share: stored
// for all examples and heads, they are most of the memory of a step with long
// sequences. In a loop, the scores of an iteration replace those of the one
// before, and a gradient computes them again.
//
//===----------------------------------------------------------------------===//

#include "passes/Kernels/AttentionSlices.h"

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// What an iteration has a part of.
enum class Sliced { Examples, Heads };

/// Sizes of an attention.
struct Sizes {
  int64_t examples, heads;
  /// Of the scores of one head.
  uint64_t headBytes;
};

/// The part of an operand or a result from index `first` on.
struct Part {
  Part(OpBuilder &builder, Value whole, Sliced sliced, OpFoldResult first,
       int64_t size) {
    auto type = cast<RankedTensorType>(whole.getType());
    int64_t rank = type.getRank();
    for (int64_t extent : type.getShape())
      sizes.push_back(builder.getIndexAttr(extent));
    offsets.assign(rank, builder.getIndexAttr(0));
    strides.assign(rank, builder.getIndexAttr(1));
    // Statistics are [examples, heads, positions], all others [examples,
    // positions, heads, elements].
    unsigned dim = sliced == Sliced::Examples ? 0 : rank == 3 ? 1 : 2;
    offsets[dim] = first;
    sizes[dim] = builder.getIndexAttr(size);
  }

  SmallVector<OpFoldResult> offsets, sizes, strides;
};

} // namespace

static Sizes sizesOf(Operation *op) {
  // Both operations begin with the queries and the keys.
  auto query = cast<RankedTensorType>(op->getOperand(0).getType()),
       key = cast<RankedTensorType>(op->getOperand(1).getType());
  FloatType wide = device::getWideType(query.getElementType());
  return {query.getDimSize(0), query.getDimSize(2),
          uint64_t(query.getDimSize(1)) * uint64_t(key.getDimSize(1)) *
              (wide.getWidth() / 8)};
}

/// Adds the attention of `size` examples or heads from `first` on to `slices`,
/// and returns `results` with what it computes.
static SmallVector<Value> addSlice(OpBuilder &builder, Operation *op,
                                   Sliced sliced, OpFoldResult first,
                                   int64_t size, ValueRange results,
                                   SmallVectorImpl<Operation *> &slices) {
  Location loc = op->getLoc();
  auto extract = [&](Value whole) -> Value {
    Part part(builder, whole, sliced, first, size);
    return tensor::ExtractSliceOp::create(builder, loc, whole, part.offsets,
                                          part.sizes, part.strides);
  };
  auto style = cast<DestinationStyleOpInterface>(op);
  SmallVector<Value> operands;
  for (Value input : style.getDpsInputs())
    operands.push_back(extract(input));
  for (Value result : results)
    operands.push_back(extract(result));
  TypeRange types =
      ValueRange(operands).take_back(style.getNumDpsInits()).getTypes();
  Operation *slice = clone(builder, op, types, operands);
  slices.push_back(slice);
  return llvm::map_to_vector(
      llvm::zip_equal(slice->getResults(), results), [&](auto pair) -> Value {
        auto [computed, whole] = pair;
        Part part(builder, whole, sliced, first, size);
        return tensor::InsertSliceOp::create(builder, loc, computed, whole,
                                             part.offsets, part.sizes,
                                             part.strides);
      });
}

/// Replaces `op` by slices of `size` of its `count` examples or heads.
static SmallVector<Operation *> addSlices(RewriterBase &rewriter, Operation *op,
                                          Sliced sliced, int64_t count,
                                          int64_t size) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op->getLoc();
  SmallVector<Operation *> slices;
  SmallVector<Value> results =
      llvm::to_vector(cast<DestinationStyleOpInterface>(op).getDpsInits());
  int64_t end = count / size * size;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  auto loop = scf::ForOp::create(
      rewriter, loc, constant(0), constant(end), constant(size), results,
      [&](OpBuilder &builder, Location, Value first, ValueRange carried) {
        scf::YieldOp::create(
            builder, loc,
            addSlice(builder, op, sliced, first, size, carried, slices));
      });
  results.assign(loop.result_begin(), loop.result_end());
  if (end < count)
    results = addSlice(rewriter, op, sliced, rewriter.getIndexAttr(end),
                       count - end, results, slices);
  rewriter.replaceOp(op, results);
  return slices;
}

/// How many of `count` examples or heads a slice has, of `most` at most, but
/// one in any case: slices as equal as possible.
static int64_t chooseSize(int64_t count, uint64_t most) {
  int64_t slices = llvm::divideCeil(count, std::max<int64_t>(1, int64_t(most)));
  return llvm::divideCeil(count, slices);
}

SmallVector<Operation *> lockstep::sliceAttention(RewriterBase &rewriter,
                                                  Operation *op,
                                                  uint64_t mostBytes) {
  Sizes sizes = sizesOf(op);
  uint64_t exampleBytes = sizes.headBytes * uint64_t(sizes.heads);
  if (sizes.examples > 1 &&
      exampleBytes * uint64_t(sizes.examples) > mostBytes) {
    SmallVector<Operation *> all;
    for (Operation *slice :
         addSlices(rewriter, op, Sliced::Examples, sizes.examples,
                   chooseSize(sizes.examples, mostBytes / exampleBytes)))
      llvm::append_range(all, sliceAttention(rewriter, slice, mostBytes));
    return all;
  }
  if (sizes.heads > 1 && exampleBytes > mostBytes)
    return addSlices(rewriter, op, Sliced::Heads, sizes.heads,
                     chooseSize(sizes.heads, mostBytes / sizes.headBytes));
  return {op};
}
