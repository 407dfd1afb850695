//===- PlainValues.cpp - Values that are not tensors ----------------------===//

#include "dialect/Interfaces/PlainValues.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

using namespace mlir;
using Json = nlohmann::ordered_json;

bool lockstep::isPlainValue(Attribute value) {
  return TypeSwitch<Attribute, bool>(value)
      .Case([](StringAttr text) { return llvm::json::isUTF8(text.getValue()); })
      .Case([](BoolAttr) { return true; })
      .Case([](IntegerAttr number) {
        return number.getType().isSignlessInteger(64);
      })
      .Case([](FloatAttr number) {
        return number.getType().isF64() &&
               std::isfinite(number.getValueAsDouble());
      })
      .Case([](ArrayAttr values) { return llvm::all_of(values, isPlainValue); })
      .Case([](DictionaryAttr entries) {
        return llvm::all_of(entries, [](NamedAttribute entry) {
          return llvm::json::isUTF8(entry.getName()) &&
                 isPlainValue(entry.getValue());
        });
      })
      .Default(false);
}

static Json toJson(Attribute value) {
  return TypeSwitch<Attribute, Json>(value)
      .Case([](StringAttr text) { return Json(text.getValue().str()); })
      .Case([](BoolAttr flag) { return Json(flag.getValue()); })
      .Case([](IntegerAttr number) { return Json(number.getInt()); })
      .Case([](FloatAttr number) { return Json(number.getValueAsDouble()); })
      .Case([](ArrayAttr values) {
        Json array = Json::array();
        for (Attribute each : values)
          array.push_back(toJson(each));
        return array;
      })
      .Case([](DictionaryAttr entries) {
        Json object = Json::object();
        for (NamedAttribute entry : entries)
          object[entry.getName().str()] = toJson(entry.getValue());
        return object;
      });
}

std::string lockstep::plainValueToJson(Attribute value) {
  return toJson(value).dump();
}

static Attribute fromJson(const Json &json, Builder &builder) {
  switch (json.type()) {
  case Json::value_t::string:
    return builder.getStringAttr(json.get_ref<const std::string &>());
  case Json::value_t::boolean:
    return builder.getBoolAttr(json.get<bool>());
  case Json::value_t::number_integer:
    return builder.getI64IntegerAttr(json.get<int64_t>());
  case Json::value_t::number_unsigned:
    if (json.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
      return {};
    return builder.getI64IntegerAttr(json.get<int64_t>());
  case Json::value_t::number_float:
    return builder.getF64FloatAttr(json.get<double>());
  case Json::value_t::array: {
    SmallVector<Attribute> values;
    for (const Json &each : json) {
      values.push_back(fromJson(each, builder));
      if (!values.back())
        return {};
    }
    return builder.getArrayAttr(values);
  }
  case Json::value_t::object: {
    SmallVector<NamedAttribute> entries;
    for (const auto &[name, each] : json.items()) {
      Attribute value = fromJson(each, builder);
      if (!value || name.empty())
        return {};
      entries.push_back(builder.getNamedAttr(name, value));
    }
    return builder.getDictionaryAttr(entries);
  }
  default:
    return {};
  }
}

Attribute lockstep::plainValueFromJson(StringRef text, MLIRContext *context) {
  Json json = Json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  Builder builder(context);
  return json.is_discarded() ? Attribute() : fromJson(json, builder);
}
