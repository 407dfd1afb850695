//===- BufferizeKernels.cpp - Convert kernels from tensors to memory ------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Canonicalization.h"
#include "passes/Codegen/BooleansAsBytes.h"
#include "passes/Codegen/CarriedTensors.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/PlainLoops.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

#include <thread>

namespace lockstep {
#define GEN_PASS_DEF_BUFFERIZEKERNELSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// The memory of a tensor in row-major order.
static MemRefType getMemoryType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// A result of the kernel: the yielded tensor, its memory, and that memory as a
/// tensor.
struct Destination {
  Value value, memory, tensor;
};

/// Applies the inverse of reshapes at the end of the computation of a result to
/// its memory, where they cost nothing, so that their operand is computed in
/// place.
static void undoReshapes(OpBuilder &builder, Location loc,
                         Destination &destination) {
  while (Operation *op = destination.value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) ||
        !destination.value.hasOneUse() ||
        !cast<RankedTensorType>(destination.value.getType()).hasStaticShape())
      return;
    auto type = getMemoryType(op->getOperand(0).getType());
    Value &memory = destination.memory;
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      memory = memref::ExpandShapeOp::create(
          builder, loc, type, memory, collapse.getReassociationIndices());
    else
      memory = memref::CollapseShapeOp::create(
          builder, loc, type, memory,
          cast<tensor::ExpandShapeOp>(op).getReassociationIndices());
    destination.value = op->getOperand(0);
  }
}

/// Copies `source` to `target` unless they are the same memory.
static void copyIfApart(OpBuilder &builder, Location loc, Value source,
                        Value target) {
  Value from =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, source);
  Value to =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, target);
  Value apart =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, from, to);
  scf::IfOp::create(builder, loc, apart, [&](OpBuilder &nested, Location) {
    linalg::CopyOp::create(nested, loc, source, target);
    scf::YieldOp::create(nested, loc);
  });
}

/// Creates the function of `kernel`, whose body is still on tensors.
static func::FuncOp createFunction(device::KernelOp kernel,
                                   ArrayRef<ResultPlace> places) {
  OpBuilder builder(kernel);
  SmallVector<Type> inputs;
  unsigned numTensors = kernel.getNumTensorArguments();
  for (Type type : kernel.getArgumentTypes().take_front(numTensors))
    inputs.push_back(getMemoryType(type));
  for (Type type : kernel.getResultTypes())
    inputs.push_back(getMemoryType(type));
  unsigned numBuffers = inputs.size();
  llvm::append_range(inputs, kernel.getArgumentTypes().drop_front(numTensors));
  inputs.push_back(builder.getIndexType());
  auto function =
      func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                           builder.getFunctionType(inputs, {}));
  function->setAttr(kNumBuffersAttr, builder.getI64IntegerAttr(numBuffers));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Location loc = kernel.getLoc();

  IRMapping mapping;
  Block &body = kernel.getBody().front();
  SmallVector<Value> updated(
      kernel.getResultTypes()
          .size()); // the tensor that a result is an updated copy of
  for (auto [i, argument] :
       llvm::enumerate(body.getArguments().take_front(numTensors))) {
    Value memory = entry->getArgument(i);
    auto *place = llvm::find_if(places, [&, i = i](ResultPlace place) {
      return place.argument == static_cast<int64_t>(i) && place.isUpdatedCopy;
    });
    bool writable = place != places.end();
    if (writable) {
      Value result = entry->getArgument(numTensors + (place - places.begin()));
      copyIfApart(builder, loc, memory, result);
      memory = result;
    }
    Value tensor = bufferization::ToTensorOp::create(
        builder, loc, argument.getType(), memory, /*restrict=*/true, writable);
    mapping.map(argument, tensor);
    if (writable)
      updated[place - places.begin()] = tensor;
  }
  for (auto [i, argument] :
       llvm::enumerate(body.getArguments().drop_front(numTensors)))
    mapping.map(argument, entry->getArgument(numBuffers + i));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  // Write all results through tensors: only for these does the bufferization
  // analysis find conflicts, so that a value which is still needed is not
  // computed in the memory of a result that another value is stored to.
  SmallVector<Destination> destinations;
  for (auto [r, operand] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    Destination destination{mapping.lookup(operand),
                            entry->getArgument(numTensors + r), updated[r]};
    if (!destination.tensor) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(entry);
      undoReshapes(builder, loc, destination);
      destination.tensor = bufferization::ToTensorOp::create(
          builder, loc, destination.value.getType(), destination.memory,
          /*restrict=*/true, /*writable=*/true);
    }
    destinations.push_back(destination);
  }
  for (Destination &destination : destinations)
    destination.value = bufferization::MaterializeInDestinationOp::create(
                            builder, loc, destination.value.getType(),
                            destination.value, destination.tensor)
                            .getResult();
  for (Destination &destination : destinations)
    bufferization::MaterializeInDestinationOp::create(
        builder, loc, TypeRange(), destination.value, destination.memory,
        /*restrict=*/true,
        /*writable=*/true);
  func::ReturnOp::create(builder, loc);
  return function;
}

