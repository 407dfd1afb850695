//===- SingleStep.cpp - one step on arrays of a file ----------------------===//

#include "runtime/training/SingleStep.h"

#include "runtime/data/AlignedBytes.h"
#include "runtime/support/JsonText.h"
#include "runtime/training/ElementText.h"
#include "runtime/training/HostScalars.h"
#include "runtime/training/Training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>

namespace lockstep::training {

using namespace runtime;

Expected<std::string> arrayName(const Dataset &data, const std::string &input,
                                unsigned replica) {
  std::string own = fmt::format("{}@{}", input, replica);
  if (data.contains(own))
    return own;
  if (data.contains(input))
    return input;
  return invalidArgument(
      fmt::format("'{}': expected an array '{}' or '{}', found {}", data.path(),
                  input, own, fmt::join(data.names(), ", ")));
}

Expected<InputArray> readArray(const Dataset &data, const std::string &input,
                               unsigned replica, bool isBatched) {
  Expected<std::string> name = arrayName(data, input, replica);
  if (!name)
    return name.status();
  auto array = data.array(*name);
  if (!array)
    return array.status();
  InputArray result{*name, (*array)->type(), 1, *array};
  if (isBatched && !result.type.shape.empty()) {
    result.count = size_t(result.type.shape.front());
    result.type.shape.erase(result.type.shape.begin());
  }
  return result;
}

void printTensor(const char *what, const std::string &name, unsigned replica,
                 const TensorInfo &type, std::span<const std::byte> bytes) {
  std::string values;
  appendJson(values, type, bytes);
  if (type.shape.empty())
    values = "[" + values + "]";
  fmt::print("{{\"{}\":{},\"replica\":{},\"type\":\"{}\",\"shape\":[{}],"
             "\"values\":{}}}\n",
             what, jsonText(nlohmann::json(name)), replica,
             elementName(type.element), fmt::join(type.shape, ","), values);
}

void printConstant(const std::string &name, const std::string &value) {
  fmt::print("{{\"constant\":{},\"value\":{}}}\n",
             jsonText(nlohmann::json(name)), value);
}

namespace {

/// Copies an array to the corner of a larger one, both in row-major order.
void copyToCorner(std::byte *to, const std::vector<int64_t> &toShape,
                  const std::byte *from, const std::vector<int64_t> &fromShape,
                  size_t elementBytes) {
  if (fromShape.empty()) {
    std::memcpy(to, from, elementBytes);
    return;
  }
  // The last dimension is contiguous in both; the others count like an
  // odometer.
  size_t rank = fromShape.size(), row = size_t(fromShape.back()) * elementBytes;
  size_t rows = 1;
  for (size_t d = 0; d + 1 < rank; ++d)
    rows *= size_t(fromShape[d]);
  std::vector<int64_t> index(rank, 0);
  for (size_t r = 0; r < rows; ++r) {
    size_t offset = 0;
    for (size_t d = 0; d < rank; ++d)
      offset = offset * size_t(toShape[d]) + size_t(index[d]);
    std::memcpy(to + offset * elementBytes, from + r * row, row);
    for (size_t d = rank - 1; d-- > 0;) {
      if (++index[d] < fromShape[d])
        break;
      index[d] = 0;
    }
  }
}

/// Makes the batches of all replicas.
class InputFiller {
public:
  InputFiller(const ProgramInfo &program, const Dataset &data)
      : program(program), data(data) {}

  /// One replica's batches, in order: one, or, of a program that loads batches,
  /// as many as its arrays have.
  Expected<std::vector<AlignedBytes>> makeBatches(unsigned replica) const {
    std::vector<AlignedBytes> batches;
    std::string counted;
    for (const InputInfo &input : program.inputs) {
      if (isSize(input.name))
        continue;
      Expected<InputArray> array =
          readArray(data, input.name, replica, program.loadsBatches);
      if (!array)
        return array.status();
      if (!counted.empty() && array->count != batches.size())
        return invalidArgument(fmt::format(
            "'{}', array '{}': expected {} batches as in '{}', found {}",
            data.path(), array->name, batches.size(), counted, array->count));
      for (size_t i = batches.size(); i < array->count; ++i) {
        Expected<AlignedBytes> batch =
            AlignedBytes::allocate(program.inputSize);
        if (!batch)
          return batch.status();
        std::fill(batch->bytes().begin(), batch->bytes().end(), std::byte(0));
        batches.push_back(std::move(*batch));
      }
      counted = array->name;
      for (size_t i = 0; i < array->count; ++i)
        LOCKSTEP_RETURN_IF_ERROR(
            fillInput(batches[i].bytes().data(), input, *array, i));
    }
    return batches;
  }

private:
  const InputInfo *find(const std::string &name) const {
    for (const InputInfo &input : program.inputs)
      if (input.name == name)
        return &input;
    return nullptr;
  }

  static std::string sizeName(const std::string &input, size_t dimension) {
    return fmt::format("{}.dim{}", input, dimension);
  }

  /// Whether an input holds a size of another input, which is that of the
  /// array.
  bool isSize(const std::string &name) const {
    for (const InputInfo &input : program.inputs)
      for (size_t d = 0; d < input.type.shape.size(); ++d)
        if (sizeName(input.name, d) == name)
          return true;
    return false;
  }

