//===- Verifier.h - parts of the second verification ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_VERIFIER_H
#define LOCKSTEP_RUNTIME_ARTIFACT_VERIFIER_H

#include "runtime/artifact/Artifact.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::verify {

/// Elements of a vector that may be absent.
template <typename Vector> uint32_t count(const Vector *vector) {
  return vector ? vector->size() : 0;
}

/// Upper bounds that keep all later sums and products of sizes far from overflow.
inline constexpr uint64_t maxMemory = uint64_t(1) << 46;
inline constexpr uint32_t maxReplicas = 1 << 17;
inline constexpr uint32_t maxRegisters = 1 << 20;
inline constexpr uint64_t maxChannelStates = uint64_t(1) << 28;
inline constexpr uint32_t maxGrid = 0x7fffffff;
inline constexpr uint32_t maxDimensions = 64;

/// What the checks of a program need to know about the rest of the artifact.
struct Context {
  const artifact::Artifact &artifact;
  const VerifyOptions &options;
  uint64_t constantSize = 0;
};

/// The bytes of a memory as seen by one program.
uint64_t spaceSize(const Context &context, const artifact::Program &program,
                   artifact::Space space);

/// Space, range, type and registers of one buffer of `program`.
Status verifyBuffer(const Context &context, const artifact::Program &program,
                    const artifact::Buffer *buffer);

/// Whether `space` is a memory that no command may write.
bool isReadOnly(artifact::Space space);

/// A type that is the whole of something: element known, shape sane, static unless
/// `allowDynamic`. `bytes` receives the size of a static type.
Status verifyType(const artifact::TensorType *type, bool allowDynamic, uint64_t *bytes);

/// Bindings, buffers, outputs and commands of one program, then its control flow.
Status verifyProgram(const Context &context, const artifact::Program &program);

/// Operands, results and group of a collective; `n` is the number of its members.
Status verifyCollective(const Context &context, const artifact::Program &program,
                        const artifact::Start &start);

/// Branch targets, `once` sections and the order of starts and waits.
Status verifyFlow(const Context &context, const artifact::Program &program);

/// "command 7 (train.py:42)".
std::string commandName(const Context &context, const artifact::Program &program, uint32_t index);

/// Number of members of a group; `group` must be in range.
uint32_t groupSize(const artifact::Artifact &artifact, uint32_t group);

/// A named range of bytes, to find two that overlap.
struct NamedRange {
  uint64_t offset;
  uint64_t size;
  std::string_view name;
};
/// Error if two of `ranges` share a byte.
Status verifyDisjoint(std::vector<NamedRange> ranges, std::string_view what);

} // namespace lockstep::runtime::verify

#endif // LOCKSTEP_RUNTIME_ARTIFACT_VERIFIER_H
