//===- BoundInputs.cpp - Batches of a size known only at run time ---------===//

#include "dialect/Replica/ReplicaDialect.h"
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
        if (auto type = dyn_cast<RankedTensorType>(step.getArgument(i).getType()); type && !type.hasStaticShape())
          if (failed(bound(step, i, type)))
            return signalPassFailure();
  }

  LogicalResult bound(replica::StepOp step, unsigned index, RankedTensorType type) {
    auto name = step.getArgAttrOfType<StringAttr>(index, kBatch);
    auto bounds = step.getArgAttrOfType<DenseI64ArrayAttr>(index, kBounds);
    SmallVector<int64_t> dynamic;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        dynamic.push_back(d);
    if (!name || !bounds || bounds.asArrayRef().size() != dynamic.size())
      return emitError(step.getArgument(index).getLoc())
             << "expected a batch tensor with '" << kBounds << "', a bound for each of " << dynamic.size()
             << " dynamic dimensions of " << type << ", found " << (bounds ? "another number of them" : "none");
    SmallVector<int64_t> shape(type.getShape());
    for (auto [d, limit] : llvm::zip_equal(dynamic, bounds.asArrayRef()))
      shape[d] = limit;

    BlockArgument argument = step.getArgument(index);
    argument.setType(type.clone(shape));
    step.removeArgAttr(index, kBounds);
    OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
    Location loc = argument.getLoc();
    SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), strides(type.getRank(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(&getContext(), shape);
    auto sizeType = RankedTensorType::get({}, builder.getI64Type());
    for (int64_t d : dynamic) {
      unsigned last = step.getNumArguments();
      auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(kBatch, builder.getStringAttr(name.getValue() + ".dim" + Twine(d))));
      if (failed(step.insertArgument(last, sizeType, attributes, loc)))
        return failure();
      Value size = tensor::ExtractOp::create(builder, loc, step.getArgument(last), ValueRange());
      sizes[d] = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size).getResult();
    }
    auto slice = tensor::ExtractSliceOp::create(builder, loc, type, argument, offsets, sizes, strides);
    argument.replaceAllUsesExcept(slice.getResult(), slice);
    SmallVector<Type> inputs(step.getBody().getArgumentTypes());
    step.setFunctionType(builder.getFunctionType(inputs, step.getResultTypes()));
    return success();
  }
};
} // namespace
} // namespace lockstep
