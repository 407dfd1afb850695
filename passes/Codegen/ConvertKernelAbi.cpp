//===- ConvertKernelAbi.cpp - The calling convention of kernels -----------===//

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

/// A memref over the memory at `pointer`, in row-major order. `nextSize`
/// returns the dynamic sizes in order.
static Value makeMemRef(OpBuilder &builder, Location loc,
                        const LLVMTypeConverter &converter, MemRefType type,
                        Value pointer, llvm::function_ref<Value()> nextSize) {
  if (type.hasStaticShape())
    return UnrealizedConversionCastOp::create(
               builder, loc, type,
               Value(MemRefDescriptor::fromStaticShape(builder, loc, converter,
                                                       type, pointer)))
        .getResult(0);
  auto made =
      MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  made.setAllocatedPtr(builder, loc, pointer);
  made.setAlignedPtr(builder, loc, pointer);
  made.setConstantOffset(builder, loc, 0);
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI64IntegerAttr(value));
  };
  SmallVector<Value> sizes =
      llvm::map_to_vector(type.getShape(), [&](int64_t size) {
        return ShapedType::isDynamic(size) ? nextSize() : constant(size);
      });
  Value stride = constant(1);
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    made.setSize(builder, loc, i, sizes[i]);
    made.setStride(builder, loc, i, stride);
    stride = LLVM::MulOp::create(builder, loc, stride, sizes[i]);
  }
  return UnrealizedConversionCastOp::create(builder, loc, type, Value(made))
      .getResult(0);
}

namespace {
struct ConvertKernelAbi
    : lockstep::impl::ConvertKernelAbiPassBase<ConvertKernelAbi> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (auto numBuffers =
              function->getAttrOfType<IntegerAttr>(kNumBuffersAttr))
        convert(function, numBuffers.getInt(), converter);
  }

  void convert(func::FuncOp function, unsigned numBuffers,
               const LLVMTypeConverter &converter) {
    Block &entry = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    Location loc = function.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(&getContext()),
         i64 = builder.getI64Type();
    SmallVector<BlockArgument> old(entry.getArguments());
    // A phase on a GPU gets the addresses and the scalars; code for processors
    // gets arrays of them, and the number of the tile.
    bool isPhase = function->hasAttr(kThreadsAttr);
    SmallVector<Type> types = {pointer, pointer, i64};
    if (isPhase) {
      types.assign(numBuffers, pointer);
      types.append(old.size() - numBuffers, i64);
    }
    SmallVector<Value> made =
        llvm::map_to_vector(types, [&](Type type) -> Value {
          return entry.addArgument(type, loc);
        });
    auto load = [&](Value array, unsigned index, Type type) -> Value {
      Value address = LLVM::GEPOp::create(
          builder, loc, pointer, type, array,
          ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(index)));
      return LLVM::LoadOp::create(builder, loc, type, address, /*alignment=*/8,
                                  /*isVolatile=*/false, /*isNonTemporal=*/false,
                                  /*isInvariant=*/true);
    };
    auto getBuffer = [&](unsigned i) {
      return isPhase ? made[i] : load(made[0], i, pointer);
    };
    auto getScalar = [&](unsigned i) {
      if (isPhase)
        return made[numBuffers + i];
      bool isTile = numBuffers + i + 1 == old.size();
      return isTile ? made[2] : load(made[1], i, i64);
    };
    // The sizes of dynamic dimensions are the first scalars. Scratch memory,
    // the last buffer, is only accessed through views and needs no size.
    unsigned nextSize = 0;
    bool hasScratch = function->hasAttr(kHasScratchAttr);
    for (auto [i, argument] : llvm::enumerate(old)) {
      Value value;
      if (i < numBuffers) {
        bool isScratch = hasScratch && i + 1 == numBuffers;
        value = makeMemRef(builder, loc, converter,
                           cast<MemRefType>(argument.getType()), getBuffer(i),
                           [&]() -> Value {
                             if (isScratch)
                               return LLVM::ConstantOp::create(
                                   builder, loc, builder.getI64IntegerAttr(0));
                             return getScalar(nextSize++);
                           });
      } else {
        value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           getScalar(i - numBuffers));
      }
      argument.replaceAllUsesWith(value);
    }
    entry.eraseArguments(0, old.size());
    function.setFunctionType(builder.getFunctionType(types, {}));
  }
};
} // namespace
