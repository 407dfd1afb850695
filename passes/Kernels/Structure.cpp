//===- Structure.cpp - Classes of linalg operations -----------------------===//

#include "passes/Kernels/Structure.h"

#include "dialect/Interfaces/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

bool lockstep::isProduct(linalg::LinalgOp op) {
  return op.getNumReductionLoops() > 0 && op.getNumDpsInputs() >= 2 &&
         op.getNumDpsInits() == 1;
}

OpOperand *lockstep::getInput(linalg::LinalgOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return nullptr;
  return op.getDpsInputOperand(argument.getArgNumber());
}

/// The same, possibly extended to a wider float.
static OpOperand *getExtendedInput(linalg::LinalgOp op, Value value) {
  while (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return lockstep::getInput(op, value);
}

std::pair<OpOperand *, OpOperand *> lockstep::getFactors(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0)
    return {};
  auto add = op.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add)
    return {};
  Value accumulator = op.getRegionOutputArgs()[0];
  Value product = add.getLhs() == accumulator   ? add.getRhs()
                  : add.getRhs() == accumulator ? add.getLhs()
                                                : Value();
  auto multiply = product ? product.getDefiningOp<arith::MulFOp>() : nullptr;
  if (!multiply || !accumulator.hasOneUse())
    return {};
  OpOperand *lhs = getExtendedInput(op, multiply.getLhs());
  OpOperand *rhs = getExtendedInput(op, multiply.getRhs());
  if (!lhs || !rhs || lhs == rhs)
    return {};
  return {lhs, rhs};
}

/// Whether `op` is a convolution in one or two dimensions with channels last,
/// or the gradient of a filter of one.
static bool isPlainConvolution(linalg::LinalgOp op) {
  if (isa<linalg::Conv1DNwcWcfOp, linalg::Conv2DNhwcHwcfOp,
          linalg::Conv2DNhwcFhwcOp>(op.getOperation()))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!generic || !lockstep::getFactors(generic).first)
    return false;
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  AffineMap result = maps.back();
  if (result.getNumResults() == 0)
    return false;
  auto channel = dyn_cast<AffineDimExpr>(result.getResults().back());
  if (!channel)
    return false;
  size_t windows = 0;
  for (AffineMap map : ArrayRef(maps).drop_back())
    for (AffineExpr index : map.getResults()) {
      if (isa<AffineDimExpr, AffineConstantExpr>(index))
        continue;
      ++windows;
      if (index.isFunctionOfDim(channel.getPosition()))
        return false;
    }
  // A loop of all three tensors runs over groups of channels.
  for (unsigned dim = 0; dim < result.getNumDims(); ++dim)
    if (llvm::all_of(maps,
                     [&](AffineMap map) { return map.isFunctionOfDim(dim); }))
      return false;
  return windows == 1 || windows == 2;
}

bool lockstep::isByLibrary(linalg::LinalgOp product, bool ofMatrices,
                           bool ofConvolutions) {
  return linalg::isaContractionOpInterface(product)
             ? ofMatrices
             : ofConvolutions && isPlainConvolution(product);
}

bool lockstep::isRounding(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1)
    return false;
  auto truncate = op.getBlock()
                      ->getTerminator()
                      ->getOperand(0)
                      .getDefiningOp<arith::TruncFOp>();
  return truncate && truncate.getIn() == op.getRegionInputArgs()[0] &&
         truncate->getBlock() == op.getBlock();
}

bool lockstep::isElementwise(linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 0;
}

std::optional<SmallVector<std::optional<unsigned>>>
lockstep::matchUnitDims(RankedTensorType larger,
                        ArrayRef<ReassociationIndices> groups) {
  SmallVector<std::optional<unsigned>> dims(larger.getRank());
  for (auto [small, group] : llvm::enumerate(groups)) {
    std::optional<int64_t> own;
    for (int64_t dim : group) {
      if (larger.getDimSize(dim) == 1)
        continue;
      if (own)
        return std::nullopt;
      own = dim;
    }
    if (own)
      dims[*own] = small;
  }
  return dims;
}

bool lockstep::isEpilogueOf(linalg::GenericOp consumer,
                            linalg::LinalgOp product) {
  if (!lockstep::isElementwise(consumer) || product->getNumResults() != 1)
    return false;
  for (OpOperand &operand : consumer->getOpOperands()) {
    bool isInit = consumer.isDpsInit(&operand);
    if ((isInit || operand.get() == product->getResult(0)) &&
        !consumer.getMatchingIndexingMap(&operand).isIdentity())
      return false;
    if (isInit && operand.get() == product->getResult(0))
      return false;
  }
  // The code of a product with an epilogue keeps the sums of a tile, whose size
  // must be static.
  auto type = cast<RankedTensorType>(product->getResultTypes().front());
  return type.hasStaticShape() &&
         type.getShape() ==
             cast<RankedTensorType>(consumer.getResultTypes().front())
                 .getShape();
}

/// Whether there is one use, but for those of operations that are not needed,
/// which rewriting leaves behind for a while.
static bool hasOneLiveUse(Value value) {
  return llvm::count_if(value.getUsers(), [](Operation *user) {
           return !isOpTriviallyDead(user);
         }) == 1;
}

linalg::LinalgOp lockstep::findProductFor(Value value) {
  auto producer = value.getDefiningOp<linalg::LinalgOp>();
  if (!producer || getFactors(producer).first)
    return producer;
  if (!isElementwise(producer))
    return nullptr;
  auto getBytes = [](Value tensor) {
    return getElementBytes(getElementTypeOrSelf(tensor));
  };
  for (OpOperand *input : producer.getDpsInputOperands())
    if (producer.getMatchingIndexingMap(input).isPermutation() &&
        getBytes(input->get()) >= getBytes(value) &&
        hasOneLiveUse(input->get()))
      if (linalg::LinalgOp found = findProductFor(input->get()))
        return found;
  return nullptr;
}

std::optional<unsigned> lockstep::getOnlyResult(AffineMap map, unsigned dim) {
  std::optional<unsigned> found;
  for (auto [i, result] : llvm::enumerate(map.getResults())) {
    if (!result.isFunctionOfDim(dim))
      continue;
    if (found || !isa<AffineDimExpr>(result))
      return std::nullopt;
    found = i;
  }
  return found;
}
