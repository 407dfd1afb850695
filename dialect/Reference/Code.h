//===- Code.h - Operations, resolved for execution --------------*- C++ -*-===//
//
// A step is translated once: SSA values become slots of a frame, and operations
// become functions that read and write slots. Execution is then a walk over
// instructions.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_CODE_H
#define LOCKSTEP_DIALECT_REFERENCE_CODE_H

#include "dialect/Reference/Value.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::interpret {

class Machine;

/// The slot of an operand. A value that is not used again is moved out of its
/// slot, so that the operation may change it in place.
struct Use {
  unsigned slot = 0;
  bool dies = false;
};

/// The values of one replica (or of cross-replica context) during a step.
struct Frame {
  Machine &machine;
  /// -1 in cross-replica context.
  int64_t replica = -1;
  std::vector<Value> slots;
  /// The indices of the current point of the innermost `linalg.generic` or
  /// other loop whose body uses them.
  llvm::SmallVector<int64_t> indices;

  const Value &peek(Use use) const { return slots[use.slot]; }
  Value take(Use use) {
    return use.dies ? std::move(slots[use.slot]) : slots[use.slot];
  }

  /// Reports an error of this replica at `op`; always fails. Only the first
  /// error of all replicas is shown.
  llvm::LogicalResult fail(mlir::Operation *op, const llvm::Twine &message);
  /// To be called before `op` computes a tensor of shape `shape`: fails if the
  /// budget does not suffice.
  llvm::LogicalResult spend(mlir::Operation *op, llvm::ArrayRef<int64_t> shape);
};

/// The cost of an instruction in a budget, in addition to its elements.
constexpr int64_t kOverhead = 16;

struct Instruction {
  using Run = std::function<llvm::LogicalResult(const Instruction &, Frame &)>;

  mlir::Operation *op = nullptr;
  llvm::SmallVector<Use, 3> operands;
  llvm::SmallVector<unsigned, 1> results;
  /// Slots whose values are not used after this instruction.
  llvm::SmallVector<unsigned, 2> released;
  Run run;
};

/// Moves values to the slots of the results.
void setResults(const Instruction &instruction, Frame &frame,
                llvm::MutableArrayRef<Value> values);
llvm::SmallVector<Value> takeAll(Frame &frame, llvm::ArrayRef<Use> uses);

/// One block.
struct Code {
  llvm::SmallVector<unsigned, 2> arguments;
  std::vector<Instruction> instructions;
  mlir::Operation *terminator = nullptr;
  llvm::SmallVector<Use, 2> yielded;

  llvm::LogicalResult execute(Frame &frame) const;
  /// Sets the arguments, executes, and returns the operands of the terminator.
  llvm::LogicalResult call(Frame &frame, llvm::MutableArrayRef<Value> values,
                           llvm::SmallVectorImpl<Value> &results) const;
};

/// The control-flow graph of a function. The first block is the entry.
struct Body {
  std::vector<std::shared_ptr<const Code>> blocks;
  llvm::DenseMap<mlir::Block *, size_t> numbers;

  /// Sets the arguments, executes, and returns the function's results; `end` is
  /// the terminator that ended it.
  llvm::LogicalResult call(Frame &frame, llvm::MutableArrayRef<Value> values,
                           llvm::SmallVectorImpl<Value> &results,
                           mlir::Operation *&end) const;
};

/// Translates the blocks of a step.
class CodeBuilder {
public:
  explicit CodeBuilder(Machine &machine) : machine(machine) {}

  /// Fails as `build` does, and for terminators that are neither a return nor a
  /// branch of `cf`.
  llvm::FailureOr<Body> buildBody(mlir::Region &region);

  /// Fails with an error at the first operation that the interpreter does not
  /// know.
  llvm::FailureOr<std::shared_ptr<const Code>> build(mlir::Block &block);
  /// The same for the only block of a region; also fails if the region has no
  /// block yet (`inline-runs` creates it).
  llvm::FailureOr<std::shared_ptr<const Code>>
  buildRegion(mlir::Region &region);

  unsigned slotOf(mlir::Value value) {
    return slots.try_emplace(value, slots.size()).first->second;
  }
  unsigned numSlots() const { return slots.size(); }

  Machine &machine;

private:
  llvm::LogicalResult translate(mlir::Operation *op, Instruction &instruction);
  void markLastUses(mlir::Block &block, Code &code);

  llvm::DenseMap<mlir::Value, unsigned> slots;
};

/// The translation of each family of operations: null if the operation does not
/// belong to it, a failure if its regions cannot be translated (reported).
llvm::FailureOr<Instruction::Run> translateScalarOp(mlir::Operation *op,
                                                    CodeBuilder &builder);
llvm::FailureOr<Instruction::Run> translateTensorOp(mlir::Operation *op,
                                                    CodeBuilder &builder);
llvm::FailureOr<Instruction::Run> translateControlFlow(mlir::Operation *op,
                                                       CodeBuilder &builder);
llvm::FailureOr<Instruction::Run> translateGeneric(mlir::Operation *op,
                                                   CodeBuilder &builder);
llvm::FailureOr<Instruction::Run> translateDefinedOp(mlir::Operation *op,
                                                     CodeBuilder &builder);
llvm::FailureOr<Instruction::Run> translateReplicaOp(mlir::Operation *op,
                                                     CodeBuilder &builder);
llvm::FailureOr<Instruction::Run> translateCollectiveOp(mlir::Operation *op,
                                                        CodeBuilder &builder);

} // namespace lockstep::interpret

#endif
