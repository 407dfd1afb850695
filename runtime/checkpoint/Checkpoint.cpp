//===- Checkpoint.cpp - saving and resuming a training run ----------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/checkpoint/Aggregation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace lockstep::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view versionKey = "lockstep_checkpoint";
constexpr std::string_view version = "3";
/// The last version without a digest.
constexpr std::string_view versionWithoutDigest = "2";
constexpr std::string_view prefix = "checkpoint-", suffix = ".safetensors";

std::optional<uint64_t> parseCount(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// The number in "checkpoint-<number>.safetensors"; none for any other name.
std::optional<uint64_t> stepOfName(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return parseCount(name);
}

std::map<std::string, std::string> toMetadata(const TrainingState &state) {
  std::map<std::string, std::string> metadata = {
      {std::string(versionKey), std::string(version)},
      {std::string(digestKey), std::string(noDigest)},
      {"step", std::to_string(state.step)},
      {"seed", std::to_string(state.seed)},
      {"epoch", std::to_string(state.cursor.epoch)},
      {"position", std::to_string(state.cursor.position)},
  };
  if (state.examples)
    metadata.emplace("examples", std::to_string(*state.examples));
  return metadata;
}

/// Opens a checkpoint and checks its digest, if its version has one. All errors
/// in its content are reported as damage.
Expected<SafetensorsFile> openCheckpoint(const std::string &path) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.status().code() == StatusCode::system
               ? file.status()
               : corrupted(file.status().message());
  const std::map<std::string, std::string> &metadata = file->metadata();
  auto found = metadata.find(std::string(versionKey));
  bool hasDigest = metadata.contains(std::string(digestKey));
  if (hasDigest || (found != metadata.end() && found->second == version))
    LOCKSTEP_RETURN_IF_ERROR(file->checkDigest());
  if (found == metadata.end())
    return invalidArgument(
        fmt::format("'{}': expected a checkpoint, found a safetensors file "
                    "without a state of training (use it with --init)",
                    path));
  if (found->second != version &&
      (found->second != versionWithoutDigest || hasDigest))
    return unsupported(fmt::format(
        "'{}': expected a checkpoint of version {} or {}, found '{}'", path,
        versionWithoutDigest, version, found->second));
  return file;
}

Expected<TrainingState>
fromMetadata(const std::map<std::string, std::string> &metadata) {
  TrainingState state;
  struct Field {
    const char *key;
    uint64_t *value;
  };
  for (Field field : {Field{"step", &state.step}, Field{"seed", &state.seed},
                      Field{"epoch", &state.cursor.epoch},
                      Field{"position", &state.cursor.position}}) {
    auto entry = metadata.find(field.key);
    std::optional<uint64_t> value =
        entry == metadata.end() ? std::nullopt : parseCount(entry->second);
    if (!value)
      return corrupted(fmt::format(
          "expected a number for '{}' in the metadata, found {}", field.key,
          entry == metadata.end() ? "none" : "'" + entry->second + "'"));
    *field.value = *value;
  }
  if (auto entry = metadata.find("examples"); entry != metadata.end()) {
    state.examples = parseCount(entry->second);
    if (!state.examples)
      return corrupted(fmt::format(
          "expected a number for 'examples' in the metadata, found '{}'",
          entry->second));
  }
  return state;
}

} // namespace

Status prepareCheckpoints(const std::string &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return systemError(
        fmt::format("'{}': cannot create this folder for checkpoints: {}",
                    folder, error.message()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return systemError(
        fmt::format("'{}': cannot write checkpoints to this folder: {}", folder,
                    std::strerror(errno)));
  return Status::success();
}

Expected<std::string> saveCheckpoint(const std::string &folder,
                                     const TrainingState &state,
                                     std::span<const VariableView> variables,
                                     FileCalls &calls) {
  LOCKSTEP_RETURN_IF_ERROR(checkAggregation(variables));
  LOCKSTEP_RETURN_IF_ERROR(prepareCheckpoints(folder));
  AggregatedVariables saved(variables);
  saved.aggregate();
  std::string path =
      fs::path(folder) / fmt::format("{}{}{}", prefix, state.step, suffix);
  LOCKSTEP_RETURN_IF_ERROR(writeSafetensors(path, tensorsOf(saved.views()),
                                            toMetadata(state), calls));
  return path;
}

/// The checkpoints of a folder, by steps.
static Expected<std::map<uint64_t, std::string>>
listCheckpoints(const std::string &folder) {
  std::map<uint64_t, std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (std::optional<uint64_t> step =
            stepOfName(entry->path().filename().string()))
      found[*step] = entry->path().string();
  if (error && error != std::errc::no_such_file_or_directory)
    return systemError(
        fmt::format("'{}': cannot list: {}", folder, error.message()));
  return found;
}

Status removeCheckpoints(const std::string &folder, uint64_t step,
                         uint64_t keep, std::span<const std::string> damaged,
                         FileCalls &calls) {
  Expected<std::map<uint64_t, std::string>> found = listCheckpoints(folder);
  if (!found)
    return found.status();
  std::erase_if(*found, [&](const auto &checkpoint) {
    return std::ranges::find(damaged, checkpoint.second) != damaged.end();
  });
  auto end = found->upper_bound(step);
  auto count = static_cast<uint64_t>(std::distance(found->begin(), end));
  for (auto old = found->begin(); count > keep; ++old, --count)
    if (calls.remove(old->second.c_str()) != 0 && errno != ENOENT)
      return systemError(fmt::format("'{}': cannot remove this checkpoint: {}",
                                     old->second, std::strerror(errno)));
  return Status::success();
}

Expected<std::optional<std::string>>
latestCheckpoint(const std::string &folder) {
  Expected<std::map<uint64_t, std::string>> found = listCheckpoints(folder);
  if (!found)
    return found.status();
  return found->empty() ? std::nullopt : std::optional(found->rbegin()->second);
}

Expected<TrainingState>
restoreCheckpoint(const std::string &path,
                  std::span<const VariableView> variables) {
  Expected<SafetensorsFile> file = openCheckpoint(path);
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

Expected<std::optional<RestoredCheckpoint>>
restoreLatestCheckpoint(const std::string &folder,
                        std::span<const VariableView> variables) {
  Expected<std::map<uint64_t, std::string>> found = listCheckpoints(folder);
  if (!found)
    return found.status();
  RestoredCheckpoint result;
  for (auto checkpoint = found->rbegin(); checkpoint != found->rend();
       ++checkpoint) {
    Expected<TrainingState> state =
        restoreCheckpoint(checkpoint->second, variables);
    if (!state && state.status().code() != StatusCode::corrupted)
      return state.status();
    if (!state) {
      result.damagedPaths.push_back(checkpoint->second);
      result.damaged.push_back(state.status().message());
      continue;
    }
    result.path = checkpoint->second;
    result.state = *state;
    return std::optional(std::move(result));
  }
  if (result.damaged.empty())
    return std::optional<RestoredCheckpoint>();
  std::string text = fmt::format(
      "'{}': expected a checkpoint that is whole, found none:", folder);
  for (const std::string &damage : result.damaged)
    text += "\n  " + damage;
  return corrupted(text);
}

Status loadInitialValues(const std::string &path,
                         std::span<const VariableView> variables) {
  Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.status();
  return loadValues(*file, variables, Missing::keepInitial);
}

} // namespace lockstep::runtime
