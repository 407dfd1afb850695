//===- ProceduralMain.cpp - runs the procedural cases of files ------------===//
//
//   lockstep-conformance-procedural FILE.json ...
//
// Prints failures with reasons, and finally "N passed, N failed, N without a
// handler".
//
//===----------------------------------------------------------------------===//

#include "ProceduralCases.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fstream>

using namespace lockstep::conformance;

int main(int argc, char **argv) {
  CLI::App app("Executes the procedural cases of files, and says which of them "
               "fail and why.",
               "lockstep-conformance-procedural");
  std::vector<std::string> paths;
  app.add_option("file", paths, "files with cases of format 'tfdist-neutral-1'")
      ->required()
      ->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);

  unsigned passed = 0, failed = 0, unknown = 0;
  for (const std::string &path : paths) {
    std::ifstream file(path);
    json content = json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!content.is_object() || !content.contains("cases")) {
      fmt::print(stderr,
                 "lockstep-conformance-procedural: error: '{}': expected a "
                 "file of cases\n",
                 path);
      return 2;
    }
    for (const json &testCase : content["cases"]) {
      if (testCase.contains("program"))
        continue;
      if (!findProcedural(testCase.value("op", ""))) {
        ++unknown;
        continue;
      }
      Status status = runProcedural(testCase);
      ++(status.ok() ? passed : failed);
      if (!status.ok())
        fmt::print("{}: {}\n", testCase.value("name", "?"), status.message());
    }
  }
  fmt::print("{} passed, {} failed, {} without a handler\n", passed, failed,
             unknown);
  return failed == 0 ? 0 : 1;
}
