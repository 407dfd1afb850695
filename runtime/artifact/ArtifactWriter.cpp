//===- ArtifactWriter.cpp -------------------------------------------------===//

#include "runtime/artifact/ArtifactWriter.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Signature.h"
#include "runtime/support/Checked.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>

namespace lockstep::runtime {

uint32_t ArtifactWriter::addSegment(std::vector<std::byte> bytes) {
  segments.push_back(std::move(bytes));
  return static_cast<uint32_t>(segments.size() - 1);
}

/// Serializes the tables. FlatBuffers leaves out fields that equal their
/// default, so a table's size depends on its values: offsets are never 0, hence
/// always present.
static size_t buildTables(flatbuffers::FlatBufferBuilder &builder,
                          const artifact::ArtifactT &tables) {
  builder.Clear();
  FinishArtifactBuffer(builder, artifact::CreateArtifact(builder, &tables));
  return builder.GetSize();
}

Expected<std::vector<std::byte>> ArtifactWriter::finish() {
  tables.format_version = artifactFormatVersion;
  tables.digest = std::make_unique<artifact::Digest>();
  tables.file_size = 1;
  tables.segments.clear();
  for (const auto &bytes : segments) {
    auto segment = std::make_unique<artifact::SegmentT>();
    segment->offset = 1;
    segment->size = bytes.size();
    tables.segments.push_back(std::move(segment));
  }

  // Two passes: the first one only computes the offset of the first segment.
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  size_t tableSize = buildTables(builder, tables);
  if (tableSize >= FLATBUFFERS_MAX_BUFFER_SIZE - largeSegmentAlignment)
    return unsupported(fmt::format(
        "tables of an artifact are limited to 2 GiB, found {} bytes",
        tableSize));
  uint64_t offset = tableSize;
  for (size_t i = 0; i < segments.size(); ++i) {
    offset = alignUp(offset, segments[i].size() < largeSegmentAlignment
                                 ? segmentAlignment
                                 : largeSegmentAlignment);
    tables.segments[i]->offset = offset;
    offset += segments[i].size();
  }
  tables.file_size = offset;
  [[maybe_unused]] size_t secondSize = buildTables(builder, tables);
  assert(secondSize == tableSize &&
         "the size of the tables depends on the offsets");

  std::vector<std::byte> file(tables.file_size);
  std::memcpy(file.data(), builder.GetBufferPointer(), tableSize);
  for (size_t i = 0; i < segments.size(); ++i)
    if (!segments[i].empty())
      std::memcpy(file.data() + tables.segments[i]->offset, segments[i].data(),
                  segments[i].size());

  const auto *digest = reinterpret_cast<const std::byte *>(
      artifact::GetArtifact(file.data())->digest());
  size_t digestOffset = static_cast<size_t>(digest - file.data());
  std::array<uint8_t, 32> hash = artifactDigest(file, digestOffset);
  std::memcpy(file.data() + digestOffset, hash.data(), hash.size());
  // Readers would remove the end of the last segment.
  if (splitSignature(file).signature)
    return unsupported(
        "an artifact must not end in bytes that look like a signature of it");
  return file;
}

Status ArtifactWriter::writeFile(const std::string &path) {
  Expected<std::vector<std::byte>> file = finish();
  if (!file)
    return file.status();
  std::string temporary = path + ".tmp";
  std::FILE *stream = std::fopen(temporary.c_str(), "wb");
  if (!stream)
    return systemError(
        fmt::format("cannot write '{}': {}", temporary, std::strerror(errno)));
  bool written =
      std::fwrite(file->data(), 1, file->size(), stream) == file->size();
  written = std::fflush(stream) == 0 && written;
  int error = errno;
  written = std::fclose(stream) == 0 && written;
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0)
    return Status::success();
  error = written ? errno : error;
  ::unlink(temporary.c_str());
  return systemError(
      fmt::format("cannot write '{}': {}", path, std::strerror(error)));
}

} // namespace lockstep::runtime
