//===- ArtifactWriter.h - assembles an artifact -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACTWRITER_H
#define LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACTWRITER_H

#include "runtime/schema/artifact_generated.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// Lays out one artifact: tables first, then the segments at multiples of
/// `segmentAlignment`. The writer alone sets `format_version`, `file_size`,
/// `segments` and `digest`; everything else is set by the caller in `tables`.
/// The output is deterministic. The semantics are verified only when the
/// artifact is loaded.
class ArtifactWriter {
public:
  /// The contents, in the object API of FlatBuffers.
  artifact::ArtifactT tables;

  /// Adds the bytes of a segment and returns its index, for `Binary.segment`,
  /// `Artifact.constants` or `Variable.initial`.
  uint32_t addSegment(std::vector<std::byte> bytes);
  uint32_t addSegment(std::span<const std::byte> bytes) {
    return addSegment(std::vector<std::byte>(bytes.begin(), bytes.end()));
  }

  /// The whole file, without a signature. Errors: the tables exceed 2 GiB; the
  /// last segment ends in bytes that look like a signature.
  Expected<std::vector<std::byte>> finish();

  /// Writes `finish()` to a file beside `path` and renames it, so that readers
  /// never see an incomplete file.
  Status writeFile(const std::string &path);

private:
  std::vector<std::vector<std::byte>> segments;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_ARTIFACTWRITER_H
