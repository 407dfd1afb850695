//===- SafetensorsHeader.cpp - the header of a safetensors file -----------===//

#include "runtime/checkpoint/SafetensorsHeader.h"

#include "runtime/checkpoint/SafetensorsJson.h"
#include "runtime/support/Sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace lockstep::runtime {

using artifact::ElementType;

namespace {

struct ElementName {
  ElementType element;
  const char *name;
};
constexpr ElementName elementNames[] = {
    {ElementType::i1, "BOOL"},   {ElementType::u8, "U8"},
    {ElementType::i8, "I8"},     {ElementType::u16, "U16"},
    {ElementType::i16, "I16"},   {ElementType::u32, "U32"},
    {ElementType::i32, "I32"},   {ElementType::u64, "U64"},
    {ElementType::i64, "I64"},   {ElementType::f16, "F16"},
    {ElementType::bf16, "BF16"}, {ElementType::f32, "F32"},
    {ElementType::f64, "F64"},
};

/// Checks one entry and converts its offsets to offsets in the file.
Expected<SafetensorsEntry> checkEntry(const SafetensorsJsonEntry &entry,
                                      uint64_t dataBegin, uint64_t dataSize) {
  if (!entry.dtype || !entry.shape || !entry.offsets)
    return corrupted(fmt::format(
        "'{}': expected the keys dtype, shape and data_offsets, found no {}",
        entry.name,
        !entry.dtype   ? "dtype"
        : !entry.shape ? "shape"
                       : "data_offsets"));
  std::optional<ElementType> element = safetensorsElement(*entry.dtype);
  if (!element)
    return unsupported(fmt::format("'{}': dtype '{}' is not supported",
                                   entry.name, *entry.dtype));
  TensorInfo type{*element, {}, 0};
  for (uint64_t dimension : *entry.shape) {
    if (dimension > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return corrupted(fmt::format("'{}': dimension {} is too large",
                                   entry.name, dimension));
    type.shape.push_back(static_cast<int64_t>(dimension));
  }
  std::optional<uint64_t> bytes = staticBytes(type.element, type.shape);
  if (!bytes)
    return corrupted(
        fmt::format("'{}': the size of {} does not fit into 64 bits",
                    entry.name, typeName(type)));
  type.bytes = *bytes;

  if (entry.offsets->size() != 2 ||
      entry.offsets->front() > entry.offsets->back())
    return corrupted(
        fmt::format("'{}': expected data_offsets [begin, end]", entry.name));
  uint64_t begin = entry.offsets->front(), end = entry.offsets->back();
  if (end > dataSize)
    return corrupted(fmt::format(
        "'{}': truncated: expected data up to byte {}, found {} bytes",
        entry.name, end, dataSize));
  if (end - begin != type.bytes)
    return corrupted(fmt::format("'{}': expected {} bytes for {}, found {}",
                                 entry.name, type.bytes, typeName(type),
                                 end - begin));
  return SafetensorsEntry{entry.name, std::move(type), dataBegin + begin};
}

/// The tensors, sorted by offset, must follow each other from the first byte of
/// the data to the last.
Status checkCoverage(const std::vector<SafetensorsEntry> &tensors,
                     uint64_t dataBegin, uint64_t fileSize) {
  uint64_t end = dataBegin;
  for (const SafetensorsEntry &tensor : tensors) {
    if (tensor.offset < end)
      return corrupted(
          fmt::format("'{}': overlaps the tensor before it", tensor.name));
    if (tensor.offset > end)
      return corrupted(fmt::format(
          "'{}': expected it to begin at byte {} of the data, found {} "
          "(a hole)",
          tensor.name, end - dataBegin, tensor.offset - dataBegin));
    end += tensor.type.bytes;
  }
  if (end != fileSize)
    return corrupted(
        fmt::format("expected {} bytes of data, found {} (a hole at the end)",
                    end - dataBegin, fileSize - dataBegin));
  return Status::success();
}

} // namespace

const char *safetensorsName(ElementType element) {
  for (const ElementName &entry : elementNames)
    if (entry.element == element)
      return entry.name;
  return "";
}

std::optional<ElementType> safetensorsElement(std::string_view name) {
  for (const ElementName &entry : elementNames)
    if (entry.name == name)
      return entry.element;
  return std::nullopt;
}

Expected<SafetensorsHeader>
parseSafetensorsHeader(std::span<const std::byte> file) {
  if (file.size() < safetensorsPrefix)
    return corrupted(fmt::format(
        "not a safetensors file, or truncated: found {} bytes", file.size()));
  uint64_t size = 0;
  for (unsigned i = 0; i < safetensorsPrefix; ++i)
    size |= std::to_integer<uint64_t>(file[i]) << (8 * i);
  if (size > maximalSafetensorsHeader)
    return corrupted(fmt::format(
        "not a safetensors file: expected a header of at most {} bytes, "
        "found {}",
        maximalSafetensorsHeader, size));
  if (size > file.size() - safetensorsPrefix)
    return corrupted(
        fmt::format("truncated in the header: expected {} bytes, found {}",
                    size, file.size() - safetensorsPrefix));
  std::string_view text(
      reinterpret_cast<const char *>(file.data()) + safetensorsPrefix, size);
  if (!text.starts_with('{'))
    return corrupted(
        "not a safetensors file: expected a header that begins with '{'");
  Expected<SafetensorsJson> json = parseSafetensorsJson(text);
  if (!json)
    return json.status();

  SafetensorsHeader header;
  if (json->metadata)
    header.metadata = std::move(*json->metadata);
  uint64_t dataBegin = safetensorsPrefix + size;
  for (const SafetensorsJsonEntry &entry : json->entries) {
    Expected<SafetensorsEntry> tensor =
        checkEntry(entry, dataBegin, file.size() - dataBegin);
    if (!tensor)
      return tensor.status();
    header.tensors.push_back(std::move(*tensor));
  }
  // Empty tensors come before the one that begins at the same place.
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const SafetensorsEntry &a, const SafetensorsEntry &b) {
              return std::tie(a.offset, a.type.bytes, a.name) <
                     std::tie(b.offset, b.type.bytes, b.name);
            });
  LOCKSTEP_RETURN_IF_ERROR(
      checkCoverage(header.tensors, dataBegin, file.size()));
  return header;
}

