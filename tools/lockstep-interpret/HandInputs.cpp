//===- HandInputs.cpp - One step on given inputs --------------------------===//
//
// For modules that are written by hand: the arrays of an .npz are the inputs, "x@0" and "x@1" of replicas 0 and 1, "x" of all.
// What comes out is printed as JSON, one line a result and replica:
//
//   {"result":"y","replica":0,"type":"f32","shape":[2],"values":[1,2]}
//   {"variable":"w","replica":0,"type":"f32","shape":[],"values":[3]}
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-interpret/Arguments.h"

#include "runtime/data/Dataset.h"
#include "tools/lockstep-run/HandInputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace lockstep::interpret {

using runtime::Dataset;
using runtime::invalidArgument;

static bool fits(const TensorInfo &expected, const TensorInfo &found) {
  return expected.element == found.element && expected.shape.size() == found.shape.size() &&
         std::equal(expected.shape.begin(), expected.shape.end(), found.shape.begin(),
                    [](int64_t size, int64_t actual) { return size < 0 || size == actual; });
}

/// The array of an argument for one replica.
static Expected<Value> read(const Dataset &data, const Argument &argument, int64_t replica) {
  Expected<std::string> name = run::arrayName(data, argument.name, static_cast<unsigned>(replica));
  if (!name)
    return name.status();
  auto array = data.array(*name);
  if (!array)
    return array.status();
  const TensorInfo &found = (*array)->type();
  if (!fits(argument.type, found))
    return invalidArgument(fmt::format("'{}', array '{}': expected {}, found {}", data.path(), *name, typeName(argument.type),
                                       typeName(found)));
  return fromBytes(argument.element, llvm::ArrayRef(found.shape.data(), found.shape.size()), (*array)->data());
}

static void print(const char *what, const std::string &name, int64_t replica, TensorInfo type, const Element &element,
                  const Value &value) {
  type.shape.assign(value.shape().begin(), value.shape().end());
  run::printTensor(what, name, static_cast<unsigned>(replica), type, toBytes(element, value));
}

Status runOnce(Interpreter &interpreter, const Options &options) {
  replica::StepOp step = interpreter.findStep(options.step);
  if (!step)
    return invalidArgument(fmt::format("expected a step '{}', found none", options.step));
  Expected<std::vector<Argument>> arguments = argumentsOf(step);
  Expected<std::vector<Output>> outputs = outputsOf(step);
  if (!arguments || !outputs)
    return arguments ? outputs.status() : arguments.status();
  Expected<std::map<std::string, Value>> scalars = scalarsOf(*arguments, options);
  if (!scalars)
    return scalars.status();
  LOCKSTEP_RETURN_IF_ERROR(loadVariables(interpreter, options.init));

  std::vector<llvm::SmallVector<Value>> values(interpreter.replicas()), results;
  bool reads = std::any_of(arguments->begin(), arguments->end(), [](const Argument &a) { return a.kind == Argument::Batch; });
  if (reads && options.inputs.empty())
    return invalidArgument("expected --inputs=FILE.npz, because the step takes data");
  std::optional<Dataset> data;
  if (reads) {
    Expected<Dataset> opened = Dataset::open(options.inputs);
    if (!opened)
      return opened.status();
    data = std::move(*opened);
  }
  for (int64_t replica = 0; replica < interpreter.replicas(); ++replica)
    for (const Argument &argument : *arguments) {
      if (argument.kind == Argument::Scalar) {
        values[replica].push_back((*scalars)[argument.name]);
        continue;
      }
      Expected<Value> value = read(*data, argument, replica);
      if (!value)
        return value.status();
      values[replica].push_back(std::move(*value));
    }
  if (failed(interpreter.run(step, values, results)))
    return invalidArgument(fmt::format("step '{}' failed (see above)", options.step));

  for (auto [index, output] : llvm::enumerate(*outputs))
    for (int64_t replica = 0; replica < interpreter.replicas(); ++replica)
      print("result", output.name, replica, output.type, output.element, results[replica][index]);
  for (auto &[name, variable] : interpreter.variables())
    for (int64_t replica = 0; replica < interpreter.replicas(); ++replica) {
      Expected<TensorInfo> type = infoOf(variable.op.getType(), variable.op.getIsUnsigned());
      if (!type)
        return type.status();
      print("variable", variable.op.getStoredName().str(), replica, *type, *getElement(variable.op.getType()), variable.copies[replica]);
    }
  std::fflush(stdout);
  return options.save.empty() ? Status::success() : saveVariables(interpreter, options.save, {});
}

} // namespace lockstep::interpret
