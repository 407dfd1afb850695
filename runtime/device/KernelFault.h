//===- KernelFault.h - checks of kernels that have failed -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_KERNELFAULT_H
#define LOCKSTEP_RUNTIME_DEVICE_KERNELFAULT_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// The error (out of range) of a check: its text, in which `{value}` and
/// `{bound}` are placeholders.
inline Status kernelFault(std::string text, int64_t value, int64_t bound) {
  auto replace = [&](std::string_view name, int64_t number) {
    if (size_t at = text.find(name); at != std::string::npos)
      text.replace(at, name.size(), std::to_string(number));
  };
  replace("{value}", value);
  replace("{bound}", bound);
  return {StatusCode::outOfRange, text};
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_KERNELFAULT_H
