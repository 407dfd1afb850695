//===- Injection.cpp ------------------------------------------------------===//

#include "runtime/executor/Injection.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

namespace lockstep::runtime {

Expected<Injection> Injection::parse(std::string_view text) {
  auto error = [&](const std::string &why) {
    return invalidArgument(fmt::format(
        "injection '{}': {} (expected for example 'pause:replica=2,channel=3')",
        text, why));
  };
  Injection result;
  result.text = text;
  static constexpr std::pair<std::string_view, Fault> faults[] = {
      {"pause:", Fault::pause},
      {"return-early:", Fault::returnEarly},
      {"hang:", Fault::hang},
      {"nan:", Fault::nan}};
  auto named = std::find_if(
      std::begin(faults), std::end(faults),
      [&](const auto &fault) { return text.starts_with(fault.first); });
  if (named == std::end(faults))
    return error("unknown fault");
  result.fault = named->second;
  std::string_view rest = text.substr(named->first.size());
  bool hasReplica = false;
  std::set<std::string_view> keys;
  while (!rest.empty()) {
    std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return error(fmt::format("'{}' is not of the form key=value", item));
    std::string_view key = item.substr(0, equals),
                     value = item.substr(equals + 1);
    if (!keys.insert(key).second)
      return error(fmt::format("'{}' is given twice", key));
    if (key == "program") {
      result.program = value;
      continue;
    }
    uint32_t number = 0;
    auto [end, code] =
        std::from_chars(value.data(), value.data() + value.size(), number);
    if (code != std::errc() || end != value.data() + value.size())
      return error(fmt::format("'{}' is not a number", value));
    if (key == "replica") {
      result.replica = number;
      hasReplica = true;
    } else if (key == "channel") {
      result.channel = number;
    } else if (key == "command") {
      result.command = number;
    } else {
      return error(fmt::format("unknown key '{}'", key));
    }
  }
  if (!hasReplica ||
      (result.channel == anywhere) == (result.command == anywhere))
    return error("expected a replica and one of channel and command");
  if (result.fault != Fault::pause && result.command == anywhere)
    return error("expected the command of a launch, found a channel");
  return result;
}

} // namespace lockstep::runtime
