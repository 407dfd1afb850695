//===- DivideStep.cpp - Rewrites a step to parts of variables -------------===//

#include "passes/Simplify/DivideStep.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Simplify/RankSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;

using collective::Kind;
using collective::StartOp;
using collective::WaitOp;

RankedTensorType lockstep::getPartType(Type type, int64_t replicas) {
  auto whole = cast<RankedTensorType>(type);
  return RankedTensorType::get(
      {llvm::divideCeilSigned(whole.getNumElements(), replicas)},
      whole.getElementType());
}

namespace {

/// The type of all parts together: that of the tensor with one dimension, and
/// padded.
RankedTensorType getPaddedType(Type type, int64_t replicas) {
  RankedTensorType part = getPartType(type, replicas);
  return part.clone({part.getNumElements() * replicas});
}

RankedTensorType flatten(Type type) { return getPartType(type, 1); }

/// The one group of all dimensions of a tensor, as reshapes take it.
SmallVector<ReassociationIndices> allDimensions(int64_t rank) {
  return {llvm::to_vector(llvm::seq<int64_t>(0, rank))};
}

Value createFlat(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  return tensor::CollapseShapeOp::create(builder, loc, flatten(type), value,
                                         allDimensions(type.getRank()));
}

/// `count` elements of a tensor with one dimension.
Value takeElements(OpBuilder &builder, Location loc, Value value,
                   OpFoldResult first, int64_t count) {
  auto type = cast<RankedTensorType>(value.getType());
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone({count}), value, ArrayRef<OpFoldResult>{first},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(count)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

/// Rewrites one step.
class StepRewriter {
public:
  StepRewriter(const DividedUpdates &updates, int64_t replicas,
               FlatSymbolRefAttr group)
      : updates(updates), function(updates.getFunction()),
        body(function.getBody().front()), replicas(replicas), group(group),
        builder(function.getContext()) {}

  void run(llvm::function_ref<bool(StringAttr)> isDivided) {
    SmallVector<Operation *> original;
    for (Operation &op : body)
      original.push_back(&op);
    SmallVector<BlockArgument> divided;
    for (BlockArgument argument : body.getArguments())
      if (StringAttr name = getBoundVariable(function, argument);
          name && isDivided(name))
        divided.push_back(argument);
    gatherArguments(divided);
    for (Operation *op : original)
      if (updates.isComputedInParts(op))
        computeParts(op);
    Operation *terminator = body.getTerminator();
    for (OpOperand &operand : terminator->getOpOperands())
      if (StringAttr name =
              getBoundVariable(function, operand.getOperandNumber());
          name && isDivided(name))
        operand.set(partOf(operand.get()));
    for (Operation *op : llvm::reverse(original))
      if (isOpTriviallyDead(op) || replaced.contains(op))
        op->erase();
    for (Value whole : gathered)
      if (whole.use_empty())
        eraseGather(whole);
    function.setType(builder.getFunctionType(body.getArgumentTypes(),
                                             terminator->getOperandTypes()));
  }

private:
  /// Gathers the whole values of the arguments at the beginning of the step, in
  /// the order of their first uses; they become parts.
  void gatherArguments(ArrayRef<BlockArgument> arguments) {
    auto firstUse = [&](BlockArgument argument) {
      Operation *first = nullptr;
      for (Operation *user : argument.getUsers()) {
        Operation *op = body.findAncestorOpInBlock(*user);
        if (!updates.isComputedInParts(op) &&
            (!first || op->isBeforeInBlock(first)))
          first = op;
      }
      return first;
    };
    llvm::DenseMap<BlockArgument, Operation *> uses;
    for (BlockArgument argument : arguments)
      uses[argument] = firstUse(argument);
    SmallVector<BlockArgument> ordered(arguments);
    llvm::stable_sort(ordered, [&](BlockArgument a, BlockArgument b) {
      Operation *useOfA = uses[a], *useOfB = uses[b];
      return useOfA && (!useOfB || useOfA->isBeforeInBlock(useOfB));
    });
    builder.setInsertionPointToStart(&body);
    for (BlockArgument argument : ordered) {
      auto whole = cast<RankedTensorType>(argument.getType());
      Operation *use = uses[argument];
      Location loc = use ? use->getLoc() : argument.getLoc();
      RankedTensorType part = getPartType(whole, replicas);
      SmallVector<OpOperand *> old = llvm::map_to_vector(
          argument.getUses(), [](OpOperand &use) { return &use; });
      argument.setType(part);
      Value value =
          createExchange(builder, builder, loc, Kind::AllGather,
                         collective::ReductionAttr::get(
                             builder.getContext(), collective::Reduction::None),
                         group, ValueRange(argument),
                         TypeRange(getPaddedType(whole, replicas)),
                         builder.getI64IntegerAttr(0))
              .front();
      if (value.getType() != flatten(whole))
        value = takeElements(builder, loc, value, builder.getIndexAttr(0),
                             whole.getNumElements());
      if (whole.getRank() != 1)
        value = tensor::ExpandShapeOp::create(builder, loc, whole, value,
                                              allDimensions(whole.getRank()));
      for (OpOperand *use : old)
        use->set(value);
      gathered.push_back(value);
      parts[value] = argument;
    }
  }

  /// Computes the parts of `op`'s results.
  void computeParts(Operation *op) {
    builder.setInsertionPointAfter(op);
    Location loc = op->getLoc();
    if (auto wait = dyn_cast<WaitOp>(op))
      return scatter(wait);
    if (updates.isReduced(op))
      return reduceParts(cast<linalg::GenericOp>(op));
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      parts[op->getResult(0)] = partOf(op->getOperand(0));
      return;
    }
    Type part = getPartType(op->getResult(0).getType(), replicas);
    auto createEmpty = [&](Type type) {
      auto tensor = cast<RankedTensorType>(type);
      return tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                     tensor.getElementType())
          .getResult();
    };
    Value result;
    SplatElementsAttr splat;
    if (matchPattern(op, m_Constant(&splat))) {
      result = arith::ConstantOp::create(
          builder, loc, splat.resizeSplat(cast<ShapedType>(part)));
    } else if (isa<tensor::EmptyOp>(op)) {
      result = createEmpty(part);
    } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      result = linalg::FillOp::create(builder, loc, fill.getInputs(),
                                      ValueRange(createEmpty(part)))
                   .getResult(0);
    } else if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op)) {
      result =
          linalg::BroadcastOp::create(builder, loc, broadcast.getInput(),
                                      createEmpty(part), ArrayRef<int64_t>{0})
              ->getResult(0);
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      return computeParts(generic);
    } else {
      IRMapping mapping;
      std::optional<SmallVector<Value>> operands = getElementwiseOperands(op);
      for (Value operand : *operands)
        mapping.map(operand, partOf(operand));
      Operation *onParts = builder.clone(*op, mapping);
      for (auto [whole, own] :
           llvm::zip_equal(op->getResults(), onParts->getResults())) {
        own.setType(getPartType(whole.getType(), replicas));
        parts[whole] = own;
      }
      return;
    }
    parts[op->getResult(0)] = result;
  }

  void computeParts(linalg::GenericOp generic) {
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    for (OpOperand &operand : generic->getOpOperands()) {
      bool isScalar =
          generic.getMatchingIndexingMap(&operand).getNumResults() == 0 &&
          generic.getNumLoops() != 0;
      (generic.isDpsInit(&operand) ? outputs : inputs)
          .push_back(isScalar ? operand.get() : partOf(operand.get()));
      maps.push_back(isScalar ? AffineMap::get(1, 0, generic.getContext())
                              : builder.getMultiDimIdentityMap(1));
    }
    auto onParts = linalg::GenericOp::create(
        builder, generic.getLoc(), ValueRange(outputs).getTypes(), inputs,
        outputs, maps, {utils::IteratorType::parallel});
    IRMapping mapping;
    generic.getRegion().cloneInto(&onParts.getRegion(), mapping);
    for (auto [whole, own] :
         llvm::zip_equal(generic.getResults(), onParts.getResults()))
      parts[whole] = own;
  }

  /// The sum of all elements, from the sums of the replicas' parts.
  void reduceParts(linalg::GenericOp sum) {
    MLIRContext *context = builder.getContext();
    auto ofPart = linalg::GenericOp::create(
        builder, sum.getLoc(), sum.getResultTypes(), partOf(sum.getInputs()[0]),
        sum.getOutputs(),
        {builder.getMultiDimIdentityMap(1), AffineMap::get(1, 0, context)},
        {utils::IteratorType::reduction});
    IRMapping mapping;
    sum.getRegion().cloneInto(&ofPart.getRegion(), mapping);
    ignorePadding(ofPart, sum.getInputs()[0].getType());
    ResultRange total = createExchange(
        builder, builder, sum.getLoc(), Kind::AllReduce,
        collective::ReductionAttr::get(context, collective::Reduction::Sum),
        group, ofPart.getResults(), sum.getResultTypes(),
        builder.getI64IntegerAttr(0));
    sum.replaceAllUsesWith(total);
  }

  /// Makes a sum over a part of a tensor of type `whole` add zeros in place of
  /// what is behind the last element.
  void ignorePadding(linalg::GenericOp sum, Type whole) {
    int64_t size = getPartType(whole, replicas).getNumElements(),
            count = cast<RankedTensorType>(whole).getNumElements();
    if (size * replicas == count)
      return;
    Location loc = sum.getLoc();
    Value first = getFirstElement(size);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(sum.getBody());
    Value position = arith::AddIOp::create(
        builder, loc, first, linalg::IndexOp::create(builder, loc, 0));
    Value exists = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, position,
        arith::ConstantIndexOp::create(builder, loc, count));
    BlockArgument element = sum.getBody()->getArgument(0);
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(element.getType()));
    auto counted = arith::SelectOp::create(builder, loc, exists, element, zero);
    element.replaceAllUsesExcept(counted, counted);
  }

  /// A reduce_scatter in place of an all_reduce.
  void scatter(WaitOp wait) {
    StartOp start = wait.getStart();
    OpBuilder atStart(start);
    SmallVector<Value> operands =
        llvm::map_to_vector(start.getInputs(), [&](Value input) {
          return createPadded(atStart, start.getLoc(), input);
        });
    SmallVector<Type> types =
        llvm::map_to_vector(wait.getResultTypes(), [&](Type type) -> Type {
          return getPartType(type, replicas);
        });
    ResultRange sums =
        createExchange(atStart, builder, start.getLoc(), Kind::ReduceScatter,
                       start.getReductionAttr(), start.getGroupAttr(), operands,
                       types, start.getBytesPerPackAttr());
    for (auto [whole, own] : llvm::zip_equal(wait.getResults(), sums))
      parts[whole] = own;
    if (Attribute piece = start->getAttr(collective::kLastPieceOf))
      cast<WaitOp>(sums.front().getOwner())
          .getStart()
          ->setAttr(collective::kLastPieceOf, piece);
    replaced.insert({wait, start});
  }

  /// This replica's part of a value; it is sliced if it is computed whole.
  Value partOf(Value value) {
    if (Value part = parts.lookup(value))
      return part;
    OpBuilder::InsertionGuard guard(builder);
    RankedTensorType type = getPartType(value.getType(), replicas);
    Location loc = value.getLoc();
    Value first = getFirstElement(type.getNumElements());
    builder.setInsertionPointAfterValue(isa<BlockArgument>(value) ? first
                                                                  : value);
    return parts[value] =
               takeElements(builder, loc, createPadded(builder, loc, value),
                            first, type.getNumElements());
  }

  /// A tensor with one dimension, and zeros behind its last element where that
  /// makes parts of equal size.
  Value createPadded(OpBuilder &b, Location loc, Value value) const {
    Value flat = createFlat(b, loc, value);
    RankedTensorType type = getPaddedType(flat.getType(), replicas);
    if (flat.getType() == type)
      return flat;
    Value zeros = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    auto count = cast<RankedTensorType>(flat.getType()).getNumElements();
    return tensor::InsertSliceOp::create(
        b, loc, flat, zeros, ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(count)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  }

  /// The position of this replica's part of `size` elements, as an index.
  Value getFirstElement(int64_t size) {
    Value &first = firstElements[size];
    if (first)
      return first;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body);
    Location loc = function.getLoc();
    Value rank = tensor::ExtractOp::create(builder, loc, getRank());
    rank =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), rank);
    Value count = arith::ConstantIndexOp::create(builder, loc, size);
    return first = arith::MulIOp::create(builder, loc, rank, count);
  }

  /// The argument that is bound to the rank of the replica; added if there is
  /// none.
  Value getRank() {
    auto isRank = [&](unsigned argument) {
      auto binding = function.getArgAttrOfType<device::BindingAttr>(
          argument, "device.binding");
      return binding && binding.getKind() == device::BindingKind::Rank;
    };
    for (BlockArgument argument : body.getArguments())
      if (isRank(argument.getArgNumber()))
        return argument;
    auto binding = device::BindingAttr::get(builder.getContext(),
                                            device::BindingKind::Rank, "");
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(
        position, RankedTensorType::get({}, builder.getI32Type()),
        builder.getDictionaryAttr(
            builder.getNamedAttr("device.binding", binding)),
        function.getLoc());
    return body.getArgument(position);
  }

  /// Erases the gather of a value that is not used, and what takes the value
  /// from its result.
  static void eraseGather(Value whole) {
    while (!isa<WaitOp>(whole.getDefiningOp())) {
      Operation *op = whole.getDefiningOp();
      whole = op->getOperand(0);
      op->erase();
    }
    eraseWithWait(cast<WaitOp>(whole.getDefiningOp()).getStart());
  }

  const DividedUpdates &updates;
  func::FuncOp function;
  Block &body;
  int64_t replicas;
  FlatSymbolRefAttr group;
  OpBuilder builder;
  /// For whole values, this replica's part.
  llvm::DenseMap<Value, Value> parts;
  llvm::DenseMap<int64_t, Value> firstElements;
  /// Whole values of the arguments.
  SmallVector<Value> gathered;
  /// The all_reduces that have become reduce_scatters, and their waits.
  llvm::SmallPtrSet<Operation *, 16> replaced;
};

