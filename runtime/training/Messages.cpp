//===- Messages.cpp -------------------------------------------------------===//

#include "runtime/training/Messages.h"

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

namespace lockstep::training {

/// "process 2:", if there are several.
static std::string ownName;
static bool isFirst = true;

void setProcess(unsigned index, unsigned count) {
  ownName = count > 1 ? fmt::format("process {}:", index) : "";
  isFirst = index == 0;
}

void printError(const std::string &message) {
  printOwnNote("error: " + message);
}

void printNote(const std::string &message) {
  if (isFirst)
    fmt::print(stderr, "{}: {}\n", program_invocation_short_name, message);
}

void printOwnNote(const std::string &message) {
  fmt::print(stderr, "{}: {}{}{}\n", program_invocation_short_name, ownName,
             ownName.empty() ? "" : " ", message);
}

void printReport(const std::string &text) {
  fmt::print(stderr, "\n{}{}{}\n", ownName, ownName.empty() ? "" : "\n", text);
}

} // namespace lockstep::training
