//===- SuiteTest.cpp - Wrong programs beside correct ones -----------------===//
//
// Programs of ../suite. Lit checks the words and lines of their errors; here
// they are executed. Each begins with one of
//
//   // correct: what it does
//   // wrong, OUTCOME: what it does
//
// where OUTCOME is its behavior without the check: "blocks", "copies differ",
// "results differ", "shapes differ", or "cannot be executed". What is correct
// is compiled too, except for "// correct, lowered: ..." (it is in collective
// form already) and "// correct, not compiled: ..." (the compiler says that it
// cannot do this yet).
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include "passes/Analysis/Rules.h"
#include "passes/Pipelines/Pipelines.h"
#include "test/support/Suite.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace mlir;

namespace lockstep::test {

struct Program : SuiteCase {
  bool isCompiled = false;
  /// Empty if it is correct.
  std::string outcome;

  bool isWrong() const { return !outcome.empty(); }
  bool canRun() const { return outcome != "cannot be executed"; }
};

namespace {

/// The text with as many empty lines before it as make its lines those of the
/// file.
std::string atLine(StringRef text, size_t line) {
  return std::string(line, '\n') + text.str();
}

std::vector<Program> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  std::vector<Program> programs;
  if (!buffer)
    return programs;
  StringRef rest = (*buffer)->getBuffer();
  size_t line = 0;
  while (!rest.empty()) {
    auto [text, tail] = rest.split("// -----\n");
    Program program;
    SmallVector<StringRef> lines;
    text.split(lines, '\n');
    for (StringRef header : lines) {
      bool wrong = header.starts_with("// wrong, ");
      if (!wrong && !header.starts_with("// correct"))
        continue;
      auto [verdict, what] = header.split(": ");
      program.outcome =
          wrong ? verdict.drop_front(strlen("// wrong, ")).str() : "";
      program.isCompiled = verdict == "// correct";
      program.name = llvm::sys::path::stem(path).str() + ": " + what.str();
    }
    program.text = atLine(text, line);
    programs.push_back(program);
    line += text.count('\n') + 1;
    rest = tail;
  }
  return programs;
}

const std::vector<Program> &suite() {
  static const std::vector<Program> programs = [] {
    std::vector<Program> all;
    std::vector<std::string> paths;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(LOCKSTEP_VERIFY_SUITE, error),
         end;
         it != end && !error; it.increment(error))
      if (StringRef(it->path()).ends_with(".mlir"))
        paths.push_back(it->path());
    std::sort(paths.begin(), paths.end());
    for (const std::string &path : paths)
      for (Program &program : readFile(path))
        all.push_back(std::move(program));
    return all;
  }();
  return programs;
}

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

class Suite : public testing::TestWithParam<Program> {
protected:
  std::unique_ptr<MLIRContext> context = makeContext();
};

TEST_P(Suite, HasItsVerdict) {
  const Program &program = GetParam();
  ASSERT_FALSE(program.name.empty())
      << "expected '// correct: ...' or '// wrong, OUTCOME: ...' in\n"
      << program.text;
  for (int64_t replicas : {2, 3, 4}) {
    Trial trial(*context, program.text, replicas);
    EXPECT_EQ(trial.isAccepted(), !program.isWrong())
        << replicas << " replicas\n"
        << joined(trial.errors());
  }
}

/// With the check disabled: a correct program ends for all inputs and delays,
/// and a wrong one has its stated outcome.
TEST_P(Suite, DoesWhatItsVerdictSays) {
  const Program &program = GetParam();
  if (!program.canRun())
    return;
  for (int64_t replicas : {2, 3, 4}) {
    Trial trial(*context, program.text, replicas);
    std::vector<std::string> seen;
    bool found = false;
    for (uint64_t seed = 0; seed < (program.isWrong() ? 400 : 60) && !found;
         ++seed) {
      Execution execution = trial.execute(
          seed, seed % 3 == 0 ? std::nullopt : std::optional<uint64_t>(seed));
      if (!program.isWrong())
        ASSERT_EQ(execution.outcome, Outcome::Ends)
            << replicas << " replicas, inputs " << seed << "\n"
            << execution.message;
      found = toString(execution.outcome) == program.outcome;
      seen.push_back(toString(execution.outcome).str());
    }
    EXPECT_TRUE(found || !program.isWrong()) << replicas << " replicas: seen\n"
                                             << joined(seen);
  }
}

/// With one replica there are no waits.
TEST_P(Suite, EndsWithOneReplica) {
  // A group of two ranks is not a program for one.
  if (!GetParam().canRun() ||
      GetParam().text.find("ranks = array") != std::string::npos)
    return;
  Trial trial(*context, GetParam().text, 1);
  ASSERT_TRUE(trial.isAccepted()) << joined(trial.errors());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Execution execution = trial.execute(seed, seed);
    EXPECT_EQ(execution.outcome, Outcome::Ends) << execution.message;
  }
}

/// A correct program is compiled, with the check again on the lowered program.
TEST_P(Suite, IsCompiled) {
  const Program &program = GetParam();
  if (!program.isCompiled)
    return;
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(program.text, context.get());
  ASSERT_TRUE(module);
  PassManager pm(context.get());
  CompileOptions options;
  options.replicas = 2;
  buildCompilePipeline(pm, options);
  EXPECT_TRUE(succeeded(pm.run(*module)));
}

INSTANTIATE_TEST_SUITE_P(Verify, Suite, testing::ValuesIn(suite()),
                         testNameOf<Program>);

/// As many programs as were promised, and each wrong one beside a correct one.
TEST(SuiteOfPrograms, HasPairs) {
  size_t wrong = 0;
  for (const Program &program : suite())
    wrong += program.isWrong();
  EXPECT_GE(suite().size(), 60u);
  EXPECT_EQ(wrong * 2, suite().size());
}

using Mutation = MutationTest<std::string>;

TEST_P(Mutation, LetsAWrongProgramPass) {
  std::unique_ptr<MLIRContext> context = makeContext();
  expectToPassWithoutRule(suite(), [&](const Program &program) {
    Trial trial(*context, program.text, 3);
    return !trial.isAccepted() && trial.isAccepted(GetParam());
  });
}

std::vector<std::string> allRules() {
  std::vector<std::string> rules;
  for (StringRef rule : getRuleNames())
    rules.push_back(rule.str());
  return rules;
}

INSTANTIATE_TEST_SUITE_P(Verify, Mutation, testing::ValuesIn(allRules()),
                         [](const auto &info) { return testName(info.param); });

} // namespace
} // namespace lockstep::test
