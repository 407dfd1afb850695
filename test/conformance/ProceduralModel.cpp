//===- ProceduralModel.cpp - cases of partitioners and packing ------------===//

#include "ProceduralCases.h"
#include "ProceduralPartitioner.h"

#include "runtime/model/Partition.h"
#include "test/conformance/CommunicationOptions.h"
#include "test/conformance/Packing.h"

#include <fmt/format.h>

namespace lockstep::conformance {

using namespace runtime;

namespace {

/// As TensorFlow counts: 16 for a string.
Expected<uint64_t> elementBytes(const std::string &dtype) {
  for (auto [name, bytes] :
       {std::pair("bool", 1), std::pair("f16", 2), std::pair("bf16", 2),
        std::pair("f32", 4), std::pair("i32", 4), std::pair("f64", 8),
        std::pair("i64", 8), std::pair("c64", 8), std::pair("str", 16)})
    if (dtype == name)
      return static_cast<uint64_t>(bytes);
  return unsupported(
      fmt::format("expected an element type, found '{}'", dtype));
}

/// Calls `fill` for each row of the expected table, to replace expected values
/// by results.
template <typename Function>
Expected<json> fillTable(const json &testCase, Function fill) {
  return readingCase([&]() -> Expected<json> {
    json table = json::array();
    for (json row : testCase.at("expected").at("ok").at("table")) {
      LOCKSTEP_RETURN_IF_ERROR(fill(row));
      table.push_back(std::move(row));
    }
    return json{{"table", table}};
  });
}

} // namespace

Expected<Partitioner> partitionerOf(const std::string &kind,
                                    const json &arguments) {
  std::optional<int64_t> maxShards;
  if (arguments.contains("max_shards") && !arguments["max_shards"].is_null())
    maxShards = arguments["max_shards"].get<int64_t>();
  if (kind == "fixed")
    return Partitioner::fixedShards(arguments.at("num_shards"));
  if (kind == "min")
    return Partitioner::minSize(
        arguments.value("min_shard_bytes", Partitioner::defaultMinShardBytes),
        maxShards.value_or(1));
  if (kind == "max")
    return Partitioner::maxSize(arguments.at("max_shard_bytes"), maxShards);
  return unsupported(fmt::format(
      "expected the partitioner fixed, min or max, found '{}'", kind));
}

Expected<json> partitionerTable(const json &testCase) {
  return fillTable(testCase, [](json &row) -> Status {
    row.erase("partitions");
    row.erase("error");
    Expected<uint64_t> bytes = elementBytes(row.at("dtype"));
    if (!bytes)
      return bytes.status();
    Expected<Partitioner> partitioner =
        partitionerOf(row.at("partitioner"), row.at("args"));
    if (partitioner)
      row["partitions"] = partitioner->partitions(
          row.at("shape").get<std::vector<int64_t>>(), *bytes);
    else
      row["error"] = partitioner.status().message();
    return Status::success();
  });
}

Expected<json> groupBySize(const json &testCase) {
  return fillTable(testCase, [](json &row) -> Status {
    Expected<uint64_t> bytes = elementBytes(row.at("dtype"));
    if (!bytes)
      return bytes.status();
    auto counts =
        row.at("element_counts_in_order").get<std::vector<uint64_t>>();
    std::vector<std::optional<uint64_t>> sizes;
    for (uint64_t count : counts)
      sizes.push_back(count * *bytes);
    row["packs"] = json::array();
    for (const Pack &pack : packBySize(sizes, row.at("bytes_per_pack"))) {
      json &members = row["packs"].emplace_back(json::array());
      for (size_t tensor : pack)
        members.push_back(counts[tensor]);
    }
    return Status::success();
  });
}

namespace {

using Implementation = CommunicationOptions::Implementation;
constexpr std::pair<const char *, Implementation> implementations[] = {
    {"AUTO", Implementation::automatic},
    {"RING", Implementation::ring},
    {"NCCL", Implementation::nccl}};

CommunicationOptions optionsOf(const json &fields) {
  CommunicationOptions options;
  options.bytesPerPack = fields.at("bytes_per_pack").get<uint64_t>();
  if (!fields.at("timeout_seconds").is_null())
    options.timeoutSeconds = fields["timeout_seconds"].get<double>();
  for (auto [name, implementation] : implementations)
    if (fields.at("implementation") == name)
      options.implementation = implementation;
  return options;
}

json fieldsOf(const CommunicationOptions &options) {
  json fields{{"bytes_per_pack", options.bytesPerPack},
              {"timeout_seconds", nullptr},
              {"implementation", nullptr}};
  if (options.timeoutSeconds)
    fields["timeout_seconds"] = *options.timeoutSeconds;
  for (auto [name, implementation] : implementations)
    if (options.implementation == implementation)
      fields["implementation"] = name;
  return fields;
}

/// Options that differ from these wherever these are not the default.
CommunicationOptions othersThan(const CommunicationOptions &options) {
  CommunicationOptions others;
  if (options.bytesPerPack != 0)
    others.bytesPerPack = options.bytesPerPack + 1;
  if (options.timeoutSeconds)
    others.timeoutSeconds = *options.timeoutSeconds + 1;
  if (options.implementation != Implementation::automatic)
    others.implementation = options.implementation == Implementation::ring
                                ? Implementation::nccl
                                : Implementation::ring;
  return others;
}

} // namespace

/// The rows are results; the inputs follow from their names: the row itself is
/// merged into other options, or none into it.
Expected<json> mergeOptions(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    json rows = json::object();
    for (const auto &[name, fields] :
         testCase.at("expected").at("ok").items()) {
      CommunicationOptions options = optionsOf(fields);
      if (name == "default")
        rows[name] = fieldsOf({});
      else if (name == "merge_override")
        rows[name] = fieldsOf(othersThan(options).merged(options));
      else if (name == "merge_default_keeps" || name == "merge_none")
        rows[name] = fieldsOf(options.merged({}));
      else
        return unsupported(
            fmt::format("expected a row of known options, found '{}'", name));
    }
    return rows;
  });
}

} // namespace lockstep::conformance
