//===- InterpretTraining.cpp - Steps on data ------------------------------===//
//
// The same data in the same order, the same scalars and the same lines of
// metrics as lockstep-run.
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-interpret/Arguments.h"

#include "runtime/data/Batches.h"
#include "runtime/support/JsonText.h"
#include "runtime/training/ElementText.h"
#include "runtime/training/MetricsFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstring>

namespace lockstep::interpret {

using runtime::Batch;
using runtime::Batches;
using runtime::invalidArgument;

namespace {

/// Inputs begin at multiples of this in a replica's batch.
constexpr uint64_t kInputAlignment = 64;

class Training {
public:
  Training(Interpreter &interpreter, const Options &options)
      : interpreter(interpreter), options(options) {}

  Status prepare();
  Status run();

private:
  Status openData();
  Status takeStep(uint64_t step);
  void appendMetrics(std::string &out, uint64_t step, uint64_t epoch,
                     llvm::ArrayRef<llvm::SmallVector<Value>> results) const;

  Interpreter &interpreter;
  const Options &options;
  replica::StepOp step;
  std::vector<Argument> arguments;
  std::vector<Output> outputs;
  std::map<std::string, Value> scalars;
  /// Offset of an argument in a replica's batch, and of its number of rows if
  /// that is dynamic.
  struct Place {
    uint64_t offset = 0;
    std::optional<uint64_t> rowsOffset;
  };
  std::vector<Place> places;
  /// Null if the step takes no data.
  std::unique_ptr<Batches> batches;
  training::MetricsFile metrics;
};

Status Training::prepare() {
  step = interpreter.findStep(options.step);
  if (!step)
    return invalidArgument(
        fmt::format("expected a step '{}', found none", options.step));
  Expected<std::vector<Argument>> found = argumentsOf(step);
  Expected<std::vector<Output>> results = outputsOf(step);
  if (!found || !results)
    return found ? results.status() : found.status();
  arguments = std::move(*found);
  outputs = std::move(*results);
  Expected<std::map<std::string, Value>> values = scalarsOf(arguments, options);
  if (!values)
    return values.status();
  scalars = std::move(*values);
  LOCKSTEP_RETURN_IF_ERROR(openData());
  LOCKSTEP_RETURN_IF_ERROR(loadVariables(interpreter, options.init));
  return options.metrics.empty() ? Status::success()
                                 : metrics.create(options.metrics);
}

Status Training::openData() {
  runtime::ProgramInfo program;
  program.name = options.step;
  for (const Argument &argument : arguments) {
    Place &place = places.emplace_back();
    if (argument.kind != Argument::Batch)
      continue;
    auto addInput = [&](const std::string &name, const TensorInfo &type) {
      uint64_t offset = program.inputSize;
      program.inputs.push_back({name, type, offset});
      program.inputSize =
          runtime::alignUp(offset + type.bytes, kInputAlignment);
      return offset;
    };
    if (!runtime::staticBytes(argument.bounded.element, argument.bounded.shape))
      return invalidArgument(
          fmt::format("'{}': expected a shape with 'replica.bounds' to train "
                      "with, found {} (use --inputs)",
                      argument.name, typeName(argument.type)));
    place.offset = addInput(argument.name, argument.bounded);
    for (size_t d = 0; d < argument.type.shape.size(); ++d)
      if (argument.type.shape[d] < 0) {
        uint64_t offset =
            addInput(fmt::format("{}.dim{}", argument.name, d),
                     {artifact::ElementType::i64, {}, sizeof(int64_t)});
        if (d == 0)
          place.rowsOffset = offset;
      }
  }
  if (program.inputs.empty())
    return options.data.empty()
               ? Status::success()
               : invalidArgument("expected no --data: the step takes no data");
  if (options.data.empty())
    return invalidArgument("expected --data=PATH, because the step takes data");
  Expected<runtime::Dataset> data = runtime::Dataset::open(options.data);
  if (!data)
    return data.status();
  Expected<runtime::BatchLayout> layout =
      planBatches(*data, program, /*supplyMask=*/false);
  if (!layout)
    return layout.status();
  runtime::BatchOptions batchOptions;
  batchOptions.replicas = interpreter.replicas();
  batchOptions.seed = options.seed;
  batchOptions.remainder = options.remainder;
  batchOptions.globalBatch = options.globalBatch;
  Expected<std::unique_ptr<Batches>> created =
      Batches::create(std::move(*layout), batchOptions);
  if (!created)
    return created.status();
  batches = std::move(*created);
  return Status::success();
}

Status Training::run() {
  for (uint64_t number = 0; number < options.steps; ++number)
    LOCKSTEP_RETURN_IF_ERROR(takeStep(number));
  LOCKSTEP_RETURN_IF_ERROR(metrics.flush());
  return options.save.empty()
             ? Status::success()
             : saveVariables(interpreter, options.save,
                             {{"step", std::to_string(options.steps)}});
}

Status Training::takeStep(uint64_t number) {
  const Batch *batch = nullptr;
  if (batches) {
    Expected<const Batch *> next = batches->next();
    if (!next)
      return next.status();
    batch = *next;
  }
  std::vector<llvm::SmallVector<Value>> values(interpreter.replicas()), results;
  for (int64_t replica = 0; replica < interpreter.replicas(); ++replica)
    for (auto [index, argument] : llvm::enumerate(arguments)) {
      if (argument.kind == Argument::Scalar) {
        values[replica].push_back(argument.name == "step"
                                      ? stepScalar(argument, number)
                                      : scalars[argument.name]);
        continue;
      }
      TensorInfo type = argument.bounded;
      if (std::optional<uint64_t> rows = places[index].rowsOffset)
        std::memcpy(&type.shape.front(), batch->inputs[replica] + *rows,
                    sizeof(int64_t));
      std::span<const std::byte> bytes(
          batch->inputs[replica] + places[index].offset,
          *runtime::staticBytes(type.element, type.shape));
      values[replica].push_back(fromBytes(
          argument.element,
          llvm::ArrayRef(type.shape.data(), type.shape.size()), bytes));
    }
  if (failed(interpreter.run(step, values, results)))
    return invalidArgument(fmt::format("step {} failed (see above)", number));

  std::string line;
  appendMetrics(line, number, batch ? batch->epoch : 0, results);
  if (!metrics.isOpen()) {
    fmt::print("{}", line);
    std::fflush(stdout);
    return Status::success();
  }
  metrics.lines() += line;
  return metrics.endLine();
}

void Training::appendMetrics(
    std::string &out, uint64_t number, uint64_t epoch,
    llvm::ArrayRef<llvm::SmallVector<Value>> results) const {
  out += fmt::format("{{\"step\":{},\"epoch\":{}", number, epoch);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    if (!output.isMetric)
      continue;
    out += "," + runtime::jsonText(nlohmann::json(output.name)) + ":";
    // One value if it is the same on all replicas.
    bool varies = false;
    for (const auto &mine : results)
      varies |= !mine[index].isIdentical(results[0][index]);
    for (size_t replica = 0; replica < (varies ? results.size() : 1);
         ++replica) {
      if (varies)
        out += replica == 0 ? '[' : ',';
      TensorInfo type = output.type;
      const Value &value = results[replica][index];
      type.shape.assign(value.shape().begin(), value.shape().end());
      training::appendJson(out, type, toBytes(output.element, value));
    }
    if (varies)
      out += ']';
  }
  out += "}\n";
}

} // namespace

Status train(Interpreter &interpreter, const Options &options) {
  Training training(interpreter, options);
  LOCKSTEP_RETURN_IF_ERROR(training.prepare());
  return training.run();
}

} // namespace lockstep::interpret
