//===- NpyArray.cpp - an array in NumPy's format --------------------------===//

#include "runtime/data/NpyArray.h"

#include "runtime/data/NpyHeader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace lockstep::runtime {

bool areBooleans(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte b) { return b <= std::byte{1}; });
}

Expected<NpyArray> NpyArray::open(const std::string &path,
                                  uint64_t mostInMemory) {
  Expected<InputFile> file = InputFile::open(path);
  if (!file)
    return file.status();
  // Larger than any header: 64 kB in version 1, and NumPy's default limit in
  // the others.
  constexpr uint64_t mostHeader = uint64_t(1) << 20;
  bool isInMemory = file->size() <= mostInMemory;
  Expected<AlignedBytes> bytes = AlignedBytes::allocate(
      isInMemory ? file->size() : std::min(file->size(), mostHeader));
  if (!bytes)
    return bytes.status().withContext("'" + path + "'");
  LOCKSTEP_RETURN_IF_ERROR(file->read(0, bytes->bytes()));
  NpyArray result;
  Expected<uint64_t> offset = result.parse(bytes->bytes(), file->size());
  if (!offset)
    return offset.status().withContext("'" + path + "'");
  if (isInMemory) {
    result.tensorData = std::as_const(*bytes).bytes().subspan(*offset);
    result.owned = std::move(*bytes);
  } else {
    result.file = std::move(*file);
    result.fileOffset = *offset;
  }
  if (Status status = result.checkBooleans(); !status.ok())
    return status.withContext("'" + path + "'");
  return result;
}

Expected<NpyArray> NpyArray::fromMemory(AlignedBytes file) {
  NpyArray result;
  std::span<const std::byte> bytes = std::as_const(file).bytes();
  Expected<uint64_t> offset = result.parse(bytes, bytes.size());
  if (!offset)
    return offset.status();
  result.tensorData = bytes.subspan(*offset);
  result.owned = std::move(file);
  if (Status status = result.checkBooleans(); !status.ok())
    return status;
  return result;
}

Expected<uint64_t> NpyArray::parse(std::span<const std::byte> begin,
                                   uint64_t size) {
  Expected<NpyHeader> header = parseNpyHeader(begin);
  if (!header)
    return header.status();
  uint64_t available = size - header->dataOffset;
  if (available != header->type.bytes)
    return corrupted(
        fmt::format("{}: expected {} bytes of data ({}), found {}",
                    available < header->type.bytes ? "truncated" : "too long",
                    header->type.bytes, typeName(header->type), available));
  tensorType = std::move(header->type);
  return header->dataOffset;
}

Status NpyArray::checkBooleans() const {
  if (tensorType.element != artifact::ElementType::i1)
    return Status::success();
  std::vector<std::byte> piece(
      std::min<uint64_t>(tensorType.bytes, uint64_t(1) << 20));
  for (uint64_t offset = 0; offset < tensorType.bytes; offset += piece.size()) {
    std::span<std::byte> part = std::span(piece).first(
        std::min<uint64_t>(piece.size(), tensorType.bytes - offset));
    LOCKSTEP_RETURN_IF_ERROR(read(offset, part));
    if (!areBooleans(part))
      return corrupted("expected booleans of 0 or 1, found another value");
  }
  return Status::success();
}

Status NpyArray::read(uint64_t offset, std::span<std::byte> target) const {
  if (tensorData.empty())
    return file.read(fileOffset + offset, target);
  std::memcpy(target.data(), tensorData.data() + offset, target.size());
  return Status::success();
}

} // namespace lockstep::runtime
