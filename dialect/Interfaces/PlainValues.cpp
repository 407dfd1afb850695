//===- PlainValues.cpp - Values that are not tensors ----------------------===//

#include "dialect/Interfaces/PlainValues.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

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
  case Json::value_t::number_unsigned:
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

/// Whether `text`, which is JSON, contains an integer that does not fit into
/// `i64`. The parser would convert those of more than 64 bits to `f64`.
static bool hasWideInteger(StringRef text) {
  while (!text.empty()) {
    if (text.consume_front("\"")) {
      while (!text.consume_front("\""))
        text = text.drop_front(text.front() == '\\' ? 2 : 1);
      continue;
    }
    StringRef number = text.take_while([](char c) {
      return llvm::isDigit(c) || StringRef("+-.eE").contains(c);
    });
    int64_t value;
    if (!number.empty() && number.find_first_of(".eE") == StringRef::npos &&
        number.getAsInteger(10, value))
      return true;
    text = text.drop_front(std::max<size_t>(number.size(), 1));
  }
  return false;
}

Attribute lockstep::plainValueFromJson(StringRef text, MLIRContext *context) {
  Json json = Json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (json.is_discarded() || hasWideInteger(text))
    return {};
  Builder builder(context);
  return fromJson(json, builder);
}
