//===- ProceduralValue.cpp - values of the case format --------------------===//

#include "ProceduralValue.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>

namespace lockstep::conformance {

using artifact::ElementType;

namespace {

/// Nothing for a type whose elements are no numbers of C.
std::optional<ElementType> elementOf(const std::string &dtype) {
  for (auto [name, element] :
       {std::pair("bool", ElementType::i1), std::pair("i32", ElementType::i32),
        std::pair("i64", ElementType::i64), std::pair("f32", ElementType::f32),
        std::pair("f64", ElementType::f64)})
    if (dtype == name)
      return element;
  return std::nullopt;
}

const char *dtypeOf(ElementType element) {
  return element == ElementType::i1 ? "bool" : runtime::elementName(element);
}

/// Calls `function` with a null pointer to the C type of the element.
template <typename Function>
void withCType(ElementType element, Function function) {
  switch (element) {
  case ElementType::i1:
    return function(static_cast<uint8_t *>(nullptr));
  case ElementType::i32:
    return function(static_cast<int32_t *>(nullptr));
  case ElementType::i64:
    return function(static_cast<int64_t *>(nullptr));
  case ElementType::f32:
    return function(static_cast<float *>(nullptr));
  default:
    return function(static_cast<double *>(nullptr));
  }
}

/// Numbers that JSON has no word for are strings.
double toNumber(const json &element) {
  if (element.is_boolean())
    return element.get<bool>();
  if (element.is_string())
    return element == "nan" ? NAN : element == "inf" ? INFINITY : -INFINITY;
  return element.get<double>();
}

json fromNumber(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

} // namespace

json CaseTensor::toJson() const {
  return {{"dtype", dtype}, {"shape", shape}, {"data", data}};
}

bool isTensor(const json &value) {
  return value.is_object() && value.contains("dtype") &&
         value.contains("shape") && value.contains("data");
}

Expected<CaseTensor> tensorOf(const json &value) {
  if (!isTensor(value))
    return runtime::invalidArgument(
        fmt::format("expected a tensor, found {}", value.dump()));
  return CaseTensor{value["dtype"], value["shape"], value["data"]};
}

CaseTensor takeRows(const CaseTensor &tensor,
                    const std::vector<uint64_t> &rows) {
  CaseTensor result{tensor.dtype, tensor.shape, {}};
  result.shape.front() = static_cast<int64_t>(rows.size());
  size_t size = tensor.shape.front() == 0
                    ? 0
                    : tensor.data.size() / size_t(tensor.shape.front());
  for (uint64_t row : rows)
    result.data.insert(result.data.end(), tensor.data.begin() + row * size,
                       tensor.data.begin() + (row + 1) * size);
  return result;
}

json castElement(const json &element, const std::string &dtype) {
  if (dtype == "str")
    return element;
  if (dtype == "bool")
    return toNumber(element) != 0;
  if (dtype == "i32" || dtype == "i64")
    return element.is_number_integer()
               ? element
               : json(static_cast<int64_t>(toNumber(element)));
  double value = toNumber(element);
  return fromNumber(dtype == "f32" ? double(float(value)) : value);
}

CaseTensor cast(const CaseTensor &tensor, const std::string &dtype) {
  CaseTensor result{dtype, tensor.shape, tensor.data};
  for (json &element : result.data)
    element = castElement(element, dtype);
  return result;
}

Expected<runtime::HostTensor> toHost(const CaseTensor &tensor) {
  std::optional<ElementType> element = elementOf(tensor.dtype);
  if (!element)
    return runtime::unsupported(
        fmt::format("expected elements of bool, i32, i64, f32 or f64, found {}",
                    tensor.dtype));
  runtime::HostTensor result{*element, tensor.shape, {}};
  result.bytes.resize(tensor.data.size() * runtime::elementSize(*element));
  withCType(*element, [&]<typename T>(T *) {
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      T value = tensor.data[i].is_number_integer()
                    ? T(tensor.data[i].get<int64_t>())
                    : T(toNumber(tensor.data[i]));
      std::memcpy(result.bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return result;
}

Expected<CaseTensor> fromHost(const runtime::HostTensor &tensor) {
  CaseTensor result{dtypeOf(tensor.element), tensor.shape, {}};
  if (elementOf(result.dtype) != tensor.element)
    return runtime::unsupported(
        fmt::format("expected elements of bool, i32, i64, f32 or f64, found {}",
                    result.dtype));
  withCType(tensor.element, [&]<typename T>(T *) {
    for (size_t i = 0; i < tensor.bytes.size() / sizeof(T); ++i) {
      T value;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_floating_point_v<T>)
        result.data.push_back(fromNumber(value));
      else
        result.data.push_back(
            tensor.element == ElementType::i1 ? json(value != 0) : json(value));
    }
  });
  return result;
}

json CaseValue::toJson() const {
  if (kind == Kind::tensor)
    return tensor.toJson();
  if (kind == Kind::host)
    return {{"py", host}};
  json result = kind == Kind::dictionary ? json::object() : json::array();
  for (size_t i = 0; i < members.size(); ++i)
    if (kind == Kind::dictionary)
      result[names[i]] = members[i].toJson();
    else
      result.push_back(members[i].toJson());
  return result;
}

CaseValue hostValue(json value) {
  return {.kind = CaseValue::Kind::host, .host = std::move(value)};
}
CaseValue tensorValue(CaseTensor tensor) {
  return {.kind = CaseValue::Kind::tensor, .tensor = std::move(tensor)};
}

} // namespace lockstep::conformance
