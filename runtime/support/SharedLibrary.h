//===- SharedLibrary.h - libraries loaded at run time -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_SHAREDLIBRARY_H
#define LOCKSTEP_RUNTIME_SUPPORT_SHAREDLIBRARY_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <string>

#include <dlfcn.h>

#include <fmt/format.h>

namespace lockstep::runtime {

/// Finds the functions of a library that has been opened.
class FunctionFinder {
public:
  /// `expected` begins the error if there is none: "expected NCCL 2.23.4 or
  /// newer, found a libnccl.so.2".
  FunctionFinder(void *library, std::string expected)
      : library(library), expected(std::move(expected)) {}

  template <typename Function>
  void find(const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(::dlsym(library, name));
    if (!function && missing.ok())
      missing = unsupported(fmt::format("{} without '{}'", expected, name));
  }

  /// Error: the first function that is missing.
  const Status &status() const { return missing; }

private:
  void *library;
  std::string expected;
  Status missing;
};

/// "2.23.4" of 22304, as NVIDIA's libraries count.
inline std::string dottedVersion(uint64_t version) {
  constexpr uint64_t majorUnit = 10000, minorUnit = 100;
  return fmt::format("{}.{}.{}", version / majorUnit,
                     version % majorUnit / minorUnit, version % minorUnit);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_SHAREDLIBRARY_H
