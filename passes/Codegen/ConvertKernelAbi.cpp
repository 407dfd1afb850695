//===- ConvertKernelAbi.cpp - The form in which the runtime calls a kernel ===//

#include "passes/Codegen/InPlace.h"
#include "passes/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace lockstep {
#define GEN_PASS_DEF_CONVERTKERNELABIPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// A memref over the memory at `pointer`. Dynamic sizes are not known here: such a buffer is only looked at through views.
static Value makeMemRef(OpBuilder &builder, Location loc, const LLVMTypeConverter &converter, MemRefType type, Value pointer) {
  Value descriptor;
  if (type.hasStaticShape()) {
    descriptor = MemRefDescriptor::fromStaticShape(builder, loc, converter, type, pointer);
  } else {
    auto made = MemRefDescriptor::poison(builder, loc, converter.convertType(type));
    made.setAllocatedPtr(builder, loc, pointer);
    made.setAlignedPtr(builder, loc, pointer);
    made.setConstantOffset(builder, loc, 0);
    for (int64_t i = 0; i < type.getRank(); ++i) {
      made.setConstantSize(builder, loc, i, 0);
      made.setConstantStride(builder, loc, i, 1);
    }
    descriptor = made;
  }
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor).getResult(0);
}

namespace {
struct ConvertKernelAbi : lockstep::impl::ConvertKernelAbiPassBase<ConvertKernelAbi> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto numBuffers = function->getAttrOfType<IntegerAttr>(kNumBuffersAttr))
        convert(function, numBuffers.getInt(), converter);
  }

  void convert(func::FuncOp function, unsigned numBuffers, const LLVMTypeConverter &converter) {
    Block &entry = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    Location loc = function.getLoc();
    auto pointerType = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<BlockArgument> old(entry.getArguments());
    Value buffers = entry.addArgument(pointerType, loc), scalars = entry.addArgument(pointerType, loc);
    Value tile = entry.addArgument(builder.getI64Type(), loc);
    auto load = [&](Value array, unsigned index, Type type) -> Value {
      Value address = LLVM::GEPOp::create(builder, loc, pointerType, type, array, ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(index)));
      return LLVM::LoadOp::create(builder, loc, type, address, /*alignment=*/8, /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
    };
    for (auto [i, argument] : llvm::enumerate(old)) {
      Value value;
      if (i < numBuffers)
        value = makeMemRef(builder, loc, converter, cast<MemRefType>(argument.getType()), load(buffers, i, pointerType));
      else {
        Value integer = i + 1 == old.size() ? tile : load(scalars, i - numBuffers, builder.getI64Type());
        value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), integer);
      }
      argument.replaceAllUsesWith(value);
    }
    entry.eraseArguments(0, old.size());
    function.setFunctionType(builder.getFunctionType({pointerType, pointerType, builder.getI64Type()}, {}));
  }
};
} // namespace
