//===- Trial.h - verdict and execution of a program -------------*- C++ -*-===//
//
// Two independent tests of a module: the verdict of the compiler's verify
// stage, and the execution by the reference interpreter without that stage, on
// random inputs and with random delays.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_TRIAL_H
#define LOCKSTEP_TEST_PASSES_VERIFY_PROGRAMS_TRIAL_H

#include "dialect/Reference/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace lockstep::test {

/// The outcome of one execution.
enum class Outcome {
  Ends,
  /// Replicas wait for each other forever.
  Blocks,
  /// Values that must be equal on all replicas differ: copies of a variable, a
  /// plain argument, an update.
  CopiesDiffer,
  /// A metric is not equal on all replicas.
  ResultsDiffer,
  /// Replicas have different shapes in one collective.
  ShapesDiffer,
  /// Any other error.
  Fails,
};

llvm::StringRef toString(Outcome outcome);

struct Execution {
  Outcome outcome = Outcome::Ends;
  /// The error with its notes, "LINE: message" each; empty if it ended.
  std::string message;
};

/// One module with a number of replicas: a step, a step in collective form, or
/// a program.
class Trial {
public:
  /// Parses `text` and runs the stages before verification: import, strategy,
  /// number of replicas. Their errors are in `errors()`.
  Trial(mlir::MLIRContext &context, llvm::StringRef text, int64_t replicas);

  /// False if an earlier stage has rejected it.
  bool isValid() const { return valid; }
  /// True if the verify stage accepts it, with rule `brokenRule` of the checker
  /// disabled if there is one.
  bool isAccepted(llvm::StringRef brokenRule = "");
  /// The errors so far, one line each: "LINE: message".
  const std::vector<std::string> &errors() const { return messages; }
  /// The inputs that errors name as examples for that they are right
  /// (`findInputs`), one for each error; null if it names none.
  const std::vector<mlir::DictionaryAttr> &examples() const {
    return inputsOfErrors;
  }

  /// Executes it once on inputs, and on variables, drawn from `inputs`;
  /// replicas are interleaved as `schedule` says, if it is there.
  Execution execute(uint64_t inputs, std::optional<uint64_t> schedule);
  /// The same on the inputs of an error.
  Execution execute(mlir::DictionaryAttr example,
                    std::optional<uint64_t> schedule);
  /// The first of `count` executions that does not end; one that ended if all
  /// do.
  Execution findFailure(uint64_t count);

private:
  template <typename Body> bool collect(const Body &body);
  void setVariables(uint64_t &state);
  interpret::Value drawArgument(unsigned index, uint64_t &state,
                                uint64_t common);
  llvm::LogicalResult
  run(llvm::ArrayRef<llvm::SmallVector<interpret::Value>> arguments,
      std::vector<llvm::SmallVector<interpret::Value>> &results);
  bool prepareExecution(Execution &execution);
  Execution
  executeOn(llvm::ArrayRef<llvm::SmallVector<interpret::Value>> arguments,
            std::optional<uint64_t> schedule);

  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t replicas;
  bool valid = false, prepared = false;
  std::vector<std::string> messages;
  std::vector<mlir::DictionaryAttr> inputsOfErrors;
  std::unique_ptr<interpret::Interpreter> interpreter;
  mlir::FunctionOpInterface function;
};

/// A context for compilations, without threads.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace lockstep::test

#endif
