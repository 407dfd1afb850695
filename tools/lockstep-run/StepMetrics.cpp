//===- StepMetrics.cpp - the metrics of a step ----------------------------===//

#include "tools/lockstep-run/StepMetrics.h"

#include "tools/lockstep-run/Elements.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace lockstep::run {

using namespace runtime;

StepMetrics::StepMetrics(const Session &session, ProgramId program) : session(session), program(program) {
  const std::vector<OutputInfo> &outputs = session.programs()[program].outputs;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    const OutputInfo &output = outputs[i];
    if (output.kind != artifact::OutputKind::metric)
      continue;
    if (output.type.shape.empty() && (shown.empty() || output.name == "loss")) {
      shown = output.name;
      shownIndex = metrics.size();
    }
    std::string name = nlohmann::json(output.name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    metrics.push_back({"," + name + ":", i, output.type, output.perReplica && session.replicas() > 1});
  }
}

void StepMetrics::appendLine(std::string &out, uint64_t step, uint64_t epoch) const {
  out += "{\"step\":";
  out += std::to_string(step);
  out += ",\"epoch\":";
  out += std::to_string(epoch);
  for (const Metric &metric : metrics) {
    out += metric.key;
    if (!differs(metric)) {
      appendJson(out, metric.type, session.output(program, metric.output));
      continue;
    }
    for (unsigned replica = 0; replica < session.replicas(); ++replica) {
      out += replica == 0 ? '[' : ',';
      appendJson(out, metric.type, session.output(program, metric.output, replica));
    }
    out += ']';
  }
  out += "}\n";
}

/// A value that is equal on all replicas may still be kept by each: whether it differs is seen in its bytes.
bool StepMetrics::differs(const Metric &metric) const {
  if (!metric.perReplica)
    return false;
  std::span<const std::byte> first = session.output(program, metric.output);
  for (unsigned replica = 1; replica < session.replicas(); ++replica)
    if (!std::ranges::equal(first, session.output(program, metric.output, replica)))
      return true;
  return false;
}

double StepMetrics::shownValue() const {
  if (shown.empty())
    return 0;
  const Metric &metric = metrics[shownIndex];
  std::span<const std::byte> bytes = session.output(program, metric.output);
  return bytes.size() < elementSize(metric.type.element) ? 0 : toDouble(metric.type.element, bytes.data());
}

} // namespace lockstep::run
