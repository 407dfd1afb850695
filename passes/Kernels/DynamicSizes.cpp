//===- DynamicSizes.cpp - Values and bounds of dynamic sizes --------------===//

#include "passes/Kernels/DynamicSizes.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Kernels/KernelScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

static bool isDynamic(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && !type.hasStaticShape();
}

FailureOr<DynamicSizes> DynamicSizes::find(func::FuncOp step) {
  DynamicSizes sizes(step);
  for (BlockArgument argument : step.getArguments())
    if (isDynamic(argument))
      return emitError(argument.getLoc())
             << "expected arguments of static shape, found "
             << argument.getType();
  sizes.findArgumentBounds(step);
  if (failed(sizes.findAll(step.getBody().front())))
    return failure();
  return sizes;
}

/// A batch "x" of dynamic size comes with arguments such as "x.dim0" for its
/// sizes. The bound of such a size is the static size of the batch, which is
/// padded. It is known even if the batch itself is not used.
void DynamicSizes::findArgumentBounds(func::FuncOp step) {
  auto getBatch = [&](BlockArgument argument) {
    auto binding = step.getArgAttrOfType<device::BindingAttr>(
        argument.getArgNumber(), "device.binding");
    return binding && binding.getKind() == device::BindingKind::Batch
               ? binding.getName()
               : StringRef();
  };
  llvm::StringMap<RankedTensorType> batches;
  for (BlockArgument argument : step.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && !getBatch(argument).empty())
      batches[getBatch(argument)] = type;
  for (BlockArgument argument : step.getArguments()) {
    auto [name, dimension] = getBatch(argument).rsplit(".dim");
    unsigned d;
    if (auto found = batches.find(name); found != batches.end() &&
                                         !dimension.getAsInteger(10, d) &&
                                         d < found->second.getRank())
      argumentBounds[argument] = found->second.getDimSize(d);
  }
}

ArrayRef<DynamicSize> DynamicSizes::of(Value tensor) const {
  auto it = sizes.find(tensor);
  return it == sizes.end() ? ArrayRef<DynamicSize>()
                           : ArrayRef<DynamicSize>(it->second);
}

void DynamicSizes::copy(Value tensor, Value copy) {
  if (isDynamic(tensor))
    sizes[copy] = SmallVector<DynamicSize, 1>(of(tensor));
}

/// The integer in memory that `index` was loaded from.
static tensor::ExtractOp getLoad(Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  auto extract =
      cast ? cast.getIn().getDefiningOp<tensor::ExtractOp>() : nullptr;
  return extract && extract.getIndices().empty() ? extract : nullptr;
}

/// Annotates the collective with the bounds of its results, with which memory
/// is planned.
static void setBounds(collective::WaitOp wait, const DynamicSizes &sizes) {
  SmallVector<int64_t> bounds;
  for (Value result : wait.getResults())
    for (const DynamicSize &size : sizes.of(result))
      bounds.push_back(size.bound);
  if (!bounds.empty())
    wait.getStart().setBounds(bounds);
}

/// In program order, so that the sizes of operands are known.
LogicalResult DynamicSizes::findAll(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto cast = dyn_cast<arith::IndexCastOp>(op))
      if (tensor::ExtractOp load = getLoad(cast.getResult()))
        if (int64_t bound = argumentBounds.lookup(load.getTensor()))
          bounds[cast.getResult()] = bound;
    if (auto dim = dyn_cast<tensor::DimOp>(op)) {
      auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
      std::optional<int64_t> index = dim.getConstantIndex();
      if (type && index && (*index < 0 || *index >= type.getRank()))
        return dim.emitError("expected one of ")
               << type.getRank() << " dimensions of " << type << ", found "
               << *index;
      if (isDynamic(dim.getSource())) {
        replaceDim(dim);
        continue;
      }
    }
    if (auto select = dyn_cast<arith::SelectOp>(op);
        select && isDynamic(select.getResult())) {
      builder.setInsertionPoint(select);
      auto sideOf = [](Value value) {
        return [value](OpBuilder &b, Location loc) {
          scf::YieldOp::create(b, loc, value);
        };
      };
      auto branch = scf::IfOp::create(
          builder, select.getLoc(), select.getCondition(),
          sideOf(select.getTrueValue()), sideOf(select.getFalseValue()));
      select.getResult().replaceAllUsesWith(branch.getResult(0));
      select.erase();
      if (failed(padResults(branch)))
        return failure();
      continue;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region &region : branch->getRegions())
        for (Block &inner : region)
          if (failed(findAll(inner)))
            return failure();
      if (llvm::any_of(branch.getResults(), isDynamic) &&
          failed(padResults(branch)))
        return failure();
      continue;
    }
    if (auto start = dyn_cast<collective::StartOp>(op))
      for (OpOperand &size : start.getSizesMutable())
        size.set(store(size.get()));
    for (OpResult result : op.getResults())
      if (isDynamic(result) && failed(findSizes(result)))
        return failure();
    if (auto wait = dyn_cast<collective::WaitOp>(op))
      setBounds(wait, *this);
    if (isa<linalg::LinalgOp>(op))
      continue;
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        for (BlockArgument argument : inner.getArguments())
          if (isDynamic(argument))
            return op.emitError("expected values that loops carry to have "
                                "static shapes, found ")
                   << argument.getType();
        if (failed(findAll(inner)))
          return failure();
      }
  }
  return success();
}

