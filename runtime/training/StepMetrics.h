//===- StepMetrics.h - the metrics of a step --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_STEPMETRICS_H
#define LOCKSTEP_RUNTIME_TRAINING_STEPMETRICS_H

#include "runtime/executor/Cluster.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::training {

/// Reads the outputs of kind `metric` after a step, or, of a program that has
/// none, its results. The invariant parts of a line are computed once, so that
/// a line costs a few microseconds. `cluster` is always one of the same
/// artifact.
class StepMetrics {
public:
  StepMetrics(const runtime::Cluster &cluster, runtime::ProgramId program);

  /// Appends {"step":12,"epoch":1,"loss":0.25} and the end of the line. A
  /// metric that differs between replicas is an array with the values of all.
  /// For asynchronous workers, the line contains the worker:
  /// {"step":12,"epoch":1,"worker":0,"loss":0.25}
  void appendLine(std::string &out, const runtime::Cluster &cluster,
                  uint64_t step, uint64_t epoch,
                  std::optional<unsigned> worker = {}) const;

  /// Name of the metric to show while training: "loss", else the first scalar;
  /// empty: none.
  const std::string &shownName() const { return shown; }
  /// Its value after the last step.
  double shownValue(const runtime::Cluster &cluster) const;

private:
  struct Metric {
    /// ,"loss":
    std::string key;
    unsigned output = 0;
    runtime::TensorInfo type;
    bool perReplica = false;
  };

  bool differs(const runtime::Cluster &cluster, const Metric &metric) const;

  runtime::ProgramId program;
  std::vector<Metric> metrics;
  std::string shown;
  size_t shownIndex = 0;
};

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_STEPMETRICS_H