/// Whether `op` makes a tensor from scalars only: recomputing it costs no more
/// than a copy.
static bool isFill(Operation *op) {
  if (isa<tensor::EmptyOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumDpsInits() == 1 &&
         linalgOp.getNumReductionLoops() == 0 &&
         llvm::none_of(
             linalgOp.getDpsInputs(),
             [](Value input) { return isa<ShapedType>(input.getType()); }) &&
         linalgOp.getBlock()->getOperations().size() == 1;
}

/// Clones filled or empty tensors for each operation that writes to them: a
/// shared one would be allocated in place of one result, and copied for the
/// others.
static void separateInits(func::FuncOp function) {
  SmallVector<DestinationStyleOpInterface> ops;
  function.walk<WalkOrder::PreOrder>(
      [&](DestinationStyleOpInterface op) { ops.push_back(op); });
  // Users first, so that a cloned fill gets an empty tensor of its own, too.
  for (DestinationStyleOpInterface op : llvm::reverse(ops))
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Operation *source = init.get().getDefiningOp();
      if (!source || init.get().hasOneUse() || !isFill(source))
        continue;
      OpBuilder builder(op);
      Operation *own = builder.clone(*source);
      init.set(own->getResult(0));
      if (auto fill = dyn_cast<linalg::LinalgOp>(own))
        if (auto empty =
                fill.getDpsInits().front().getDefiningOp<tensor::EmptyOp>()) {
          builder.setInsertionPoint(own);
          fill.setDpsInitOperand(0, builder.clone(*empty)->getResult(0));
        }
    }
}

static LogicalResult bufferize(func::FuncOp function, bool viaCopies) {
  separateInits(function);
  alignWhileLoops(function);
  tieCarriedTensors(function, viaCopies);
  IRRewriter rewriter(function.getContext());
  if (!viaCopies &&
      failed(bufferization::eliminateEmptyTensors(rewriter, function)))
    return failure();
  SmallVector<tensor::EmptyOp> empties;
  function.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (tensor::EmptyOp op : empties) {
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<bufferization::AllocTensorOp>(
        op, op.getType(), op.getDynamicSizes());
  }
  bufferization::OneShotBufferizationOptions options;
  options.memCpyFn = [](OpBuilder &builder, Location loc, Value from,
                        Value to) {
    linalg::CopyOp::create(builder, loc, from, to);
    return success();
  };
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(function, options, state);
}

/// The function of `kernel` on memory, or null.
static func::FuncOp tryOnMemory(device::KernelOp kernel,
                                ArrayRef<ResultPlace> places, bool viaCopies) {
  func::FuncOp function = createFunction(kernel, places);
  if (succeeded(bufferize(function, viaCopies)))
    return function;
  function.erase();
  return {};
}

/// The function of `kernel` on memory, in place as far as possible. That fails
/// if loops carry tensors that are still needed, or if an argument is read
/// after a result has been written to its memory. Copies, and results in
/// separate memory, always work.
static FailureOr<func::FuncOp>
createOnMemory(device::KernelOp kernel, MutableArrayRef<ResultPlace> places) {
  {
    ScopedDiagnosticHandler silent(
        kernel.getContext(),
        [thread = std::this_thread::get_id()](Diagnostic &) {
          return success(thread == std::this_thread::get_id());
        });
    for (bool viaCopies : {false, true})
      if (func::FuncOp function = tryOnMemory(kernel, places, viaCopies))
        return function;
    llvm::fill(places, ResultPlace());
    if (func::FuncOp function =
            tryOnMemory(kernel, places, /*viaCopies=*/false))
      return function;
  }
  func::FuncOp function = tryOnMemory(kernel, places, /*viaCopies=*/true);
  if (!function)
    return failure();
  return function;
}

/// A view without elements, whose offset does not matter.
static Value createEmptyView(OpBuilder &builder, memref::SubViewOp view) {
  auto [strides, offset] = view.getType().getStridesAndOffset();
  auto orZero = [](int64_t number) {
    return ShapedType::isDynamic(number) ? 0 : number;
  };
  return memref::ReinterpretCastOp::create(
      builder, view.getLoc(), view.getType(), view.getSource(), orZero(offset),
      view.getType().getShape(), llvm::map_to_vector(strides, orZero));
}

