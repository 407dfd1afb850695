//===- Trial.h - A program, judged and executed -----------------*- C++ -*-===//
//
// Two independent answers to one question: what the compiler's verify stage
// says of a module, and what happens when the reference interpreter executes it
// without that stage, on inputs and with delays by chance.
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

/// What came of one execution.
enum class Outcome {
  Ends,
  /// Replicas wait for each other for ever.
  Blocks,
  /// What must be equal on all replicas is not: copies of a variable, a plain
  /// argument, an update.
  CopiesDiffer,
  /// A metric is not equal on all replicas.
  ResultsDiffer,
  /// Replicas bring different shapes to one collective.
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
  /// Parses `text` and takes it through all that comes before the verify stage:
  /// import, strategy, number of replicas. What is refused there is in
  /// `errors()`.
  Trial(mlir::MLIRContext &context, llvm::StringRef text, int64_t replicas);

  /// False if an earlier stage has refused it.
  bool isValid() const { return valid; }
  /// True if the verify stage accepts it, with rule `brokenRule` of the checker
  /// left out if there is one.
  bool isAccepted(llvm::StringRef brokenRule = "");
  /// What was refused so far and why, one line each: "LINE: message".
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

/// A context with all that a compilation needs, without threads of its own.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace lockstep::test

#endif
