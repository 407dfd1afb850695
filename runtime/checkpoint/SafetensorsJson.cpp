//===- SafetensorsJson.cpp - the JSON of a safetensors header -------------===//

#include "runtime/checkpoint/SafetensorsJson.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace lockstep::runtime {

namespace {

using Json = nlohmann::json;

/// Handles the events of the parser. A tree of values would silently drop
/// duplicate keys; events contain both.
class HeaderHandler : public nlohmann::json_sax<Json> {
public:
  SafetensorsJson result;
  Status status;

  bool start_object(std::size_t) override {
    switch (place) {
    case Place::file:
      return enter(Place::names);
    case Place::entry:
      if (inMetadata) {
        if (result.metadata)
          return duplicate("__metadata__");
        result.metadata.emplace();
        return enter(Place::metadataKeys);
      }
      return enter(Place::fields);
    default:
      return misplaced("an object");
    }
  }

  bool end_object() override {
    place = place == Place::names ? Place::end : Place::names;
    return true;
  }

  bool key(string_t &name) override {
    currentKey = name;
    switch (place) {
    case Place::names:
      inMetadata = name == "__metadata__";
      if (!inMetadata) {
        if (!names.insert(name).second)
          return duplicate(name);
        result.entries.push_back(
            {.name = name, .dtype = {}, .shape = {}, .offsets = {}});
      }
      return enter(Place::entry);
    case Place::metadataKeys:
      if (result.metadata->contains(name))
        return duplicate("__metadata__." + name);
      return enter(Place::metadataValue);
    case Place::fields: {
      const SafetensorsJsonEntry &entry = result.entries.back();
      if ((name == "dtype" && entry.dtype) ||
          (name == "shape" && entry.shape) ||
          (name == "data_offsets" && entry.offsets))
        return duplicate(entry.name + "." + name);
      if (name == "dtype")
        return enter(Place::dtype);
      if (name == "shape" || name == "data_offsets")
        return enter(Place::counts);
      return fail(fmt::format(
          "'{}': expected the keys dtype, shape and data_offsets, found '{}'",
          entry.name, name));
    }
    default:
      return misplaced("a key");
    }
  }

  bool string(string_t &value) override {
    if (place == Place::metadataValue) {
      result.metadata->emplace(currentKey, value);
      return enter(Place::metadataKeys);
    }
    if (place == Place::dtype) {
      result.entries.back().dtype = value;
      return enter(Place::fields);
    }
    return misplaced("a string");
  }

  bool start_array(std::size_t) override {
    if (place != Place::counts)
      return misplaced("an array");
    counts().emplace();
    return enter(Place::numbers);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (place != Place::numbers)
      return misplaced("a number");
    counts()->push_back(value);
    return true;
  }
  bool end_array() override { return enter(Place::fields); }

  bool number_integer(number_integer_t) override {
    return misplaced("a negative number");
  }
  bool number_float(number_float_t, const string_t &) override {
    return misplaced("a fraction");
  }
  bool boolean(bool) override { return misplaced("a boolean"); }
  bool null() override { return misplaced("null"); }
  bool binary(binary_t &) override { return misplaced("binary data"); }

  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return fail(
        fmt::format("malformed JSON in the header at byte {}", position));
  }

private:
  /// What is expected next: "entry" is the value of a name, "counts" that of
  /// shape or offsets.
  enum class Place {
    file,
    names,
    entry,
    metadataKeys,
    metadataValue,
    fields,
    dtype,
    counts,
    numbers,
    end
  };

  bool enter(Place next) {
    place = next;
    return true;
  }
  std::optional<std::vector<uint64_t>> &counts() {
    SafetensorsJsonEntry &entry = result.entries.back();
    return currentKey == "shape" ? entry.shape : entry.offsets;
  }
  bool fail(std::string message) {
    status = corrupted(std::move(message));
    return false;
  }
  bool duplicate(const std::string &name) {
    return fail(fmt::format("the key '{}' occurs twice in the header", name));
  }
  bool misplaced(const char *what) {
    if (currentKey.empty())
      return fail(fmt::format(
          "expected a header with the form of safetensors, found {}", what));
    return fail(fmt::format(
        "expected a header with the form of safetensors, found {} at '{}'",
        what, currentKey));
  }

  Place place = Place::file;
  bool inMetadata = false;
  std::string currentKey;
  std::set<std::string, std::less<>> names;
};

} // namespace

Expected<SafetensorsJson> parseSafetensorsJson(std::string_view text) {
  HeaderHandler handler;
  if (!Json::sax_parse(text.begin(), text.end(), &handler))
    return handler.status.ok() ? corrupted("malformed JSON in the header")
                               : handler.status;
  return std::move(handler.result);
}

} // namespace lockstep::runtime
