//===- RankSlices.cpp - Collectives of each rank's own rows ---------------===//

#include "passes/Simplify/RankSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

using collective::Kind;
using collective::StartOp;
using collective::WaitOp;

WaitOp lockstep::waitOf(StartOp start) {
  return cast<WaitOp>(*start->user_begin());
}

ResultRange lockstep::createExchange(OpBuilder &atStart, OpBuilder &atWait,
                                     Location loc, Kind kind,
                                     collective::ReductionAttr reduction,
                                     FlatSymbolRefAttr group,
                                     ValueRange operands, TypeRange results,
                                     IntegerAttr bytesPerPack) {
  MLIRContext *context = atStart.getContext();
  bool hasAxis = collective::propertiesOf(kind).hasAxis();
  auto start = StartOp::create(
      atStart, loc,
      collective::PendingType::get(context, llvm::to_vector(results)),
      collective::KindAttr::get(context, kind), reduction, group,
      /*channel=*/IntegerAttr(), operands, /*sizes=*/ValueRange(),
      hasAxis ? atStart.getI64IntegerAttr(0) : IntegerAttr(), bytesPerPack,
      /*bounds=*/DenseI64ArrayAttr(), /*root=*/IntegerAttr(),
      /*sources=*/DenseI64ArrayAttr());
  return WaitOp::create(atWait, loc, results, start, operands).getResults();
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

/// The constant `value`, if all its elements are equal; else null.
static SplatElementsAttr getSplat(Value value) {
  SplatElementsAttr splat;
  return matchPattern(value, m_Constant(&splat)) ? splat : nullptr;
}

/// Whether `op` computes each element of its result from that of `value` and
/// from values that are the same for all elements.
static bool isElementwiseOn(Operation *op, Value value) {
  if (op->getNumResults() != 1)
    return false;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.getNumDpsInputs() == 1 &&
           generic.getInputs().front() == value &&
           generic.getOutputs().front().getDefiningOp<tensor::EmptyOp>() &&
           generic.getNumReductionLoops() == 0 &&
           !generic.hasIndexSemantics() &&
           llvm::all_of(generic.getIndexingMapsArray(),
                        [](AffineMap map) { return map.isIdentity(); });
  return OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand == value || getSplat(operand);
         });
}

OwnRows lockstep::findOwnRows(StartOp start, const RankConstants &constants,
                              int64_t ranks) {
  if (start.getKind() != Kind::AllReduce || start.getInputs().size() != 1)
    return {};
  OwnRows found;
  Value value = waitOf(start).getResult(0);
  while (llvm::hasSingleElement(value.getUsers()) &&
         isElementwiseOn(*value.user_begin(), value)) {
    found.elementwise.push_back(*value.user_begin());
    value = found.elementwise.back()->getResult(0);
  }
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isSliceOfRank(slice, constants, ranks))
      return {};
    found.slices.push_back(slice);
  }
  return found;
}

/// The element-wise `op` with `rows`, some rows of its operand, in its place.
static Value computeRows(Operation *op, Value operand, Value rows) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(rows.getType()).getShape();
  auto typeOf = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).clone(shape);
  };
  OpBuilder builder(op);
  IRMapping mapping;
  mapping.map(operand, rows);
  for (Value other : op->getOperands()) {
    if (other == operand)
      continue;
    Value ofRows;
    if (SplatElementsAttr splat = getSplat(other))
      ofRows = arith::ConstantOp::create(builder, op->getLoc(),
                                         splat.resizeSplat(typeOf(other)));
    else
      ofRows = tensor::EmptyOp::create(builder, op->getLoc(), shape,
                                       getElementTypeOrSelf(other));
    mapping.map(other, ofRows);
  }
  Operation *onRows = builder.clone(*op, mapping);
  Value result = onRows->getResult(0);
  result.setType(typeOf(result));
  return result;
}

/// Replaces `start` and its wait by a collective of another kind with a result
/// of type `result`, which is returned.
static Value replaceKind(StartOp start, Kind kind, Value operand,
                         RankedTensorType result, Location loc) {
  OpBuilder builder(start);
  return createExchange(builder, builder, loc, kind, start.getReductionAttr(),
                        start.getGroupAttr(), operand, TypeRange(result),
                        start.getBytesPerPackAttr())
      .front();
}

void lockstep::eraseWithWait(StartOp start) {
  waitOf(start).erase();
  start.erase();
}

SmallVector<Value> lockstep::scatterReduction(StartOp start,
                                              const OwnRows &users) {
  Value whole = waitOf(start).getResult(0);
  auto rowsOf = [&](Value value) {
    auto slice = users.slices.front();
    return RankedTensorType::get(slice.getType().getShape(),
                                 getElementTypeOrSelf(value));
  };
  SmallVector<Value> created;
  created.push_back(replaceKind(start, Kind::ReduceScatter,
                                start.getInputs()[0], rowsOf(whole),
                                start.getLoc()));
  for (Operation *op : users.elementwise) {
    created.push_back(computeRows(op, whole, created.back()));
    whole = op->getResult(0);
  }
  for (tensor::ExtractSliceOp slice : users.slices) {
    slice.replaceAllUsesWith(created.back());
    slice.erase();
  }
  for (Operation *op : llvm::reverse(users.elementwise))
    op->erase();
  eraseWithWait(start);
  return created;
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
