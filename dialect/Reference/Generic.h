//===- Generic.h - linalg.generic -------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_GENERIC_H
#define LOCKSTEP_DIALECT_REFERENCE_GENERIC_H

#include "dialect/Reference/Code.h"
#include "dialect/Reference/LaneKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep::interpret {

/// How an operand is indexed.
struct Access {
  mlir::AffineMap map;
  /// No division in the map: an iteration of a loop advances by a fixed stride
  /// in memory.
  bool linear = false;
  /// If linear, for each dimension of the operand: one coefficient for each
  /// loop, then the constant.
  std::vector<llvm::SmallVector<int64_t>> coefficients;
};

/// The properties of a `linalg.generic` that do not depend on its operands.
struct GenericPlan {
  explicit GenericPlan(mlir::linalg::GenericOp op);

  unsigned numLoops = 0, numInputs = 0;
  llvm::SmallVector<bool> parallel;
  std::vector<Access> accesses;
  /// For each loop, the operand and its dimension that define the loop's size;
  /// -1 if there is none.
  std::vector<std::pair<int64_t, int64_t>> extents;
};

/// The layout of an operand's elements over the iteration space.
struct Placement {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// One execution.
struct GenericRun {
  GenericRun(const GenericPlan &plan, const Instruction &instruction,
             Frame &frame);

  /// Takes the operands and computes sizes and placements. Error: sizes that do
  /// not fit.
  llvm::LogicalResult prepare();
  llvm::LogicalResult place(const Access &access, const Value &value);
  /// The offset of the element of `operand` at `point`. Error (reported): an
  /// index out of range.
  llvm::FailureOr<int64_t> offsetOf(unsigned operand,
                                    llvm::ArrayRef<int64_t> point) const;
  /// Advances `point`, the last loop fastest; the index of loop `skipped` (-1:
  /// none) stays. False at the end.
  bool advance(llvm::MutableArrayRef<int64_t> point, int64_t skipped) const;
  /// Stores the outputs as results.
  void finish();

  const GenericPlan &plan;
  const Instruction &instruction;
  Frame &frame;
  /// Inputs, then outputs.
  llvm::SmallVector<Value> values;
  llvm::SmallVector<Placement> placements;
  llvm::SmallVector<int64_t> sizes;
  bool empty = false;
};

/// A body of element-wise operations, `linalg.index` and `tensor.extract`.
class LaneProgram {
public:
  /// Null if the body has anything else.
  static std::shared_ptr<const LaneProgram> build(mlir::linalg::GenericOp op,
                                                  CodeBuilder &builder);

  llvm::LogicalResult execute(GenericRun &run) const;

private:
  struct Operation {
    enum Kind { Compute, Index, Extract } kind = Compute;
    LaneKernel kernel;
    unsigned result = 0;
    llvm::SmallVector<unsigned, 4> operands;
    /// Of `linalg.index`.
    unsigned loop = 0;
    /// Slot of the tensor that `tensor.extract` reads.
    unsigned slot = 0;
    mlir::Operation *op = nullptr;
  };
  /// A value defined outside of the body: the same for all points.
  struct Captured {
    unsigned slot = 0, reg = 0;
    /// A constant inside of the body instead of a slot.
    std::optional<Value> constant;
  };

  struct Registers;

  int64_t chooseLanes(const GenericRun &run) const;
  llvm::LogicalResult executeStrip(GenericRun &run, Registers &registers,
                                   llvm::ArrayRef<int64_t> point, int64_t lanes,
                                   int64_t count) const;
  llvm::LogicalResult extract(const Operation &operation, GenericRun &run,
                              Registers &registers, int64_t count) const;

  unsigned numRegisters = 0;
  std::vector<Operation> operations;
  std::vector<Captured> captured;
  /// Lane of each register.
  std::vector<Lane> lanes;
  /// Registers of the block's arguments and of what it yields.
  llvm::SmallVector<unsigned> arguments, yielded;
  llvm::SmallVector<bool> argumentUsed;
};

} // namespace lockstep::interpret

#endif
