//===- Error.h - errors of programs -----------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_ERROR_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_ERROR_H

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep::conformance::driver {

/// The front end rejects a program, as `tf.distribute`'s Python layer would, or
/// cannot express it in the dialect.
struct CaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Ends the case; `errorClass` is the neutral class, for example "E_CONTEXT".
template <typename... Args>
[[noreturn]] void refuse(std::string_view errorClass,
                         fmt::format_string<Args...> format, Args &&...args) {
  throw CaseError(fmt::format(
      "{} [{}]", fmt::format(format, std::forward<Args>(args)...), errorClass));
}

/// Ends the case because this program does not know something of the format.
template <typename... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> format,
                              Args &&...args) {
  throw CaseError(fmt::format(
      "unsupported: {}", fmt::format(format, std::forward<Args>(args)...)));
}

} // namespace lockstep::conformance::driver

#endif