/// The wait of the all_gather whose only result is `value`, possibly reshaped,
/// and whose operand is an argument of the step; or null.
WaitOp getGather(Value value) {
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    value = expand.getSrc();
  auto wait = value.getDefiningOp<WaitOp>();
  return wait && wait.getStart().getKind() == Kind::AllGather &&
                 wait->getNumResults() == 1 &&
                 isa<BlockArgument>(wait.getStart().getInputs().front())
             ? wait
             : nullptr;
}

/// Whether `waits` gather all pieces of one variable, in the order of rows.
bool arePieces(func::FuncOp function, ArrayRef<WaitOp> waits) {
  auto module = function->getParentOfType<ModuleOp>();
  StringRef of;
  int64_t next = 0, rows = 0;
  for (WaitOp wait : waits) {
    if (!wait)
      return false;
    StringAttr name = getBoundVariable(
        function, cast<BlockArgument>(wait.getStart().getInputs().front()));
    auto variable =
        name ? module.lookupSymbol<replica::VariableOp>(name) : nullptr;
    auto piece =
        variable ? variable->getAttrOfType<device::ShardAttr>(device::kShard)
                 : nullptr;
    if (!piece || !variable.getWholeShape() || piece.getFirstRow() != next ||
        (next != 0 && piece.getOf() != of))
      return false;
    of = piece.getOf();
    rows = piece.getRows();
    next += variable.getWholeShape()->front();
  }
  return next == rows;
}

