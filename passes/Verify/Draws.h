//===- Draws.h - Inputs by chance -------------------------------*- C++ -*-===//
//
// Inputs among which those are soon found on which replicas go different ways:
// numbers that conditions look for, those beside them, small ones and any. The
// same number gives the same inputs everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_DRAWS_H
#define LOCKSTEP_PASSES_VERIFY_DRAWS_H

#include "dialect/Reference/Value.h"
#include "passes/Verify/ControlSlice.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace lockstep {

/// The inputs of one run.
struct Draw {
  /// What replica `r` gets for argument `i`, in `arguments[r][i]`; nothing to
  /// speak of for what the interpreter supplies.
  std::vector<std::vector<interpret::Value>> arguments;
  /// What all copies of a variable hold before.
  llvm::MapVector<mlir::StringAttr, interpret::Value> variables;
  /// Of each batch of the iterator, its tensors, per replica.
  std::vector<std::vector<interpret::Value>> batches;
};

/// Draws inputs of a slice.
class Draws {
public:
  Draws(const ControlSlice &slice, int64_t replicas);

  Draw draw(uint64_t number);

  /// Elements that a draw has of static shape.
  int64_t getSize();

  /// True if argument `index` is one that runs are given: variables and the
  /// number of the replica are supplied.
  static bool isGiven(mlir::FunctionOpInterface function, unsigned index);

private:
  class Source;

  void addNumber(mlir::Attribute constant);

  mlir::FunctionOpInterface function;
  mlir::ModuleOp module;
  int64_t replicas;
  /// Constants of the slice. Not in a DenseSet, which has no room for some
  /// numbers.
  template <typename T>
  using OrderedSet = llvm::SetVector<T, llvm::SmallVector<T>, std::set<T>>;
  OrderedSet<int64_t> integers;
  OrderedSet<uint64_t> floats;
  /// Variables that are read; of the others it does not matter what they hold,
  /// if it is something.
  llvm::DenseSet<mlir::StringAttr> read;
};

} // namespace lockstep

#endif
