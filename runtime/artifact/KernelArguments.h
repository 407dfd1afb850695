//===- KernelArguments.h - arguments of kernels -----------------*- C++ -*-===//
//
// The tables of an artifact declare the arguments of each kernel, and every
// launch is checked against the declaration. But the tables could differ from
// the code. So the compiler stores a hash of the declaration in the code, and
// the loader compares it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_KERNELARGUMENTS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_KERNELARGUMENTS_H

#include "runtime/schema/artifact_generated.h"

#include <cstdint>
#include <string_view>

namespace lockstep::runtime {

/// Suffix of a kernel's symbol in the name of the 64-bit constant that holds
/// the hash.
inline constexpr std::string_view argumentsSuffix = ".arguments";

/// The hash of `arguments` and a grid; never 0, which stands for undeclared
/// arguments.
uint64_t argumentsCode(const artifact::ArgumentsT &arguments, uint32_t grid);
/// The hash of a kernel in an artifact; 0 if its arguments are not declared.
uint64_t argumentsCode(const artifact::Kernel &kernel);

/// The number of dynamic dimensions of an argument. The list of them may be
/// absent, or empty, which means the same.
uint32_t countDynamicDimensions(const artifact::Arguments &arguments,
                                uint32_t argument);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_KERNELARGUMENTS_H
