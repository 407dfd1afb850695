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
  /// No division in the map: a step of a loop is a fixed step in memory.
  bool linear = false;
  /// If linear, for each dimension of the operand: one coefficient a loop, then
  /// the constant.
  std::vector<llvm::SmallVector<int64_t>> coefficients;
};

/// What is known of a `linalg.generic` without its operands.
struct GenericPlan {
  explicit GenericPlan(mlir::linalg::GenericOp op);

  unsigned numLoops = 0, numInputs = 0;
  llvm::SmallVector<bool> parallel;
  std::vector<Access> accesses;
  /// For each loop the operand and the dimension of it that give its size; -1
  /// if there is none.
  std::vector<std::pair<int64_t, int64_t>> extents;
};

/// Where an operand's elements lie.
struct Placement {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

/// One execution.
struct GenericRun {
  GenericRun(const GenericPlan &plan, const Instruction &instruction,
             Frame &frame);

  /// Takes the operands and computes sizes and places. Errors: sizes that do
  /// not fit.
  llvm::LogicalResult prepare();
  llvm::LogicalResult place(const Access &access, const Value &value);
  /// The offset of the element that `operand` has at `point`. Error (reported):
  /// outside of it.
  llvm::FailureOr<int64_t> offsetOf(unsigned operand,
                                    llvm::ArrayRef<int64_t> point) const;
  /// Goes to the next point, the last loop first; `skipped` (-1: none) stays.
  /// False at the end.
  bool advance(llvm::MutableArrayRef<int64_t> point, int64_t skipped) const;
  /// Passes the outputs on as results.
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
  /// A value from outside of the body: the same for all points.
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
