//===- Operands.h - operands of commands ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_OPERANDS_H
#define LOCKSTEP_RUNTIME_VERIFICATION_OPERANDS_H

#include <cstdint>
#include <vector>

namespace lockstep::runtime::verification {

struct Op;
struct Program;

/// Buffers and registers that a command names, in the slice or not.
struct Operands {
  std::vector<uint32_t> reads, writes, readRegisters, writtenRegisters;
  void collect(const Program &program, const Op &op);
};

/// The memory that the condition of a branch reads, or `none` if it compares
/// registers.
uint32_t conditionBuffer(const Program &program, const Op &op);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_OPERANDS_H
