//===- Artifact.h - a loaded and verified artifact --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACT_H
#define LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACT_H

#include "runtime/artifact/artifact_generated.h"
#include "runtime/support/Memory.h"
#include "runtime/support/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// What readers accept at most and what the writer writes.
inline constexpr uint32_t artifactFormatVersion = 2;

/// Segments start at multiples of this, so that a file in page-aligned memory has its constants page-aligned.
inline constexpr uint64_t segmentAlignment = 4096;

struct VerifyOptions {
  /// Leaves out the rules of shared memory, so that tests can show that the race checker finds
  /// what they prevent. Never set outside of tests.
  bool allowSharedWritesAnywhere = false;
  bool allowSharedSubgroupResults = false;
  /// Loads programs of which nobody has proven that their ranks do not wait for each other for ever: to look at them, or to see them
  /// do it in tests.
  bool allowUnproven = false;
};

/// An artifact that has passed both verifications: an executor that follows it cannot leave its
/// memories. Immutable, may be used by several sessions and threads.
class Artifact {
public:
  /// Reads a file, which may be replaced or removed afterwards. Errors name the file: not readable, not an artifact, truncated, corrupted,
  /// too new, or contradicting itself.
  static Expected<std::shared_ptr<const Artifact>> open(const std::string &path, const VerifyOptions &options = {});
  /// Copies `bytes`; the same errors without a file name.
  static Expected<std::shared_ptr<const Artifact>> fromMemory(std::span<const std::byte> bytes, const VerifyOptions &options = {});

  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  /// The tables; valid as long as this object.
  const artifact::Artifact &tables() const { return *root; }
  /// The bytes of a segment; `index` must be in range.
  std::span<const std::byte> segment(uint32_t index) const;
  /// Source location "file.py:42" by index, or an empty string.
  std::string_view location(uint32_t index) const;
  /// SHA-256 of the file without the digest itself.
  std::span<const uint8_t, 32> digest() const;
  std::string digestHex() const;

private:
  explicit Artifact(Memory memory) : memory(std::move(memory)), bytes(this->memory.data(), this->memory.size()) {}
  /// Errors begin with `name`.
  static Expected<std::shared_ptr<const Artifact>> create(Memory memory, const VerifyOptions &options, const std::string &name);
  Status verify(const VerifyOptions &options);

  Memory memory;
  std::span<const std::byte> bytes;
  const artifact::Artifact *root = nullptr;
};

/// SHA-256 over `file` without the 32 bytes at `digestOffset`.
std::array<uint8_t, 32> artifactDigest(std::span<const std::byte> file, size_t digestOffset);

/// The second verification: meaning. The first one (structure) must have passed.
Status verifyArtifact(const artifact::Artifact &artifact, uint64_t fileSize, const VerifyOptions &options = {});

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACT_H
