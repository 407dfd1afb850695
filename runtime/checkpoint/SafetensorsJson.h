//===- SafetensorsJson.h - the JSON of a safetensors header -----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSJSON_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSJSON_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// An entry of the header, before semantic checks.
struct SafetensorsJsonEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

struct SafetensorsJson {
  std::vector<SafetensorsJsonEntry> entries;
  std::optional<std::map<std::string, std::string>> metadata;
};

/// Reads the text of a header. Strict: unknown keys, duplicate keys, numbers
/// that are not counts, and text after the object are errors.
Expected<SafetensorsJson> parseSafetensorsJson(std::string_view text);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSJSON_H
