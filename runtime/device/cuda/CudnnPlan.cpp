//===- CudnnPlan.cpp - how cuDNN computes a graph -------------------------===//
//
// The library's heuristics recommend engines for a graph, of which a plan is
// made.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnPlan.h"

namespace lockstep::runtime {

void addGraph(CudnnBuilder &builder, const CudnnTarget &target,
              std::span<const cudnnBackendDescriptor_t> operations,
              std::vector<CudnnDescriptor> &parts) {
  CudnnDescriptor graph =
      builder.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  builder.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
              CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
  if (target.handle)
    builder.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
                target.handle);
  builder.finalize(graph);
  parts.push_back(std::move(graph));
}

/// The engines that the library recommends, with their parameters, best first.
static std::vector<CudnnDescriptor> recommend(CudnnBuilder &builder,
                                              const CudnnTarget &target,
                                              const CudnnDescriptor &graph,
                                              cudnnBackendHeurMode_t mode) {
  constexpr size_t most = 64;
  CudnnDescriptor heuristic =
      builder.create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  builder.set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  builder.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
              mode);
  if (target.properties)
    builder.set(heuristic, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, target.properties);
  builder.finalize(heuristic);
  std::vector<CudnnDescriptor> configurations(most);
  for (CudnnDescriptor &each : configurations)
    each = builder.create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configurations.resize(
      builder.fill(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, configurations));
  return configurations;
}

/// Whether an engine computes what the artifact describes, with the same result
/// in each run.
static bool isExact(CudnnBuilder &builder, const CudnnDescriptor &configuration,
                    bool usesTensorCores) {
  CudnnDescriptor engine = builder.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  builder.fill(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, {&engine, 1});
  constexpr size_t most = 32;
  for (auto note : builder.get<cudnnBackendNumericalNote_t>(
           engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
           most)) {
    if (note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
        (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && usesTensorCores))
      continue;
    return false;
  }
  return true;
}

static CudnnPlan makePlan(CudnnBuilder &builder, const CudnnTarget &target,
                          const CudnnDescriptor &configuration) {
  CudnnPlan made;
  made.plan = builder.create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  builder.set(made.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
              configuration);
  if (target.handle)
    builder.set(made.plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                target.handle);
  else
    builder.set(made.plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                CUDNN_TYPE_BACKEND_DESCRIPTOR, target.properties);
  builder.finalize(made.plan);
  std::vector<int64_t> bytes = builder.get<int64_t>(
      made.plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
  if (!bytes.empty())
    made.workspaceBytes = uint64_t(bytes.front());
  return made;
}

Expected<CudnnPlan> planGraph(const CudnnBuilder &builder,
                              const CudnnTarget &target,
                              std::vector<CudnnDescriptor> parts,
                              const CudnnRequirements &requirements,
                              std::string &refusal) {
  if (!builder.status.ok()) {
    refusal = builder.status.message();
    return isRefusal(builder.failed) ? Expected<CudnnPlan>(CudnnPlan())
                                     : Expected<CudnnPlan>(builder.status);
  }
  refusal = "no engine with this arithmetic";
  CudnnPlan none;
  for (cudnnBackendHeurMode_t mode : requirements.modes) {
    CudnnBuilder search(builder.api);
    for (CudnnDescriptor &configuration :
         recommend(search, target, parts.back(), mode)) {
      // An engine that cannot be used does not affect the next ones.
      CudnnBuilder attempt(builder.api);
      if (!isExact(attempt, configuration, requirements.usesTensorCores))
        continue;
      CudnnPlan made = makePlan(attempt, target, configuration);
      if (!attempt.status.ok()) {
        refusal = attempt.status.message();
        continue;
      }
      if (made.workspaceBytes > requirements.mostWorkspaceBytes) {
        refusal = "working memory of " + std::to_string(made.workspaceBytes) +
                  " bytes";
        none.workspaceBytes = made.workspaceBytes;
        continue;
      }
      parts.push_back(std::move(configuration));
      made.parts = std::move(parts);
      return made;
    }
    if (!search.status.ok())
      refusal = search.status.message();
  }
  return none;
}

Expected<CudnnDescriptor> packOperands(const CudnnApi &api,
                                       std::span<const int64_t> names,
                                       std::span<const void *const> addresses,
                                       void *workspace) {
  CudnnBuilder builder(api);
  CudnnDescriptor pack = builder.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  builder.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
              names);
  builder.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
              addresses);
  builder.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
              workspace);
  builder.finalize(pack);
  if (!builder.status.ok())
    return builder.status;
  return pack;
}

} // namespace lockstep::runtime
