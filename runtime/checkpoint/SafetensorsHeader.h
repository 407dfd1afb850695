//===- SafetensorsHeader.h - the header of a safetensors file ---*- C++ -*-===//
//
// Format: https://huggingface.co/docs/safetensors. A file is
//
//   u64 header size | header | data
//
// where the header is a JSON object from names to {"dtype": "F32", "shape": [2,
// 3], "data_offsets": [begin, end]}, offsets counted from the begin of the
// data, and "__metadata__" is an object from strings to strings.
//
// The optional metadata "sha256" is the SHA-256 of all bytes of the file in
// hexadecimal, computed with 64 zeros in its place.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H

#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// Larger headers are rejected, as by the reference implementation.
inline constexpr uint64_t maximalSafetensorsHeader = 100'000'000;

/// Bytes of the file before the header.
inline constexpr uint64_t safetensorsPrefix = 8;

struct SafetensorsEntry {
  std::string name;
  TensorInfo type;
  /// Offset of the tensor's `type.bytes` bytes from the begin of the file.
  uint64_t offset = 0;
};

struct SafetensorsHeader {
  /// In the order of their offsets.
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads and checks the header of a whole file: no duplicate keys, known types,
/// sizes that fit shapes, and tensors that cover the data without holes or
/// overlaps. Errors do not name the file.
Expected<SafetensorsHeader>
parseSafetensorsHeader(std::span<const std::byte> file);

/// The key of the digest in the metadata, and its placeholder during the
/// computation.
inline constexpr std::string_view digestKey = "sha256";
inline constexpr std::string_view noDigest =
    "0000000000000000000000000000000000000000000000000000000000000000";
/// The offset of `digest` in a header; none if the header does not have it in
/// the form that this project writes.
std::optional<size_t> findDigest(std::string_view header,
                                 std::string_view digest);
/// Checks the digest of `file`. Error (corrupted): it differs, or the metadata
/// have none.
Status checkDigest(std::span<const std::byte> file,
                   const SafetensorsHeader &header);

/// "F32" for f32, and back.
const char *safetensorsName(artifact::ElementType element);
std::optional<artifact::ElementType> safetensorsElement(std::string_view name);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSHEADER_H
