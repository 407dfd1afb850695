//===- InterpretInputs.cpp - One step on given inputs ---------------------===//
//
// For hand-written modules: the arrays of an .npz are the inputs, "x@0" and
// "x@1" of replicas 0 and 1, "x" of all. Results are printed as JSON, one line
// for each result and replica:
//
//   {"result":"y","replica":0,"type":"f32","shape":[2],"values":[1,2]}
//   {"constant":"labels","value":["cat","dog"]}
//   {"variable":"w","replica":0,"type":"f32","shape":[],"values":[3]}
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-interpret/Arguments.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/PlainValues.h"
#include "runtime/data/Dataset.h"
#include "runtime/training/SingleStep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace lockstep::interpret {

using runtime::Dataset;
using runtime::invalidArgument;

/// Dynamic dimensions have bounds, as in a compiled program.
static bool fits(const Argument &argument, const TensorInfo &found) {
  const std::vector<int64_t> &sizes = argument.type.shape,
                             &bounds = argument.bounded.shape;
  if (argument.type.element != found.element ||
      sizes.size() != found.shape.size())
    return false;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 0 ? bounds[d] >= 0 && found.shape[d] > bounds[d]
                     : sizes[d] != found.shape[d])
      return false;
  return true;
}

static std::string describeType(const Argument &argument) {
  bool isBounded = argument.bounded.shape != argument.type.shape;
  return (isBounded ? "at most " : "") +
         typeName(isBounded ? argument.bounded : argument.type);
}

/// The array of an argument for one replica: the value, or, of a tensor of an
/// iterator, that of each batch.
static Expected<std::vector<Value>>
read(const Dataset &data, const Argument &argument, int64_t replica) {
  auto array =
      training::readArray(data, argument.name, static_cast<unsigned>(replica),
                          argument.kind == Argument::Iterated);
  if (!array)
    return array.status();
  const TensorInfo &found = array->type;
  if (!fits(argument, found))
    return invalidArgument(
        fmt::format("'{}', array '{}': expected {}, found {}", data.path(),
                    array->name, describeType(argument), typeName(found)));
  std::vector<Value> values;
  for (size_t i = 0; i < array->count; ++i)
    values.push_back(
        fromBytes(argument.element,
                  llvm::ArrayRef(found.shape.data(), found.shape.size()),
                  array->value(i)));
  return values;
}

static void print(const char *what, const std::string &name, int64_t replica,
                  TensorInfo type, const Element &element, const Value &value) {
  type.shape.assign(value.shape().begin(), value.shape().end());
  training::printTensor(what, name, static_cast<unsigned>(replica), type,
                        toBytes(element, value));
}

/// The values of `arguments` for each replica, and, for a program with an
/// iterator, the batches.
static Expected<std::vector<llvm::SmallVector<Value>>>
readAll(Interpreter &interpreter, llvm::StringRef program,
        const std::vector<Argument> &arguments,
        const std::optional<Dataset> &data,
        const std::map<std::string, Value> &scalars) {
  std::vector<llvm::SmallVector<Value>> values(interpreter.replicas());
  std::vector<std::vector<Value>> batches;
  bool iterates = false;
  std::string counted;
  for (const Argument &argument : arguments) {
    // The tensors of an iterator are one argument.
    if (argument.kind == Argument::Iterated && !std::exchange(iterates, true))
      for (auto &mine : values)
        mine.emplace_back();
    std::vector<std::vector<Value>> components;
    for (int64_t replica = 0; replica < interpreter.replicas(); ++replica) {
      if (argument.kind == Argument::Scalar) {
        values[replica].push_back(scalars.at(argument.name));
        continue;
      }
      Expected<std::vector<Value>> mine = read(*data, argument, replica);
      if (!mine)
        return mine.status();
      if (argument.kind == Argument::Batch)
        values[replica].push_back(mine->front());
      if (replica > 0 && argument.kind == Argument::Iterated &&
          mine->size() != components.size())
        return invalidArgument(fmt::format(
            "program '{}': replica {} has {} batches, but replica 0 has {}",
            program.str(), replica, mine->size(), components.size()));
      components.resize(mine->size());
      for (size_t i = 0; i < mine->size(); ++i)
        components[i].push_back((*mine)[i]);
    }
    if (argument.kind != Argument::Iterated)
      continue;
    if (!counted.empty() && components.size() != batches.size())
      return invalidArgument(fmt::format(
          "'{}', array '{}': expected {} batches as in '{}', found {}",
          data->path(), argument.name, batches.size(), counted,
          components.size()));
    counted = argument.name;
    batches.resize(components.size());
    for (size_t i = 0; i < components.size(); ++i)
      batches[i].push_back(Value::perReplica(components[i]));
  }
  interpreter.setBatches(std::move(batches));
  return values;
}

