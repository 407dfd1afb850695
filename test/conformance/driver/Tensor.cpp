//===- Tensor.cpp - Tensors of case files ---------------------------------===//

#include "test/conformance/driver/Tensor.h"

#include "passes/Emit/Elements.h"
#include "test/conformance/driver/Error.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace lockstep::conformance::driver {

using artifact::ElementType;

namespace {

struct NamedElement {
  const char *name;
  ElementType element;
};

constexpr NamedElement kElements[] = {
    {"f32", ElementType::f32},   {"f64", ElementType::f64},
    {"f16", ElementType::f16},   {"i32", ElementType::i32},
    {"bf16", ElementType::bf16}, {"i64", ElementType::i64},
    {"bool", ElementType::i1}};

const llvm::fltSemantics *floatSemantics(ElementType element) {
  switch (element) {
  case ElementType::f16:
    return &llvm::APFloat::IEEEhalf();
  case ElementType::bf16:
    return &llvm::APFloat::BFloat();
  case ElementType::f32:
    return &llvm::APFloat::IEEEsingle();
  case ElementType::f64:
    return &llvm::APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

double readNumber(const Json &json) {
  if (!json.is_string())
    return json.get<double>();
  std::string text = json.get<std::string>();
  if (text == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  double sign = text.starts_with('-') ? -1 : 1;
  if (text == "inf" || text == "+inf" || text == "-inf")
    return sign * std::numeric_limits<double>::infinity();
  throw CaseError(
      fmt::format("malformed case: expected a number, found '{}'", text));
}

/// The bits of one element.
uint64_t readElement(ElementType element, const Json &json) {
  if (const llvm::fltSemantics *semantics = floatSemantics(element)) {
    llvm::APFloat value(readNumber(json));
    bool losesInfo;
    value.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return value.bitcastToAPInt().getZExtValue();
  }
  if (json.is_boolean())
    return json.get<bool>();
  return static_cast<uint64_t>(json.get<int64_t>());
}

Json writeElement(ElementType element, uint64_t bits) {
  uint64_t width = runtime::elementSize(element) * 8;
  if (const llvm::fltSemantics *semantics = floatSemantics(element)) {
    llvm::APFloat value(*semantics,
                        llvm::APInt(static_cast<unsigned>(width), bits));
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    double number = value.convertToDouble();
    if (std::isnan(number))
      return "nan";
    if (std::isinf(number))
      return number > 0 ? "inf" : "-inf";
    return number;
  }
  if (element == ElementType::i1)
    return bits != 0;
  unsigned unused = static_cast<unsigned>(64 - width);
  return static_cast<int64_t>(bits << unused) >> unused;
}

} // namespace

ElementType elementByName(const std::string &name) {
  for (const NamedElement &named : kElements)
    if (name == named.name)
      return named.element;
  refuse("E_DTYPE_UNSUPPORTED",
         "expected elements of type f16, bf16, f32, f64, i32, i64 or bool, "
         "found {}",
         name);
}

bool isTensor(const Json &json) {
  return json.is_object() && json.contains("dtype") && json.contains("shape") &&
         json.contains("data");
}

Tensor readTensor(const Json &json) {
  Tensor tensor;
  tensor.type.element = elementByName(json.at("dtype").get<std::string>());
  tensor.type.shape = json.at("shape").get<std::vector<int64_t>>();
  tensor.type.bytes =
      runtime::staticBytes(tensor.type.element, tensor.type.shape).value_or(0);
  tensor.bytes.resize(tensor.type.bytes);
  uint64_t size = runtime::elementSize(tensor.type.element);
  const Json &data = json.at("data");
  if (data.size() * size != tensor.bytes.size())
    throw CaseError(
        fmt::format("malformed case: expected {} elements, found {}",
                    tensor.bytes.size() / size, data.size()));
  for (size_t i = 0; i < data.size(); ++i) {
    uint64_t bits = readElement(tensor.type.element, data[i]);
    std::memcpy(tensor.bytes.data() + i * size, &bits, size);
  }
  return tensor;
}

Json writeTensor(const Tensor &tensor) {
  const char *name = "";
  for (const NamedElement &named : kElements)
    if (named.element == tensor.type.element)
      name = named.name;
  uint64_t size = runtime::elementSize(tensor.type.element);
  Json data = Json::array();
  for (size_t i = 0; i < tensor.bytes.size() / size; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + i * size, size);
    data.push_back(writeElement(tensor.type.element, bits));
  }
  return {
      {"dtype", name}, {"shape", tensor.type.shape}, {"data", std::move(data)}};
}

Tensor makeVector(const std::vector<int64_t> &elements) {
  return readTensor(
      {{"dtype", "i64"}, {"shape", {elements.size()}}, {"data", elements}});
}

Tensor zerosOf(RankedTensorType type) {
  Tensor tensor;
  tensor.type.element =
      *toElementType(type.getElementType(), /*isUnsigned=*/false);
  tensor.type.shape.assign(type.getShape().begin(), type.getShape().end());
  tensor.type.bytes =
      *runtime::staticBytes(tensor.type.element, tensor.type.shape);
  tensor.bytes.resize(tensor.type.bytes);
  return tensor;
}

Type toType(MLIRContext *context, ElementType element) {
  switch (element) {
  case ElementType::f16:
    return Float16Type::get(context);
  case ElementType::bf16:
    return BFloat16Type::get(context);
  case ElementType::f32:
    return Float32Type::get(context);
  case ElementType::f64:
    return Float64Type::get(context);
  case ElementType::i1:
    return IntegerType::get(context, 1);
  default:
    return IntegerType::get(
        context, static_cast<unsigned>(runtime::elementSize(element) * 8));
  }
}

RankedTensorType toType(MLIRContext *context, const Tensor &tensor) {
  return RankedTensorType::get(tensor.type.shape,
                               toType(context, tensor.type.element));
}

DenseElementsAttr toAttribute(MLIRContext *context, const Tensor &tensor) {
  return *toElements(toType(context, tensor), tensor.bytes);
}

} // namespace lockstep::conformance::driver
