//===- main.cpp - lockstep-conformance ------------------------------------===//
//
//   lockstep-conformance --cases test/conformance/cases
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/Case.h"
#include "test/conformance/driver/Children.h"
#include "test/conformance/driver/Error.h"
#include "test/conformance/driver/RunCase.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <thread>

using namespace lockstep::conformance::driver;

namespace {

struct Options {
  std::string cases;
  std::string filter;
  bool programsOnly = false;
  bool json = false;
  bool printIr = false;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
};

struct Count {
  size_t passed = 0, failed = 0;
};

std::string text(const Count &count) {
  return fmt::format("{} passed, {} failed", count.passed, count.failed);
}

std::vector<Json> selectCases(const Options &options) {
  std::vector<Json> cases = readCases(options.cases);
  std::regex filter(options.filter);
  std::erase_if(cases, [&](const Json &one) {
    // A case that cannot be read has no fields to filter by.
    if (one.contains(kMalformed))
      return false;
    return (options.programsOnly && !one.contains("program")) ||
           !std::regex_search(one.at("category").get<std::string>() + "/" +
                                  one.at("name").get<std::string>(),
                              filter);
  });
  return cases;
}

/// A line a category, then the sum. Cases without a program are counted apart.
Count report(const std::vector<Json> &verdicts) {
  Count total;
  std::map<std::string, Count> categories;
  for (const Json &verdict : verdicts) {
    std::string category = verdict.at("category").get<std::string>();
    if (verdict.at("procedural").get<bool>())
      category += " (procedural)";
    for (Count *count : {&total, &categories[category]})
      ++(verdict.at("passed").get<bool>() ? count->passed : count->failed);
    for (const Json &reason : verdict.at("reasons"))
      fmt::print(stderr, "{}: {}\n", verdict.at("name").get<std::string>(),
                 reason.get<std::string>());
  }
  for (const auto &[category, count] : categories)
    fmt::print("{}: {}\n", category, text(count));
  fmt::print("{}\n", text(total));
  return total;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Executes the cases of a folder in all configurations, and "
               "compares with what they expect.",
               "lockstep-conformance");
  app.add_option("--cases", options.cases,
                 "folder with case files of format 'tfdist-neutral-1'")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option(
      "--filter", options.filter,
      "only cases whose CATEGORY/NAME matches this regular expression");
  app.add_flag("--programs", options.programsOnly, "only cases with a program");
  app.add_option("--jobs", options.jobs, "cases that are executed at a time")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json,
               "print everything that is known of each case, as JSON");
  app.add_flag("--print-ir", options.printIr, "print the modules of the cases");
  CLI11_PARSE(app, argc, argv);

  try {
    std::vector<Json> cases = selectCases(options);
    std::vector<Json> verdicts = runInChildren(
        cases.size(), options.jobs,
        [&](size_t index) { return runCase(cases[index], options.printIr); },
        [&](size_t index, const std::string &reason) {
          return failedCase(cases[index], reason);
        });
    if (options.printIr)
      for (const Json &verdict : verdicts)
        fmt::print("// {}\n{}\n", verdict.at("name").get<std::string>(),
                   verdict.value("ir", ""));
    if (options.json) {
      fmt::print("{}\n", Json{{"cases", verdicts}}.dump(2));
      return std::all_of(verdicts.begin(), verdicts.end(),
                         [](const Json &verdict) {
                           return verdict.at("passed").get<bool>();
                         })
                 ? 0
                 : 1;
    }
    return report(verdicts).failed == 0 ? 0 : 1;
  } catch (const std::exception &error) {
    fmt::print(stderr, "lockstep-conformance: error: {}\n", error.what());
    return 2;
  }
}
