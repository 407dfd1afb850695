//===- Sequence.h - Which collectives code issues, in order -----*- C++ -*-===//
//
// What one way through a piece of code issues, and whether two ways issue the
// same. Loops and branches stay what they are: a sequence holds them as items
// with sequences of their own, so that comparing costs what the code is long,
// not what it runs long.
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

/// Compares what is issued on two ways, of which some replicas go one and some
/// the other.
class SequenceMatcher {
public:
  explicit SequenceMatcher(mlir::SymbolTableCollection &symbols,
                           BrokenRule broken = BrokenRule::None)
      : symbols(&symbols), broken(broken) {}

  mlir::SymbolTableCollection &getSymbols() const { return *symbols; }

  /// The sequence of those collectives that `region` issues and that count. A
  /// branch of which all sides issue the same stands for that, whatever its
  /// condition is.
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
  bool isBroken(BrokenRule rule) const { return rule == broken; }

  mlir::SymbolTableCollection *symbols;
  BrokenRule broken;
  /// Results of collectives that match: whoever issues the one has what others
  /// have of the other.
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> same;
  /// The same in the order in which they were found, so that what followed from
  /// a wrong guess can be forgotten.
  std::vector<std::pair<mlir::Value, mlir::Value>> equalities;
};

} // namespace lockstep

#endif
