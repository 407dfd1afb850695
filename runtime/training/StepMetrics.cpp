//===- StepMetrics.cpp - the metrics of a step ----------------------------===//

#include "runtime/training/StepMetrics.h"

#include "runtime/training/ElementText.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace lockstep::training {

using namespace runtime;

StepMetrics::StepMetrics(const Cluster &cluster, ProgramId program)
    : program(program) {
  const std::vector<OutputInfo> &outputs = cluster.programs()[program].outputs;
  bool hasMetrics = std::ranges::any_of(outputs, [](const OutputInfo &output) {
    return output.kind == artifact::OutputKind::metric;
  });
  for (unsigned i = 0; i < outputs.size(); ++i) {
    const OutputInfo &output = outputs[i];
    if (output.kind != (hasMetrics ? artifact::OutputKind::metric
                                   : artifact::OutputKind::result))
      continue;
    if (output.type.shape.empty() && (shown.empty() || output.name == "loss")) {
      shown = output.name;
      shownIndex = metrics.size();
    }
    std::string name =
        nlohmann::json(output.name)
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    metrics.push_back({"," + name + ":", i, output.type,
                       output.perReplica && cluster.replicas() > 1});
  }
}

void StepMetrics::appendLine(std::string &out, const Cluster &cluster,
                             uint64_t step, uint64_t epoch,
                             std::optional<unsigned> worker) const {
  out += "{\"step\":";
  out += std::to_string(step);
  out += ",\"epoch\":";
  out += std::to_string(epoch);
  if (worker) {
    out += ",\"worker\":";
    out += std::to_string(*worker);
  }
  for (const Metric &metric : metrics) {
    out += metric.key;
    if (!differs(cluster, metric)) {
      appendJson(out, metric.type, cluster.output(program, metric.output));
      continue;
    }
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
      out += replica == 0 ? '[' : ',';
      appendJson(out, metric.type,
                 cluster.output(program, metric.output, replica));
    }
    out += ']';
  }
  out += "}\n";
}

/// Each replica may have a copy of a value that is equal on all; the bytes
/// decide whether it differs.
bool StepMetrics::differs(const Cluster &cluster, const Metric &metric) const {
  if (!metric.perReplica)
    return false;
  std::span<const std::byte> first = cluster.output(program, metric.output);
  for (unsigned replica = 1; replica < cluster.replicas(); ++replica)
    if (!std::ranges::equal(first,
                            cluster.output(program, metric.output, replica)))
      return true;
  return false;
}

double StepMetrics::shownValue(const Cluster &cluster) const {
  if (shown.empty())
    return 0;
  const Metric &metric = metrics[shownIndex];
  std::span<const std::byte> bytes = cluster.output(program, metric.output);
  return bytes.size() < elementSize(metric.type.element)
             ? 0
             : toDouble(metric.type.element, bytes.data());
}

} // namespace lockstep::training
