//===- Evaluation.h - runs the program "evaluate" ---------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_EVALUATION_H
#define LOCKSTEP_RUNTIME_TRAINING_EVALUATION_H

#include "runtime/data/Batches.h"
#include "runtime/executor/Cluster.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstep::training {

/// A result: sum of sums / sum of counts, for each element.
struct EvaluatedMetric {
  std::string name;
  bool isScalar = true;
  std::vector<double> values;
};

/// Evaluates the variables of a cluster on all examples of a data set, each
/// counted once.
class Evaluation {
public:
  /// Checks that each sum of the program has a count and that the data match.
  /// Errors: no such program, and those of `planBatches` and `Batches`.
  static runtime::Expected<std::unique_ptr<Evaluation>>
  create(runtime::Cluster &cluster, const std::string &dataPath,
         std::chrono::nanoseconds deadline);

  /// Runs of the program for all data.
  uint64_t steps() const { return batches->batchesPerEpoch(); }
  /// Evaluates all data once.
  runtime::Expected<std::vector<EvaluatedMetric>> run();

private:
  /// One metric: the outputs with its sum and its count, and their totals.
  struct Accumulator {
    std::string name;
    unsigned sumOutput = 0, countOutput = 0;
    std::vector<double> sums, counts;
  };

  explicit Evaluation(runtime::Cluster &cluster) : cluster(cluster) {}
  runtime::Status findOutputs();
  const runtime::ProgramInfo &info() const {
    return cluster.programs()[program];
  }
  void add(std::vector<double> &total, unsigned output) const;

  runtime::Cluster &cluster;
  runtime::ProgramId program = 0;
  std::unique_ptr<runtime::Batches> batches;
  std::vector<Accumulator> accumulators;
};

/// {"accuracy":0.97,"loss":0.1}
std::string toJson(const std::vector<EvaluatedMetric> &metrics);
/// accuracy 0.97, loss 0.1
std::string toText(const std::vector<EvaluatedMetric> &metrics);

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_EVALUATION_H
