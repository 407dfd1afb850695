//===- CudnnPlan.cpp - how cuDNN computes a convolution -------------------===//
//
// A graph of one operation describes the convolution. The library's heuristics
// recommend engines for it, of which a plan is made.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnPlan.h"

#include <algorithm>
#include <span>
#include <vector>

namespace lockstep::runtime {

using artifact::ElementType;

static cudnnDataType_t cudnnType(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return CUDNN_DATA_HALF;
  case ElementType::bf16:
    return CUDNN_DATA_BFLOAT16;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

namespace {

/// Creates descriptors, and notes the first error of a call: after it, nothing
/// is called.
class DescriptorBuilder {
public:
  explicit DescriptorBuilder(const CudnnApi &api) : api(api) {}

  CudnnDescriptor create(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t descriptor = nullptr;
    if (status.ok())
      note("cudnnBackendCreateDescriptor",
           api.cudnnBackendCreateDescriptor(type, &descriptor));
    return {api, descriptor};
  }

  template <typename Value>
  void set(const CudnnDescriptor &descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, std::span<const Value> values) {
    if (status.ok())
      note("cudnnBackendSetAttribute",
           api.cudnnBackendSetAttribute(descriptor.get(), name, type,
                                        int64_t(values.size()), values.data()));
  }
  template <typename Value>
  void set(const CudnnDescriptor &descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, const Value &value) {
    set(descriptor, name, type, std::span<const Value>(&value, 1));
  }
  void set(const CudnnDescriptor &descriptor, cudnnBackendAttributeName_t name,
           const CudnnDescriptor &value) {
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
  }

  /// The values of an attribute, at most `most`.
  template <typename Value>
  std::vector<Value> get(const CudnnDescriptor &descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, size_t most) {
    std::vector<Value> values(most);
    int64_t count = 0;
    if (status.ok())
      note("cudnnBackendGetAttribute",
           api.cudnnBackendGetAttribute(descriptor.get(), name, type,
                                        int64_t(most), &count, values.data()));
    values.resize(status.ok() ? std::min(size_t(count), most) : 0);
    return values;
  }

  /// Lets the library fill descriptors that have been created; returns how
  /// many of them it has filled.
  size_t fill(const CudnnDescriptor &descriptor,
              cudnnBackendAttributeName_t name,
              std::span<CudnnDescriptor> filled) {
    std::vector<cudnnBackendDescriptor_t> pointers;
    for (const CudnnDescriptor &each : filled)
      pointers.push_back(each.get());
    int64_t count = 0;
    if (status.ok())
      note("cudnnBackendGetAttribute",
           api.cudnnBackendGetAttribute(
               descriptor.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               int64_t(pointers.size()), &count, pointers.data()));
    return status.ok() ? std::min(size_t(count), filled.size()) : 0;
  }

  void finalize(const CudnnDescriptor &descriptor) {
    if (status.ok())
      note("cudnnBackendFinalize", api.cudnnBackendFinalize(descriptor.get()));
  }

  const CudnnApi &api;
  Status status;
  /// That of the library.
  cudnnStatus_t failed = CUDNN_STATUS_SUCCESS;

private:
  void note(const char *call, cudnnStatus_t found) {
    if (found == CUDNN_STATUS_SUCCESS || !status.ok())
      return;
    status = api.error(call, found);
    failed = found;
  }
};

} // namespace

static CudnnDescriptor describeTensor(DescriptorBuilder &builder,
                                      const GpuTensor &tensor, int64_t name,
                                      int64_t alignment) {
  CudnnDescriptor created = builder.create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  std::array<int64_t, 4> sizes{};
  std::ranges::copy(tensor.sizes, sizes.begin());
  builder.set(created, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
              cudnnType(tensor.type()));
  builder.set<int64_t>(created, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                       std::span(sizes));
  builder.set<int64_t>(created, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
                       std::span(tensor.strides));
  builder.set(created, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
  builder.set(created, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
              alignment);
  builder.finalize(created);
  return created;
}

static CudnnDescriptor describeWindows(DescriptorBuilder &builder,
                                       const GpuConvolution &convolution) {
  CudnnDescriptor created =
      builder.create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  builder.set(created, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
              CUDNN_DATA_FLOAT);
  builder.set(created, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
              CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  std::array<int64_t, 2> none{}, strides{}, dilations{};
  std::ranges::copy(convolution.strides, strides.begin());
  std::ranges::copy(convolution.dilations, dilations.begin());
  builder.set(created, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
              int64_t(strides.size()));
  auto set = [&](cudnnBackendAttributeName_t name,
                 const std::array<int64_t, 2> &values) {
    builder.set<int64_t>(created, name, CUDNN_TYPE_INT64, std::span(values));
  };
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, none);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, none);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations);
  builder.finalize(created);
  return created;
}

/// The graph, behind what it is made of.
static std::vector<CudnnDescriptor>
describeGraph(DescriptorBuilder &builder, const CudnnTarget &target,
              const GpuConvolution &convolution,
              const CudnnAlignments &alignments) {
  const std::array<const GpuTensor *, 3> operands = {
      &convolution.image, &convolution.filter, &convolution.result};
  std::vector<CudnnDescriptor> parts;
  for (size_t i = 0; i < operands.size(); ++i)
    parts.push_back(
        describeTensor(builder, *operands[i], cudnnNames[i], alignments[i]));
  struct Names {
    cudnnBackendDescriptorType_t type;
    std::array<cudnnBackendAttributeName_t, 3> tensors;
    cudnnBackendAttributeName_t convolution, alpha, beta;
  };
  constexpr Names ofResult = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  constexpr Names ofFilter = {
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  const Names &names =
      convolution.kind == GpuConvolution::Result ? ofResult : ofFilter;
  CudnnDescriptor operation = builder.create(names.type),
                  windows = describeWindows(builder, convolution),
                  graph =
                      builder.create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  for (size_t i = 0; i < operands.size(); ++i)
    builder.set(operation, names.tensors[i], parts[i]);
  builder.set(operation, names.convolution, windows);
  builder.set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  builder.set(operation, names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  builder.finalize(operation);
  builder.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  if (target.handle)
    builder.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
                target.handle);
  builder.finalize(graph);
  for (CudnnDescriptor *part : {&windows, &operation, &graph})
    parts.push_back(std::move(*part));
  return parts;
}

/// The engines that the library recommends, with their parameters, best first.
static std::vector<CudnnDescriptor> recommend(DescriptorBuilder &builder,
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
static bool isExact(DescriptorBuilder &builder,
                    const CudnnDescriptor &configuration, bool mayRound) {
  CudnnDescriptor engine = builder.create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  builder.fill(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, {&engine, 1});
  constexpr size_t most = 32;
  for (auto note : builder.get<cudnnBackendNumericalNote_t>(
           engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
           most)) {
    if (note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP ||
        (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && mayRound))
      continue;
    return false;
  }
  return true;
}

static CudnnPlan makePlan(DescriptorBuilder &builder, const CudnnTarget &target,
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

Expected<CudnnPlan> planConvolution(const CudnnApi &api,
                                    const CudnnTarget &target,
                                    const GpuConvolution &convolution,
                                    const CudnnAlignments &alignments,
                                    uint64_t mostWorkspaceBytes,
                                    std::string &refusal) {
  DescriptorBuilder builder(api);
  std::vector<CudnnDescriptor> parts =
      describeGraph(builder, target, convolution, alignments);
  if (!builder.status.ok()) {
    refusal = builder.status.message();
    return isRefusal(builder.failed) ? Expected<CudnnPlan>(CudnnPlan())
                                     : Expected<CudnnPlan>(builder.status);
  }
  bool mayRound = elementSize(convolution.image.type()) == 2 ||
                  convolution.roundsFactors != 0;
  refusal = "no engine with this arithmetic";
  // What the library recommends is fast, but may be tensor cores alone.
  for (auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    DescriptorBuilder search(api);
    for (CudnnDescriptor &configuration :
         recommend(search, target, parts.back(), mode)) {
      // An engine that cannot be used does not affect the next ones.
      DescriptorBuilder attempt(api);
      if (!isExact(attempt, configuration, mayRound))
        continue;
      CudnnPlan made = makePlan(attempt, target, configuration);
      if (!attempt.status.ok()) {
        refusal = attempt.status.message();
        continue;
      }
      if (made.workspaceBytes > mostWorkspaceBytes) {
        refusal = "working memory of " + std::to_string(made.workspaceBytes) +
                  " bytes";
        continue;
      }
      parts.push_back(std::move(configuration));
      made.parts = std::move(parts);
      return made;
    }
    if (!search.status.ok())
      refusal = search.status.message();
  }
  return CudnnPlan();
}

Expected<CudnnDescriptor>
packOperands(const CudnnApi &api, const std::array<std::byte *, 3> &addresses,
             void *workspace) {
  DescriptorBuilder builder(api);
  CudnnDescriptor pack = builder.create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  builder.set<int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                       CUDNN_TYPE_INT64, std::span(cudnnNames));
  builder.set<std::byte *>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                           CUDNN_TYPE_VOID_PTR, std::span(addresses));
  builder.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
              workspace);
  builder.finalize(pack);
  if (!builder.status.ok())
    return builder.status;
  return pack;
}

} // namespace lockstep::runtime
