//===- ProceduralIndex.cpp - Python's indices -----------------------------===//

#include "ProceduralIndex.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace lockstep::conformance {

namespace {

/// Parts between separators that are not within brackets, without blanks.
std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == separator && depth == 0)
      parts.emplace_back();
    else if (c != ' ')
      parts.back() += c;
  }
  return parts;
}

std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size()
             ? std::optional(value)
             : std::nullopt;
}

Status wrongItem(const std::string &item) {
  return runtime::invalidArgument(
      fmt::format("expected integers, slices, '...', 'newaxis' or a mask as an "
                  "index, found '{}' [E_ARG_TYPE]",
                  item));
}

/// "START:STOP:STEP", each of which may be missing; positions outside are cut
/// off.
Expected<std::vector<int64_t>> slicePositions(const std::string &item,
                                              int64_t size) {
  std::vector<std::string> parts = split(item, ':');
  std::optional<int64_t> bounds[3];
  for (size_t i = 0; i < parts.size() && i < 3; ++i) {
    bounds[i] = parseInteger(parts[i]);
    if (!parts[i].empty() && !bounds[i])
      return wrongItem(item);
  }
  int64_t step = bounds[2].value_or(1);
  if (step == 0 || parts.size() > 3)
    return wrongItem(item);
  // Going down, the position before the first one is -1.
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto bound = [&](std::optional<int64_t> given, int64_t otherwise) {
    return given ? std::clamp(*given < 0 ? *given + size : *given, low, high)
                 : otherwise;
  };
  int64_t first = bound(bounds[0], step > 0 ? low : high),
          last = bound(bounds[1], step > 0 ? high : low);
  std::vector<int64_t> positions;
  for (int64_t at = first; step > 0 ? at < last : at > last; at += step)
    positions.push_back(at);
  return positions;
}

Expected<std::vector<int64_t>> maskPositions(const std::string &item,
                                             int64_t size) {
  std::vector<std::string> bits = split(item.substr(1, item.size() - 2), ',');
  std::vector<int64_t> positions;
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] != "True" && bits[i] != "False")
      return wrongItem(item);
    if (bits[i] == "True")
      positions.push_back(static_cast<int64_t>(i));
  }
  if (static_cast<int64_t>(bits.size()) != size)
    return runtime::invalidArgument(fmt::format(
        "expected a mask of {}, found {} [E_INDEX]", size, bits.size()));
  return positions;
}

} // namespace

Expected<Selection> parseIndex(const std::string &text,
                               const std::vector<int64_t> &shape) {
  std::vector<std::string> items = split(text, ',');
  auto isNewAxis = [](const std::string &item) {
    return item == "newaxis" || item == "None";
  };
  size_t consumed =
      std::count_if(items.begin(), items.end(), [&](const std::string &item) {
        return item != "..." && !isNewAxis(item);
      });
  if (consumed > shape.size())
    return runtime::invalidArgument(
        fmt::format("expected indices of at most {} axes, found '{}' [E_INDEX]",
                    shape.size(), text));
  auto ellipsis = std::find(items.begin(), items.end(), "...");
  if (ellipsis == items.end())
    ellipsis = items.insert(items.end(), "...");
  *ellipsis = ":";
  size_t whole = shape.size() - consumed;
  if (whole == 0)
    items.erase(ellipsis);
  else
    items.insert(ellipsis, whole - 1, ":");

  Selection selection;
  for (const std::string &item : items) {
    if (isNewAxis(item)) {
      selection.shape.push_back(1);
      continue;
    }
    int64_t size = shape[selection.positions.size()];
    if (std::optional<int64_t> position = parseInteger(item)) {
      if (*position < -size || *position >= size)
        return runtime::invalidArgument(
            fmt::format("expected an index from {} to {}, found {} [E_INDEX]",
                        -size, size - 1, *position));
      selection.positions.push_back({*position + (*position < 0 ? size : 0)});
      continue;
    }
    bool isMask = item.starts_with("[") && item.ends_with("]");
    if (!isMask && item.find(':') == std::string::npos)
      return wrongItem(item);
    Expected<std::vector<int64_t>> positions =
        isMask ? maskPositions(item, size) : slicePositions(item, size);
    if (!positions)
      return positions.status();
    selection.shape.push_back(static_cast<int64_t>(positions->size()));
    selection.positions.push_back(std::move(*positions));
  }
  return selection;
}

} // namespace lockstep::conformance