/// The size `index`, computed on a side of a branch, as a tensor that the side
/// can yield.
static Value storeSize(OpBuilder &builder, Location loc, Value index) {
  if (std::optional<int64_t> constant = getConstantIntValue(index)) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, *constant));
  }
  if (tensor::ExtractOp load = getLoad(index))
    return load.getTensor();
  return storeScalar(builder, loc, index);
}

/// The sides of a branch may yield tensors of different sizes. Each side pads
/// its tensor to the larger of the two bounds, for which memory is planned, and
/// yields its size, too; behind the branch, the result is sliced to that size.
LogicalResult DynamicSizes::padResults(scf::IfOp branch) {
  Location loc = branch.getLoc();
  SmallVector<Type> types(branch.getResultTypes());
  Operation *ends[] = {branch.thenYield(), branch.elseYield()};
  for (OpResult result : branch.getResults()) {
    if (!isDynamic(result))
      continue;
    auto type = cast<RankedTensorType>(result.getType());
    unsigned number = result.getResultNumber();
    SmallVector<int64_t> most(type.getShape());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t first = boundOf(ends[0]->getOperand(number), d),
              second = boundOf(ends[1]->getOperand(number), d);
      if (type.isDynamicDim(d) && (first == 0 || second == 0))
        return branch.emitError("no bound for the size of dimension ")
               << d << " of " << type << ", the result of '"
               << branch->getName() << "'";
      most[d] = std::max(first, second);
    }
    types[number] =
        RankedTensorType::get(most, type.getElementType(), type.getEncoding());
    types.append(type.getNumDynamicDims(),
                 RankedTensorType::get({}, builder.getI64Type()));
    for (Operation *end : ends) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(end);
      Value given = end->getOperand(number);
      SmallVector<OpFoldResult> offsets(type.getRank(),
                                        builder.getIndexAttr(0)),
          strides(type.getRank(), builder.getIndexAttr(1));
      SmallVector<OpFoldResult> extents;
      for (int64_t d = 0; d < type.getRank(); ++d)
        extents.push_back(type.isDynamicDim(d)
                              ? OpFoldResult(sizeOf(given, d).value)
                              : builder.getIndexAttr(type.getDimSize(d)));
      Value place =
          tensor::EmptyOp::create(builder, loc, most, type.getElementType());
      Value zero = arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(type.getElementType()));
      place = linalg::FillOp::create(builder, loc, zero, place).getResult(0);
      end->setOperand(number,
                      tensor::InsertSliceOp::create(builder, loc, given, place,
                                                    offsets, extents, strides));
      for (const DynamicSize &size : of(given))
        end->insertOperands(end->getNumOperands(),
                            storeSize(builder, loc, size.value));
    }
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch);
  auto padded =
      scf::IfOp::create(builder, loc, types, branch.getCondition(),
                        /*addThenBlock=*/false, /*addElseBlock=*/false);
  padded->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  for (auto [to, from] :
       llvm::zip_equal(padded->getRegions(), branch->getRegions()))
    to.takeBody(from);
  unsigned next = branch.getNumResults();
  for (OpResult result : branch.getResults()) {
    Value given = padded.getResult(result.getResultNumber());
    if (!isDynamic(result)) {
      result.replaceAllUsesWith(given);
      continue;
    }
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
        strides(type.getRank(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> extents;
    for (int64_t d = 0; d < type.getRank(); ++d)
      extents.push_back(
          type.isDynamicDim(d)
              ? OpFoldResult(loadScalar(builder, loc, padded.getResult(next++),
                                        builder.getIndexType()))
              : builder.getIndexAttr(type.getDimSize(d)));
    auto slice = tensor::ExtractSliceOp::create(builder, loc, type, given,
                                                offsets, extents, strides);
    if (failed(findSizes(slice->getResult(0))))
      return failure();
    result.replaceAllUsesWith(slice);
  }
  branch.erase();
  return success();
}

void DynamicSizes::replaceDim(tensor::DimOp dim) {
  std::optional<int64_t> index = dim.getConstantIndex();
  auto type = cast<RankedTensorType>(dim.getSource().getType());
  if (!index || !type.isDynamicDim(*index))
    return;
  dim.replaceAllUsesWith(sizeOf(dim.getSource(), *index).value);
  dim.erase();
}

LogicalResult DynamicSizes::findSizes(OpResult tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Operation *op = tensor.getOwner();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d))
      continue;
    DynamicSize size = findSize(tensor, d);
    if (!size.value)
      return op->emitError("cannot determine the size of dimension ")
             << d << " of " << type << ", the result of '" << op->getName()
             << "'";
    // An empty tensor is only a destination, and may get its bound from the
    // operation that writes to it.
    if (size.bound == 0 && !isa<tensor::EmptyOp>(op))
      return op->emitError("no bound for the size of dimension ")
             << d << " of " << type << ", the result of '" << op->getName()
             << "'; a slice of a tensor with a static shape has one";
    size.value = store(size.value);
    // Other tensors with the same size value have the same bound.
    if (int64_t &known = bounds[size.value]; size.bound)
      known = known ? std::min(known, size.bound) : size.bound;
    sizes[tensor].push_back(size);
  }
  return success();
}

