//===- BufferizeKernels.cpp - Kernels on memory ---------------------------===//

#include "dialect/Device/DeviceDialect.h"
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

/// Writes `value` to `memory`. Reshapes at the end are undone on the memory, where they are free, so that what is below them is
/// computed in place.
static void yieldTo(OpBuilder &builder, Location loc, Value value, Value memory) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) || !value.hasOneUse() ||
        !cast<RankedTensorType>(value.getType()).hasStaticShape())
      break;
    auto type = getMemoryType(op->getOperand(0).getType());
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      memory = memref::ExpandShapeOp::create(builder, loc, type, memory, collapse.getReassociationIndices());
    else
      memory = memref::CollapseShapeOp::create(builder, loc, type, memory, cast<tensor::ExpandShapeOp>(op).getReassociationIndices());
    value = op->getOperand(0);
  }
  bufferization::MaterializeInDestinationOp::create(builder, loc, TypeRange(), value, memory, /*restrict=*/true, /*writable=*/true);
}

/// Copies `source` to `target` unless they are the same memory.
static void copyIfApart(OpBuilder &builder, Location loc, Value source, Value target) {
  Value from = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, source);
  Value to = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, target);
  Value apart = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, from, to);
  scf::IfOp::create(builder, loc, apart, [&](OpBuilder &nested, Location) {
    linalg::CopyOp::create(nested, loc, source, target);
    scf::YieldOp::create(nested, loc);
  });
}

/// Makes the function of `kernel`, still on tensors inside.
static func::FuncOp createFunction(device::KernelOp kernel, ArrayRef<ResultPlace> places) {
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
  auto function = func::FuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), builder.getFunctionType(inputs, {}));
  function->setAttr(kNumBuffersAttr, builder.getI64IntegerAttr(numBuffers));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Location loc = kernel.getLoc();

  IRMapping mapping;
  Block &body = kernel.getBody().front();
  SmallVector<Value> updated(kernel.getResultTypes().size()); // the tensor that a result is an updated copy of
  for (auto [i, argument] : llvm::enumerate(body.getArguments().take_front(numTensors))) {
    Value memory = entry->getArgument(i);
    auto *place =
        llvm::find_if(places, [&, i = i](ResultPlace place) { return place.argument == static_cast<int64_t>(i) && place.isUpdatedCopy; });
    bool writable = place != places.end();
    if (writable) {
      Value result = entry->getArgument(numTensors + (place - places.begin()));
      copyIfApart(builder, loc, memory, result);
      memory = result;
    }
    Value tensor = bufferization::ToTensorOp::create(builder, loc, argument.getType(), memory, /*restrict=*/true, writable);
    mapping.map(argument, tensor);
    if (writable)
      updated[place - places.begin()] = tensor;
  }
  for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front(numTensors)))
    mapping.map(argument, entry->getArgument(numBuffers + i));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [r, operand] : llvm::enumerate(body.getTerminator()->getOperands())) {
    Value value = mapping.lookup(operand);
    // The analysis knows of writes to an argument through tensors only.
    if (updated[r])
      value = bufferization::MaterializeInDestinationOp::create(builder, loc, value.getType(), value, updated[r]).getResult();
    yieldTo(builder, loc, value, entry->getArgument(numTensors + r));
  }
  func::ReturnOp::create(builder, loc);
  return function;
}

static LogicalResult bufferize(func::FuncOp function, bool viaCopies) {
  alignWhileLoops(function);
  tieCarriedTensors(function, viaCopies);
  IRRewriter rewriter(function.getContext());
  if (!viaCopies && failed(bufferization::eliminateEmptyTensors(rewriter, function)))
    return failure();
  SmallVector<tensor::EmptyOp> empties;
  function.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (tensor::EmptyOp op : empties) {
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<bufferization::AllocTensorOp>(op, op.getType(), op.getDynamicSizes());
  }
  bufferization::OneShotBufferizationOptions options;
  options.memCpyFn = [](OpBuilder &builder, Location loc, Value from, Value to) {
    linalg::CopyOp::create(builder, loc, from, to);
    return success();
  };
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(function, options, state);
}

/// The function of `kernel` on memory: as much in place as can be. Where loops carry tensors that are still needed, that fails; copies
/// always work.
static FailureOr<func::FuncOp> createOnMemory(device::KernelOp kernel, ArrayRef<ResultPlace> places) {
  func::FuncOp function = createFunction(kernel, places);
  {
    ScopedDiagnosticHandler silent(
        kernel.getContext(), [thread = std::this_thread::get_id()](Diagnostic &) { return success(thread == std::this_thread::get_id()); });
    if (succeeded(bufferize(function, /*viaCopies=*/false)))
      return function;
  }
  function.erase();
  function = createFunction(kernel, places);
  if (failed(bufferize(function, /*viaCopies=*/true)))
    return failure();
  return function;
}

/// Removes copies of a buffer to itself, folds views and merges equal ones.
static LogicalResult simplify(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  SmallVector<linalg::CopyOp> copies;
  RewritePatternSet patterns(context);
  memref::populateFoldMemRefAliasOpPatterns(patterns);
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (llvm::is_contained({"memref", "scf", "arith", "linalg", "affine", "bufferization"}, op.getDialectNamespace()))
      op.getCanonicalizationPatterns(patterns, context);
  if (failed(applyPatternsGreedily(function, std::move(patterns))))
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
  // Of linalg, loops are made of what has a body and maps.
  WalkResult known = function.walk([&](Operation *op) {
    bool hasNoCode =
        isa_and_nonnull<linalg::LinalgDialect>(op->getDialect()) && !isa<linalg::LinalgOp, linalg::YieldOp, linalg::IndexOp>(op);
    return hasNoCode ? WalkResult(op->emitError("no code for '") << op->getName() << "'") : WalkResult::advance();
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

/// What has no bufferization has no code.
static LogicalResult checkOperations(device::KernelOp kernel) {
  auto isTensor = llvm::IsaPred<TensorType>;
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    bool isOnTensors = llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
    if (!isOnTensors || isa<device::YieldOp>(op) || isa<bufferization::BufferizableOpInterface>(op))
      return WalkResult::advance();
    return WalkResult(op->emitError("no code for '") << op->getName() << "'");
  });
  return failure(result.wasInterrupted());
}

namespace {
struct BufferizeKernels : lockstep::impl::BufferizeKernelsPassBase<BufferizeKernels> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<device::KernelOp>())) {
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
      kernel.erase();
    }
  }
};
} // namespace
