//===- Artifact.h - a loaded and verified artifact --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACT_H
#define LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACT_H

#include "runtime/artifact/Keys.h"
#include "runtime/schema/artifact_generated.h"
#include "runtime/support/Memory.h"
#include "runtime/support/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// The latest version that readers accept, and the version that the writer
/// writes.
inline constexpr uint32_t artifactFormatVersion = 3;

/// Segments start at multiples of this, a cache line and the widest vector.
/// Those of a page or more start at multiples of a page, so that they are
/// page-aligned if the file is; smaller ones, such as most initial values, do
/// not take a page each.
inline constexpr uint64_t segmentAlignment = 64;
inline constexpr uint64_t largeSegmentAlignment = 4096;

struct VerifyOptions {
  /// Disables the rules of shared memory, so that tests can show that the race
  /// checker finds the races that they prevent. Never set outside of tests.
  bool allowSharedWritesAnywhere = false;
  bool allowSharedSubgroupResults = false;
  /// Loads programs that have not been proven free of deadlock, for inspection,
  /// or to observe deadlocks in tests.
  bool allowUnproven = false;
  /// Loads only artifacts signed by one of these keys. Without it, a signature
  /// is optional: if present it must be valid, but the key may be any.
  std::optional<std::vector<PublicKey>> trustedKeys = std::nullopt;
};

/// An artifact that has passed both verifications: an executor that follows it
/// accesses only its memories. Its kernels are native code, which is not
/// verified: loading an artifact means trusting its author. Immutable, may be
/// used by several sessions and threads.
class Artifact {
public:
  /// Reads a file, which may be replaced or removed afterwards. Errors name the
  /// file: not readable, not an artifact, not signed by a trusted key,
  /// truncated, corrupted, too new, or inconsistent.
  static Expected<std::shared_ptr<const Artifact>>
  open(const std::string &path, const VerifyOptions &options = {});
  /// Copies `bytes`; the same errors without a file name.
  static Expected<std::shared_ptr<const Artifact>>
  fromMemory(std::span<const std::byte> bytes,
             const VerifyOptions &options = {});

  Artifact(const Artifact &) = delete;
  Artifact &operator=(const Artifact &) = delete;

  /// The tables; valid as long as this object.
  const artifact::Artifact &tables() const { return *root; }
  /// The bytes of a segment; `index` must be in range.
  std::span<const std::byte> segment(uint32_t index) const;
  /// Source location "file.py:42" by index, or an empty string.
  std::string_view location(uint32_t index) const;
  /// The whole file without its signature.
  std::span<const std::byte> content() const { return bytes; }
  /// The key of a valid signature, if there is one. Whether the key is trusted
  /// depends on `VerifyOptions`.
  const std::optional<PublicKey> &signer() const { return signedBy; }
  /// SHA-256 of the content without the digest itself.
  std::span<const uint8_t, 32> digest() const;
  std::string digestHex() const;

private:
  explicit Artifact(Memory memory) : memory(std::move(memory)) {}
  /// Errors begin with `name`.
  static Expected<std::shared_ptr<const Artifact>>
  create(Memory memory, const VerifyOptions &options, const std::string &name);
  Status verify(const VerifyOptions &options);

  /// The file, and its bytes without the signature.
  Memory memory;
  std::span<const std::byte> bytes;
  std::optional<PublicKey> signedBy;
  const artifact::Artifact *root = nullptr;
};

/// SHA-256 over `file` without the 32 bytes at `digestOffset`.
std::array<uint8_t, 32> artifactDigest(std::span<const std::byte> file,
                                       size_t digestOffset);

/// The second verification: semantics. The first one (structure) must have
/// passed.
Status verifyArtifact(const artifact::Artifact &artifact, uint64_t fileSize,
                      const VerifyOptions &options = {});

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACT_H
