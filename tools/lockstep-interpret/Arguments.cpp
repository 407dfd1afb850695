//===- Arguments.cpp - arguments and results of a step --------------------===//

#include "tools/lockstep-interpret/Arguments.h"

#include "dialect/Replica/Strategy.h"

#include "passes/Emit/Elements.h"
#include "runtime/checkpoint/Aggregation.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Variables.h"
#include "runtime/training/ElementText.h"

#include "mlir/IR/TypeUtilities.h"

#include <fmt/format.h>

#include <set>

using namespace mlir;

namespace lockstep::interpret {

using runtime::invalidArgument;

static std::string printed(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Expected<TensorInfo> infoOf(Type type, bool isUnsigned) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  FailureOr<artifact::ElementType> element =
      toElementType(getElementTypeOrSelf(type), isUnsigned);
  if (failed(element))
    return invalidArgument("expected elements that a file can have, found " +
                           printed(type));
  TensorInfo info;
  info.element = *element;
  if (tensor)
    for (int64_t size : tensor.getShape())
      info.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  info.bytes = runtime::staticBytes(info.element, info.shape).value_or(0);
  return info;
}

/// Describes an argument of type `type`.
static Expected<Argument> describe(Argument::Kind kind, std::string name,
                                   Type type, bool isUnsigned) {
  Expected<TensorInfo> info = infoOf(replica::getComponent(type), isUnsigned);
  if (!info)
    return info.status().withContext("argument '" + name + "'");
  Argument argument;
  argument.kind = kind;
  argument.name = std::move(name);
  argument.type = argument.bounded = *info;
  argument.element = *getElement(type);
  return argument;
}

Expected<std::vector<Argument>> argumentsOf(FunctionOpInterface function) {
  std::vector<Argument> arguments;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    bool isUnsigned = function.getArgAttr(index, "replica.unsigned") != nullptr;
    if (auto iterator = dyn_cast<replica::IteratorType>(type)) {
      auto names =
          function.getArgAttrOfType<ArrayAttr>(index, "replica.batches")
              .getAsValueRange<StringAttr>();
      for (auto [name, element] :
           llvm::zip_equal(names, iterator.getElements())) {
        Expected<Argument> argument =
            describe(Argument::Iterated, name.str(), element, isUnsigned);
        if (!argument)
          return argument.status();
        arguments.push_back(std::move(*argument));
      }
      continue;
    }
    auto batch = function.getArgAttrOfType<StringAttr>(index, "replica.batch"),
         scalar =
             function.getArgAttrOfType<StringAttr>(index, "replica.scalar");
    std::string name = scalar  ? scalar.str()
                       : batch ? batch.str()
                               : "arg" + std::to_string(index);
    Expected<Argument> argument = describe(
        scalar ? Argument::Scalar : Argument::Batch, name, type, isUnsigned);
    if (!argument)
      return argument.status();
    if (auto bounds = function.getArgAttrOfType<DenseI64ArrayAttr>(
            index, "replica.bounds")) {
      llvm::ArrayRef<int64_t> left = bounds.asArrayRef();
      for (int64_t &size : argument->bounded.shape)
        if (size < 0 && !left.empty())
          size = left.front(), left = left.drop_front();
      argument->bounded.bytes = runtime::staticBytes(argument->bounded.element,
                                                     argument->bounded.shape)
                                    .value_or(0);
    }
    if (Attribute value = function.getArgAttr(index, "replica.default")) {
      // A number is the value of all elements.
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && tensor.hasStaticShape() && !isa<ElementsAttr>(value))
        value = DenseElementsAttr::get(tensor, value);
      argument->fallback = fromAttribute(value, type);
    }
    arguments.push_back(std::move(*argument));
  }
  return arguments;
}

