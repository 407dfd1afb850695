//===- Aliases.cpp - Alias analysis of the buffers of a kernel ------------===//

#include "passes/Codegen/Aliases.h"

#include "passes/Codegen/InPlace.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

Aliases::Aliases(func::FuncOp function) {
  auto places = function->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr);
  auto numBuffers = function->getAttrOfType<IntegerAttr>(kNumBuffersAttr);
  if (!places || !numBuffers)
    return;
  unsigned firstResult =
      numBuffers.getInt() - places.size() - function->hasAttr(kHasScratchAttr);
  for (auto [r, argument] : llvm::enumerate(places.asArrayRef()))
    if (argument >= 0)
      inPlace[function.getArgument(firstResult + r)] =
          function.getArgument(argument);
}

/// Whether `buffer` is a single known buffer, not the result of a select,
/// branch or loop, which may be one of several.
static bool isOneBuffer(Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return isa<memref::AllocOp, memref::AllocaOp, memref::GetGlobalOp>(
      buffer.getDefiningOp());
}

Value Aliases::getRoot(Value view) const {
  Value buffer = getBuffer(view);
  if (Value argument = inPlace.lookup(buffer))
    return argument;
  return isOneBuffer(buffer) ? buffer : Value();
}

bool Aliases::mayAlias(Value a, Value b) const {
  Value first = getRoot(a), second = getRoot(b);
  return !first || !second || first == second;
}

bool Aliases::areSame(Value a, Value b) const {
  if (a == b)
    return true;
  Value root = getRoot(a);
  return root && root == getRoot(b) && a.getType() == b.getType() &&
         isWholeBuffer(a) && isWholeBuffer(b);
}

bool Aliases::mayTouch(Operation *op, Value view) const {
  if (isa<memref::AllocOp>(op) ||
      (isMemoryEffectFree(op) && op->getNumRegions() == 0))
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
  Value buffer = getBuffer(view);
  auto type = cast<MemRefType>(view.getType()),
       whole = cast<MemRefType>(buffer.getType());
  return isOneBuffer(buffer) && type.getLayout().isIdentity() &&
         type.hasStaticShape() && whole.hasStaticShape() &&
         type.getNumElements() == whole.getNumElements();
}

bool lockstep::isTransparent(Operation *op, const Aliases &aliases) {
  if (isa<memref::AllocOp>(op) || isMemoryEffectFree(op))
    return true;
  auto load = dyn_cast<memref::LoadOp>(op);
  if (!load)
    return false;
  auto function = op->getParentOfType<func::FuncOp>();
  return !function
              ->walk([&](Operation *other) {
                bool writes = isa<memref::StoreOp, vector::StoreOp,
                                  vector::MaskedStoreOp>(other) ||
                              isa<linalg::GenericOp>(other);
                for (OpOperand &operand : other->getOpOperands()) {
                  if (!writes || !isa<MemRefType>(operand.get().getType()) ||
                      !aliases.mayAlias(operand.get(), load.getMemRef()))
                    continue;
                  auto generic = dyn_cast<linalg::GenericOp>(other);
                  if (!generic || generic.isDpsInit(&operand))
                    return WalkResult::interrupt();
                }
                return WalkResult::advance();
              })
              .wasInterrupted();
}
