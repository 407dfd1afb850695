//===- Verifier.h - parts of the second verification ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_VERIFIER_H
#define LOCKSTEP_RUNTIME_ARTIFACT_VERIFIER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Tables.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::verify {

using artifact::count;

/// Upper bounds that keep all later sums and products of sizes far from
/// overflow.
inline constexpr uint64_t maxMemory = uint64_t(1) << 46;
inline constexpr uint32_t maxReplicas = 1 << 17;
inline constexpr uint32_t maxRegisters = 1 << 20;
inline constexpr uint64_t maxChannelStates = uint64_t(1) << 28;
inline constexpr uint32_t maxGrid = 0x7fffffff;
inline constexpr uint32_t maxDimensions = 64;

/// The context of a program's checks.
struct Context {
  const artifact::Artifact &artifact;
  const VerifyOptions &options;
  uint64_t constantSize = 0;
  /// The role of the program.
  RoleInfo role = {};
  /// The number of commands in all programs of this name, which share channels.
  uint64_t commandsOfName = 0;
};

/// The bytes of a memory as seen by one program.
uint64_t spaceSize(const Context &context, const artifact::Program &program,
                   artifact::Space space);

/// Space, range, type and registers of one buffer of `program`.
Status verifyBuffer(const Context &context, const artifact::Program &program,
                    const artifact::Buffer *buffer);

/// Whether `space` is a memory that no command may write.
bool isReadOnly(artifact::Space space);

/// Checks a type: known element, valid shape, static unless `allowDynamic`.
/// `bytes` receives the size of a static type.
Status verifyType(const artifact::TensorType *type, bool allowDynamic,
                  uint64_t *bytes);

/// Bindings, buffers, outputs and commands of one program, then its control
/// flow. `others` receives the indices of all commands except launches, which
/// are the majority, so that later checks need not traverse all commands again.
Status verifyProgram(const Context &context, const artifact::Program &program,
                     std::vector<uint32_t> &others);

/// Checks the launches of a program against the declared arguments of their
/// kernels: number, size and access of buffers, and registers. The kernels and
/// buffers that they name must exist.
class LaunchVerifier {
public:
  /// The buffers of `program` have been verified.
  LaunchVerifier(const Context &context, const artifact::Program &program);

  Status verify(const artifact::Launch &launch) const;
  /// A fast path for most launches. False if `verify` must check the launch.
  bool isSimple(const artifact::Launch &launch) const;

private:
  /// Bytes of a memory.
  struct Range {
    artifact::Space space;
    bool isDynamic;
    uint64_t begin, end;

    bool overlaps(const Range &other) const {
      return space == other.space && begin < other.end && other.begin < end;
    }
  };
  struct NumberedRange;
  /// The arguments of a kernel, if all of them are tensors of static size.
  struct Plain {
    const uint64_t *bytes = nullptr;
    uint32_t total = 0, reads = 0, registers = 0;
  };

  Status verifySize(const artifact::Kernel &kernel, uint32_t argument,
                    const artifact::Launch &launch, uint32_t &registers) const;
  Status verifyDisjoint(const artifact::Kernel &kernel,
                        const artifact::Launch &launch) const;

  const Context &context;
  const artifact::Program &program;
  /// The range of each buffer.
  std::vector<Range> ranges;
  /// By kernel; without `bytes` if the fast path does not apply.
  std::vector<Plain> kernels;
};

/// Operands, results, group and root of a collective, as declared in the
/// program's role.
Status verifyCollective(const Context &context,
                        const artifact::Program &program,
                        const artifact::Start &start);

/// Checks the channels shared by the programs of one name: all declare the same
/// collective, all members are present, and operands match results. `others`
/// are those of `verifyProgram`, for each program.
Status
verifySharedChannels(const artifact::Artifact &artifact,
                     const std::vector<const artifact::Program *> &programs,
                     const std::vector<std::vector<uint32_t>> &others);

/// Names, ranks and sizes of the roles.
Status verifyRoles(const artifact::Artifact &artifact);
/// Shards cover their variables.
Status verifyShards(const artifact::Artifact &artifact);

/// Branch targets, `once` sections and the order of starts and waits. `others`
/// as from `verifyProgram`.
Status verifyFlow(const Context &context, const artifact::Program &program,
                  const std::vector<uint32_t> &others);
/// The same, if `others` is not known.
Status verifyFlow(const Context &context, const artifact::Program &program);

/// "command 7 (train.py:42)".
std::string commandName(const Context &context,
                        const artifact::Program &program, uint32_t index);

/// The number of members of a group, and of those in one role. `group` must be
/// in range.
struct Membership {
  uint32_t members = 0, ofRole = 0;
  /// The root of a collective that has one.
  uint32_t root = 0;
  bool rootIsMember = true, rootInRole = false;
};
Membership membershipOf(const artifact::Artifact &artifact, uint32_t group,
                        int32_t root, const RankRange &role);

/// Elements that fit into a buffer. Operand and result of a reduction differ in
/// width if the result is not rounded.
uint64_t capacity(const artifact::Buffer *buffer);
/// Whether reductions of `type` accumulate in the wider `wide`.
bool isAccumulator(artifact::ElementType type, artifact::ElementType wide);

/// A named range of bytes, for `verifyDisjoint`.
struct NamedRange {
  uint64_t offset;
  uint64_t size;
  std::string_view name;
};
/// Error if two of `ranges` share a byte.
Status verifyDisjoint(std::vector<NamedRange> ranges, std::string_view what);

} // namespace lockstep::runtime::verify

#endif // LOCKSTEP_RUNTIME_ARTIFACT_VERIFIER_H
