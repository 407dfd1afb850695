//===- Interpreter.h - The reference interpreter ----------------*- C++ -*-===//
//
// What a module of replica IR means, executed directly: N replicas in lockstep, without any code generation.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_INTERPRET_INTERPRETER_H
#define LOCKSTEP_PASSES_INTERPRET_INTERPRETER_H

#include "passes/Interpret/Machine.h"

#include "mlir/Pass/PassManager.h"

namespace lockstep::interpret {

struct Code;

/// Appends what a module needs after the import stage: the number of replicas (0: the module says it), and named operations
/// of `linalg` as generic ones.
void buildInterpretPipeline(mlir::OpPassManager &pm, int64_t replicas);

/// Executes steps and programs of one module, which must outlive it.
class Interpreter {
public:
  /// Translates all steps and programs. Errors are diagnostics at the operation: one that the interpreter does not know, elements of a type
  /// that it does not have, no replica count.
  static llvm::FailureOr<std::unique_ptr<Interpreter>> create(mlir::ModuleOp module);
  ~Interpreter();

  int64_t replicas() const { return machine.replicas(); }
  /// In the order of the module. Variables without an initial value are zeros until they are set.
  Variables &variables() { return state; }

  /// The step of that name, or null.
  replica::StepOp findStep(llvm::StringRef name) const;
  /// The program of that name, or null.
  replica::ProgramOp findProgram(llvm::StringRef name) const;
  /// The module's program, if there is exactly one; otherwise null.
  replica::ProgramOp findOnlyProgram() const;

  /// Runs a step on all replicas: `arguments[r]` are those of replica r, their shapes fit the argument types. Gives each
  /// replica's results. Errors are diagnostics: a blocked collective, an index out of range, shapes that do not fit, copies of
  /// a variable that have become different.
  llvm::LogicalResult run(replica::StepOp step, llvm::ArrayRef<llvm::SmallVector<Value>> arguments,
                          std::vector<llvm::SmallVector<Value>> &results);

  /// Runs a program once for all replicas: per-replica arguments and results are `Value::perReplica`, an iterator is any value.
  /// Errors as above.
  llvm::LogicalResult run(replica::ProgramOp program, llvm::ArrayRef<Value> arguments, llvm::SmallVectorImpl<Value> &results);
  /// The batches of the iterator of programs: of each, its tensors, per replica. A run begins with the first.
  void setBatches(std::vector<std::vector<Value>> all) { batches.all = std::move(all); }

private:
  /// A step or a program.
  struct Function {
    mlir::FunctionOpInterface op;
    std::shared_ptr<const Code> code;
    unsigned numSlots = 0;
  };

  explicit Interpreter(int64_t replicas) : machine(replicas, state, batches) {}
  llvm::LogicalResult addVariable(replica::VariableOp op);
  llvm::LogicalResult addFunction(mlir::FunctionOpInterface op);
  const Function *find(mlir::Operation *op) const;
  llvm::LogicalResult checkCopies();

  Variables state;
  BatchList batches;
  Machine machine;
  std::vector<Function> functions;
};

} // namespace lockstep::interpret

#endif
