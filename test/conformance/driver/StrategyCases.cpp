//===- StrategyCases.cpp - attributes and initial values ------------------===//

#include "test/conformance/driver/ProceduralPrograms.h"
#include "test/conformance/driver/StrategyAttributes.h"

#include <algorithm>

namespace lockstep::conformance::driver {

namespace {

using replica::StrategyAttributes;

template <typename T> Json orError(const std::optional<T> &value) {
  return value ? Json(*value) : Json{{"error", "the strategy has none"}};
}

/// Where a context runs: each level of the strategy's own groups devices once
/// more.
Json devicesOfReplica(const StrategyAttributes &attributes, int64_t replica) {
  Json device = Json::array({attributes.getReplicaDevice(replica)});
  return attributes.groupsDevices ? Json::array({device}) : device;
}

Json namesOrDevices(const StrategyAttributes &attributes,
                    const std::vector<std::string> &variables) {
  if (std::optional<llvm::StringRef> variable =
          attributes.getNonSlotVariable(variables))
    return {{"variable", variable->str()}};
  return attributes.nonSlotDevices.value_or(std::vector<std::string>());
}

/// All rows that there are, for the strategy of a case.
Json rowsOf(const StrategyAttributes &attributes,
            const std::vector<std::string> &variables) {
  Json devices = Json::array();
  for (int64_t replica = 0; replica < attributes.localReplicas; ++replica)
    devices.push_back(devicesOfReplica(attributes, replica));
  return {
      {"worker_devices", orError(attributes.workerDevices)},
      {"parameter_devices", orError(attributes.parameterDevices)},
      {"experimental_between_graph", orError(attributes.isBetweenGraph)},
      {"experimental_require_static_shapes", attributes.requiresStaticShapes},
      {"experimental_should_init", orError(attributes.shouldInit)},
      {"should_checkpoint", attributes.shouldCheckpoint},
      {"should_save_summary", attributes.shouldSaveSummary},
      {"num_replicas_in_sync", attributes.replicas},
      {"cluster_resolver_is_none", !attributes.hasClusterResolver},
      {"non_slot_devices", namesOrDevices(attributes, variables)},
      {"replica_ctx",
       {{"devices", devices},
        {"strategy_is_current", true},
        {"replica_id_type", "tensor"}}},
      {"variable_type", attributes.variableType}};
}

/// The rows that the case asks for.
Json selected(const Json &rows, const Json &expected) {
  Json result = Json::object();
  for (const auto &[name, value] : expected.items())
    if (rows.contains(name))
      result[name] = rows.at(name);
  return result;
}

} // namespace

std::vector<ConfigurationResult> strategyAttributes(const Json &one) {
  const Json &expected = one.at("expected").at("ok");
  // Cases of parameter servers have the cluster instead of the name of a
  // strategy.
  Strategy strategy{.kind = replica::Kind::ParameterServer,
                    .replicas = 1,
                    .workers = one.value("workers", int64_t{1})};
  if (one.contains("strategy"))
    strategy = readStrategy(one.at("strategy"));
  StrategyAttributes attributes = StrategyAttributes::of(
      strategy.kind, strategy.replicas, strategy.workers, /*worker=*/0);
  // The case names the expected variable, not all variables: add some that come
  // after it.
  std::vector<std::string> variables = {"zz"};
  if (Json found = expected.value("non_slot_devices", Json());
      found.is_object()) {
    std::string name = found.at("variable").get<std::string>();
    variables = {name + "_1", name, name + "_2"};
  }
  return {{"strategy", selected(rowsOf(attributes, variables), expected)}};
}

/// The initial value is part of the module, so it is made once and is the first
/// process's for all.
std::vector<ConfigurationResult> variableInit(const Json &one) {
  constexpr double kInitial = 100;
  Json json = one;
  json["variables"] = Json::array({{{"name", "v"},
                                    {"init",
                                     {{"dtype", "f32"},
                                      {"shape", Json::array()},
                                      {"data", Json::array({kInitial})}}}}});
  json["program"] = Json::array({{{"op", "read"}, {"var", "v"}, {"out", "r"}}});
  json["observe"] = Json::array({"r"});
  json["observe_vars"] = Json::array({"v"});

  auto describe = [&](const Case &one, const Program &program,
                      const std::vector<RunResult> &runs) -> Json {
    const std::vector<Tensor> &copies = runs.front().variables.at(0);
    if (!json.contains("expected_per_worker")) {
      bool equal =
          std::all_of(copies.begin(), copies.end(), [&](const Tensor &copy) {
            return copy.bytes == copies.front().bytes;
          });
      auto variables = program.module.get().getOps<replica::VariableOp>();
      auto initializers = std::count_if(
          variables.begin(), variables.end(),
          [](replica::VariableOp op) { return op.getInitial().has_value(); });
      return {{"all_components_equal", equal},
              {"initializer_calls", initializers}};
    }
    Json workers = Json::array();
    for (int64_t worker = 0; worker < one.strategy.workers; ++worker) {
      StrategyAttributes attributes =
          StrategyAttributes::of(one.strategy.kind, one.strategy.replicas,
                                 one.strategy.workers, worker);
      Json rows = rowsOf(attributes, {"v"});
      const Json &expected = json.at("expected_per_worker").at(worker).at("ok");
      rows["attributes"] =
          selected(rows, expected.value("attributes", Json::object()));
      rows["worker_devices"] = rows.at("worker_devices").size();
      rows["cluster_resolver_task"] =
          attributes.task ? Json{attributes.task->type, attributes.task->index}
                          : Json();
      rows["v"] = observe(one, program, runs.front(), worker)
                      .at("variables")
                      .at("v")
                      .at("components")
                      .at(0)
                      .at("data")
                      .at(0);
      workers.push_back(selected(rows, expected));
    }
    return workers;
  };
  return execute(json, describe);
}

} // namespace lockstep::conformance::driver
