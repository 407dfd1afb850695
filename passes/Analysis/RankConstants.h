//===- RankConstants.h - Values that follow from a rank ---------*- C++ -*-===//
//
// What is computed from the number of a replica and constants alone is a
// constant of the replica. Where the count of replicas is known and small,
// these values are computed for each: then it is known that `id < 8` holds on
// all of 4 replicas, and which of them go into `if id == 0`. Operations are
// computed by their own folders, as the compiler would fold them if the rank
// were written there.
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
  /// With more ranks nothing is computed: the time would be ranks times
  /// operations.
  static constexpr unsigned kMostRanks = 64;

  /// `ranks` is their number, 0 if it is not known. Of one rank nothing is
  /// computed: it agrees with itself. If `areEqual`, all ranks have the
  /// constants of rank 0 (to test what they are for).
  RankConstants(unsigned ranks, bool areEqual)
      : ranks(ranks > 1 && ranks <= kMostRanks ? ranks : 0),
        areEqual(areEqual) {}

  /// Computes the values in `function`. Does nothing if it does not use its
  /// rank.
  void evaluate(mlir::Operation *function);

  /// The constant of each rank; empty if they are not known.
  llvm::ArrayRef<mlir::Attribute> lookup(mlir::Value value) const;

  /// The same as integers; empty if they are not known, or others than one
  /// integer each.
  llvm::SmallVector<int64_t> lookupIntegers(mlir::Value value) const;

  /// How often each rank executes the body of an `scf.for`; empty if that is
  /// not known.
  llvm::SmallVector<uint64_t> getTripCounts(mlir::Operation *loop) const;

  /// The region of an `scf.if` or `scf.index_switch` that each rank goes into;
  /// empty if that is not known.
  llvm::SmallVector<unsigned> getWays(mlir::Operation *branch) const;

  /// True if constants say that no rank goes into `region` from around it.
  /// Constants that are written in the program count also where those of the
  /// ranks are not known.
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
  /// What `values` refers to.
  std::deque<Constants> storage;
};

} // namespace lockstep

#endif
