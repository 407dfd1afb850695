//===- Interpreter.h - The reference interpreter ----------------*- C++ -*-===//
//
// Executes a module of the `replica` dialect directly, without code generation.
// Each replica has its own thread; threads rendezvous in collectives. The
// interpreter defines the semantics that compiled code must have.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_INTERPRETER_H
#define LOCKSTEP_DIALECT_REFERENCE_INTERPRETER_H

#include "dialect/Reference/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep::interpret {

struct Body;

/// Executes steps (functions that every replica executes) and programs
/// (functions that are executed once for all replicas) of one module, which
/// must outlive the interpreter. A step in collective form is a `func.func` to
/// which a step has been lowered, with operations of `collective`. Before,
/// named `linalg` operations must be generalized, and the strategy and the
/// number of replicas be set (`buildInterpretPipeline` in
/// `passes/Pipelines/Pipelines.h`). Not thread-safe: one run at a time.
class Interpreter {
public:
  /// Translates all steps and programs. Errors are diagnostics at the
  /// operation: an operation or element type that the interpreter does not
  /// support, no replica count. With `withFunctions`, functions on tensors and
  /// kernels are translated too, and every function that cannot be translated
  /// is left out.
  static llvm::FailureOr<std::unique_ptr<Interpreter>>
  create(mlir::ModuleOp module, bool withFunctions = false);
  ~Interpreter();

  int64_t replicas() const { return machine.replicas(); }
  /// The variables, in the order of their declarations. Runs change them. One
  /// without an initial value is zero until it is set.
  Variables &variables() { return state; }

  /// The step of that name, or null.
  replica::StepOp findStep(llvm::StringRef name) const;
  /// The program of that name, or null.
  replica::ProgramOp findProgram(llvm::StringRef name) const;
  /// The module's program, if there is exactly one; otherwise null.
  replica::ProgramOp findOnlyProgram() const;

  /// Whether `create` has translated `function`. The functions below may be
  /// called only if so.
  bool canRun(mlir::FunctionOpInterface function) const;

  /// Runs a step on all replicas. `arguments[r]` are the arguments of replica
  /// r, whose shapes must fit the argument types, and `results[r]` its results.
  /// Errors are diagnostics: a deadlock in a collective, an index out of range,
  /// shapes that do not fit, copies of a variable that have become different.
  llvm::LogicalResult run(replica::StepOp step,
                          llvm::ArrayRef<llvm::SmallVector<Value>> arguments,
                          std::vector<llvm::SmallVector<Value>> &results);

  /// The same for a step in collective form. `arguments[r]` are only the
  /// arguments that are bound to batches and scalars, and `results[r]` only the
  /// results that are not bound to a variable: the interpreter supplies and
  /// stores variables, and supplies the replica's rank. A function in another
  /// form is executed as by `runFunction`.
  llvm::LogicalResult run(mlir::func::FuncOp step,
                          llvm::ArrayRef<llvm::SmallVector<Value>> arguments,
                          std::vector<llvm::SmallVector<Value>> &results);

  /// The same for a function on tensors or a kernel. `arguments[r]` are all
  /// arguments of replica r, and `results[r]` all its results.
  llvm::LogicalResult
  runFunction(mlir::FunctionOpInterface function,
              llvm::ArrayRef<llvm::SmallVector<Value>> arguments,
              std::vector<llvm::SmallVector<Value>> &results);

  /// Runs a program once for all replicas: per-replica arguments and results
  /// are `Value::perReplica`. The value of an iterator argument is ignored: its
  /// batches are those of `setBatches`. Errors as above.
  llvm::LogicalResult run(replica::ProgramOp program,
                          llvm::ArrayRef<Value> arguments,
                          llvm::SmallVectorImpl<Value> &results);
  /// Sets the options of all following runs.
  void setOptions(const RunOptions &options) { machine.options = options; }
  /// The error of the last run, if it failed.
  const Failure &getFailure() const { return machine.getFailure(); }
  /// Sets the batches that the iterator of a program loads: for each batch its
  /// tensors, as per-replica values. Each run begins with the first batch.
  void setBatches(std::vector<std::vector<Value>> all) {
    batches.all = std::move(all);
  }

private:
  /// A function of the module that has been translated.
  struct Function {
    mlir::FunctionOpInterface op;
    std::shared_ptr<const Body> body;
    unsigned numSlots = 0;
  };

  explicit Interpreter(int64_t replicas) : machine(replicas, state, batches) {}
  llvm::LogicalResult addVariable(replica::VariableOp op);
  llvm::LogicalResult addFunction(mlir::FunctionOpInterface op);
  /// The translation of `op`, which must exist.
  const Function *find(mlir::Operation *op) const;
  llvm::LogicalResult
  runReplicas(const Function &step,
              llvm::ArrayRef<llvm::SmallVector<Value>> arguments,
              std::vector<llvm::SmallVector<Value>> &results);
  /// Begins a run.
  void begin();
  /// Emits an error if copies of a variable that must be equal differ.
  llvm::LogicalResult checkCopies();

  Variables state;
  BatchList batches;
  Machine machine;
  std::vector<Function> functions;
};

} // namespace lockstep::interpret

#endif
