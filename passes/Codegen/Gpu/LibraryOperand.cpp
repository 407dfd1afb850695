//===- LibraryOperand.cpp - Operands of what a library computes -----------===//

#include "passes/Codegen/Gpu/LibraryOperand.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Emit/Elements.h"
#include "runtime/schema/Types.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace lockstep;
using namespace mlir;
using artifact::ElementType;

std::optional<LibraryOperand> lockstep::describeOperand(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  FailureOr<ElementType> element =
      toElementType(type.getElementType(), /*isUnsigned=*/false);
  LibraryOperand operand;
  int64_t first = 0;
  if (failed(element) || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(operand.strides, first)) ||
      ShapedType::isDynamic(first) ||
      llvm::any_of(operand.strides, ShapedType::isDynamic))
    return std::nullopt;
  operand.sizes.assign(type.getShape().begin(), type.getShape().end());
  operand.element = uint64_t(*element);
  operand.offset = first * runtime::elementSize(*element);
  Value buffer = getBuffer(memref);
  if (cast<MemRefType>(buffer.getType()).getElementType() !=
      type.getElementType())
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    if (!isa<func::FuncOp>(argument.getOwner()->getParentOp()))
      return std::nullopt;
    operand.buffer = argument.getArgNumber();
    return operand;
  }
  auto alloc = buffer.getDefiningOp<memref::AllocOp>();
  auto offset =
      alloc ? alloc->getAttrOfType<IntegerAttr>(kOffsetAttr) : IntegerAttr();
  // It is in registers.
  if (!offset)
    return std::nullopt;
  // Working memory is the last buffer.
  auto function = alloc->getParentOfType<func::FuncOp>();
  operand.buffer =
      function->getAttrOfType<IntegerAttr>(kNumBuffersAttr).getInt() - 1;
  operand.offset += offset.getInt();
  return operand;
}

SmallVector<uint64_t> lockstep::getBufferBytes(func::FuncOp function) {
  int64_t buffers =
      function->getAttrOfType<IntegerAttr>(kNumBuffersAttr).getInt();
  SmallVector<uint64_t> bytes;
  for (BlockArgument argument : function.getArguments().take_front(buffers)) {
    auto type = cast<MemRefType>(argument.getType());
    bytes.push_back(type.hasStaticShape()
                        ? type.getNumElements() *
                              getElementBytes(type.getElementType())
                        : std::numeric_limits<uint64_t>::max());
  }
  return bytes;
}

linalg::GenericOp lockstep::getOnlyReader(ProductGroup &group) {
  Value out = group.product.out->get();
  if (group.epilogue.empty() ||
      !llvm::is_contained(group.epilogue.front().getDpsInputs(), out) ||
      !group.registers.contains(out) ||
      llvm::any_of(llvm::drop_begin(group.epilogue), [&](Operation *op) {
        return llvm::is_contained(op->getOperands(), out);
      }))
    return {};
  return group.epilogue.front();
}

linalg::GenericOp lockstep::getRounding(ProductGroup &group) {
  linalg::GenericOp reader = getOnlyReader(group);
  return reader && isRounding(reader) ? reader : linalg::GenericOp();
}
