//===- Sequence.h - Which collectives code issues, in order -----*- C++ -*-===//
//
// The collectives that a piece of code issues, and whether two pieces issue the
// same. Loops and branches are not expanded: a sequence holds them as items
// with nested sequences, so that the cost of a comparison is proportional to
// the length of the code, not of its execution.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_SEQUENCE_H
#define LOCKSTEP_PASSES_VERIFY_SEQUENCE_H

#include "passes/Analysis/Rules.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>
#include <vector>

namespace lockstep {

/// True for operations that a replica cannot finish alone: collectives of both
/// dialects, `replica.merge_call`, assignments that aggregate the values of the
/// replicas, reads of on_read variables in cross-replica context, and lookups
/// in tables on servers. `symbols` finds the variables.
bool isCollective(mlir::Operation *op, mlir::SymbolTableCollection &symbols);

/// The first collective in `op` or below that `counts`; null if there is none.
mlir::Operation *findCollective(
    mlir::Operation *op, mlir::SymbolTableCollection &symbols,
    llvm::function_ref<bool(mlir::Operation *)> counts = [](mlir::Operation *) {
      return true;
    });

struct Item;
using Sequence = std::vector<Item>;

/// One element of a sequence: a collective, or control flow with collectives in
/// its regions.
struct Item {
  mlir::Operation *op;
  /// One for each region of control flow; empty for a collective.
  std::vector<Sequence> regions;

  bool isCollective() const { return regions.empty(); }
};

/// Compares the sequences of two paths, where some replicas take the one and
/// some the other.
class SequenceMatcher {
public:
  explicit SequenceMatcher(mlir::SymbolTableCollection &symbols,
                           UniformityRule broken = UniformityRule::None)
      : symbols(&symbols), broken(broken) {}

  mlir::SymbolTableCollection &getSymbols() const { return *symbols; }

  /// The sequence of the collectives in `region` for which `counts` holds. A
  /// branch whose sides all issue the same sequence is replaced by it.
  Sequence getSequence(mlir::Region &region,
                       llvm::function_ref<bool(mlir::Operation *)> counts);
  /// Appends what `op` issues.
  void append(Sequence &sequence, mlir::Operation *op,
              llvm::function_ref<bool(mlir::Operation *)> counts);

  /// The position of the first difference of two sequences; nullopt if they are
  /// equal.
  std::optional<size_t> findDifference(llvm::ArrayRef<Item> lhs,
                                       llvm::ArrayRef<Item> rhs);
  bool areEqual(llvm::ArrayRef<Item> lhs, llvm::ArrayRef<Item> rhs) {
    return !findDifference(lhs, rhs);
  }
  bool areEqual(const Item &lhs, const Item &rhs);

private:
  bool match(mlir::Operation *lhs, mlir::Operation *rhs);
  bool haveEqualAttributes(mlir::Operation *lhs, mlir::Operation *rhs) const;
  bool haveEqualControls(mlir::Operation *lhs, mlir::Operation *rhs);
  bool areEqual(mlir::Value lhs, mlir::Value rhs, unsigned depth = 0);
  void learn(mlir::Value lhs, mlir::Value rhs);
  void forget(size_t known);
  bool isBroken(UniformityRule rule) const { return rule == broken; }

  mlir::SymbolTableCollection *symbols;
  UniformityRule broken;
  /// Pairs of equal values: results of matching collectives, of which each
  /// replica issues one, and computations from equal values.
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> same;
  /// The same pairs in the order in which they were found, so that those found
  /// under a refuted assumption can be removed.
  std::vector<std::pair<mlir::Value, mlir::Value>> equalities;
};

} // namespace lockstep

#endif
