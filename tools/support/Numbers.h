//===- Numbers.h - numbers on command lines ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_NUMBERS_H
#define LOCKSTEP_TOOLS_SUPPORT_NUMBERS_H

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace lockstep::tools {

/// What is wrong with a decimal number; empty if it is from `least` to `most`, or no decimal number, which the parser of options sees to.
std::string checkNumber(const std::string &text, uint64_t least, uint64_t most);

/// A check of CLI11 for an option of type `T`.
template <typename T> std::function<std::string(const std::string &)> atLeast(T least) {
  return [=](const std::string &text) {
    return checkNumber(text, static_cast<uint64_t>(least), static_cast<uint64_t>(std::numeric_limits<T>::max()));
  };
}

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_NUMBERS_H
