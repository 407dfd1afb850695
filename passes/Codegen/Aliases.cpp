//===- Aliases.cpp - Which buffers of a kernel may be the same ------------===//

#include "passes/Codegen/Aliases.h"

#include "passes/Codegen/InPlace.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace lockstep;
using namespace mlir;

Aliases::Aliases(func::FuncOp function) {
  auto places = function->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr);
  auto numBuffers = function->getAttrOfType<IntegerAttr>(kNumBuffersAttr);
  if (!places || !numBuffers)
    return;
  unsigned firstResult = numBuffers.getInt() - places.size();
  for (auto [r, argument] : llvm::enumerate(places.asArrayRef()))
    if (argument >= 0)
      inPlace[function.getArgument(firstResult + r)] = function.getArgument(argument);
}

Value Aliases::getRoot(Value view) const {
  Value buffer = getBuffer(view);
  Value argument = inPlace.lookup(buffer);
  return argument ? argument : buffer;
}

bool Aliases::mayTouch(Operation *op, Value view) const {
  if (isa<memref::AllocOp>(op) || (isMemoryEffectFree(op) && op->getNumRegions() == 0))
    return false;
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (isa<BaseMemRefType>(operand.getType()) && mayAlias(operand, view))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

bool Aliases::isWholeBuffer(Value view) const {
  auto type = cast<MemRefType>(view.getType()), whole = cast<MemRefType>(getBuffer(view).getType());
  return type.getLayout().isIdentity() && type.hasStaticShape() && whole.hasStaticShape() &&
         type.getNumElements() == whole.getNumElements();
}
