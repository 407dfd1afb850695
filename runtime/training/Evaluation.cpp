//===- Evaluation.cpp - runs the program "evaluate" -----------------------===//

#include "runtime/training/Evaluation.h"

#include "runtime/training/DataSource.h"
#include "runtime/training/ElementText.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace lockstep::training {

using namespace runtime;
using artifact::OutputKind;

Expected<std::unique_ptr<Evaluation>>
Evaluation::create(Cluster &cluster, const std::string &dataPath,
                   std::chrono::nanoseconds deadline) {
  std::unique_ptr<Evaluation> result(new Evaluation(cluster));
  Expected<ProgramId> program = cluster.findProgram("evaluate");
  if (!program)
    return invalidArgument("expected a program 'evaluate' for --eval-data, "
                           "found none in the artifact");
  result->program = *program;
  if (result->info().loadsBatches)
    return invalidArgument(
        "expected a program 'evaluate' of one batch for --eval-data, found one "
        "that goes through its data itself");
  LOCKSTEP_RETURN_IF_ERROR(result->findOutputs());

  Expected<Dataset> data = Dataset::open(dataPath);
  if (!data)
    return data.status();
  Expected<BatchLayout> layout =
      planBatches(*data, result->info(), /*supplyMask=*/true);
  if (!layout)
    return layout.status();
  noteUnusedArrays(*data, *layout);
  BatchOptions options;
  options.mode = BatchMode::evaluate;
  options.replicas = cluster.replicas();
  options.filled = cluster.replicasHere();
  options.deadline = deadline;
  Expected<std::unique_ptr<Batches>> batches =
      Batches::create(std::move(*layout), options);
  if (!batches)
    return batches.status();
  result->batches = std::move(*batches);
  return result;
}

Status Evaluation::findOutputs() {
  const std::vector<OutputInfo> &outputs = info().outputs;
  auto find = [&](std::string_view name,
                  OutputKind kind) -> const OutputInfo * {
    for (const OutputInfo &output : outputs)
      if (output.name == name && output.kind == kind)
        return &output;
    return nullptr;
  };
  for (const OutputInfo &output : outputs) {
    if (output.kind == OutputKind::count && !find(output.name, OutputKind::sum))
      return invalidArgument(
          fmt::format("evaluate: expected a sum for '{}', found a count only",
                      output.name));
    if (output.kind != OutputKind::sum)
      continue;
    const OutputInfo *count = find(output.name, OutputKind::count);
    if (!count)
      return invalidArgument(
          fmt::format("evaluate: expected a count for '{}', found a sum only",
                      output.name));
    std::optional<uint64_t> sums =
        staticBytes(ElementType::i8, output.type.shape);
    std::optional<uint64_t> counts =
        staticBytes(ElementType::i8, count->type.shape);
    if (!sums || !counts || (*counts != *sums && *counts != 1))
      return invalidArgument(fmt::format(
          "evaluate: expected a count for each sum of '{}' or one for all, "
          "found {} and {}",
          output.name, typeName(output.type), typeName(count->type)));
    accumulators.push_back(
        {output.name, static_cast<unsigned>(&output - outputs.data()),
         static_cast<unsigned>(count - outputs.data()),
         std::vector<double>(*sums), std::vector<double>(*counts)});
  }
  if (accumulators.empty())
    return invalidArgument("evaluate: expected sums and counts, found none");
  return Status::success();
}

void Evaluation::add(std::vector<double> &total, unsigned output) const {
  const OutputInfo &outputInfo = info().outputs[output];
  ElementType element = outputInfo.type.element;
  // A value that is equal on all replicas may be stored once and still counts
  // for every replica: the result must not depend on where the compiler stores
  // a value.
  for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
    std::span<const std::byte> value =
        cluster.output(program, output, outputInfo.perReplica ? replica : 0);
    for (size_t i = 0;
         i < total.size() && (i + 1) * elementSize(element) <= value.size();
         ++i)
      total[i] += toDouble(element, value.data() + i * elementSize(element));
  }
}

Expected<std::vector<EvaluatedMetric>> Evaluation::run() {
  for (Accumulator &accumulator : accumulators) {
    std::fill(accumulator.sums.begin(), accumulator.sums.end(), 0);
    std::fill(accumulator.counts.begin(), accumulator.counts.end(), 0);
  }
  for (bool done = false; !done;) {
    Expected<const Batch *> batch = bindNext(*batches, cluster, program);
    if (!batch)
      return batch.status();
    LOCKSTEP_RETURN_IF_ERROR(cluster.run(program));
    LOCKSTEP_RETURN_IF_ERROR(cluster.collectOutputs(program));
    for (Accumulator &accumulator : accumulators) {
      add(accumulator.sums, accumulator.sumOutput);
      add(accumulator.counts, accumulator.countOutput);
    }
    done = (*batch)->endsEpoch;
  }

  std::vector<EvaluatedMetric> result;
  for (const Accumulator &accumulator : accumulators) {
    EvaluatedMetric metric{
        accumulator.name,
        info().outputs[accumulator.sumOutput].type.shape.empty(),
        {}};
    for (size_t i = 0; i < accumulator.sums.size(); ++i)
      metric.values.push_back(
          accumulator.sums[i] /
          accumulator.counts[accumulator.counts.size() == 1 ? 0 : i]);
    result.push_back(std::move(metric));
  }
  return result;
}

std::string toJson(const std::vector<EvaluatedMetric> &metrics) {
  std::string out = "{";
  for (const EvaluatedMetric &metric : metrics) {
    if (out.size() > 1)
      out += ',';
    out += nlohmann::json(metric.name)
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out += metric.isScalar ? ":" : ":[";
    for (size_t i = 0; i < metric.values.size(); ++i) {
      if (i)
        out += ',';
      appendJson(out, metric.values[i]);
    }
    if (!metric.isScalar)
      out += ']';
  }
  return out + "}";
}

std::string toText(const std::vector<EvaluatedMetric> &metrics) {
  std::string out;
  for (const EvaluatedMetric &metric : metrics) {
    if (!metric.isScalar)
      continue;
    if (!out.empty())
      out += ", ";
    out += fmt::format("{} {:.4g}", metric.name, metric.values.front());
  }
  return out;
}

} // namespace lockstep::training
