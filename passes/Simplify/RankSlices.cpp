//===- RankSlices.cpp - Collectives of each rank's own rows ---------------===//

#include "passes/Simplify/RankSlices.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace lockstep;
using namespace mlir;

using collective::Kind;
using collective::StartOp;
using collective::WaitOp;

WaitOp lockstep::waitOf(StartOp start) {
  return cast<WaitOp>(*start->user_begin());
}

bool lockstep::isSliceOfRank(tensor::ExtractSliceOp slice,
                             const RankConstants &constants, int64_t ranks) {
  RankedTensorType from = slice.getSourceType(), to = slice.getType();
  if (!from.hasStaticShape() || !to.hasStaticShape() || from.getRank() == 0 ||
      from.getRank() != to.getRank() || ranks < 1 ||
      from.getDimSize(0) != to.getDimSize(0) * ranks || !slice.hasUnitStride())
    return false;
  ArrayRef<int64_t> offsets = slice.getStaticOffsets();
  for (int64_t d = 1; d < from.getRank(); ++d)
    if (from.getDimSize(d) != to.getDimSize(d) || offsets[d] != 0)
      return false;
  OpFoldResult first = slice.getMixedOffsets().front();
  auto value = dyn_cast<Value>(first);
  if (!value)
    return ranks == 1;
  SmallVector<int64_t> known = constants.lookupIntegers(value);
  if (static_cast<int64_t>(known.size()) != ranks)
    return false;
  for (auto [rank, offset] : llvm::enumerate(known))
    if (offset != static_cast<int64_t>(rank) * to.getDimSize(0))
      return false;
  return true;
}

SmallVector<tensor::ExtractSliceOp>
lockstep::findSlicesOfRank(StartOp start, const RankConstants &constants,
                           int64_t ranks) {
  if (start.getKind() != Kind::AllReduce || start.getInputs().size() != 1)
    return {};
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : waitOf(start)->getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isSliceOfRank(slice, constants, ranks))
      return {};
    slices.push_back(slice);
  }
  return slices;
}

/// Replaces `start` and its wait by a collective of another kind with a result
/// of type `result`, which is returned.
static Value replaceKind(StartOp start, Kind kind, Value operand,
                         RankedTensorType result, Location loc) {
  OpBuilder builder(start);
  bool hasAxis = collective::propertiesOf(kind).hasAxis();
  auto replaced = StartOp::create(
      builder, loc,
      collective::PendingType::get(builder.getContext(), Type(result)),
      collective::KindAttr::get(builder.getContext(), kind),
      start.getReductionAttr(), start.getGroupAttr(), IntegerAttr(), operand,
      /*sizes=*/ValueRange(),
      hasAxis ? builder.getI64IntegerAttr(0) : IntegerAttr(),
      start.getBytesPerPackAttr(), /*bounds=*/DenseI64ArrayAttr(),
      /*root=*/IntegerAttr(), /*sources=*/DenseI64ArrayAttr());
  return WaitOp::create(builder, loc, TypeRange(result), replaced, operand)
      .getResult(0);
}

void lockstep::eraseWithWait(StartOp start) {
  waitOf(start).erase();
  start.erase();
}

Value lockstep::scatterReduction(StartOp start,
                                 ArrayRef<tensor::ExtractSliceOp> slices) {
  tensor::ExtractSliceOp first = slices.front();
  Value part = replaceKind(start, Kind::ReduceScatter, start.getInputs()[0],
                           first.getType(), start.getLoc());
  for (tensor::ExtractSliceOp slice : slices) {
    slice.replaceAllUsesWith(part);
    slice.erase();
  }
  eraseWithWait(start);
  return part;
}

StartOp lockstep::findGatheredScatter(StartOp gather) {
  if (gather.getKind() != Kind::AllGather || gather.getInputs().size() != 1 ||
      gather.getAxis().value_or(0) != 0)
    return nullptr;
  auto wait = gather.getInputs()[0].getDefiningOp<WaitOp>();
  if (!wait || wait->getBlock() != gather->getBlock() ||
      wait.getNumResults() != 1 ||
      // By the start of the gather and its wait.
      !llvm::all_of(wait->getUsers(), [&](Operation *user) {
        return user == gather || user == waitOf(gather);
      }))
    return nullptr;
  StartOp scatter = wait.getStart();
  return scatter.getKind() == Kind::ReduceScatter &&
                 scatter.getInputs().size() == 1 &&
                 scatter.getAxis().value_or(0) == 0 &&
                 scatter.getGroupAttr() == gather.getGroupAttr() &&
                 collective::isReductionResult(
                     cast<RankedTensorType>(scatter.getInputs()[0].getType()),
                     waitOf(gather).getResult(0).getType())
             ? scatter
             : nullptr;
}

Value lockstep::reduceForAll(StartOp scatter, StartOp gather) {
  WaitOp wait = waitOf(gather);
  Value sum = replaceKind(scatter, Kind::AllReduce, scatter.getInputs()[0],
                          cast<RankedTensorType>(wait.getResult(0).getType()),
                          scatter.getLoc());
  wait.getResult(0).replaceAllUsesWith(sum);
  eraseWithWait(gather);
  eraseWithWait(scatter);
  return sum;
}
