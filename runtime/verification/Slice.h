//===- Slice.h - values that decide paths -----------------------*- C++ -*-===//
//
// The slice of a program, as in program slicing, consists of the registers and
// bytes of memory that the condition of a non-local branch may depend on:
// through launches, copies, collectives (whose operands are then in the slices
// of the sending ranks' programs) and local branches. A branch is local if no
// exchange with other ranks takes place before its sides join (Flow.h). Most
// values are not in the slice; without non-local branches it is empty.
//
// Memory is split into atoms at the bounds of buffers, because buffers overlap:
// a bucket contains the buffers of its members, and the memory plan assigns the
// same bytes to different values.
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

/// A register or an atom in the slice. Slots are numbered: first the registers,
/// then the atoms by space and offset.
struct Slot {
  bool isRegister = false;
  /// Of an atom; offset and size are in bytes.
  artifact::Space space{};
  uint64_t offset = 0, size = 0;
};

/// The slots first, ..., first + count - 1.
struct SlotRange {
  uint32_t first = 0, count = 0;
};

/// A set of slots, one bit for each.
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
  /// For each register, its slot, or `none` (~0u) if it is not in the slice.
  std::vector<uint32_t> registerSlots;
  /// For each buffer, its atoms; no slots if it is not in the slice.
  std::vector<SlotRange> bufferSlots;
  /// For each op that is a launch or a copy, whether it writes into the slice.
  std::vector<bool> relevant;
  /// For each local branch, the slots that its sides may write; by index in
  /// `Flow::branches`.
  std::vector<std::vector<uint32_t>> regionWrites;
  /// For each once section, the registers and private memory that it writes.
  /// One replica executes the section for all replicas of its process, so the
  /// others do not have these values. By `Op::branch` of the section's last op.
  std::vector<std::vector<uint32_t>> sectionWrites;

  bool empty() const { return slots.empty(); }
  /// Whether `op`, which has this index in its program, is a launch or a copy
  /// that does not write into the slice. Most are.
  bool skips(const Op &op, uint32_t index) const;
};

/// Computes the slices of all programs of `model` together, since the result of
/// a collective depends on other programs. Also sets
/// `Channel::carriesDecisions`, and replaces each local branch that writes no
/// slot by a jump to the op at which its sides join. `brokenRule` disables a
/// rule of the proof in tests.
void findSlices(Model &model, ProofRule brokenRule = ProofRule::none);

/// Whether other workers may have changed the variables of `program` by the
/// time it continues after `op`.
bool changesVariables(const Model &model, const Program &program, const Op &op);

/// Calls `read` with the slots that an op reads and then `write` with those
/// that it writes. Before, calls `write` with the slots that change without
/// being operands: the inputs at `next`, and variables if `changesVariables`.
void visitSlots(const Model &model, const Program &program, const Op &op,
                const std::function<void(uint32_t)> &read,
                const std::function<void(uint32_t)> &write);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_SLICE_H
