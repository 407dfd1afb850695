//===- DividedUpdates.h - Updates that replicas divide ----------*- C++ -*-===//
//
// The new value of a variable is divisible if each of its elements depends only
// on the elements of sums, variables and other values at the same position in
// row-major order, and on scalars.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_SIMPLIFY_DIVIDEDUPDATES_H
#define LOCKSTEP_PASSES_SIMPLIFY_DIVIDEDUPDATES_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace lockstep {

/// The variable that an argument or a result of a step is bound to, or null.
mlir::StringAttr getBoundVariable(mlir::func::FuncOp function,
                                  mlir::BlockArgument argument);
mlir::StringAttr getBoundVariable(mlir::func::FuncOp function, unsigned result);

/// Where a step computes the new value of a variable; the location of the
/// variable if none does.
mlir::Location getUpdateLocation(replica::VariableOp variable);

/// The operands of `op` of which each element of the result needs only the one
/// at the same position; nullopt if the result has elements that need others,
/// or if `op` has another effect than to compute it. An operand that is not
/// among them is a scalar, or gives the shape only.
std::optional<llvm::SmallVector<mlir::Value>>
getElementwiseOperands(mlir::Operation *op);

/// What the replicas divide in a step, if they divide some variables.
class DividedUpdates {
public:
  /// `replicas` is at least 2. With `reassociate`, floats may be added in
  /// another order.
  DividedUpdates(mlir::func::FuncOp function, int64_t replicas,
                 bool reassociate);

  /// Finds what is divided if the variables for which `isDivided` holds are.
  /// Calls `refuse`, with the reason, for each of them that should not be,
  /// since the replicas would need a sum both whole and divided, or would
  /// divide nothing else; then the result is of no use.
  void find(llvm::function_ref<bool(mlir::StringAttr)> isDivided,
            llvm::function_ref<void(mlir::StringAttr, std::string)> refuse);

  mlir::func::FuncOp getFunction() const { return function; }
  /// Whether `op` waits for a sum over all replicas, or computes something from
  /// one element by element.
  bool dependsOnSum(mlir::Operation *op) const {
    return dependent.contains(op);
  }
  /// Calls `use` for the variables whose new value depends on sums, whether
  /// they can be divided or not, with that value.
  void forSummedVariables(
      llvm::function_ref<void(mlir::StringAttr, mlir::Value)> use) const;
  /// Whether a part of `op`'s result is computed from parts of its operands.
  bool isComputedInParts(mlir::Operation *op) const {
    return (needed.contains(op) &&
            (dependent.contains(op) || local.contains(op))) ||
           isReduced(op);
  }
  /// Whether `op` adds all elements of a divided value to one: replicas add
  /// their parts first.
  bool isReduced(mlir::Operation *op) const { return reduced.contains(op); }
  /// The waits for all_reduces that become reduce_scatters.
  llvm::SmallVector<collective::WaitOp> getSums() const;

private:
  mlir::Block &getBody() const {
    return mlir::func::FuncOp(function).getBody().front();
  }
  bool isSum(mlir::Operation *op) const;
  /// Marks what the operations that are computed in parts need.
  void propagateNeeds();
  /// Finds the sums of all elements that need nothing but what is divided
  /// anyway.
  void findReduced();
  bool isDivisible(collective::WaitOp sum) const;

  mlir::func::FuncOp function;
  int64_t replicas;
  bool reassociate;
  /// Variables of the last `find`, by argument number and by result number.
  llvm::SmallDenseSet<unsigned> dividedArguments, dividedResults;
  /// Element-wise operations that depend on a sum over all replicas, and the
  /// sums' waits.
  llvm::DenseSet<mlir::Operation *> dependent;
  /// Element-wise operations on divided variables and on equal elements alone.
  llvm::DenseSet<mlir::Operation *> local;
  /// Operations of which a part of a result is needed.
  llvm::DenseSet<mlir::Operation *> needed;
  /// Sums of all elements that are computed from the replicas' parts.
  llvm::DenseSet<mlir::Operation *> reduced;
};

} // namespace lockstep

#endif
