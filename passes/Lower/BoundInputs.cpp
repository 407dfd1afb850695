//===- BoundInputs.cpp - Batches of a size known only at run time ---------===//

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Lower/BoundedBatch.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_BOUNDINPUTSPASS
#include "passes/Passes.h.inc"

namespace {

constexpr StringLiteral kBatch = "replica.batch", kBounds = "replica.bounds";

struct BoundInputs : impl::BoundInputsPassBase<BoundInputs> {
  void runOnOperation() override {
    for (auto step : getOperation().getOps<replica::StepOp>())
      for (unsigned i = 0; i < step.getNumArguments(); ++i)
        if (auto type =
                dyn_cast<RankedTensorType>(step.getArgument(i).getType());
            type && !type.hasStaticShape())
          if (failed(bound(step, i, type)))
            return signalPassFailure();
  }

  LogicalResult bound(replica::StepOp step, unsigned index,
                      RankedTensorType type) {
    auto name = step.getArgAttrOfType<StringAttr>(index, kBatch);
    auto bounds = step.getArgAttrOfType<DenseI64ArrayAttr>(index, kBounds);
    int64_t dynamic = type.getNumDynamicDims();
    if (!name || !bounds || bounds.size() != dynamic)
      return emitError(step.getArgument(index).getLoc())
             << "expected a batch tensor with '" << kBounds
             << "', a bound for each of " << dynamic
             << " dynamic dimensions of " << type << ", found "
             << (bounds ? "another number of them" : "none");
    BlockArgument argument = step.getArgument(index);
    // Uses of the batch become uses of the slice that is valid in this step.
    OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
    Location loc = argument.getLoc();
    SmallVector<Value> sizes;
    auto sizeType = RankedTensorType::get({}, builder.getI64Type());
    for (int64_t d : getPartialDims(type)) {
      unsigned last = step.getNumArguments();
      auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(
          kBatch, builder.getStringAttr(name.getValue() + ".dim" + Twine(d))));
      if (failed(step.insertArgument(last, sizeType, attributes, loc)))
        return failure();
      sizes.push_back(step.getArgument(last));
    }
    SmallVector<OpOperand *> uses = llvm::map_to_vector(
        argument.getUses(), [](OpOperand &use) { return &use; });
    argument.setType(getBoundedType(type, bounds));
    step.removeArgAttr(index, kBounds);
    Value batch = takeBatch(builder, loc, type, argument, sizes);
    for (OpOperand *use : uses)
      use->set(batch);
    SmallVector<Type> inputs(step.getBody().getArgumentTypes());
    step.setFunctionType(
        builder.getFunctionType(inputs, step.getResultTypes()));
    return success();
  }
};
} // namespace
} // namespace lockstep
