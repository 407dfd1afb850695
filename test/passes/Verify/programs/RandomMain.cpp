//===- RandomMain.cpp - Verdicts on random programs -----------------------===//
//
// The verdicts of the verify stage on random programs are compared with
// executions by the interpreter:
//
//   * a program that is accepted ends, on all inputs and with all delays that
//     are tried;
//   * of a program that is refused, inputs are searched on which replicas block
//     each other or something differs that must not. If none are found the
//     program counts as not provable: at most one in a hundred may be;
//   * of what an error calls wrong, such inputs have to be found; those that
//     the error names have to be such.
//
// lockstep-verify-random [--count=N] [--seed=S] [--limit=PERCENT] [--show]
//
//===----------------------------------------------------------------------===//

#include "RandomGroups.h"
#include "RandomProgram.h"
#include "Shrink.h"
#include "Trial.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

namespace cl = llvm::cl;

namespace lockstep::test {
namespace {

/// Inputs on which an accepted program must end, and those among which a
/// failure of a rejected one is searched.
constexpr uint64_t kInputsOfAccepted = 12, kInputsOfRefused = 400;
/// Programs after which a new context is made: what it has interned is never
/// freed.
constexpr uint64_t kProgramsOfContext = 500;

struct Counts {
  uint64_t accepted = 0, refused = 0, notProvable = 0, mutated = 0;
  /// Rejected with an error that says "wrong", and errors that do and name
  /// inputs.
  uint64_t calledWrong = 0, examples = 0;
  std::map<std::string, uint64_t> reasons;
};

int64_t replicasOf(uint64_t seed) {
  return 2 + static_cast<int64_t>(seed / 4 % 4);
}

/// Every fourth program is one in collective form, with groups.
RandomProgram programOf(uint64_t seed) {
  return seed % 4 == 3 ? randomGroups(seed, replicasOf(seed))
                       : randomProgram(seed);
}

std::string command(uint64_t seed) {
  return "lockstep-verify-random --count=1 --seed=" + std::to_string(seed);
}

/// Accepted, but does not end on some input.
bool isMissed(mlir::MLIRContext &context, const std::string &text,
              int64_t replicas, uint64_t inputs, Execution *why = nullptr) {
  Trial trial(context, text, replicas);
  if (!trial.isAccepted())
    return false;
  Execution execution = trial.findFailure(inputs);
  if (why)
    *why = execution;
  return execution.outcome != Outcome::Ends &&
         execution.outcome != Outcome::Fails;
}

/// Rejected by the verify stage, but ends on all inputs that are tried.
bool isNotProvable(mlir::MLIRContext &context, const std::string &text,
                   int64_t replicas) {
  Trial trial(context, text, replicas);
  return trial.isValid() && !trial.isAccepted() &&
         trial.findFailure(kInputsOfRefused).outcome == Outcome::Ends;
}

bool isCalledWrong(const std::string &error) {
  return error.find("(wrong: ") != std::string::npos;
}

/// The outcome of the inputs that errors name; of the first that ends, if there
/// is one. None if none are named.
std::optional<Execution>
tryExamples(Trial &trial, llvm::ArrayRef<mlir::DictionaryAttr> examples,
            uint64_t seed) {
  std::optional<Execution> last;
  for (mlir::DictionaryAttr example : examples) {
    if (!example)
      continue;
    last = trial.execute(example, seed);
    if (last->outcome == Outcome::Ends || last->outcome == Outcome::Fails)
      return last;
  }
  return last;
}

bool check(mlir::MLIRContext &context, uint64_t seed, bool show,
           Counts &counts) {
  RandomProgram program = programOf(seed);
  int64_t replicas = replicasOf(seed);
  counts.mutated += program.isMutated;
  Trial trial(context, program.text, replicas);
  if (!trial.isValid()) {
    llvm::errs() << "not a valid program; " << command(seed) << "\n"
                 << program.text;
    for (const std::string &error : trial.errors())
      llvm::errs() << error << "\n";
    return false;
  }
  bool accepted = trial.isAccepted();
  std::vector<std::string> errors = trial.errors();
  std::vector<mlir::DictionaryAttr> examples = trial.examples();
  Execution execution =
      trial.findFailure(accepted ? kInputsOfAccepted : kInputsOfRefused);
  if (execution.outcome == Outcome::Fails) {
    llvm::errs() << "cannot be executed; " << command(seed) << "\n"
                 << program.text << execution.message;
    return false;
  }
  if (accepted) {
    ++counts.accepted;
    if (execution.outcome == Outcome::Ends)
      return true;
    auto fails = [&](const std::string &text) {
      return isMissed(context, text, replicas, 60);
    };
    std::string text = fails(program.text)
                           ? shrink(context, program.text, fails)
                           : program.text;
    isMissed(context, text, replicas, 60, &execution);
    llvm::errs() << "accepted, but " << toString(execution.outcome) << " with "
                 << replicas << " replicas; " << command(seed) << "\n"
                 << text << execution.message;
    return false;
  }
  ++counts.refused;
  bool calledWrong = llvm::any_of(errors, isCalledWrong);
  counts.calledWrong += calledWrong;
  counts.examples += llvm::count_if(examples, [](mlir::DictionaryAttr example) {
    return example != nullptr;
  });
  std::optional<Execution> example = tryExamples(trial, examples, seed);
  bool isRefuted = example && (example->outcome == Outcome::Ends ||
                               example->outcome == Outcome::Fails);
  if (example && execution.outcome == Outcome::Ends)
    execution = *example;
  if (isRefuted || (calledWrong && execution.outcome == Outcome::Ends)) {
    llvm::errs() << "called wrong, but "
                 << (isRefuted
                         ? "the example " + toString(example->outcome).str()
                         : "nothing is found")
                 << " with " << replicas << " replicas; " << command(seed)
                 << "\n"
                 << program.text;
    for (const std::string &error : errors)
      llvm::errs() << error << "\n";
    return false;
  }
  if (execution.outcome != Outcome::Ends) {
    ++counts.reasons[toString(execution.outcome).str()];
    if (show && !calledWrong) {
      llvm::errs() << "called not provable, but " << toString(execution.outcome)
                   << " with " << replicas << " replicas; " << command(seed)
                   << "\n"
                   << program.text << execution.message;
      for (const std::string &error : errors)
        llvm::errs() << error << "\n";
    }
    return true;
  }
  ++counts.notProvable;
  if (show) {
    auto holds = [&](const std::string &text) {
      return isNotProvable(context, text, replicas);
    };
    llvm::errs() << "refused, but ends with " << replicas << " replicas; "
                 << command(seed) << "\n"
                 << shrink(context, program.text, holds);
    for (const std::string &error : errors)
      llvm::errs() << error << "\n";
  }
  return true;
}

int run(uint64_t count, uint64_t seed, double limit, bool show) {
  Counts counts;
  std::unique_ptr<mlir::MLIRContext> context;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % kProgramsOfContext == 0)
      context = makeContext();
    if (!check(*context, seed + i, show, counts))
      return 1;
  }
  llvm::outs() << count << " programs (" << counts.mutated
               << " of them mutated): " << counts.accepted
               << " accepted, all of which end; " << counts.refused
               << " refused";
  for (auto &[reason, number] : counts.reasons)
    llvm::outs() << ", " << number << " " << reason;
  llvm::outs() << ", " << counts.notProvable << " not provable ("
               << llvm::format("%.2f", 100.0 * counts.notProvable / count)
               << " %); " << counts.calledWrong
               << " are called wrong, all of which are, " << counts.examples
               << " errors name an example\n";
  if (counts.notProvable * 100 > limit * count) {
    llvm::errs() << "expected at most " << llvm::format("%g", limit)
                 << " % that are not provable\n";
    return 1;
  }
  return 0;
}

} // namespace
} // namespace lockstep::test

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  for (llvm::StringRef name : {"count", "seed", "limit", "show", "print"})
    if (auto it = cl::getRegisteredOptions().find(name);
        it != cl::getRegisteredOptions().end())
      it->second->removeArgument();
  cl::opt<uint64_t> count("count", cl::desc("programs to check"),
                          cl::init(2000));
  cl::opt<uint64_t> seed("seed", cl::desc("the first of them"), cl::init(1));
  cl::opt<double> limit("limit",
                        cl::desc("how many may be not provable, in percent"),
                        cl::init(1));
  cl::opt<bool> show(
      "show", cl::desc("print programs that are refused and not called wrong"));
  cl::opt<bool> print("print",
                      cl::desc("print the first program, and check nothing"));
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compares the verdicts on random programs with their execution.\n");
  if (print) {
    llvm::outs() << lockstep::test::programOf(seed).text;
    return 0;
  }
  return lockstep::test::run(count, seed, limit, show);
}