/// Splits a view with non-unit strides that drops dimensions of size one into
/// two operations. MLIR finds the dropped dimensions by comparing the strides
/// of the view with those of its source, which fails if the view multiplies
/// them.
static Value separateDroppedDimensions(OpBuilder &builder,
                                       memref::SubViewOp view) {
  if (view.getType().hasStaticShape() && view.getType().getNumElements() == 0)
    return createEmptyView(builder, view);
  auto whole = memref::SubViewOp::create(
      builder, view.getLoc(), view.getSource(), view.getMixedOffsets(),
      view.getMixedSizes(), view.getMixedStrides());
  std::optional<SmallVector<ReassociationIndices>> groups =
      getReassociationIndicesForReshape(whole.getType(), view.getType());
  assert(groups && "a view drops nothing but dimensions of size one");
  Value result =
      memref::CollapseShapeOp::create(builder, view.getLoc(), whole, *groups);
  // Its layout may be more static than that of the view.
  if (result.getType() != view.getType())
    result =
        memref::CastOp::create(builder, view.getLoc(), view.getType(), result);
  return result;
}

static void separateDroppedDimensions(func::FuncOp function) {
  SmallVector<memref::SubViewOp> views;
  function.walk([&](memref::SubViewOp view) {
    if (!view.hasUnitStride() &&
        view.getSourceType().getRank() != view.getType().getRank())
      views.push_back(view);
  });
  for (memref::SubViewOp view : views) {
    OpBuilder builder(view);
    view.replaceAllUsesWith(separateDroppedDimensions(builder, view));
    view.erase();
  }
}

/// Removes copies of a buffer to itself, folds views and merges equal ones.
static LogicalResult simplify(func::FuncOp function) {
  separateDroppedDimensions(function);
  MLIRContext *context = function.getContext();
  SmallVector<linalg::CopyOp> copies;
  RewritePatternSet patterns(context);
  memref::populateFoldMemRefAliasOpPatterns(patterns);
  addCanonicalizations(patterns, {"memref", "scf", "arith", "linalg", "affine",
                                  "bufferization"});
  if (failed(applyPatternsGreedily(function, freeze(std::move(patterns)))))
    return failure();
  IRRewriter rewriter(context);
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  function.walk([&](linalg::CopyOp copy) {
    if (copy.getInputs()[0] == copy.getOutputs()[0])
      copies.push_back(copy);
  });
  for (linalg::CopyOp copy : copies)
    copy.erase();
  // Loops are generated only from linalg operations with a body and maps.
  WalkResult known = function.walk([&](Operation *op) {
    bool hasNoCode =
        isa_and_nonnull<linalg::LinalgDialect>(op->getDialect()) &&
        !isa<linalg::LinalgOp, linalg::YieldOp, linalg::IndexOp>(op);
    return hasNoCode ? WalkResult(op->emitError("no code for '")
                                  << op->getName() << "'")
                     : WalkResult::advance();
  });
  if (known.wasInterrupted())
    return failure();
  SmallVector<linalg::LinalgOp> named;
  function.walk([&](linalg::LinalgOp op) {
    if (!isa<linalg::GenericOp>(op))
      named.push_back(op);
  });
  for (linalg::LinalgOp op : named) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op.emitError("no code for '") << op->getName() << "'";
  }
  return success();
}

/// Refuses operations on tensors that cannot be bufferized.
static LogicalResult checkOperations(device::KernelOp kernel) {
  auto isTensor = llvm::IsaPred<TensorType>;
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    bool isOnTensors = llvm::any_of(op->getOperandTypes(), isTensor) ||
                       llvm::any_of(op->getResultTypes(), isTensor);
    if (!isOnTensors || isa<device::YieldOp>(op) ||
        isa<bufferization::BufferizableOpInterface>(op))
      return WalkResult::advance();
    return WalkResult(op->emitError("no code for '") << op->getName() << "'");
  });
  return failure(result.wasInterrupted());
}

namespace {
struct BufferizeKernels
    : lockstep::impl::BufferizeKernelsPassBase<BufferizeKernels> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(
             getOperation().getOps<device::KernelOp>())) {
      if (failed(checkOperations(kernel)))
        return signalPassFailure();
      SmallVector<ResultPlace> places = chooseResultPlaces(kernel);
      FailureOr<func::FuncOp> function = createOnMemory(kernel, places);
      if (failed(function) || failed(simplify(*function)))
        return signalPassFailure();
      storeBooleansAsBytes(*function);
      fixRounding(*function);
      confirmResultPlaces(*function, kernel.getNumTensorArguments(), places);
      (*function)->setAttr(kInPlaceAttr, getInPlaceAttr(&getContext(), places));
      if (kernel.getScratch() > 0)
        (*function)->setAttr(kNeedsScratchAttr, UnitAttr::get(&getContext()));
      kernel.erase();
    }
  }
};
} // namespace