DynamicSize DynamicSizes::sizeOf(Value tensor, unsigned dimension) {
  ArrayRef<DynamicSize> found = of(tensor);
  return found.empty() ? DynamicSize()
                       : found[cast<RankedTensorType>(tensor.getType())
                                   .getDynamicDimIndex(dimension)];
}

int64_t DynamicSizes::boundOf(Value tensor, unsigned dimension) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.isDynamicDim(dimension) ? sizeOf(tensor, dimension).bound
                                      : type.getDimSize(dimension);
}

DynamicSize DynamicSizes::findSize(OpResult tensor, unsigned dimension) {
  auto type = cast<RankedTensorType>(tensor.getType());
  unsigned dynamic = type.getDynamicDimIndex(dimension);
  Operation *op = tensor.getOwner();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    Value size = empty.getDynamicSizes()[dynamic];
    return {size, bounds.lookup(size)};
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return findSliceSize(slice, dimension);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return findCastSize(cast, dimension);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return findExpandedSize(expand, dimension);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return findCollapsedSize(collapse, dimension);
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    DynamicSize size =
        sizeOf(destination.getTiedOpOperand(tensor)->get(), dimension);
    if (int64_t bound = boundByLoops(tensor, dimension))
      size.bound = size.bound ? std::min(size.bound, bound) : bound;
    return size;
  }
  if (auto wait = dyn_cast<collective::WaitOp>(op)) {
    collective::StartOp start = wait.getStart();
    unsigned number = tensor.getResultNumber();
    // If another role has the operands, the bounds are only in the attribute.
    if (std::optional<ArrayRef<int64_t>> known = start.getResultBounds(number))
      return {start.getResultSizes(number)[dynamic], (*known)[dynamic]};
    DynamicSize size{start.getResultSizes(number)[dynamic],
                     boundOf(start.getInputs()[number], dimension)};
    if (start.getAxis() == dimension) {
      FailureOr<int64_t> replicas =
          replica::getReplicaCount(op->getParentOfType<ModuleOp>());
      size.bound =
          succeeded(replicas)
              ? llvm::SaturatingMultiply<uint64_t>(size.bound, *replicas)
              : 0;
    }
    return size;
  }
  return {};
}

DynamicSize DynamicSizes::findCastSize(tensor::CastOp cast,
                                       unsigned dimension) {
  auto source = llvm::cast<RankedTensorType>(cast.getSource().getType());
  if (source.isDynamicDim(dimension))
    return sizeOf(cast.getSource(), dimension);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(cast);
  int64_t size = source.getDimSize(dimension);
  // A size of 0 has the bound 1, as a bound of 0 means that it is not known.
  return {arith::ConstantIndexOp::create(builder, cast.getLoc(), size),
          std::max<int64_t>(size, 1)};
}

