//===- GpuSymbols.h - names in the code for GPUs ----------------*- C++ -*-===//
//
// What the compiler writes into PTX for a kernel with the symbol S, and the
// loader looks up:
//
//   S$0, S$1, ...  functions, launched one after the other. Their parameters
//                  are the addresses of all buffers, then all scalars (i64).
//   S$launches     for each function, the number of blocks and of threads of a
//                  block (i64)
//   S$arguments    the hash of the kernel's arguments (KernelArguments.h, i64)
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUSYMBOLS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUSYMBOLS_H

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// The name of a kernel with the characters that PTX allows: any other is
/// written as `$` and two hexadecimal digits.
inline std::string gpuSymbol(std::string_view kernel) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string symbol;
  for (unsigned char c : kernel) {
    bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   (c >= '0' && c <= '9') || c == '_';
    if (isPlain)
      symbol += static_cast<char>(c);
    else
      symbol += {'$', digits[c >> 4], digits[c & 15]};
  }
  return symbol;
}

inline constexpr std::string_view gpuLaunchesSuffix = "$launches";
inline constexpr std::string_view gpuArgumentsSuffix = "$arguments";

/// The function of a phase of the kernel with this symbol.
inline std::string gpuPhaseSymbol(std::string_view symbol, size_t phase) {
  return std::string(symbol) + "$" + std::to_string(phase);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUSYMBOLS_H
