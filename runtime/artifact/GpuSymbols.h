//===- GpuSymbols.h - names in kernel images of GPUs ------------*- C++ -*-===//
//
// The code of a kernel is a sequence of phases, grids of blocks that execute
// one after the other. For a kernel SYM, an image defines
//
//   SYM$0, SYM$1, ...  functions, one for each phase. Parameters: the addresses
//                      of all buffers of a launch, then its scalars, 64 bits
//                      each.
//   SYM$launches       pairs of i64, one for each phase: the number of blocks,
//                      and of threads in each. A phase of 0 blocks has no
//                      function, and is left out. One of `gpuLibraryBlocks`
//                      has none either: a library computes it
//                      (GpuAttention.h).
//   SYM$arguments      i64: `argumentsCode` (KernelArguments.h)
//
// An image with checks of accesses or assertions also defines
//
//   lockstep_fault     four i64. 0 and three unused ones; or, if a check has
//                      failed, 1 and, of the first one, the number of its text
//                      and the two numbers for the placeholders `{value}` and
//                      `{bound}` in it
//   lockstep_check_1, lockstep_check_2, ...
//                      texts that end with a zero
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_GPUSYMBOLS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_GPUSYMBOLS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::runtime {

inline constexpr std::string_view gpuArgumentsSuffix = "$arguments";
inline constexpr std::string_view gpuLaunchesSuffix = "$launches";

inline constexpr std::string_view gpuFaultSymbol = "lockstep_fault";

/// The text of this number.
inline std::string gpuTextSymbol(uint64_t number) {
  return "lockstep_check_" + std::to_string(number);
}

/// The number of blocks of a phase for which there is no code.
inline constexpr int64_t gpuLibraryBlocks = -1;

/// The symbol of a kernel in an image: identifiers of PTX have letters, digits,
/// `_` and `$` alone, so that any other character is written as `$` and its
/// code as two hexadecimal digits in upper case. Different names have different
/// symbols.
inline std::string gpuSymbol(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string symbol;
  for (char c : name) {
    bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   (c >= '0' && c <= '9') || c == '_';
    if (isPlain) {
      symbol += c;
      continue;
    }
    auto code = static_cast<unsigned char>(c);
    symbol += '$';
    symbol += digits[code >> 4];
    symbol += digits[code & 15];
  }
  return symbol;
}

/// The function of one phase of the kernel with this symbol.
inline std::string gpuPhaseSymbol(std::string_view symbol, uint32_t phase) {
  return std::string(symbol) + "$" + std::to_string(phase);
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_GPUSYMBOLS_H