/// Makes one collective of the gathers of a variable's pieces, whose results
/// are then next to each other in memory, as the whole variable.
void joinGathers(func::FuncOp function, tensor::ConcatOp concat) {
  SmallVector<WaitOp> waits =
      llvm::map_to_vector(concat.getInputs(), getGather);
  if (concat.getDim() != 0 || !arePieces(function, waits))
    return;
  // The operands are arguments: the collective may be at the first one.
  StartOp first = *llvm::min_element(
      llvm::map_range(waits, [](WaitOp wait) { return wait.getStart(); }),
      [](StartOp a, StartOp b) { return a->isBeforeInBlock(b); });
  SmallVector<Value> parts;
  SmallVector<Type> types;
  for (WaitOp wait : waits) {
    parts.push_back(wait.getStart().getInputs().front());
    types.push_back(wait->getResult(0).getType());
  }
  OpBuilder builder(first);
  ResultRange rows =
      createExchange(builder, builder, first.getLoc(), Kind::AllGather,
                     first.getReductionAttr(), first.getGroupAttr(), parts,
                     types, first.getBytesPerPackAttr());
  for (auto [wait, own] : llvm::zip_equal(waits, rows)) {
    wait->getResult(0).replaceAllUsesWith(own);
    eraseWithWait(wait.getStart());
  }
  builder.setInsertionPoint(concat);
  RankedTensorType whole = concat.getResultType();
  Value value = tensor::ConcatOp::create(builder, concat.getLoc(),
                                         flatten(whole), /*dim=*/0, rows);
  if (whole.getRank() != 1)
    value = tensor::ExpandShapeOp::create(
        builder, concat.getLoc(), whole, value, allDimensions(whole.getRank()));
  SmallVector<Value> expanded(concat.getInputs());
  concat.replaceAllUsesWith(value);
  concat.erase();
  for (Value unused : expanded)
    if (auto expand = unused.getDefiningOp<tensor::ExpandShapeOp>();
        expand && expand->use_empty())
      expand.erase();
}

} // namespace

void lockstep::divideStep(const DividedUpdates &updates, int64_t replicas,
                          FlatSymbolRefAttr group,
                          llvm::function_ref<bool(StringAttr)> isDivided) {
  StepRewriter(updates, replicas, group).run(isDivided);
}

void lockstep::joinPieces(func::FuncOp function) {
  for (auto concat : llvm::make_early_inc_range(
           function.getBody().front().getOps<tensor::ConcatOp>()))
    joinGathers(function, concat);
}
