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
        if (!function.isExternal()) {
          if (function->hasAttr(kThreadsAttr))
            convertPhase(function, numBuffers.getInt(), converter);
          else
            convert(function, numBuffers.getInt(), converter);
        }
  }

  /// Buffers are passed as addresses, and all arguments by value.
  void convertPhase(func::FuncOp function, unsigned numBuffers,
                    const LLVMTypeConverter &converter) {
    Block &entry = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    Location loc = function.getLoc();
    SmallVector<BlockArgument> old(entry.getArguments());
    SmallVector<Value> made;
    SmallVector<Type> types;
    for (unsigned i = 0; i < old.size(); ++i) {
      types.push_back(i < numBuffers
                          ? Type(LLVM::LLVMPointerType::get(&getContext()))
                          : builder.getI64Type());
      made.push_back(entry.addArgument(types.back(), loc));
    }
    // Working memory, the last buffer, is only accessed through views.
    unsigned nextSize = numBuffers;
    bool hasScratch = function->hasAttr(kHasScratchAttr);
    for (auto [i, argument] : llvm::enumerate(old)) {
      if (i >= numBuffers) {
        argument.replaceAllUsesWith(arith::IndexCastOp::create(
            builder, loc, builder.getIndexType(), made[i]));
        continue;
      }
      bool isScratch = hasScratch && i + 1 == numBuffers;
      argument.replaceAllUsesWith(makeMemRef(
          builder, loc, converter, cast<MemRefType>(argument.getType()),
          made[i], [&]() -> Value {
            if (isScratch)
              return LLVM::ConstantOp::create(builder, loc,
                                              builder.getI64IntegerAttr(0));
            return made[nextSize++];
          }));
    }
    entry.eraseArguments(0, old.size());
    function.setFunctionType(builder.getFunctionType(types, {}));
  }

  void convert(func::FuncOp function, unsigned numBuffers,
               const LLVMTypeConverter &converter) {
    Block &entry = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    Location loc = function.getLoc();
    auto pointerType = LLVM::LLVMPointerType::get(&getContext());
    SmallVector<BlockArgument> old(entry.getArguments());
    Value buffers = entry.addArgument(pointerType, loc),
          scalars = entry.addArgument(pointerType, loc);
    Value tile = entry.addArgument(builder.getI64Type(), loc);
    auto load = [&](Value array, unsigned index, Type type) -> Value {
      Value address = LLVM::GEPOp::create(
          builder, loc, pointerType, type, array,
          ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(index)));
      return LLVM::LoadOp::create(builder, loc, type, address, /*alignment=*/8,
                                  /*isVolatile=*/false, /*isNonTemporal=*/false,
                                  /*isInvariant=*/true);
    };
    // The sizes of dynamic dimensions are the first scalars. Scratch memory,
    // the last buffer, is only accessed through views and needs no size.
    unsigned nextScalar = 0;
    bool hasScratch = function->hasAttr(kHasScratchAttr);
    for (auto [i, argument] : llvm::enumerate(old)) {
      Value value;
      if (i < numBuffers) {
        bool isScratch = hasScratch && i + 1 == numBuffers;
        value = makeMemRef(
            builder, loc, converter, cast<MemRefType>(argument.getType()),
            load(buffers, i, pointerType), [&]() -> Value {
              if (isScratch)
                return LLVM::ConstantOp::create(builder, loc,
                                                builder.getI64IntegerAttr(0));
              return load(scalars, nextScalar++, builder.getI64Type());
            });
      } else {
        Value integer = i + 1 == old.size() ? tile
                                            : load(scalars, i - numBuffers,
                                                   builder.getI64Type());
        value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           integer);
      }
      argument.replaceAllUsesWith(value);
    }
    entry.eraseArguments(0, old.size());
    function.setFunctionType(builder.getFunctionType(
        {pointerType, pointerType, builder.getI64Type()}, {}));
  }
};
} // namespace
