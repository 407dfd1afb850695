//===- RankConstants.h - Values that follow from a rank ---------*- C++ -*-===//
//
// A value that is computed only from the number of a replica and constants is
// a constant on each replica. If the number of replicas is known and small,
// these values are computed for each of them: then it is known that `id < 8`
// holds on all of 4 replicas, and which of them take the branch `if id == 0`.
// Operations are computed by their own folders, as if the rank were a constant
// in the IR.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_RANKCONSTANTS_H
#define LOCKSTEP_PASSES_ANALYSIS_RANKCONSTANTS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace lockstep {

/// The constants of the ranks in one or several functions.
class RankConstants {
public:
  /// With more ranks nothing is computed, as the time is proportional to the
  /// number of ranks times that of operations.
  static constexpr unsigned kMostRanks = 64;

  /// `ranks` is their number, 0 if it is not known. For a single rank, which
  /// has nothing to differ from, nothing is computed. If `areEqual`, all ranks
  /// have the constants of rank 0 (for tests of the rule).
  RankConstants(unsigned ranks, bool areEqual)
      : ranks(ranks > 1 && ranks <= kMostRanks ? ranks : 0),
        areEqual(areEqual) {}

  /// Computes the values in `function`. Does nothing if it does not use its
  /// rank: as an argument, or, if `readsId`, by a `replica.id`.
  void evaluate(mlir::Operation *function, bool readsId);

  /// The constant of each rank; empty if they are not known.
  llvm::ArrayRef<mlir::Attribute> lookup(mlir::Value value) const;

  /// The same as integers; empty if they are not known or not integers.
  llvm::SmallVector<int64_t> lookupIntegers(mlir::Value value) const;

  /// How often each rank executes the body of an `scf.for`; empty if that is
  /// not known.
  llvm::SmallVector<uint64_t> getTripCounts(mlir::Operation *loop) const;

  /// The region of an `scf.if` or `scf.index_switch` that each rank enters;
  /// empty if that is not known.
  llvm::SmallVector<unsigned> getTakenRegions(mlir::Operation *branch) const;

  /// True if constants show that no rank enters `region`: those of the ranks,
  /// or else constants of the IR.
  bool isNeverEntered(mlir::Region &region) const;

private:
  using Constants = llvm::SmallVector<mlir::Attribute>;

  void visit(mlir::Operation *op);
  void visitBranch(mlir::Operation *branch);
  void define(mlir::Value value, Constants constants);
  void defineRanks(mlir::Value value);
  /// The constants of all operands, one list for each rank; false if some are
  /// not known.
  bool
  getOperands(mlir::Operation *op,
              llvm::SmallVectorImpl<llvm::ArrayRef<mlir::Attribute>> &operands);

  unsigned ranks;
  bool areEqual;
  llvm::DenseMap<mlir::Value, llvm::ArrayRef<mlir::Attribute>> values;
  /// The elements of the arrays in `values`.
  std::deque<Constants> storage;
};

} // namespace lockstep

#endif
