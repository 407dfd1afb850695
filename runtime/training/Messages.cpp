//===- Messages.cpp -------------------------------------------------------===//

#include "runtime/training/Messages.h"

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

namespace lockstep::training {

void printError(const std::string &message) {
  fmt::print(stderr, "{}: error: {}\n", program_invocation_short_name, message);
}

void printNote(const std::string &message) {
  fmt::print(stderr, "{}: {}\n", program_invocation_short_name, message);
}

} // namespace lockstep::training
