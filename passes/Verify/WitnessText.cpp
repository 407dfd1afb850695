//===- WitnessText.cpp - Counterexamples as text and attributes -----------===//

#include "passes/Verify/Witness.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Reference/Value.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace lockstep;
using namespace mlir;
using interpret::Lane;
using Data = interpret::Value;

/// Tensors with more elements than these are not printed in an error, and not
/// recorded with it, unless all elements are equal. (Printing one element in
/// which two replicas differ could mislead: the paths that they take need not
/// depend on it.)
static constexpr int64_t kMostPrinted = 4, kMostRecorded = 4096;

/// Whether all elements are equal.
static bool isFilled(const Data &value) {
  size_t bytes = interpret::laneBytes(value.lane());
  const std::byte *data = value.as<std::byte>();
  for (int64_t i = 1; i < value.size(); ++i)
    if (!std::equal(data, data + bytes, data + i * bytes))
      return false;
  return true;
}

/// The number with the fewest digits that distinguish it from all others of its
/// type. `maxDigits` are always enough: 9 for f32, 17 for f64.
static std::string describeFloat(double number, unsigned maxDigits) {
  for (unsigned digits = 1; digits < maxDigits; ++digits) {
    std::string text =
        llvm::formatv("{0}", llvm::format("%.*g", digits, number)).str();
    double read = std::strtod(text.c_str(), nullptr);
    if (maxDigits > 9 ? read == number
                      : static_cast<float>(read) == static_cast<float>(number))
      return text;
  }
  return llvm::formatv("{0}", llvm::format("%.*g", maxDigits, number)).str();
}

static std::string describeElement(const Data &value, int64_t index,
                                   Type type) {
  if (value.lane() == Lane::Float)
    return describeFloat(value.as<float>()[index], 9);
  if (value.lane() == Lane::Double)
    return describeFloat(value.as<double>()[index], 17);
  unsigned width = interpret::getElement(type)->width;
  if (width == 1)
    return value.intAt(index) ? "true" : "false";
  return std::to_string(interpret::signExtend(value.intAt(index), width));
}

/// A value as text, for example "0.5", "[1, 2]" or "2x3 elements of 0.5"; empty
/// if it has too many elements.
static std::string describeValue(const Data &value, Type type) {
  if (value.shape().empty())
    return describeElement(value, 0, type);
  std::string sizes;
  for (int64_t size : value.shape())
    sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
  if (value.size() == 0)
    return sizes + " elements";
  if (isFilled(value) && value.size() > kMostPrinted)
    return sizes + " elements of " + describeElement(value, 0, type);
  if (value.size() > kMostPrinted)
    return "";
  std::string text = value.shape().size() > 1 ? sizes + " elements [" : "[";
  for (int64_t i = 0; i < value.size(); ++i)
    text += (i > 0 ? ", " : "") + describeElement(value, i, type);
  return text + "]";
}

/// The user's name of an argument or of a tensor of a batch.
static std::string getName(FunctionOpInterface function, Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    // The iterator of a program is one of its arguments.
    auto iterator = dyn_cast<BlockArgument>(result.getOwner()->getOperand(0));
    auto names = iterator ? function.getArgAttrOfType<ArrayAttr>(
                                iterator.getArgNumber(), "replica.batches")
                          : ArrayAttr();
    return names ? cast<StringAttr>(names[result.getResultNumber()]).str() : "";
  }
  unsigned index = cast<BlockArgument>(value).getArgNumber();
  for (StringRef kind : {"replica.batch", "replica.scalar"})
    if (auto name = function.getArgAttrOfType<StringAttr>(index, kind))
      return name.str();
  auto binding =
      function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  return binding ? binding.getName().str()
                 : "argument " + std::to_string(index);
}

/// The value of an argument on `replica`, or of a tensor of a batch, for which
/// it is that in the first batch; null if there is none.
static const Data *getValue(const InputSample &sample, Value value,
                            unsigned replica) {
  if (auto result = dyn_cast<OpResult>(value)) {
    if (!isa<replica::NextOp>(result.getOwner()) || sample.batches.empty())
      return nullptr;
    return &sample.batches.front()[result.getResultNumber()]
                .components()[replica];
  }
  return &sample.arguments[replica][cast<BlockArgument>(value).getArgNumber()];
}

std::string WitnessSearch::describe(const Witness &witness,
                                    ArrayRef<Value> arguments, Value *differs) {
  auto [one, other] = witness.ranks;
  std::string equal;
  for (Value argument : arguments) {
    const Data *mine = getValue(*witness.inputs, argument, one),
               *others = getValue(*witness.inputs, argument, other);
    auto type = dyn_cast_or_null<RankedTensorType>(
        replica::getComponent(argument.getType()));
    std::string name = getName(function, argument);
    if (!mine || !type || name.empty())
      continue;
    std::string left = describeValue(*mine, type),
                right = describeValue(*others, type);
    if (mine->isIdentical(*others)) {
      if (equal.empty() && !left.empty())
        equal = "where " + name + " = " + left;
      continue;
    }
    *differs = argument;
    if (left.empty() || right.empty())
      return "";
    return name + " = " + left + " on replica " + std::to_string(one) +
           " and " + right + " on replica " + std::to_string(other);
  }
  return equal;
}

/// The value as an attribute; null if it is large.
static Attribute toAttribute(const Data &value, Type type) {
  auto tensor = RankedTensorType::get(
      value.shape(),
      cast<RankedTensorType>(replica::getComponent(type)).getElementType());
  bool filled = value.size() > 0 && isFilled(value);
  if (!filled && value.size() > kMostRecorded)
    return {};
  SmallVector<Attribute> elements;
  Builder builder(type.getContext());
  for (int64_t i = 0; i < (filled ? 1 : value.size()); ++i) {
    if (auto integer = dyn_cast<IntegerType>(tensor.getElementType()))
      elements.push_back(
          IntegerAttr::get(integer, APInt(integer.getWidth(), value.intAt(i))));
    else if (tensor.getElementType().isIndex())
      elements.push_back(
          builder.getIndexAttr(static_cast<int64_t>(value.intAt(i))));
    else
      elements.push_back(
          FloatAttr::get(tensor.getElementType(), value.lane() == Lane::Float
                                                      ? value.as<float>()[i]
                                                      : value.as<double>()[i]));
  }
  return DenseElementsAttr::get(tensor, elements);
}

DictionaryAttr WitnessSearch::getInputs(const Witness &witness) {
  const InputSample &sample = *witness.inputs;
  if (!sample.batches.empty())
    return {};
  Builder builder(function.getContext());
  SmallVector<Attribute> all;
  for (const std::vector<Data> &mine : sample.arguments) {
    SmallVector<Attribute> given;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (RandomInputs::isGiven(function, index)) {
        given.push_back(toAttribute(mine[index], type));
        if (!given.back())
          return {};
      }
    all.push_back(builder.getArrayAttr(given));
  }
  SmallVector<NamedAttribute> variables;
  for (auto variable :
       function->getParentOfType<ModuleOp>().getOps<replica::VariableOp>()) {
    Attribute value = toAttribute(
        sample.variables.lookup(variable.getSymNameAttr()), variable.getType());
    if (!value)
      return {};
    variables.push_back(builder.getNamedAttr(variable.getSymName(), value));
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("arguments", builder.getArrayAttr(all)),
       builder.getNamedAttr("variables",
                            builder.getDictionaryAttr(variables))});
}
