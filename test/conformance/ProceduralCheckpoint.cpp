//===- ProceduralCheckpoint.cpp - cases of checkpoints --------------------===//

#include "ProceduralCases.h"
#include "ProceduralExpression.h"

#include "runtime/checkpoint/Aggregation.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <unistd.h>

namespace lockstep::conformance {

using namespace runtime;

namespace {

/// A folder that is removed with all that is in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "lockstep-case-XXXXXX")
            .string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string path;
};

/// The variable of a case, with a value for each of some replicas.
struct CaseVariable {
  std::deque<HostTensor> values;
  VariableView view;

  CaseVariable() = default;
  CaseVariable(const CaseVariable &) = delete;

  Expected<json> toJson(std::span<const std::byte> bytes) const {
    Expected<CaseTensor> tensor = fromHost(
        {view.type.element, view.type.shape, {bytes.begin(), bytes.end()}});
    if (!tensor)
      return tensor.status();
    return tensor->shape.empty() ? tensor->data.front() : tensor->toJson();
  }
};

Expected<artifact::Aggregation> aggregationOf(const std::string &name) {
  using artifact::Aggregation;
  for (auto [text, value] :
       {std::pair("NONE", Aggregation::none),
        std::pair("SUM", Aggregation::sum),
        std::pair("MEAN", Aggregation::mean),
        std::pair("ONLY_FIRST_REPLICA", Aggregation::only_first_replica)})
    if (name == text)
      return value;
  return invalidArgument(
      fmt::format("expected the aggregation NONE, SUM, MEAN or "
                  "ONLY_FIRST_REPLICA, found '{}' [E_OPTION_VALUE]",
                  name));
}

/// Numbers of `local_values` are of the variable's element type, f32 by
/// default.
Status createVariable(const json &testCase, unsigned replicas,
                      CaseVariable &variable) {
  const json &description = testCase.at("variable");
  Expected<artifact::Aggregation> aggregation =
      aggregationOf(description.value("aggregation", "NONE"));
  if (!aggregation)
    return aggregation.status();
  std::string dtype = description.value("dtype", "f32");
  for (unsigned replica = 0; replica < replicas; ++replica) {
    Environment environment{.values = {{"replica_id", hostValue(replica)}}};
    Expected<CaseValue> value =
        evaluate(testCase.at("local_values").get<std::string>(), environment);
    if (!value || value->isNest())
      return value ? invalidArgument(
                         fmt::format("expected a number or a tensor, found {}",
                                     value->toJson().dump()))
                   : value.status();
    CaseTensor tensor = value->kind == CaseValue::Kind::tensor
                            ? value->tensor
                            : CaseTensor{dtype, {}, {value->host}};
    Expected<HostTensor> host =
        toHost(cast(tensor, description.value("dtype", tensor.dtype)));
    if (!host)
      return host.status();
    variable.values.push_back(std::move(*host));
  }
  const HostTensor &first = variable.values.front();
  variable.view = {.name = "v",
                   .type = {first.element, first.shape, first.bytes.size()},
                   .perReplica = true};
  variable.view.synchronization =
      description.value("synchronization", "ON_WRITE") == "ON_READ"
          ? artifact::Synchronization::on_read
          : artifact::Synchronization::on_write;
  variable.view.aggregation = *aggregation;
  for (HostTensor &value : variable.values)
    variable.view.values.emplace_back(value.bytes);
  return Status::success();
}

/// The result of a read of all replicas.
Expected<json> crossRead(const CaseVariable &variable) {
  const VariableView &view = variable.view;
  if (view.synchronization == artifact::Synchronization::on_write)
    return variable.toJson(view.values.front().read());
  if (!isAggregated(view))
    return invalidArgument("expected an aggregation to read 'v' of all "
                           "replicas, found none [E_AGG_NONE]");
  std::vector<std::byte> value(view.type.bytes);
  aggregate(view, value);
  return variable.toJson(value);
}

} // namespace

Expected<json> checkpointRoundTrip(const json &testCase) {
  return readingCase([&]() -> Expected<json> {
    CaseVariable saved, restored;
    LOCKSTEP_RETURN_IF_ERROR(
        createVariable(testCase, testCase.at("save_replicas"), saved));
    LOCKSTEP_RETURN_IF_ERROR(
        createVariable(testCase, testCase.at("restore_replicas"), restored));
    for (HostTensor &value : restored.values)
      std::fill(value.bytes.begin(), value.bytes.end(), std::byte(0));

    TemporaryFolder folder;
    Expected<std::string> path =
        saveCheckpoint(folder.path, {.step = 1}, {&saved.view, 1});
    if (!path)
      return path.status();
    Expected<TrainingState> state =
        restoreCheckpoint(*path, {&restored.view, 1});
    if (!state)
      return state.status();
    Expected<SafetensorsFile> file = SafetensorsFile::open(*path);
    if (!file)
      return file.status();

    Expected<json> inFile = saved.toJson(file->data(*file->find("v"))
                                             .first(saved.view.type.bytes)),
                   read = crossRead(restored);
    for (const Expected<json> &value : {inFile, read})
      LOCKSTEP_RETURN_IF_ERROR(value.status());
    json result = {{"saved", *inFile},
                   {"restored_components", json::array()},
                   {"cross_read", *read}};
    for (const HostTensor &value : restored.values) {
      Expected<json> component = restored.toJson(value.bytes);
      LOCKSTEP_RETURN_IF_ERROR(component.status());
      result["restored_components"].push_back(*component);
    }
    return result;
  });
}

} // namespace lockstep::conformance
