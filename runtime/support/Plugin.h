//===- Plugin.h - parts of the runtime in shared libraries ------*- C++ -*-===//
//
// Devices and transports other than the built-in ones are plugins: shared
// libraries `liblockstep_NAME.so`, which are loaded when a device or transport
// of that name is opened, and export one function that creates it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_PLUGIN_H
#define LOCKSTEP_RUNTIME_SUPPORT_PLUGIN_H

#include "runtime/support/Status.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::runtime {

/// The version of the interfaces between the runtime and its plugins. It is
/// increased with every change to a class or function that both use, and to
/// what executors send each other; a plugin that was built for another version
/// is refused, and so is a process whose plugin was.
inline constexpr uint32_t pluginVersion = 5;

/// Declares, in one source of a plugin, the version that it is built for.
#define LOCKSTEP_PLUGIN                                                        \
  extern "C" __attribute__((visibility("default")))                            \
  const uint32_t lockstepPluginVersion = ::lockstep::runtime::pluginVersion;

/// A kind of object that plugins provide.
struct PluginKind {
  /// The kind in messages: "device" or "transport".
  const char *kind;
  /// The name of the built-in object of this kind, which has no options.
  const char *builtIn;
  /// The environment variable that holds the name to use if none is given.
  const char *variable;
  /// The name of the function that a plugin exports (`PluginObjects::Open`).
  const char *symbol;
};

/// Loads the plugin `name` and returns the address of the function that it
/// exports. The library is searched in the folders of `LOCKSTEP_PLUGINS`
/// (separated by colons), in the folder `lib` next to the folder of the program
/// or library that contains the runtime, and in those of the dynamic linker. It
/// stays loaded until the process ends. Errors: a malformed name, no such
/// plugin, one that cannot be loaded, is for another version, or does not
/// export the function.
Expected<void *> loadPlugin(const PluginKind &kind, const std::string &name);

/// The open devices or transports. If a name is opened again for the same user
/// while its object is in use, both share the object. Thread-safe.
template <typename Object> class PluginObjects {
public:
  /// The function that a plugin exports: creates the object from the options
  /// that follow its name, or sets `status` to the reason why it cannot. `user`
  /// is the number of who will use it, from 0: a plugin that has several
  /// devices gives another one to each.
  using Open = void (*)(std::string_view options, uint32_t user,
                        std::unique_ptr<Object> &object, Status &status);

  /// `makeBuiltIn` creates the built-in object.
  PluginObjects(const PluginKind &kind,
                std::unique_ptr<Object> (*makeBuiltIn)())
      : kind(kind), makeBuiltIn(makeBuiltIn) {}

  /// Opens the built-in object or that of a plugin. `name` may end with a colon
  /// and options, for example "simulated:7". If it is empty, the name is taken
  /// from the environment variable, or is that of the built-in object if that
  /// is not set. Users of different numbers share nothing but the built-in
  /// object. Errors: those of `loadPlugin`, options for the built-in object,
  /// and what the plugin reports.
  Expected<std::shared_ptr<Object>> open(std::string_view name,
                                         uint32_t user = 0) {
    if (const char *value = std::getenv(kind.variable); name.empty() && value)
      name = value;
    if (name.empty())
      name = kind.builtIn;
    if (name == kind.builtIn)
      user = 0;
    std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<Object> &known = objects[{std::string(name), user}];
    if (std::shared_ptr<Object> object = known.lock())
      return object;
    Expected<std::shared_ptr<Object>> object = make(name, user);
    if (object)
      known = *object;
    return object;
  }

private:
  Expected<std::shared_ptr<Object>> make(std::string_view text, uint32_t user) {
    size_t colon = std::min(text.find(':'), text.size());
    std::string name(text.substr(0, colon));
    std::string_view options = text.substr(std::min(colon + 1, text.size()));
    if (name == kind.builtIn) {
      if (options.empty())
        return std::shared_ptr<Object>(makeBuiltIn());
      return invalidArgument(std::string(kind.kind) + " '" + name +
                             "' has no options, found '" +
                             std::string(options) + "'");
    }
    Expected<void *> function = loadPlugin(kind, name);
    if (!function)
      return function.status();
    std::unique_ptr<Object> object;
    Status status;
    reinterpret_cast<Open>(*function)(options, user, object, status);
    if (!status.ok())
      return status.withContext(std::string(kind.kind) + " '" +
                                std::string(text) + "'");
    return std::shared_ptr<Object>(std::move(object));
  }

  const PluginKind kind;
  std::unique_ptr<Object> (*const makeBuiltIn)();
  std::mutex mutex;
  std::map<std::pair<std::string, uint32_t>, std::weak_ptr<Object>> objects;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_PLUGIN_H
