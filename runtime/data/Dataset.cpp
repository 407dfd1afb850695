//===- Dataset.cpp - named arrays of examples -----------------------------===//

#include "runtime/data/Dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace lockstep::runtime {

Expected<Dataset> Dataset::open(const std::string &path) {
  Dataset result;
  result.source = path;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    Expected<NpzFile> file = NpzFile::open(path);
    if (!file)
      return file.status();
    result.arrayNames = file->names();
    result.container = std::move(*file);
    return result;
  }

  for (std::filesystem::directory_iterator entry(path, error), end;
       !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".npy")
      result.arrayNames.push_back(entry->path().stem().string());
  if (error)
    return systemError(
        fmt::format("'{}': cannot list: {}", path, error.message()));
  if (result.arrayNames.empty())
    return invalidArgument(
        fmt::format("'{}': expected files NAME.npy, found none", path));
  std::sort(result.arrayNames.begin(), result.arrayNames.end());
  return result;
}

bool Dataset::contains(std::string_view name) const {
  return std::find(arrayNames.begin(), arrayNames.end(), name) !=
         arrayNames.end();
}

Expected<std::shared_ptr<const NpyArray>>
Dataset::array(std::string_view name) const {
  Expected<NpyArray> array =
      container ? container->read(name)
                : NpyArray::open(
                      (std::filesystem::path(source) / name).string() + ".npy");
  if (!array)
    return array.status();
  return std::make_shared<const NpyArray>(std::move(*array));
}

} // namespace lockstep::runtime