  Status fillInput(std::byte *batch, const InputInfo &input,
                   const InputArray &array, size_t index) const {
    const TensorInfo &found = array.type;
    bool fits = found.element == input.type.element &&
                found.shape.size() == input.type.shape.size();
    for (size_t d = 0; fits && d < found.shape.size(); ++d) {
      const InputInfo *size = find(sizeName(input.name, d));
      fits = size ? found.shape[d] <= input.type.shape[d]
                  : found.shape[d] == input.type.shape[d];
      if (size)
        std::memcpy(batch + size->offset, &found.shape[d], sizeof(int64_t));
    }
    if (!fits)
      return invalidArgument(
          fmt::format("'{}', array '{}': expected {}, found {}", data.path(),
                      array.name, expectedType(input), typeName(found)));
    copyToCorner(batch + input.offset, input.type.shape,
                 array.value(index).data(), found.shape,
                 elementSize(found.element));
    return Status::success();
  }

  /// "<=3x2xf32": up to three rows of two.
  std::string expectedType(const InputInfo &input) const {
    std::string text;
    for (size_t d = 0; d < input.type.shape.size(); ++d)
      text += fmt::format("{}{}x", find(sizeName(input.name, d)) ? "<=" : "",
                          input.type.shape[d]);
    return text + elementName(input.type.element);
  }

  const ProgramInfo &program;
  const Dataset &data;
};

} // namespace

/// Sets the host scalars, of any shape, for which `data` has an array.
static Expected<std::set<std::string>> setArrays(Cluster &cluster,
                                                 const Dataset &data) {
  std::set<std::string> given;
  for (const ScalarInfo &scalar : cluster.scalars()) {
    if (!data.contains(scalar.name))
      continue;
    auto array = data.array(scalar.name);
    if (!array)
      return array.status();
    const TensorInfo &found = (*array)->type();
    if (found.element != scalar.type.element ||
        found.shape != scalar.type.shape)
      return invalidArgument(
          fmt::format("'{}', array '{}': expected {}, found {}", data.path(),
                      scalar.name, typeName(scalar.type), typeName(found)));
    LOCKSTEP_RETURN_IF_ERROR(cluster.setScalar(scalar.name, (*array)->data()));
    given.insert(scalar.name);
  }
  return given;
}

Status runOnce(const Options &options, Cluster &cluster, FileWatch &files) {
  Expected<ProgramId> id = chooseProgram(options, cluster);
  if (!id)
    return id.status();
  const ProgramInfo &program = cluster.programs()[*id];
  std::optional<FileWatch::Scope> reading(std::in_place, files,
                                          "reading '" + options.inputs + "'");
  Expected<Dataset> data = Dataset::open(options.inputs);
  if (!data)
    return data.status();
  Expected<std::set<std::string>> given = setArrays(cluster, *data);
  if (!given)
    return given.status();
  // Binding the batches sets their number.
  given->insert("num_batches");
  LOCKSTEP_RETURN_IF_ERROR(setScalars(cluster, options.scalars, *given));
  LOCKSTEP_RETURN_IF_ERROR(
      supplyScalar(cluster, "seed", options.seed.value_or(0)));
  LOCKSTEP_RETURN_IF_ERROR(supplyScalar(cluster, "step", 0));
  LOCKSTEP_RETURN_IF_ERROR(
      initializeVariables(options.init, variablesOf(cluster)));

  std::vector<std::vector<AlignedBytes>> kept;
  InputFiller filler(program, *data);
  for (unsigned replica : ranksOf(cluster.replicasHere())) {
    if (program.inputs.empty())
      break;
    Expected<std::vector<AlignedBytes>> batches = filler.makeBatches(replica);
    if (!batches)
      return batches.status();
    std::vector<const std::byte *> bases;
    for (const AlignedBytes &batch : *batches)
      bases.push_back(batch.bytes().data());
    if (program.loadsBatches)
      LOCKSTEP_RETURN_IF_ERROR(cluster.bindBatches(*id, replica, bases));
    else
      LOCKSTEP_RETURN_IF_ERROR(cluster.bindInput(*id, replica, bases.front()));
    kept.push_back(std::move(*batches));
  }
  reading.reset();
  LOCKSTEP_RETURN_IF_ERROR(cluster.run(*id));
  LOCKSTEP_RETURN_IF_ERROR(cluster.collectOutputs(*id));
  LOCKSTEP_RETURN_IF_ERROR(cluster.collectVariables());
  if (cluster.place().index != 0)
    return Status::success();

  for (unsigned output = 0; output < program.outputs.size(); ++output)
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
      TensorInfo type = program.outputs[output].type;
      type.shape = cluster.outputShape(*id, output, replica);
      printTensor("result", program.outputs[output].name, replica, type,
                  cluster.output(*id, output, replica));
    }
  for (const auto &[name, value] : program.constantOutputs)
    printConstant(name, value);
  for (const VariableInfo &variable : cluster.variables())
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica)
      printTensor("variable", variable.name, replica, variable.type,
                  cluster.variable(variable.name, replica)->read());
  std::fflush(stdout);
  return Status::success();
}

} // namespace lockstep::training
