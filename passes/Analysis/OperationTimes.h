//===- OperationTimes.h - The time of operations by the model ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_OPERATIONTIMES_H
#define LOCKSTEP_PASSES_ANALYSIS_OPERATIONTIMES_H

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "runtime/model/CostModel.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace lockstep {

/// Estimates the seconds that operations of a device program take on a
/// topology. The number of `replicas` is that of groups of all replicas.
class OperationTimes {
public:
  OperationTimes(const runtime::Topology &topology, int64_t replicas,
                 mlir::SymbolTableCollection &symbols)
      : topology(topology), replicas(replicas), symbols(symbols) {}

  /// Seconds of an operation, those in its regions included: of a launch, its
  /// kernel's; of a collective, those on the link; of a loop, as often as its
  /// trip count says, once if that is not known; of a branch, the longest.
  double of(mlir::Operation *op);
  /// Seconds of a collective of the kind and group of `op` without bytes.
  double latencyOf(CollectiveOpInterface op);
  /// The latency and the time of the bytes of a collective.
  runtime::TransferSeconds transferOf(CollectiveOpInterface op) {
    return runtime::TransferSeconds::split(of(op), latencyOf(op));
  }
  /// The link between replicas, which has carried nothing yet.
  runtime::LinkTimeline makeLink() const {
    return runtime::LinkTimeline(getStreams());
  }
  uint64_t getStreams() const { return topology.streams; }
  /// The time that collectives of the kind and group of `op` occupy the link,
  /// over their bytes.
  runtime::TransferTime transferTimeOf(CollectiveOpInterface op);

private:
  /// The number of ranks in the group of a collective.
  int64_t membersOf(CollectiveOpInterface op);
  double of(mlir::Region &region);

  const runtime::Topology &topology;
  int64_t replicas;
  mlir::SymbolTableCollection &symbols;
  /// For each kernel, the seconds of a launch.
  llvm::DenseMap<mlir::Operation *, double> kernels;
};

} // namespace lockstep

#endif
