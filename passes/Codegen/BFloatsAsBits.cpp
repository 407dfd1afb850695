//===- BFloatsAsBits.cpp - Represent bf16 as integers ---------------------===//

#include "passes/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_BFLOATSASBITSPASS
#include "passes/Passes.h.inc"

namespace {

/// i16 for bf16, and vectors of it; null for other types.
Type toBits(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getElementType().isBF16()
               ? vector.clone(IntegerType::get(type.getContext(), 16))
               : Type();
  return type.isBF16() ? IntegerType::get(type.getContext(), 16) : Type();
}

Attribute toBits(Attribute value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(type, number.getValue().bitcastToAPInt());
  auto elements = cast<DenseElementsAttr>(value);
  return elements.bitcast(IntegerType::get(type.getContext(), 16));
}

struct BFloatsAsBits : impl::BFloatsAsBitsPassBase<BFloatsAsBits> {
  void runOnOperation() override {
    SmallVector<LLVM::BitcastOp> casts;
    getOperation()->walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            if (Type bits = toBits(argument.getType()))
              argument.setType(bits);
      for (OpResult result : op->getResults())
        if (Type bits = toBits(result.getType())) {
          result.setType(bits);
          if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
            constant.setValueAttr(toBits(constant.getValue(), bits));
        }
      // Also the element types of memory: LLVM promotes small buffers to
      // registers of their element type.
      if (auto memory = dyn_cast<LLVM::AllocaOp>(op))
        if (Type bits = toBits(memory.getElemType()))
          memory.setElemType(bits);
      if (auto element = dyn_cast<LLVM::GEPOp>(op))
        if (Type bits = toBits(element.getElemType()))
          element.setElemType(bits);
      if (auto cast = dyn_cast<LLVM::BitcastOp>(op))
        casts.push_back(cast);
    });
    for (LLVM::BitcastOp cast : casts)
      if (cast.getArg().getType() == cast.getType()) {
        cast.replaceAllUsesWith(cast.getArg());
        cast.erase();
      }
  }
};

} // namespace
} // namespace lockstep
