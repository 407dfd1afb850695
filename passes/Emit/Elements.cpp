//===- Elements.cpp - Types and values of an artifact ---------------------===//

#include "passes/Emit/Elements.h"

#include "dialect/Interfaces/ElementBytes.h"

#include "mlir/IR/Builders.h"

using namespace lockstep;
using namespace mlir;
using artifact::ElementType;

FailureOr<ElementType> lockstep::toElementType(Type type, bool isUnsigned) {
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  if (type.isF32())
    return ElementType::f32;
  if (type.isF64())
    return ElementType::f64;
  if (!type.isInteger())
    return failure();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::i1;
  case 8:
    return isUnsigned ? ElementType::u8 : ElementType::i8;
  case 16:
    return isUnsigned ? ElementType::u16 : ElementType::i16;
  case 32:
    return isUnsigned ? ElementType::u32 : ElementType::i32;
  case 64:
    return isUnsigned ? ElementType::u64 : ElementType::i64;
  default:
    return failure();
  }
}

FailureOr<std::unique_ptr<artifact::TensorTypeT>>
lockstep::emitTensorType(Operation *op, RankedTensorType type,
                         bool isUnsigned) {
  auto table = std::make_unique<artifact::TensorTypeT>();
  for (int64_t size : type.getShape())
    table->shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  // An index is internal to the compiler: it is not exchanged with the host,
  // and has 64 bits in memory.
  Type stored = type.getElementType().isIndex()
                    ? IntegerType::get(type.getContext(), 64)
                    : type.getElementType();
  FailureOr<ElementType> element = toElementType(stored, isUnsigned);
  if (failed(element))
    return op->emitError("element type ")
               << type.getElementType() << " has no place in an artifact",
           failure();
  table->element = *element;
  return table;
}

static Type toType(MLIRContext *context, ElementType element) {
  Builder builder(context);
  switch (element) {
  case ElementType::i1:
    return builder.getI1Type();
  case ElementType::i8:
  case ElementType::u8:
    return builder.getI8Type();
  case ElementType::i16:
  case ElementType::u16:
    return builder.getI16Type();
  case ElementType::i32:
  case ElementType::u32:
    return builder.getI32Type();
  case ElementType::i64:
  case ElementType::u64:
    return builder.getI64Type();
  case ElementType::f16:
    return builder.getF16Type();
  case ElementType::bf16:
    return builder.getBF16Type();
  case ElementType::f32:
    return builder.getF32Type();
  case ElementType::f64:
    return builder.getF64Type();
  }
  llvm_unreachable("the artifact has been verified");
}

ImportedType lockstep::toTensorType(MLIRContext *context,
                                    const artifact::TensorType &type) {
  SmallVector<int64_t> shape;
  if (type.shape())
    for (int64_t size : *type.shape())
      shape.push_back(size < 0 ? ShapedType::kDynamic : size);
  bool isUnsigned =
      type.element() >= ElementType::u8 && type.element() <= ElementType::u64;
  return {RankedTensorType::get(shape, toType(context, type.element())),
          isUnsigned};
}

std::vector<std::byte> lockstep::toBytes(DenseElementsAttr elements) {
  std::vector<std::byte> bytes;
  if (elements.getElementType().isInteger(1)) {
    for (bool element : elements.getValues<bool>())
      bytes.push_back(static_cast<std::byte>(element));
    return bytes;
  }
  ArrayRef<char> data = elements.getRawData();
  auto *begin = reinterpret_cast<const std::byte *>(data.data());
  for (int64_t i = 0,
               copies = elements.isSplat() ? elements.getNumElements() : 1;
       i < copies; ++i)
    bytes.insert(bytes.end(), begin, begin + data.size());
  return bytes;
}

FailureOr<DenseElementsAttr>
lockstep::toElements(RankedTensorType type, std::span<const std::byte> bytes) {
  size_t elementBytes = getElementBytes(type.getElementType());
  if (bytes.size() != type.getNumElements() * elementBytes)
    return failure();
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values = llvm::map_to_vector(
        bytes, [](std::byte byte) { return byte != std::byte(0); });
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(
      type,
      ArrayRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
}
