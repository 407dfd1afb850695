//===- CheckElementTypes.cpp - Refuses unsupported types of tensors ------===//

#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_CHECKELEMENTTYPESPASS
#include "passes/Passes.h.inc"

namespace {

constexpr StringLiteral kTypes = "i1, i8, i16, i32, i64, f16, bf16, f32 or f64";

/// Elements in memory have whole bytes and a type of the runtime; an index is
/// internal to the compiler.
bool hasKernels(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<IndexType, Float16Type, BFloat16Type, Float32Type, Float64Type>(
      element);
}

struct CheckElementTypes : impl::CheckElementTypesPassBase<CheckElementTypes> {
  void runOnOperation() override {
    func::FuncOp step = getOperation();
    if (!step.isExternal())
      for (BlockArgument argument : step.getArguments())
        if (failed(check(argument, argument.getLoc())) ||
            failed(checkBinding(step, argument)))
          return signalPassFailure();
    for (Block &block : step.getBody())
      for (OpOperand &operand : block.getTerminator()->getOpOperands())
        if (isa<func::ReturnOp>(operand.getOwner()) &&
            isBoundIndex(operand.get(),
                         step.getResultAttr(operand.getOperandNumber(),
                                            "device.binding"))) {
          (void)refuse(cast<RankedTensorType>(operand.get().getType()),
                       operand.get().getLoc());
          return signalPassFailure();
        }
    step.walk<WalkOrder::PreOrder>([&](Operation *op) {
      // Only the operation that creates an unsupported value is reported, not
      // its users.
      bool follows = llvm::any_of(op->getOperands(), [](Value operand) {
        return !isSupported(operand.getType());
      });
      for (Value value : op->getResults())
        if (!follows && failed(check(value, op->getLoc())))
          return signalPassFailure();
    });
  }

  static bool isSupported(Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return !tensor || (tensor.hasRank() && hasKernels(tensor.getElementType()));
  }

  static LogicalResult check(Value value, Location location) {
    return isSupported(value.getType())
               ? success()
               : refuse(cast<TensorType>(value.getType()), location);
  }

  /// The width of an index is not fixed, so data that is exchanged with the
  /// host cannot have such elements.
  static LogicalResult checkBinding(func::FuncOp step, BlockArgument argument) {
    bool isRefused = isBoundIndex(
        argument, step.getArgAttr(argument.getArgNumber(), "device.binding"));
    return isRefused ? refuse(cast<RankedTensorType>(argument.getType()),
                              argument.getLoc())
                     : success();
  }

  static bool isBoundIndex(Value value, Attribute binding) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return binding && tensor && tensor.getElementType().isIndex();
  }

  static LogicalResult refuse(TensorType tensor, Location location) {
    Type element = tensor.getElementType();
    if (hasKernels(element) && !tensor.hasRank())
      return emitError(location)
             << "expected a tensor whose number of dimensions is known, found "
             << tensor;
    InFlightDiagnostic diag = emitError(location);
    if (isa<ComplexType>(element))
      diag << "complex numbers are not supported: expected elements of type "
           << kTypes << ", found " << element;
    else
      diag << "there are no kernels for elements of type " << element
           << ": expected " << kTypes;
    return diag << " [E_DTYPE_UNSUPPORTED]";
  }
};

} // namespace
} // namespace lockstep
