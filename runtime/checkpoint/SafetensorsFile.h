//===- SafetensorsFile.h - reading safetensors ------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSFILE_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSFILE_H

#include "runtime/checkpoint/SafetensorsHeader.h"
#include "runtime/data/MappedFile.h"

namespace lockstep::runtime {

/// An open, checked and mapped safetensors file. Move-only.
class SafetensorsFile {
public:
  /// Errors name the file: not found, and all of `parseSafetensorsHeader`.
  static Expected<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return source; }
  /// In the order of the file.
  const std::vector<SafetensorsEntry> &tensors() const {
    return header.tensors;
  }
  const std::map<std::string, std::string> &metadata() const {
    return header.metadata;
  }
  /// Checks the bytes of the file; see `checkDigest`.
  Status checkDigest() const {
    return runtime::checkDigest(file.bytes(), header)
        .withContext("'" + source + "'");
  }
  /// The tensor of that name, or null.
  const SafetensorsEntry *find(std::string_view name) const;
  /// The bytes of a tensor of this file; not necessarily aligned to its
  /// element.
  std::span<const std::byte> data(const SafetensorsEntry &entry) const {
    return file.bytes().subspan(entry.offset, entry.type.bytes);
  }

private:
  SafetensorsFile() = default;

  std::string source;
  MappedFile file;
  SafetensorsHeader header;
  /// Index into `header.tensors`.
  std::map<std::string, size_t, std::less<>> byName;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSFILE_H
