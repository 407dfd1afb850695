//===- main.cpp - lockstep-try-mutants: changed artifacts, executed -------===//
//
// Each mutant must be rejected, or end with an error or with results: none may
// crash the process or exceed its deadline. They are tried in separate
// processes, some hundred each, so that one that crashes is identified and the
// others are still tried.
//
//===----------------------------------------------------------------------===//

#include "MutantTrial.h"
#include "Mutator.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::mutation;

namespace {

struct Options {
  std::vector<std::string> artifacts;
  uint64_t count = 1000, seed = 1;
  bool verbose = false, listFields = false;
  std::string replay, folder;
};

constexpr std::array outcomeNames = {"refused", "ended with an error",
                                     "stopped in an endless loop",
                                     "missed a deadline", "completed"};

/// The outcomes, by place ("Table.field", or "Table" for rows) and in total.
class Tally {
public:
  explicit Tally(const Schema &schema) {
    for (const std::string &field : schema.fields())
      places[field];
  }
  void add(Outcome outcome, const std::vector<std::string> &changed) {
    ++all[size_t(outcome)];
    for (const std::string &place : changed)
      ++places[place][size_t(outcome)];
  }
  void print(bool listFields) const {
    if (listFields) {
      fmt::print("{:40} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "changed", "refused",
                 "error", "endless", "deadline", "completed");
      for (const auto &[place, counts] : places)
        fmt::print("{:40} {:>9} {:>9} {:>9} {:>9} {:>9}\n", place, counts[0],
                   counts[1], counts[2], counts[3], counts[4]);
    }
    uint64_t total = 0;
    for (uint64_t count : all)
      total += count;
    fmt::print("{} mutants", total);
    for (size_t i = 0; i < all.size(); ++i)
      fmt::print("{} {} {}", i == 0 ? ":" : ",", all[i], outcomeNames[i]);
    fmt::print("\n");
  }

private:
  using Counts = std::array<uint64_t, outcomeNames.size()>;
  Counts all{};
  std::map<std::string, Counts> places;
};

std::vector<std::byte> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  auto span = std::as_bytes(std::span(bytes));
  return {span.begin(), span.end()};
}

void writeFile(const std::string &path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

void printError(const std::string &what, const std::string &error) {
  fmt::print(stderr, "lockstep-try-mutants: error: {}: {}\n", what, error);
}

[[noreturn]] void fail(const char *what) {
  printError(what, std::strerror(errno));
  std::exit(1);
}

/// For a busy machine, and for a first trial, which may compile kernels.
TrialOptions withMoreTime(uint64_t seed) {
  return {.seed = seed,
          .deadline = std::chrono::seconds(10),
          .longest = std::chrono::seconds(20)};
}

/// Tries mutants in a separate process, and reports each by lines in `pipe`:
/// "SEED" before, "SEED OUTCOME PLACE..." after, with the change. Ends the
/// process when all have been tried, or when nothing more can be.
[[noreturn]] void tryMutants(Mutator &mutator, uint64_t first, uint64_t last,
                             bool hasMoreTime, int pipe) {
  auto send = [&](const std::string &line) {
    if (::write(pipe, line.data(), line.size()) != ssize_t(line.size()))
      ::_exit(1);
  };
  for (uint64_t seed = first; seed < last; ++seed) {
    send(fmt::format("{}\n", seed));
    Mutant mutant = mutator.mutate(seed);
    TrialResult result =
        tryArtifact(mutant.file, hasMoreTime ? withMoreTime(seed)
                                             : TrialOptions{.seed = seed});
    std::string line = fmt::format("{} {}", seed, int(result.outcome));
    for (const Change &change : mutant.changes)
      line += " " + change.place;
    send(line + "\n");
    if (result.leftBehind)
      break;
  }
  ::_exit(0);
}

std::string describeEnd(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended its process by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("ended its process with status {}", WEXITSTATUS(status));
}

class Campaign {
public:
  Campaign(const Options &options, Schema &schema, Mutator &mutator)
      : options(options), mutator(mutator), tally(schema) {}

  /// Whether nothing was found.
  bool run() {
    uint64_t end = options.seed + options.count;
    constexpr uint64_t atOnce = 500;
    for (uint64_t seed = options.seed; seed < end;)
      seed = runBatch(seed, std::min(end, seed + atOnce));
    // On a busy machine a short deadline is missed without a reason.
    for (uint64_t seed : slow)
      runBatch(seed, seed + 1, /*hasMoreTime=*/true);
    tally.print(options.listFields);
    fmt::print("{} of them damaged their process, hung, or did not end\n",
               found);
    return found == 0;
  }

private:
  /// Returns the first that has not been tried.
  uint64_t runBatch(uint64_t first, uint64_t last, bool hasMoreTime = false) {
    std::fflush(stdout);
    int ends[2];
    if (::pipe(ends) != 0)
      fail("cannot make a pipe");
    pid_t child = ::fork();
    if (child < 0)
      fail("cannot start a process");
    if (child == 0) {
      ::close(ends[0]);
      tryMutants(mutator, first, last, hasMoreTime, ends[1]);
    }
    ::close(ends[1]);
    next = first;
    isInside = false;
    bool hasEnded = readLines(ends[0], hasMoreTime);
    ::close(ends[0]);
    if (!hasEnded)
      ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!hasEnded)
      report(next++, "did not end within two minutes");
    else if (isInside)
      report(next++, describeEnd(status));
    return next;
  }

  /// Reads the reports of a process until it ends. False after a long time
  /// without one.
  bool readLines(int pipe, bool hasMoreTime) {
    std::string text;
    while (true) {
      // Its deadline is far below a minute; a machine may be busy.
      constexpr int milliseconds = 120'000;
      pollfd wait = {pipe, POLLIN, 0};
      if (::poll(&wait, 1, milliseconds) == 0)
        return false;
      char buffer[4096];
      ssize_t size = ::read(pipe, buffer, sizeof buffer);
      if (size <= 0)
        return true;
      text.append(buffer, size_t(size));
      for (size_t end; (end = text.find('\n')) != std::string::npos;
           text.erase(0, end + 1))
        takeLine(text.substr(0, end), hasMoreTime);
    }
  }

  void takeLine(const std::string &text, bool hasMoreTime) {
    std::istringstream line(text);
    uint64_t seed;
    int outcome;
    line >> seed;
    isInside = !(line >> outcome);
    if (isInside)
      return;
    next = seed + 1;
    std::vector<std::string> changed{std::istream_iterator<std::string>(line),
                                     {}};
    if (Outcome(outcome) == Outcome::hung && !hasMoreTime) {
      slow.push_back(seed);
      return;
    }
    tally.add(Outcome(outcome), changed);
    if (options.verbose)
      fmt::print("{} {}: {}\n", seed, outcomeNames[size_t(outcome)],
                 describe(mutator.mutate(seed)));
    // Programs are proven to be free of deadlocks when they are loaded.
    if (Outcome(outcome) == Outcome::hung)
      report(seed, "hangs");
  }

  void report(uint64_t seed, const std::string &what) {
    ++found;
    Mutant mutant = mutator.mutate(seed);
    fmt::print("mutant {} {}\n  {}\n", seed, what, describe(mutant));
    std::fflush(stdout);
    if (!options.folder.empty())
      writeFile(fmt::format("{}/{}.lockstep", options.folder, seed),
                mutant.file);
  }

  std::string describe(const Mutant &mutant) const {
    std::string text = options.artifacts[mutant.base];
    for (const Change &change : mutant.changes)
      text += "; " + change.text;
    return text;
  }

  const Options &options;
  Mutator &mutator;
  Tally tally;
  uint64_t found = 0;
  /// Those that missed a short deadline, to be tried again.
  std::vector<uint64_t> slow;
  /// The first mutant of a batch that has not been tried to its end, and
  /// whether it is being tried.
  uint64_t next = 0;
  bool isInside = false;
};

