//===- CollectivePlan.h - a start command, decoded --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H

#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/collectives/Moves.h"
#include "runtime/collectives/ReduceKernels.h"
#include "runtime/schema/artifact_generated.h"
#include "runtime/support/RankRange.h"
#include "runtime/support/RowCopy.h"
#include "runtime/support/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

inline constexpr unsigned spaceCount = unsigned(artifact::Space::MAX) + 1;

/// A position in one of a replica's memories; the address is `bases[space] +
/// offset`.
struct Address {
  uint64_t offset = 0;
  uint32_t space = 0;

  std::byte *in(std::byte *const *bases) const { return bases[space] + offset; }
};

/// Elements reduced with the same functions. Operands of a bucket that are
/// contiguous, with contiguous results, form one range, if all members have the
/// same role.
struct ReduceRange {
  Address operand, result;
  artifact::ElementType element{};
  const ReduceFunctions *functions = nullptr;
  /// Elements of the result; the operand of a reduce_scatter has this many for
  /// each member.
  uint64_t elements = 0;
  /// Bytes of one element of the result: that of an operand, or of an
  /// accumulator, which is then not rounded.
  uint32_t resultSize = 0;
  uint64_t blockElements = 0;
  /// Index of its first tile; a tile is one block.
  int64_t firstTile = 0;
  /// All members share the result, which does not alias operands, so that
  /// blocks can be reduced in place of the result.
  bool direct = false;
};

/// One operand of a collective that does not reduce; a broadcast has only the
/// root's; of a scatter these are the rows.
struct GatherOperand {
  Address operand, result;
  /// Of a scatter: the number of rows for each other member, and bytes of a
  /// row.
  Address counts;
  uint64_t rowBytes = 0;
  uint64_t operandBytes = 0, resultBytes = 0;
  uint32_t elementSize = 0;
  int32_t axis = 0;
  /// Operand's shape; -1 is the value of `registers` at the same position. Of a
  /// scatter only the first dimension.
  std::vector<int64_t> shape;
  std::vector<int32_t> registers;
  bool dynamic = false;
  /// The size of the result along `axis`; -1 if a register holds it.
  int64_t resultRows = -1;
  /// Index of the first of these dimensions among those that a member publishes
  /// at its start.
  uint32_t firstDimension = 0;
};

/// The collective or barrier of one channel. Immutable.
struct CollectivePlan {
  artifact::CollectiveKind kind = artifact::CollectiveKind::barrier;
  artifact::Reduction reduction = artifact::Reduction::none;
  uint32_t channel = 0;
  /// Ranks that take part, ascending, and the positions among them of those
  /// that are in this session.
  std::vector<uint32_t> members;
  uint32_t firstLocal = 0, localCount = 0;
  /// All ranks of the session are members.
  bool allAreMembers = true;
  /// All members execute the same program, and so have the same operands and
  /// results at the same offsets.
  bool isOneRole = true;
  /// Position of the root: the source of a broadcast or scatter, the
  /// destination of a reduce or gather; and whether it contributes to the
  /// latter.
  uint32_t root = 0;
  bool rootContributes = true;
  /// Whether the members of this role have operands and results.
  bool hasOperands = false, hasResults = false;
  std::vector<ReduceRange> ranges;
  std::vector<GatherOperand> gathers;
  /// For kinds that consist of moves: moves to local members, one tile each,
  /// and moves from local members to other executors.
  std::vector<Move> moves, sends;
  int64_t tiles = 0;
  /// Results are written once, not once for each member.
  bool sharedResults = false;
  /// Operand bytes of one member, for reports.
  uint64_t bytes = 0;
  /// Dimensions that each member publishes (gathers, dynamic operands); of a
  /// scatter, the rows of each member.
  uint32_t publishedDimensions = 0;
  bool dynamic = false;

  const CollectiveProperties &properties() const {
    return CollectiveProperties::of(kind);
  }
  /// Sets `members` and the fields that depend on them, for a session with the
  /// ranks `here`.
  void setMembers(const artifact::Artifact &artifact, uint32_t group,
                  const RankRange &here);
  /// Position of a rank among the members, or of the next one that is.
  uint32_t positionOf(uint32_t rank) const {
    return uint32_t(std::lower_bound(members.begin(), members.end(), rank) -
                    members.begin());
  }
  bool isMember(uint32_t rank) const {
    return allAreMembers ||
           std::binary_search(members.begin(), members.end(), rank);
  }
  /// All members are in this session.
  bool isLocal() const { return localCount == members.size(); }
  bool isLocal(uint32_t position) const {
    return position - firstLocal < localCount;
  }
  /// Whether a member has an operand in a reduction or gather.
  bool contributes(uint32_t position) const {
    return rootContributes || position != root;
  }
};

/// Decodes a start that has been verified, for a session with the ranks `here`.
/// Error: some results are shared and others are private.
Expected<CollectivePlan> planCollective(const artifact::Artifact &artifact,
                                        const artifact::Program &program,
                                        const artifact::Start &start,
                                        const RankRange &here);

/// Memories of the members of this session, in the order of
/// `CollectivePlan::members`.
using MemberBases = std::byte *const *const *;

/// The memory that a collective accesses.
struct CollectiveMemory {
  MemberBases bases = nullptr;
  /// Published dimensions of all members, one row of `publishedDimensions` for
  /// each.
  int64_t *dimensions = nullptr;
  /// Operands of members in other executors: `members` addresses for each of
  /// the plan's gathers, or the rows of moves. Null if all members are local.
  const std::byte *const *remote = nullptr;
};

/// Executes the copies of a collective that does not reduce.
class CopySink {
public:
  virtual ~CopySink() = default;
  virtual void copy(const RowCopy &rows) = 0;
  /// Sets bytes to 0.
  virtual void clear(std::byte *to, uint64_t bytes) = 0;
};

/// Executes copies immediately, in host memory.
class HostCopies final : public CopySink {
public:
  void copy(const RowCopy &rows) override;
  void clear(std::byte *to, uint64_t bytes) override;
};

/// Issues the copies of one tile of a collective that does not reduce.
/// Addresses are only computed, never dereferenced, so they may be those of a
/// device.
void copyCollectiveTile(const CollectivePlan &plan,
                        const CollectiveMemory &memory, int64_t tile,
                        CopySink &sink);

/// Executes one tile of a collective whose members are all local, or, except
/// for reductions, whose remote operands have arrived. `scratch` has
/// `collectiveScratchBytes` bytes.
void runCollectiveTile(const CollectivePlan &plan,
                       const CollectiveMemory &memory, int64_t tile,
                       std::byte *scratch);

/// Bytes of scratch that one worker needs for collectives of up to `members`
/// members.
uint64_t collectiveScratchBytes(uint32_t members);

/// Reads the counts of a scatter with a local root into the dimensions of the
/// other members.
void readCounts(const CollectivePlan &plan, const CollectiveMemory &memory);
/// The same with counts at `counts`.
void setCounts(const CollectivePlan &plan, const CollectiveMemory &memory,
               const std::byte *counts);

/// Bytes of a member's operand, from its published dimensions `row`. Error:
/// they exceed the bound.
Expected<uint64_t> operandBytes(const CollectivePlan &plan,
                                const GatherOperand &gather, const int64_t *row,
                                uint32_t member);

/// Checks the published dimensions of all members, as far as they affect local
/// members, against the bounds of operands and results.
Status checkDimensions(const CollectivePlan &plan, const int64_t *dimensions);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H
