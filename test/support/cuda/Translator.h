//===- Translator.h - PTX to LLVM IR ----------------------------*- C++ -*-===//
//
// Translates an entry and the functions that it calls to a module of LLVM IR,
// as text. Registers become allocas of integers, which LLVM promotes.
//
// Each access to memory is checked. Those to global memory compare with the
// allocation that the same instruction accessed last, and call the memory's
// table if they are elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_TRANSLATOR_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_TRANSLATOR_H

#include "Ptx.h"

#include <functional>

namespace lockstep::standin {

struct ParameterPlace {
  uint64_t offset = 0, bytes = 0;
};

struct KernelCode {
  std::string name;
  /// Defines `kernel`.
  std::string ir;
  std::vector<ParameterPlace> parameters;
  uint64_t parameterBytes = 0, sharedBytes = 0, localBytes = 0;
  uint32_t sites = 0;
  /// Threads wait for each other.
  bool hasBarriers = false;
  /// A thread whose check fails returns: the module has a record of that
  /// (runtime/artifact/GpuSymbols.h).
  bool hasChecks = false;
  uint64_t maxThreads = 0, requiredThreads = 0;
};

/// The device's addresses of the global and constant variables.
using VariableAddresses = std::map<std::string, uint64_t, std::less<>>;

/// Throws PtxError.
KernelCode translateKernel(const PtxModule &module, const Function &entry,
                           const VariableAddresses &addresses);

/// Functions in LLVM IR that every translation begins with.
const std::string &prelude();

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_TRANSLATOR_H
