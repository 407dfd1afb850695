//===- AttentionBufferization.cpp - Attention on memory -------------------===//

#include "passes/Codegen/AttentionBufferization.h"

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace lockstep;
using namespace mlir;

namespace {
template <typename OpTy>
struct AttentionBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<
          AttentionBufferization<OpTy>, OpTy> {
  /// Destinations are only written.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<OpTy>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto attention = cast<OpTy>(op);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer =
          bufferization::getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    auto inits = ArrayRef(buffers).take_back(attention.getNumDpsInits());
    OperationState onMemory(op->getLoc(), op->getName(), buffers, TypeRange(),
                            op->getAttrs());
    rewriter.create(onMemory);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};
} // namespace

void lockstep::registerAttentionBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, device::DeviceDialect *) {
    using device::AttentionGradientOp, device::AttentionOp;
    AttentionOp::attachInterface<AttentionBufferization<AttentionOp>>(*context);
    AttentionGradientOp::attachInterface<
        AttentionBufferization<AttentionGradientOp>>(*context);
  });
}
