//===- CollectivePlan.h - a start command, decoded --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H

#include "runtime/artifact/artifact_generated.h"
#include "runtime/collectives/ReduceKernels.h"
#include "runtime/support/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

inline constexpr unsigned spaceCount = unsigned(artifact::Space::MAX) + 1;

/// A position in one of a replica's memories; the address is `bases[space] + offset`.
struct Slice {
  uint64_t offset = 0;
  uint32_t space = 0;

  std::byte *in(std::byte *const *bases) const { return bases[space] + offset; }
};

/// Members of a bucket that lie side by side, operands and results alike, become one range.
struct ReduceRange {
  Slice operand, result;
  const ReduceFunctions *functions = nullptr;
  /// Elements of the result; the operand of a reduce_scatter has this many for each member.
  uint64_t elements = 0;
  /// Bytes of one element of the result: that of an operand, or of an accumulator, which is then not rounded.
  uint32_t resultSize = 0;
  uint64_t blockElements = 0;
  /// Index of its first tile; a tile is one block.
  int64_t firstTile = 0;
  /// The result is one for all members and in another memory than the operands, so that blocks
  /// can be reduced right where they belong.
  bool direct = false;
};

/// One operand of an all_gather (or broadcast, where only the first member's counts).
struct GatherOperand {
  Slice operand, result;
  uint64_t operandBytes = 0, resultBytes = 0;
  uint32_t elementSize = 0;
  int32_t axis = 0;
  /// Operand's shape; -1 is the value of `registers` at the same position.
  std::vector<int64_t> shape;
  std::vector<int32_t> registers;
  bool dynamic = false;
  /// The size of the result along `axis`; -1 if a register holds it.
  int64_t resultRows = -1;
  /// Where a member's dimensions begin in what it publishes at its start.
  uint32_t firstDimension = 0;
};

/// What members do together on one channel. Immutable.
struct CollectivePlan {
  artifact::CollectiveKind kind = artifact::CollectiveKind::barrier;
  artifact::Reduction reduction = artifact::Reduction::none;
  uint32_t channel = 0;
  /// Ranks that take part, ascending.
  std::vector<uint32_t> members;
  /// All replicas of the artifact are members.
  bool everybody = true;
  std::vector<ReduceRange> ranges;
  std::vector<GatherOperand> gathers;
  int64_t tiles = 0;
  /// Results are written once, not once a member.
  bool sharedResults = false;
  /// Operand bytes of one member, for reports.
  uint64_t bytes = 0;
  /// Dimensions that each member publishes (all_gather and dynamic operands).
  uint32_t publishedDimensions = 0;
  bool dynamic = false;

  /// Sets `members` and `everybody`.
  void setMembers(const artifact::Artifact &artifact, uint32_t group);
  bool isMember(uint32_t replica) const {
    return everybody || std::binary_search(members.begin(), members.end(), replica);
  }
};

/// Decodes a start that has been verified. Error: some results are shared and others are private.
Expected<CollectivePlan> planCollective(const artifact::Artifact &artifact,
                                        const artifact::Program &program,
                                        const artifact::Start &start);

/// Memories of the members, in the order of `CollectivePlan::members`.
using MemberBases = std::byte *const *const *;

/// Executes one tile. `dimensions` are those that the members have published, one row of
/// `publishedDimensions` for each; `scratch` has `collectiveScratchBytes` bytes.
void runCollectiveTile(const CollectivePlan &plan, MemberBases bases, const int64_t *dimensions,
                       int64_t tile, std::byte *scratch);

/// Bytes of scratch that one worker needs for collectives of up to `members` members.
uint64_t collectiveScratchBytes(uint32_t members);

/// Checks the published dimensions against the bounds of operands and results.
Status checkDimensions(const CollectivePlan &plan, const int64_t *dimensions);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H
