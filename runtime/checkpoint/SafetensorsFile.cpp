//===- SafetensorsFile.cpp - reading safetensors --------------------------===//

#include "runtime/checkpoint/SafetensorsFile.h"

namespace lockstep::runtime {

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  Expected<SafetensorsHeader> header = parseSafetensorsHeader(file->bytes());
  if (!header)
    return header.status().withContext("'" + path + "'");

  SafetensorsFile result;
  result.source = path;
  result.file = std::move(*file);
  result.header = std::move(*header);
  for (size_t i = 0; i < result.header.tensors.size(); ++i)
    result.byName.emplace(result.header.tensors[i].name, i);
  return result;
}

const SafetensorsEntry *SafetensorsFile::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &header.tensors[found->second];
}

} // namespace lockstep::runtime
