//===- NcclReduction.h - reductions by the stand-in for NCCL ----*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_NCCLREDUCTION_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_NCCLREDUCTION_H

#include <cstddef>
#include <cstdint>
#include <string>

// Names of its functions have the visibility of the driver's.
#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

namespace lockstep::standin {

/// One rank's part of a reduction: each rank receives the operands of all
/// others, or of its part of the result, and reduces them from the last rank to
/// the first one, in the type of the elements. The product's own order is
/// another one.
struct NcclReduction {
  ncclDataType_t type{};
  ncclRedOp_t operation{};
  bool isScattered = false;
  /// Of the result of a rank.
  uint64_t count = 0;
  int size = 0, rank = 0;
  /// Addresses of the device.
  uint64_t operand = 0, result = 0;
  /// Where operands of other ranks arrive, in the order of their ranks.
  uint64_t received = 0;

  NcclReduction() = default;
  ~NcclReduction();
  NcclReduction(const NcclReduction &) = delete;
  NcclReduction &operator=(const NcclReduction &) = delete;

  /// Allocates `received` for the context. Returns what is wrong with the other
  /// fields; empty: nothing.
  std::string prepare(const void *context);
  uint64_t bytes() const;
  uint64_t operandBytes() const {
    return bytes() * uint64_t(isScattered ? size : 1);
  }
  /// What is sent to another rank, and where its operand arrives.
  uint64_t sent(int peer) const {
    return operand + (isScattered ? uint64_t(peer) * bytes() : 0);
  }
  uint64_t arrival(int peer) const {
    return received + uint64_t(peer) * bytes();
  }
  /// Reduces what has arrived.
  void compute() const;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_NCCLREDUCTION_H