Expected<std::vector<Output>> outputsOf(FunctionOpInterface function) {
  std::vector<Output> outputs;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    Output output;
    output.name = "result" + std::to_string(index);
    for (StringRef role :
         {"replica.metric", "replica.sum", "replica.count", "replica.result"})
      if (auto name = function.getResultAttrOfType<StringAttr>(index, role)) {
        // Sum and count of one quantity have the same name.
        bool half = role == "replica.sum" || role == "replica.count";
        output.name =
            name.str() + (half ? role.drop_front(strlen("replica")).str() : "");
        output.isMetric = role == "replica.metric";
      }
    Expected<TensorInfo> info =
        infoOf(replica::getComponent(type),
               function.getResultAttr(index, "replica.unsigned") != nullptr);
    if (!info)
      return info.status().withContext("result '" + output.name + "'");
    output.type = *info;
    output.element = *getElement(type);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static Expected<Value> parse(const Argument &argument,
                             const std::string &text) {
  if (!argument.type.shape.empty())
    return invalidArgument(fmt::format("expected a scalar of rank 0, found {}",
                                       typeName(argument.type)));
  Expected<std::vector<std::byte>> bytes =
      training::parseElement(argument.type.element, text);
  if (!bytes)
    return bytes.status();
  return fromBytes(argument.element, {}, *bytes);
}

static bool isSupplied(const std::string &name) {
  return name == "step" || name == "seed";
}

Expected<std::map<std::string, Value>>
scalarsOf(const std::vector<Argument> &arguments, const Options &options) {
  std::map<std::string, std::string> texts;
  for (const std::string &assignment : options.scalars) {
    size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalidArgument("--set " + assignment + ": expected NAME=VALUE");
    std::string name = assignment.substr(0, equals);
    if (isSupplied(name))
      return invalidArgument(
          fmt::format("--set {}: '{}' is supplied by lockstep-interpret",
                      assignment, name));
    if (!texts.emplace(name, assignment.substr(equals + 1)).second)
      return invalidArgument(
          fmt::format("--set {}: '{}' is set twice", assignment, name));
  }
  texts["seed"] = std::to_string(options.seed);
  texts["step"] = "0";

  std::map<std::string, Value> values;
  std::set<std::string> known = {"seed", "step"};
  for (const Argument &argument : arguments) {
    if (argument.kind != Argument::Scalar)
      continue;
    known.insert(argument.name);
    if (auto text = texts.find(argument.name); text != texts.end()) {
      Expected<Value> value = parse(argument, text->second);
      if (!value)
        return value.status().withContext("scalar '" + argument.name + "'");
      values[argument.name] = *value;
    } else if (argument.fallback) {
      values[argument.name] = *argument.fallback;
    } else {
      return invalidArgument(fmt::format(
          "expected --set {}=... ({}), because the scalar has no default",
          argument.name, typeName(argument.type)));
    }
  }
  for (const auto &[name, text] : texts)
    if (!known.contains(name))
      return invalidArgument(
          fmt::format("--set {}={}: no scalar '{}'", name, text, name));
  return values;
}

Value stepScalar(const Argument &argument, uint64_t step) {
  // Only integers count steps; a float argument was converted by the step.
  Expected<Value> value = parse(argument, std::to_string(step));
  return value ? *value : Value::ofInt(step);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

namespace {

/// The variables in the format of files.
struct StoredVariables {
  std::vector<runtime::VariableView> views;
  std::vector<std::vector<std::vector<std::byte>>> bytes;
};

} // namespace

static Expected<StoredVariables> store(Interpreter &interpreter) {
  StoredVariables stored;
  for (auto &[name, variable] : interpreter.variables()) {
    replica::VariableOp op = variable.op;
    Expected<TensorInfo> info = infoOf(op.getType(), op.getIsUnsigned());
    if (!info)
      return info.status().withContext("variable '" + op.getStoredName().str() +
                                       "'");
    runtime::VariableView view;
    view.name = op.getStoredName().str();
    view.type = *info;
    view.hasInitial = op.getInitialAttr() != nullptr;
    view.perReplica = op.isOnRead();
    view.synchronization = view.perReplica
                               ? artifact::Synchronization::on_read
                               : artifact::Synchronization::on_write;
    view.aggregation =
        static_cast<artifact::Aggregation>(replica::getStoredAggregation(op));
    Element element = *getElement(op.getType());
    auto &copies = stored.bytes.emplace_back();
    for (size_t i = 0; i < (view.perReplica ? variable.copies.size() : 1); ++i)
      copies.push_back(toBytes(element, variable.copies[i]));
    for (std::vector<std::byte> &copy : copies)
      view.values.emplace_back(copy);
    stored.views.push_back(std::move(view));
  }
  return stored;
}

Status loadVariables(Interpreter &interpreter, const std::string &path) {
  Expected<StoredVariables> stored = store(interpreter);
  if (!stored)
    return stored.status();
  if (path.empty()) {
    for (const runtime::VariableView &view : stored->views)
      if (!view.hasInitial)
        return invalidArgument(
            fmt::format("expected --init=FILE, because variable '{}' ({}) has "
                        "no initial value",
                        view.name, typeName(view.type)));
    return Status::success();
  }
  LOCKSTEP_RETURN_IF_ERROR(runtime::loadInitialValues(path, stored->views));
  size_t index = 0;
  for (auto &[name, variable] : interpreter.variables()) {
    const auto &copies = stored->bytes[index++];
    for (size_t replica = 0; replica < variable.copies.size(); ++replica)
      variable.copies[replica] = fromBytes(
          *getElement(variable.op.getType()), variable.copies[replica].shape(),
          copies[copies.size() == 1 ? 0 : replica]);
  }
  return Status::success();
}

Status saveVariables(Interpreter &interpreter, const std::string &path,
                     const std::map<std::string, std::string> &metadata) {
  Expected<StoredVariables> stored = store(interpreter);
  if (!stored)
    return stored.status();
  LOCKSTEP_RETURN_IF_ERROR(runtime::checkAggregation(stored->views));
  runtime::AggregatedVariables aggregated(stored->views);
  aggregated.aggregate();
  return runtime::writeSafetensors(path, runtime::tensorsOf(aggregated.views()),
                                   metadata);
}

} // namespace lockstep::interpret