/// Whether an artifact completes as it is: otherwise its mutants would be
/// meaningless. Prints the error. It has a process of its own, since a GPU that
/// a process has used is of no use to those that it forks later.
bool completesUnchanged(Mutator &mutator, size_t artifact,
                        const std::string &path) {
  pid_t child = ::fork();
  if (child < 0)
    fail("cannot start a process");
  if (child == 0) {
    TrialResult result =
        tryArtifact(mutator.unchanged(artifact), withMoreTime(/*seed=*/0));
    bool isCompleted = result.outcome == Outcome::completed;
    if (!isCompleted)
      printError(path, result.status.message());
    ::_exit(isCompleted ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    printError(path, describeEnd(status));
  return status == 0;
}

/// Tries one mutant in this process, for a debugger.
int replay(const Options &options, Mutator &mutator) {
  uint64_t seed = std::stoull(options.replay);
  Mutant mutant = mutator.mutate(seed);
  fmt::print("{}\n", options.artifacts[mutant.base]);
  for (const Change &change : mutant.changes)
    fmt::print("  {}\n", change.text);
  if (!options.folder.empty())
    writeFile(fmt::format("{}/{}.lockstep", options.folder, seed), mutant.file);
  std::fflush(stdout);
  TrialResult result = tryArtifact(mutant.file, {.seed = seed});
  fmt::print("{}{}{}\n", outcomeNames[size_t(result.outcome)],
             result.status.ok() ? "" : ": ", result.status.message());
  std::fflush(stdout);
  ::_exit(0);
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Changes artifacts at random, gives them the digest that fits, "
               "and executes what is loaded.",
               "lockstep-try-mutants");
  app.add_option("artifacts", options.artifacts,
                 "artifacts (.lockstep) to change; rows are exchanged between "
                 "them, too")
      ->required();
  app.add_option("--count", options.count, "mutants to try (default: 1000)")
      ->type_name("N");
  app.add_option("--seed", options.seed,
                 "the first mutant's seed; the others follow (default: 1)")
      ->type_name("S");
  app.add_option("--replay", options.replay, "try one mutant, in this process")
      ->type_name("SEED");
  app.add_option("-o", options.folder,
                 "folder to write mutants to that were found, or replayed")
      ->type_name("DIR");
  app.add_flag("--fields", options.listFields,
               "list what became of changes, for each field");
  app.add_flag("--verbose", options.verbose, "list each mutant");
  CLI11_PARSE(app, argc, argv);

  Schema schema;
  Mutator mutator(schema);
  for (size_t i = 0; i < options.artifacts.size(); ++i) {
    Status status = mutator.add(readFile(options.artifacts[i]));
    if (!status.ok())
      printError(options.artifacts[i], status.message());
    if (!status.ok() || !completesUnchanged(mutator, i, options.artifacts[i]))
      return 1;
  }
  if (!options.replay.empty())
    return replay(options, mutator);
  return Campaign(options, schema, mutator).run() ? 0 : 1;
}
