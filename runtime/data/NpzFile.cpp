//===- NpzFile.cpp - a container of .npy arrays ---------------------------===//

#include "runtime/data/NpzFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <zip.h>

namespace lockstep::runtime {

namespace {

constexpr std::string_view suffix = ".npy";

/// The maximum ratio of deflate; a member that claims more is invalid and is
/// rejected before memory is allocated.
constexpr uint64_t maximalDeflateRatio = 1032;

bool isPlausible(const zip_stat_t &info, uint64_t fileSize) {
  if (info.size > std::numeric_limits<size_t>::max() / 2 ||
      info.comp_size > fileSize)
    return false;
  if (info.comp_method == ZIP_CM_STORE)
    return info.size == info.comp_size;
  return info.size / maximalDeflateRatio <= info.comp_size;
}

} // namespace

void NpzFile::Close::operator()(struct zip *archive) const {
  zip_discard(archive);
}

Expected<NpzFile> NpzFile::open(const std::string &path) {
  int code = 0;
  NpzFile result;
  result.path = path;
  result.archive.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!result.archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
      return corrupted(fmt::format(
          "'{}': not an .npz file, or a truncated one: {}", path, text));
    return systemError(fmt::format("'{}': cannot open: {}", path, text));
  }

  std::error_code error;
  result.fileSize = std::filesystem::file_size(path, error);
  if (error)
    return systemError(
        fmt::format("'{}': cannot open: {}", path, error.message()));

  zip_int64_t count = zip_get_num_entries(result.archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *name = zip_get_name(result.archive.get(), i, ZIP_FL_ENC_RAW);
    if (!name || !std::string_view(name).ends_with(suffix))
      return corrupted(
          fmt::format("'{}': expected members NAME.npy, found '{}'", path,
                      name ? name : "a member without a name"));
    std::string_view stem(name);
    stem.remove_suffix(suffix.size());
    if (std::find(result.members.begin(), result.members.end(), stem) !=
        result.members.end())
      return corrupted(
          fmt::format("'{}': two members with the name '{}'", path, name));
    result.members.emplace_back(stem);
  }
  return result;
}

Expected<NpyArray> NpzFile::read(std::string_view name) const {
  auto found = std::find(members.begin(), members.end(), name);
  if (found == members.end())
    return invalidArgument(fmt::format("'{}': no array '{}'", path, name));
  uint64_t index = found - members.begin();
  std::string context = fmt::format("'{}', member '{}{}'", path, name, suffix);

  zip_stat_t info;
  if (zip_stat_index(archive.get(), index, 0, &info) != 0)
    return corrupted(
        fmt::format("{}: {}", context, zip_strerror(archive.get())));
  if (!isPlausible(info, fileSize))
    return corrupted(
        fmt::format("{}: {} bytes cannot hold the {} that it claims", context,
                    info.comp_size, info.size));
  Expected<AlignedBytes> memory = AlignedBytes::allocate(info.size);
  if (!memory)
    return memory.status().withContext(context);

  std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> member(
      zip_fopen_index(archive.get(), index, 0), zip_fclose);
  if (!member)
    return corrupted(
        fmt::format("{}: {}", context, zip_strerror(archive.get())));
  // Reading up to the end of the member makes libzip compare the checksum.
  std::span<std::byte> rest = memory->bytes();
  zip_int64_t got = 0;
  while (!rest.empty() &&
         (got = zip_fread(member.get(), rest.data(), rest.size())) > 0)
    rest = rest.subspan(got);
  std::byte beyond;
  if (rest.empty())
    got = zip_fread(member.get(), &beyond, 1);
  if (got < 0)
    return corrupted(fmt::format("{}: truncated or damaged: {}", context,
                                 zip_file_strerror(member.get())));
  if (!rest.empty() || got != 0)
    return corrupted(fmt::format(
        "{}: expected {} bytes, found {}", context, info.size,
        rest.empty() ? "more" : fmt::format("{} less", rest.size())));

  Expected<NpyArray> array = NpyArray::fromMemory(std::move(*memory));
  if (!array)
    return array.status().withContext(context);
  return array;
}

} // namespace lockstep::runtime
