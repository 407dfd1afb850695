//===- KernelArguments.h - what launches give to a kernel -------*- C++ -*-===//
//
// The tables of an artifact say what each kernel takes, and every launch is
// checked against that. But the tables could be wrong about the code. So the
// compiler puts a number that stands for the tables into the code, and whoever
// loads the code compares.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_KERNELARGUMENTS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_KERNELARGUMENTS_H

#include "runtime/artifact/artifact_generated.h"

#include <cstdint>
#include <string_view>

namespace lockstep::runtime {

/// What follows the symbol of a kernel in the name of the constant (64 bits) in
/// its code.
inline constexpr std::string_view argumentsSuffix = ".arguments";

/// The number that stands for `arguments` and a grid; never 0, which stands for
/// code that takes any.
uint64_t argumentsCode(const artifact::ArgumentsT &arguments, uint32_t grid);
/// Of a kernel in an artifact; 0 if it does not say what it takes.
uint64_t argumentsCode(const artifact::Kernel &kernel);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_KERNELARGUMENTS_H