/// Runs a program on the values of all replicas and returns their results.
static llvm::LogicalResult
runProgram(Interpreter &interpreter, replica::ProgramOp program,
           const std::vector<llvm::SmallVector<Value>> &values,
           std::vector<llvm::SmallVector<Value>> &results) {
  llvm::SmallVector<Value> arguments, yielded;
  for (auto [index, type] : llvm::enumerate(program.getArgumentTypes())) {
    std::vector<Value> components;
    for (const auto &mine : values)
      components.push_back(mine[index]);
    arguments.push_back(mlir::isa<replica::PerReplicaType>(type)
                            ? Value::perReplica(std::move(components))
                            : components.front());
  }
  if (failed(interpreter.run(program, arguments, yielded)))
    return llvm::failure();
  results.assign(interpreter.replicas(), {});
  for (auto [replica, mine] : llvm::enumerate(results))
    for (const Value &value : yielded)
      mine.push_back(value.isPerReplica() ? value.components()[replica]
                                          : value);
  return llvm::success();
}

Status runOnce(Interpreter &interpreter, const Options &options) {
  replica::StepOp step = interpreter.findStep(options.step);
  replica::ProgramOp program =
      step ? replica::ProgramOp() : interpreter.findProgram(options.step);
  if (!step && !program)
    program = interpreter.findOnlyProgram();
  if (!step && !program)
    return invalidArgument(fmt::format(
        "expected a step or program '{}', found none", options.step));
  auto function = step ? mlir::FunctionOpInterface(step)
                       : mlir::FunctionOpInterface(program);
  Expected<std::vector<Argument>> arguments = argumentsOf(function);
  Expected<std::vector<Output>> outputs = outputsOf(function);
  if (!arguments || !outputs)
    return arguments ? outputs.status() : arguments.status();
  bool reads =
      std::any_of(arguments->begin(), arguments->end(),
                  [](const Argument &a) { return a.kind != Argument::Scalar; });
  if (reads && options.inputs.empty())
    return invalidArgument(
        "expected --inputs=FILE.npz, because the step takes data");
  std::optional<Dataset> data;
  if (!options.inputs.empty()) {
    Expected<Dataset> opened = Dataset::open(options.inputs);
    if (!opened)
      return opened.status();
    data = std::move(*opened);
  }
  // The data file may also contain host values of any shape.
  for (Argument &argument : *arguments)
    if (argument.kind == Argument::Scalar && data &&
        data->contains(argument.name)) {
      Expected<std::vector<Value>> value = read(*data, argument, 0);
      if (!value)
        return value.status();
      argument.fallback = value->front();
    }
  Expected<std::map<std::string, Value>> scalars =
      scalarsOf(*arguments, options);
  if (!scalars)
    return scalars.status();
  LOCKSTEP_RETURN_IF_ERROR(loadVariables(interpreter, options.init));
  Expected<std::vector<llvm::SmallVector<Value>>> values =
      readAll(interpreter, function.getName(), *arguments, data, *scalars);
  if (!values)
    return values.status();
  std::vector<llvm::SmallVector<Value>> results;
  if (failed(step ? interpreter.run(step, *values, results)
                  : runProgram(interpreter, program, *values, results)))
    return invalidArgument(
        fmt::format("'{}' failed (see above)", function.getName().str()));

  for (auto [index, output] : llvm::enumerate(*outputs))
    for (int64_t replica = 0; replica < interpreter.replicas(); ++replica)
      print("result", output.name, replica, output.type, output.element,
            results[replica][index]);
  for (auto output : function->getParentOfType<mlir::ModuleOp>()
                         .getOps<device::ConstantOutputOp>())
    if (output.getProgram() == function.getName())
      training::printConstant(output.getName().str(),
                              plainValueToJson(output.getValue()));
  for (auto &[name, variable] : interpreter.variables())
    for (int64_t replica = 0; replica < interpreter.replicas(); ++replica) {
      Expected<TensorInfo> type =
          infoOf(variable.op.getType(), variable.op.getIsUnsigned());
      if (!type)
        return type.status();
      print("variable", variable.op.getStoredName().str(), replica, *type,
            *getElement(variable.op.getType()), variable.copies[replica]);
    }
  std::fflush(stdout);
  return options.save.empty() ? Status::success()
                              : saveVariables(interpreter, options.save, {});
}

} // namespace lockstep::interpret
