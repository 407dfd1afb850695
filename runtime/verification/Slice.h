//===- Slice.h - values that decide paths -----------------------*- C++ -*-===//
//
// Most values of a step do not affect branches. The slice is the rest:
// registers and bytes of memory from which the condition of a non-local branch
// may be computed, through launches, copies, collectives (then also on the
// sending ranks) and local branches. A step without such branches has an empty
// slice, and no cost.
//
// Memory is split into atoms at the boundaries of buffers, since buffers
// overlap: members of a bucket are inside of it, and the memory plan assigns
// the same bytes to different values.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_SLICE_H
#define LOCKSTEP_RUNTIME_VERIFICATION_SLICE_H

#include "runtime/schema/artifact_generated.h"
#include "runtime/verification/Verification.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace lockstep::runtime::verification {

struct Model;
struct Op;
struct Program;

/// A register or atom of the slice; slots are numbered registers first, then
/// atoms by space and offset.
struct Slot {
  bool isRegister = false;
  artifact::Space space{};
  uint64_t offset = 0, size = 0;
};

struct SlotRange {
  uint32_t first = 0, count = 0;
};

using Bits = std::vector<uint64_t>;
inline bool test(const Bits &bits, uint32_t i) {
  return bits[i / 64] >> (i % 64) & 1;
}
inline void set(Bits &bits, uint32_t i) {
  bits[i / 64] |= uint64_t(1) << (i % 64);
}
inline void reset(Bits &bits, uint32_t i) {
  bits[i / 64] &= ~(uint64_t(1) << (i % 64));
}

struct Slice {
  std::vector<Slot> slots;
  /// Register -> its slot, or `none`.
  std::vector<uint32_t> registerSlots;
  /// Buffer -> its atoms.
  std::vector<SlotRange> bufferSlots;
  /// Whether a launch or copy writes into the slice.
  std::vector<bool> relevant;
  /// Branch -> slots that its sides may write; for local branches.
  std::vector<std::vector<uint32_t>> regionWrites;
  /// By `Op::branch` of the last op of a once section, which one replica
  /// executes for its process: slots that only this replica has written.
  std::vector<std::vector<uint32_t>> sectionWrites;

  bool empty() const { return slots.empty(); }
  /// Whether an op is a launch or copy that does not write into the slice, as
  /// most are.
  bool skips(const Op &op, uint32_t index) const;
};

/// Fills the slices of all programs together, since the result of a collective
/// depends on other programs.
void findSlices(Model &model, ProofRule brokenRule = ProofRule::none);

/// Whether other workers may have changed variables when the program continues
/// after `op`.
bool changesVariables(const Model &model, const Program &program, const Op &op);

/// Calls `read` and `write` with the slots that an op reads, then those that it
/// writes.
void visitSlots(const Model &model, const Program &program, const Op &op,
                const std::function<void(uint32_t)> &read,
                const std::function<void(uint32_t)> &write);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_SLICE_H
