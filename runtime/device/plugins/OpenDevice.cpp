//===- OpenDevice.cpp - devices by their names ----------------------------===//

#include "runtime/device/Device.h"

#include "runtime/device/cpu/CpuDevice.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime {

/// Where the plugin may be, best first.
static std::vector<std::string> placesOf(const std::string &file) {
  std::vector<std::string> places;
  if (const char *folders = std::getenv("LOCKSTEP_PLUGINS")) {
    std::string_view rest = folders;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0)
        places.push_back(std::string(rest.substr(0, end)) + "/" + file);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  // A program with the runtime in it, or the shared library.
  Dl_info self;
  if (::dladdr(reinterpret_cast<const void *>(&openDevice), &self) &&
      self.dli_fname) {
    std::error_code error;
    std::filesystem::path folder =
        std::filesystem::canonical(self.dli_fname, error).parent_path();
    if (!error)
      places.push_back(folder.parent_path() / "lib" / file);
  }
  places.push_back(file);
  return places;
}

static Expected<OpenDevice> loadPlugin(const std::string &kind) {
  std::vector<std::string> places =
      placesOf(fmt::format("liblockstep_{}.so", kind));
  std::string reason;
  for (const std::string &place : places) {
    bool isPath = place.find('/') != std::string::npos;
    if (isPath && !std::filesystem::exists(place))
      continue;
    // A plugin stays until the process ends: threads of it may still run.
    void *plugin = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      const char *message = ::dlerror();
      reason = fmt::format(": {}", message ? message : "cannot be loaded");
      if (isPath)
        break;
      continue;
    }
    if (void *open = ::dlsym(plugin, "lockstepOpenDevice"))
      return reinterpret_cast<OpenDevice>(open);
    return unsupported(fmt::format(
        "device '{}': '{}' does not define 'lockstepOpenDevice'", kind, place));
  }
  return unsupported(fmt::format(
      "device '{}': expected 'cpu' or the name of a plugin, looked for '{}'{}",
      kind, fmt::join(places, "', '"), reason));
}

static bool isName(std::string_view kind) {
  return !kind.empty() &&
         kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
             std::string_view::npos;
}

static Expected<std::shared_ptr<Device>> makeDevice(std::string_view name) {
  size_t colon = std::min(name.find(':'), name.size());
  std::string kind(name.substr(0, colon));
  std::string_view options = name.substr(std::min(colon + 1, name.size()));
  if (kind == "cpu") {
    if (!options.empty())
      return invalidArgument(
          fmt::format("device 'cpu' has no options, found '{}'", options));
    return std::shared_ptr<Device>(makeCpuDevice());
  }
  if (!isName(kind))
    return invalidArgument(fmt::format(
        "expected the name of a device in small letters, found '{}'", kind));
  Expected<OpenDevice> open = loadPlugin(kind);
  if (!open)
    return open.status();
  std::unique_ptr<Device> device;
  Status status;
  (*open)(options, device, status);
  if (!status.ok())
    return status.withContext(fmt::format("device '{}'", name));
  return std::shared_ptr<Device>(std::move(device));
}

Expected<std::shared_ptr<Device>> openDevice(std::string_view name) {
  if (const char *variable = std::getenv("LOCKSTEP_DEVICE");
      name.empty() && variable)
    name = variable;
  if (name.empty())
    name = "cpu";
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Device>, std::less<>> open;
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = open.find(name); known != open.end())
    if (std::shared_ptr<Device> device = known->second.lock())
      return device;
  Expected<std::shared_ptr<Device>> device = makeDevice(name);
  if (device)
    open.insert_or_assign(std::string(name), *device);
  return device;
}

} // namespace lockstep::runtime
