//===- SafetensorsWriter.cpp - writing safetensors ------------------------===//

#include "runtime/checkpoint/SafetensorsWriter.h"

#include "runtime/checkpoint/AtomicFile.h"
#include "runtime/checkpoint/SafetensorsHeader.h"
#include "runtime/support/Sha256.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace lockstep::runtime {

namespace {

/// The header is padded with spaces, so that the data begin aligned for every
/// element type.
constexpr uint64_t dataAlignment = 8;

Expected<std::string>
makeHeader(const std::vector<TensorToWrite> &tensors,
           const std::map<std::string, std::string> &metadata) {
  // An ordered object keeps the tensors in the order of their data.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      return invalidArgument(
          fmt::format("expected one tensor '{}', found two", tensor.name));
    uint64_t bytes = 0;
    for (std::span<const std::byte> part : tensor.parts)
      bytes += part.size();
    if (staticBytes(tensor.element, tensor.shape) != bytes)
      return invalidArgument(
          fmt::format("'{}': expected the bytes of {}, found {}", tensor.name,
                      typeName(tensor.element, tensor.shape), bytes));
    header[tensor.name] = {{"dtype", safetensorsName(tensor.element)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  // `dump` would throw for names that are not UTF-8; invalid bytes are replaced
  // instead.
  std::string text = header.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize(alignUp(text.size(), dataAlignment), ' ');
  if (text.size() > maximalSafetensorsHeader)
    return invalidArgument(
        fmt::format("expected a header of at most {} bytes, found {}",
                    maximalSafetensorsHeader, text.size()));
  return text;
}

} // namespace

Status writeSafetensors(const std::string &path,
                        std::vector<TensorToWrite> tensors,
                        const std::map<std::string, std::string> &metadata,
                        FileCalls &calls) {
  // With descending element sizes, each tensor is aligned without padding.
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorToWrite &a, const TensorToWrite &b) {
              uint64_t sizeA = elementSize(a.element),
                       sizeB = elementSize(b.element);
              return sizeA != sizeB ? sizeA > sizeB : a.name < b.name;
            });
  Expected<std::string> header = makeHeader(tensors, metadata);
  if (!header)
    return header.status().withContext("'" + path + "'");
  std::array<std::byte, safetensorsPrefix> size;
  for (unsigned i = 0; i < size.size(); ++i)
    size[i] = static_cast<std::byte>(header->size() >> (8 * i));
  // The digest is that of the file with zeros in place of the digest.
  if (std::optional<size_t> place = findDigest(*header, noDigest)) {
    Sha256 hash;
    hash.add(size);
    hash.add(std::as_bytes(std::span(*header)));
    for (const TensorToWrite &tensor : tensors)
      for (std::span<const std::byte> part : tensor.parts)
        hash.add(part);
    header->replace(*place, noDigest.size(), toHex(hash.finish()));
  }

  Expected<AtomicFile> file = AtomicFile::create(path, calls);
  if (!file)
    return file.status();
  LOCKSTEP_RETURN_IF_ERROR(file->write(size));
  LOCKSTEP_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(*header))));
  for (const TensorToWrite &tensor : tensors)
    for (std::span<const std::byte> part : tensor.parts)
      LOCKSTEP_RETURN_IF_ERROR(file->write(part));
  return file->commit();
}

} // namespace lockstep::runtime
