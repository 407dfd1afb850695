//===- Numbers.h - numbers on command lines ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_NUMBERS_H
#define LOCKSTEP_TOOLS_SUPPORT_NUMBERS_H

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace lockstep::tools {

/// The error of a number on a command line; empty if it is decimal, without
/// leading zeros, and from `least` to `most`.
std::string checkNumber(std::string_view text, int64_t least, uint64_t most);

/// The error of a real number on a command line; empty if it is positive, or 0
/// if `mayBeZero`, and at most `most`.
std::string checkReal(std::string_view text, bool mayBeZero, double most);

/// A check of CLI11 for an option of type `T`.
template <typename T>
std::function<std::string(const std::string &)> atLeast(T least) {
  return [=](const std::string &text) {
    return checkNumber(text, static_cast<int64_t>(least),
                       static_cast<uint64_t>(std::numeric_limits<T>::max()));
  };
}

/// Converts a usage error of CLI11 to the style of this project, with a
/// reference to the help.
std::string describeUsageError(std::string message);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_NUMBERS_H