/// The size of one of several dimensions into which one is expanded.
DynamicSize DynamicSizes::findExpandedSize(tensor::ExpandShapeOp expand,
                                           unsigned dimension) {
  auto value = cast<Value>(expand.getMixedOutputShape()[dimension]);
  int64_t source = expand.getCorrespondingSourceDim(dimension),
          bound = boundOf(expand.getSrc(), source);
  for (int64_t other : expand.getReassociationIndices()[source])
    if (int64_t size = expand.getType().getDimSize(other);
        !ShapedType::isDynamic(size))
      bound /= std::max<int64_t>(size, 1);
  int64_t known = bounds.lookup(value);
  return {value,
          known && bound ? std::min(known, bound) : std::max(known, bound)};
}

/// The size of the dimension into which several are collapsed: their product.
DynamicSize DynamicSizes::findCollapsedSize(tensor::CollapseShapeOp collapse,
                                            unsigned dimension) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(collapse);
  Location loc = collapse.getLoc();
  DynamicSize product{Value(), 1};
  int64_t factor = 1;
  for (int64_t source : collapse.getReassociationIndices()[dimension]) {
    auto type = collapse.getSrcType();
    product.bound = static_cast<int64_t>(llvm::SaturatingMultiply<uint64_t>(
        product.bound, boundOf(collapse.getSrc(), source)));
    if (!type.isDynamicDim(source)) {
      factor *= type.getDimSize(source);
      continue;
    }
    Value size = sizeOf(collapse.getSrc(), source).value;
    product.value =
        product.value ? arith::MulIOp::create(builder, loc, product.value, size)
                      : size;
  }
  if (factor != 1)
    product.value = arith::MulIOp::create(
        builder, loc, product.value,
        arith::ConstantIndexOp::create(builder, loc, factor));
  return product;
}

/// A slice is not larger than its source, which is a bound of the SSA value
/// that is the size of the slice.
DynamicSize DynamicSizes::findSliceSize(tensor::ExtractSliceOp slice,
                                        unsigned dimension) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  unsigned source = 0;
  for (unsigned kept = 0;; ++source)
    if (!dropped.test(source) && kept++ == dimension)
      break;
  int64_t bound = boundOf(slice.getSource(), source);
  OpFoldResult size = slice.getMixedSizes()[source];
  auto value = cast<Value>(size);
  int64_t &known = bounds[value];
  known = known ? std::min(known, bound) : bound;
  return {value, known};
}

/// The smallest bound of the operand dimensions that the same loop of `linalg`
/// iterates over.
int64_t DynamicSizes::boundByLoops(OpResult tensor, unsigned dimension) {
  auto op = dyn_cast<linalg::LinalgOp>(tensor.getOwner());
  if (!op)
    return 0;
  auto loop = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(op.getDpsInitOperand(tensor.getResultNumber()))
          .getResult(dimension));
  int64_t least = 0;
  for (OpOperand *input : op.getDpsInputOperands())
    for (auto [i, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(input).getResults()))
      if (loop && expr == loop)
        if (int64_t bound = boundOf(input->get(), i))
          least = least ? std::min(least, bound) : bound;
  return least;
}

Value DynamicSizes::store(Value index) {
  if (isa<BlockArgument>(index) || matchPattern(index, m_Constant()))
    return index;
  Value &known = stored[index];
  if (known)
    return known;
  Value result = index;
  if (!getLoad(index)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(index);
    Location loc = index.getLoc();
    Type i64 = builder.getI64Type();
    auto integer = arith::IndexCastOp::create(builder, loc, i64, index);
    Value memory = tensor::FromElementsOp::create(
        builder, loc, RankedTensorType::get({}, i64), integer.getResult());
    Value loaded =
        tensor::ExtractOp::create(builder, loc, memory, ValueRange());
    result = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        loaded);
    index.replaceAllUsesExcept(result, integer);
  }
  sizeOps.insert(result.getDefiningOp());
  sizeOps.insert(getLoad(result));
  sizeValues.insert(result);
  if (int64_t bound = bounds.lookup(index))
    bounds[result] = bound;
  stored[result] = result;
  return stored[index] = result;
}
