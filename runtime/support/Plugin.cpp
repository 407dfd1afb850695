//===- Plugin.cpp - parts of the runtime in libraries of their own --------===//

#include "runtime/support/Plugin.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime {

/// The program or shared library with the runtime in it; empty if it cannot be
/// found.
static std::filesystem::path fileOfRuntime() {
  Dl_info self;
  std::error_code error = std::make_error_code(std::errc::invalid_argument);
  std::filesystem::path file;
  if (::dladdr(reinterpret_cast<const void *>(&loadPlugin), &self) &&
      self.dli_fname)
    file = std::filesystem::canonical(self.dli_fname, error);
  // Of a program, this is the word by which it was called, which is no path if
  // it was searched in PATH.
  if (error || std::string_view(self.dli_fname).find('/') == std::string::npos)
    file = std::filesystem::canonical("/proc/self/exe", error);
  return error ? std::filesystem::path() : file;
}

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
  std::filesystem::path folder = fileOfRuntime().parent_path();
  if (!folder.empty())
    places.push_back(folder.parent_path() / "lib" / file);
  places.push_back(file);
  return places;
}

static bool isName(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
             std::string_view::npos;
}

/// The function `symbol` of a loaded plugin. Error: without context.
static Expected<void *> findFunction(void *plugin, const char *symbol) {
  auto *version =
      static_cast<const uint32_t *>(::dlsym(plugin, "lockstepPluginVersion"));
  if (!version || *version != pluginVersion)
    return unsupported(fmt::format(
        "expected a plugin for version {} of the interface, found {}",
        pluginVersion,
        version ? fmt::format("one for version {}", *version)
                : "a library without version"));
  if (void *function = ::dlsym(plugin, symbol))
    return function;
  return unsupported(fmt::format("does not define '{}'", symbol));
}

Expected<void *> loadPlugin(const PluginKind &kind, const std::string &name) {
  if (!isName(name))
    return invalidArgument(
        fmt::format("expected the name of a {} in small letters, found '{}'",
                    kind.kind, name));
  std::vector<std::string> places =
      placesOf(fmt::format("liblockstep_{}.so", name));
  std::string reason;
  for (const std::string &place : places) {
    bool isPath = place.find('/') != std::string::npos;
    if (isPath && !std::filesystem::exists(place))
      continue;
    // It is never unloaded: threads of it may still run.
    void *plugin = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      const char *message = ::dlerror();
      reason = fmt::format(": {}", message ? message : "cannot be loaded");
      if (isPath)
        break;
      continue;
    }
    Expected<void *> function = findFunction(plugin, kind.symbol);
    if (!function)
      return function.status().withContext(
          fmt::format("{} '{}': '{}'", kind.kind, name, place));
    return function;
  }
  return unsupported(fmt::format(
      "{} '{}': expected '{}' or the name of a plugin, looked for '{}'{}",
      kind.kind, name, kind.builtIn, fmt::join(places, "', '"), reason));
}

} // namespace lockstep::runtime
