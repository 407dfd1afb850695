//===- Plugin.h - parts of the runtime in shared libraries ------*- C++ -*-===//
//
// Devices and transports other than the built-in ones are plugins: shared
// libraries `liblockstep_NAME.so` that are loaded when their name is asked for,
// and export one function that makes what they are.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_PLUGIN_H
#define LOCKSTEP_RUNTIME_SUPPORT_PLUGIN_H

#include "runtime/support/Status.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// A kind of part that is opened by a name.
struct PluginKind {
  /// "device", "transport".
  const char *kind;
  /// The name of the one that is built in, which has no options.
  const char *builtIn;
  /// The environment variable with the name to use where none is given.
  const char *variable;
  /// What a plugin exports: a function that makes the part with the options
  /// behind its name, or says why it cannot.
  const char *symbol;
};

/// The address of the function that the plugin `name` exports. It is searched
/// in the folders of `LOCKSTEP_PLUGINS`, in the folder `lib` beside that of the
/// program or library that the runtime is in, and where the dynamic linker
/// looks, and stays loaded until the process ends. Errors: a malformed name, no
/// such plugin, one that cannot be loaded or does not export the function.
Expected<void *> loadPlugin(const PluginKind &kind, const std::string &name);

/// Parts of one kind that are open. Those who open one name at the same time
/// share the part. Thread-safe.
template <typename Part> class OpenParts {
public:
  /// What plugins of this kind export.
  using Open = void (*)(std::string_view options, std::unique_ptr<Part> &part,
                        Status &status);

  OpenParts(const PluginKind &kind, std::unique_ptr<Part> (*makeBuiltIn)())
      : kind(kind), makeBuiltIn(makeBuiltIn) {}

  /// `name` is that of a plugin or of what is built in, with options behind a
  /// colon, for example "simulated:7". Empty: that of the environment, else
  /// what is built in.
  Expected<std::shared_ptr<Part>> open(std::string_view name) {
    if (const char *value = std::getenv(kind.variable); name.empty() && value)
      name = value;
    if (name.empty())
      name = kind.builtIn;
    std::lock_guard<std::mutex> lock(mutex);
    if (auto known = parts.find(name); known != parts.end())
      if (std::shared_ptr<Part> part = known->second.lock())
        return part;
    Expected<std::shared_ptr<Part>> part = make(name);
    if (part)
      parts.insert_or_assign(std::string(name), *part);
    return part;
  }

private:
  Expected<std::shared_ptr<Part>> make(std::string_view text) {
    size_t colon = std::min(text.find(':'), text.size());
    std::string name(text.substr(0, colon));
    std::string_view options = text.substr(std::min(colon + 1, text.size()));
    if (name == kind.builtIn) {
      if (options.empty())
        return std::shared_ptr<Part>(makeBuiltIn());
      return invalidArgument(std::string(kind.kind) + " '" + name +
                             "' has no options, found '" +
                             std::string(options) + "'");
    }
    Expected<void *> function = loadPlugin(kind, name);
    if (!function)
      return function.status();
    std::unique_ptr<Part> part;
    Status status;
    reinterpret_cast<Open>(*function)(options, part, status);
    if (!status.ok())
      return status.withContext(std::string(kind.kind) + " '" +
                                std::string(text) + "'");
    return std::shared_ptr<Part>(std::move(part));
  }

  const PluginKind kind;
  std::unique_ptr<Part> (*const makeBuiltIn)();
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Part>, std::less<>> parts;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_PLUGIN_H
