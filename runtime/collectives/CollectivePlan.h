//===- CollectivePlan.h - a start command, decoded --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H
#define LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H

#include "runtime/artifact/artifact_generated.h"
#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/collectives/Moves.h"
#include "runtime/collectives/ReduceKernels.h"
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
struct Slice {
  uint64_t offset = 0;
  uint32_t space = 0;

  std::byte *in(std::byte *const *bases) const { return bases[space] + offset; }
};

/// Members of a bucket that lie side by side, operands and results alike,
/// become one range, if all replicas of the collective are here.
struct ReduceRange {
  Slice operand, result;
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
  /// The result is one for all members and in another memory than the operands,
  /// so that blocks can be reduced right where they belong.
  bool direct = false;
};

/// One operand of a collective that does not reduce; of a broadcast only the
/// root's counts, of a scatter these are the rows.
struct GatherOperand {
  Slice operand, result;
  /// Of a scatter: how many rows each of the other members gets, and bytes of a
  /// row.
  Slice counts;
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
  /// Where a member's dimensions begin in what it publishes at its start.
  uint32_t firstDimension = 0;
};

/// What members do together on one channel. Immutable.
struct CollectivePlan {
  artifact::CollectiveKind kind = artifact::CollectiveKind::barrier;
  artifact::Reduction reduction = artifact::Reduction::none;
  uint32_t channel = 0;
  /// Ranks that take part, ascending, and the positions among them of those
  /// that are in this session.
  std::vector<uint32_t> members;
  uint32_t firstLocal = 0, localCount = 0;
  /// All ranks of the session are members.
  bool everybody = true;
  /// Position of the rank that a broadcast or scatter gives from, and a reduce
  /// or gather gives to; and whether it contributes to these.
  uint32_t root = 0;
  bool rootContributes = true;
  /// Whether the members of this role have operands and results.
  bool hasOperands = false, hasResults = false;
  std::vector<ReduceRange> ranges;
  std::vector<GatherOperand> gathers;
  /// Of the kinds that are made of moves: those to members here, one tile each,
  /// and those from members here to members elsewhere.
  std::vector<Move> moves, given;
  int64_t tiles = 0;
  /// Results are written once, not once a member.
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
  /// Sets `members` and what follows from them for a session with the ranks
  /// `here`.
  void setMembers(const artifact::Artifact &artifact, uint32_t group,
                  const RankRange &here);
  /// Position of a rank among the members, or of the next one that is.
  uint32_t positionOf(uint32_t rank) const {
    return uint32_t(std::lower_bound(members.begin(), members.end(), rank) -
                    members.begin());
  }
  bool isMember(uint32_t rank) const {
    return everybody ||
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

/// Where a collective finds what it needs.
struct CollectiveMemory {
  MemberBases bases = nullptr;
  /// What the members have published, one row of `publishedDimensions` for
  /// each, those elsewhere included.
  int64_t *dimensions = nullptr;
  /// Operands of members elsewhere: `members` addresses for each of the plan's
  /// gathers, or the rows of moves. Null if all are here.
  const std::byte *const *remote = nullptr;
};

/// What carries out the copies of a collective that does not reduce.
class CopySink {
public:
  virtual ~CopySink() = default;
  virtual void copy(const RowCopy &rows) = 0;
  /// Sets bytes to 0.
  virtual void clear(std::byte *to, uint64_t bytes) = 0;
};

/// At once, in memory of the host.
class HostCopies final : public CopySink {
public:
  void copy(const RowCopy &rows) override;
  void clear(std::byte *to, uint64_t bytes) override;
};

/// What one tile of a collective copies that does not reduce. Of addresses it
/// knows nothing but bases and offsets: they may be those of a device.
void copyCollectiveTile(const CollectivePlan &plan,
                        const CollectiveMemory &memory, int64_t tile,
                        CopySink &sink);

/// Executes one tile of a collective whose members are all here, or whose
/// operands from elsewhere have arrived; then not of a reduction. `scratch` has
/// `collectiveScratchBytes` bytes.
void runCollectiveTile(const CollectivePlan &plan,
                       const CollectiveMemory &memory, int64_t tile,
                       std::byte *scratch);

/// Bytes of scratch that one worker needs for collectives of up to `members`
/// members.
uint64_t collectiveScratchBytes(uint32_t members);

/// Reads the counts of a scatter whose root is here into the dimensions of the
/// other members.
void readCounts(const CollectivePlan &plan, const CollectiveMemory &memory);
/// The same where `counts` are elsewhere.
void setCounts(const CollectivePlan &plan, const CollectiveMemory &memory,
               const std::byte *counts);

/// Bytes of what a member gives, as its published dimensions stand. Error: they
/// break the bound. `row` are those of the member.
Expected<uint64_t> operandBytes(const CollectivePlan &plan,
                                const GatherOperand &gather, const int64_t *row,
                                uint32_t member);

/// Checks the published dimensions of all members, as far as they matter here,
/// against the bounds of operands and results.
Status checkDimensions(const CollectivePlan &plan, const int64_t *dimensions);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_COLLECTIVES_COLLECTIVEPLAN_H
