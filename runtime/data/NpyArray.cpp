//===- NpyArray.cpp - an array in NumPy's format --------------------------===//

#include "runtime/data/NpyArray.h"

#include "runtime/data/NpyHeader.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::runtime {

bool areBooleans(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
}

Expected<NpyArray> NpyArray::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  NpyArray result;
  if (Status status = result.parse(file->bytes()); !status.ok())
    return status.withContext("'" + path + "'");
  result.mapped = std::move(*file);
  return result;
}

Expected<NpyArray> NpyArray::fromMemory(AlignedBytes file) {
  NpyArray result;
  if (Status status = result.parse(file.bytes()); !status.ok())
    return status;
  result.owned = std::move(file);
  return result;
}

Status NpyArray::parse(std::span<const std::byte> file) {
  Expected<NpyHeader> header = parseNpyHeader(file);
  if (!header)
    return header.status();
  uint64_t available = file.size() - header->dataOffset;
  if (available != header->type.bytes)
    return corrupted(fmt::format("{}: expected {} bytes of data ({}), found {}", available < header->type.bytes ? "truncated" : "too long",
                                 header->type.bytes, typeName(header->type), available));
  tensorType = std::move(header->type);
  tensorData = file.subspan(header->dataOffset);
  if (tensorType.element == artifact::ElementType::i1 && !areBooleans(tensorData))
    return corrupted("expected booleans of 0 or 1, found another value");
  return Status::success();
}

} // namespace lockstep::runtime
