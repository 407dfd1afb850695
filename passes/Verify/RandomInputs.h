//===- RandomInputs.h - Random inputs ---------------------------*- C++ -*-===//
//
// Random inputs, chosen so that replicas soon take different paths: constants
// of the program, numbers next to them, small numbers and arbitrary ones. The
// same draw number yields the same inputs on every platform.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_VERIFY_RANDOMINPUTS_H
#define LOCKSTEP_PASSES_VERIFY_RANDOMINPUTS_H

#include "dialect/Reference/Value.h"
#include "passes/Verify/ControlSlice.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace lockstep {

/// The inputs of one run.
struct InputSample {
  /// `arguments[r][i]` is argument `i` of replica `r`; it is unused for
  /// arguments that the interpreter supplies.
  std::vector<std::vector<interpret::Value>> arguments;
  /// The value of all copies of a variable before the run.
  llvm::MapVector<mlir::StringAttr, interpret::Value> variables;
  /// The tensors of each batch of the iterator, each a per-replica value.
  std::vector<std::vector<interpret::Value>> batches;
};

/// Random inputs of a slice.
class RandomInputs {
public:
  RandomInputs(const ControlSlice &slice, int64_t replicas);

  InputSample draw(uint64_t number);

  /// The number of elements of static shape in one draw.
  int64_t getSize();

  /// True if the caller of a run passes argument `index`. The interpreter
  /// supplies variables and the replica number itself.
  static bool isGiven(mlir::FunctionOpInterface function, unsigned index);

private:
  class Source;

  void addNumber(mlir::Attribute constant);

  mlir::FunctionOpInterface function;
  mlir::ModuleOp module;
  int64_t replicas;
  /// Constants of the slice. Not in a DenseSet, which reserves two numbers as
  /// its empty and tombstone keys.
  template <typename T>
  using OrderedSet = llvm::SetVector<T, llvm::SmallVector<T>, std::set<T>>;
  OrderedSet<int64_t> integers;
  OrderedSet<uint64_t> floats;
  /// Variables that are read. The others only need some value of their type.
  llvm::DenseSet<mlir::StringAttr> read;
};

} // namespace lockstep

#endif
