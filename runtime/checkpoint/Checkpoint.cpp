//===- Checkpoint.cpp - saving and resuming a training run ----------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/Aggregation.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace lockstep::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view versionKey = "lockstep_checkpoint";
constexpr std::string_view version = "2";
constexpr std::string_view prefix = "checkpoint-", suffix = ".safetensors";

std::optional<uint64_t> parseCount(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// The number in "checkpoint-<number>.safetensors"; nothing for any other name.
std::optional<uint64_t> stepOfName(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return parseCount(name);
}

std::map<std::string, std::string> toMetadata(const TrainingState &state) {
  std::map<std::string, std::string> metadata = {
      {std::string(versionKey), std::string(version)},
      {"step", std::to_string(state.step)},
      {"seed", std::to_string(state.seed)},
      {"epoch", std::to_string(state.cursor.epoch)},
      {"position", std::to_string(state.cursor.position)},
  };
  if (state.examples)
    metadata.emplace("examples", std::to_string(*state.examples));
  return metadata;
}

Expected<TrainingState> fromMetadata(const std::map<std::string, std::string> &metadata) {
  auto found = metadata.find(std::string(versionKey));
  if (found == metadata.end())
    return invalidArgument("expected a checkpoint, found a safetensors file without a state of "
                           "training (use it with --init)");
  if (found->second != version)
    return unsupported(fmt::format("expected a checkpoint of version {}, found '{}'", version, found->second));
  TrainingState state;
  struct Field {
    const char *key;
    uint64_t *value;
  };
  for (Field field : {Field{"step", &state.step}, Field{"seed", &state.seed}, Field{"epoch", &state.cursor.epoch},
                      Field{"position", &state.cursor.position}}) {
    auto entry = metadata.find(field.key);
    std::optional<uint64_t> value = entry == metadata.end() ? std::nullopt : parseCount(entry->second);
    if (!value)
      return corrupted(fmt::format("expected a number for '{}' in the metadata, found {}", field.key,
                                   entry == metadata.end() ? "none" : "'" + entry->second + "'"));
    *field.value = *value;
  }
  if (auto entry = metadata.find("examples"); entry != metadata.end()) {
    state.examples = parseCount(entry->second);
    if (!state.examples)
      return corrupted(fmt::format("expected a number for 'examples' in the metadata, found '{}'", entry->second));
  }
  return state;
}

} // namespace

Status prepareCheckpoints(const std::string &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return systemError(fmt::format("'{}': cannot create this folder for checkpoints: {}", folder, error.message()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return systemError(fmt::format("'{}': cannot write checkpoints to this folder: {}", folder, std::strerror(errno)));
  return Status::success();
}

Expected<std::string> saveCheckpoint(const std::string &folder, const TrainingState &state, std::span<const VariableView> variables,
                                     FileCalls &calls) {
  LOCKSTEP_RETURN_IF_ERROR(checkAggregation(variables));
  LOCKSTEP_RETURN_IF_ERROR(prepareCheckpoints(folder));
  AggregatedVariables saved(variables);
  saved.aggregate();
  std::string path = fs::path(folder) / fmt::format("{}{}{}", prefix, state.step, suffix);
  LOCKSTEP_RETURN_IF_ERROR(writeSafetensors(path, tensorsOf(saved.views()), toMetadata(state), calls));
  return path;
}

Expected<std::optional<std::string>> latestCheckpoint(const std::string &folder) {
  std::optional<std::string> latest;
  uint64_t latestStep = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::optional<uint64_t> step = stepOfName(entry->path().filename().string());
    if (step && (!latest || *step > latestStep)) {
      latest = entry->path().string();
      latestStep = *step;
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return systemError(fmt::format("'{}': cannot list: {}", folder, error.message()));
  return latest;
}

Expected<TrainingState> restoreCheckpoint(const std::string &path, std::span<const VariableView> variables) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.status();
  Expected<TrainingState> state = fromMetadata(file->metadata());
  if (!state)
    return state.status().withContext("'" + path + "'");
  LOCKSTEP_RETURN_IF_ERROR(checkAggregation(variables));
  AggregatedVariables loaded(variables);
  LOCKSTEP_RETURN_IF_ERROR(loadValues(*file, loaded.views(), Missing::refuse));
  loaded.distribute();
  return state;
}

Status loadInitialValues(const std::string &path, std::span<const VariableView> variables) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.status();
  return loadValues(*file, variables, Missing::keepInitial);
}

} // namespace lockstep::runtime