std::optional<size_t> findDigest(std::string_view header,
                                 std::string_view digest) {
  std::string written = fmt::format("\"{}\":\"", digestKey);
  size_t found = header.find(written + std::string(digest) + '"');
  return found == std::string_view::npos
             ? std::nullopt
             : std::optional(found + written.size());
}

Status checkDigest(std::span<const std::byte> file,
                   const SafetensorsHeader &header) {
  auto expected = header.metadata.find(std::string(digestKey));
  if (expected == header.metadata.end())
    return corrupted(fmt::format("expected '{}' in the metadata, found none: "
                                 "bytes of the file have changed",
                                 digestKey));
  std::string_view text(reinterpret_cast<const char *>(file.data()),
                        file.size());
  std::optional<size_t> place = findDigest(text, expected->second);
  if (!place || expected->second.size() != noDigest.size())
    return corrupted(fmt::format(
        "expected a SHA-256 in the metadata, found '{}'", expected->second));
  Sha256 hash;
  hash.add(file.first(*place));
  hash.add(noDigest.data(), noDigest.size());
  hash.add(file.subspan(*place + noDigest.size()));
  if (std::string found = toHex(hash.finish()); found != expected->second)
    return corrupted(fmt::format("expected SHA-256 {}, found {}: bytes of the "
                                 "file have changed since it was written",
                                 expected->second, found));
  return Status::success();
}

} // namespace lockstep::runtime
