//===- CudnnConvolutionGraph.cpp - convolutions as graphs -----------------===//
//
// A graph describes the convolution, and what is added to it.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnConvolutionGraph.h"

#include "runtime/device/cuda/CudaLibraryPhase.h"
#include "runtime/device/cuda/CudnnGraphBuilder.h"

namespace lockstep::runtime {

using Node = CudnnGraphBuilder::Node;
using Sizes = CudnnGraphBuilder::Sizes;

static Sizes sizesOf(const GpuTensor &tensor) {
  Sizes sizes{};
  std::ranges::copy(tensor.sizes, sizes.begin());
  return sizes;
}

static CudnnDescriptor describeWindows(CudnnBuilder &builder,
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

/// Adds the convolution, with `operands` in the order of their names.
static void addConvolution(CudnnBuilder &builder, CudnnGraphBuilder &graph,
                           const GpuConvolution &convolution,
                           const std::array<Node, 3> &operands) {
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
  CudnnDescriptor operation = builder.create(names.type);
  for (size_t i = 0; i < operands.size(); ++i)
    builder.set(operation, names.tensors[i], CUDNN_TYPE_BACKEND_DESCRIPTOR,
                operands[i].descriptor);
  builder.set(operation, names.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              graph.keep(describeWindows(builder, convolution)));
  builder.set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  builder.set(operation, names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  builder.finalize(operation);
  graph.addOperation(std::move(operation));
}

/// Adds the bias, and a ReLU if there is one, to what the graph has computed.
static void addEpilogue(CudnnGraphBuilder &graph, const GpuEpilogue &epilogue,
                        const Node &computed, const Node &result) {
  int64_t channels = computed.sizes[1];
  Node bias = graph.inMemory(
      {1, channels, 1, 1}, {channels, 1, channels, channels}, CUDNN_DATA_FLOAT,
      convolutionNames.back(), mostLibraryAlignment);
  if (epilogue.activation == GpuActivation::None) {
    graph.compute(CUDNN_POINTWISE_ADD, computed, &bias, result);
    return;
  }
  Node sum = graph.within(computed.sizes, computed.strides, CUDNN_DATA_FLOAT);
  graph.compute(CUDNN_POINTWISE_ADD, computed, &bias, sum);
  graph.compute(CUDNN_POINTWISE_RELU_FWD, sum, nullptr, result);
}

/// The graph, behind what it is made of.
static std::vector<CudnnDescriptor>
describeConvolution(CudnnBuilder &builder, const CudnnTarget &target,
                    const GpuConvolution &convolution,
                    const CudnnAlignments &alignments) {
  CudnnGraphBuilder graph(builder, mostLibraryAlignment);
  const std::array<const GpuTensor *, 3> tensors = {
      &convolution.image, &convolution.filter, &convolution.result};
  std::array<Node, 3> operands;
  for (size_t i = 0; i < tensors.size(); ++i)
    operands[i] = graph.inMemory(sizesOf(*tensors[i]), tensors[i]->strides,
                                 cudnnType(tensors[i]->type()),
                                 convolutionNames[i], alignments[i]);
  const GpuEpilogue &epilogue = convolution.epilogue;
  Node result = operands.back();
  if (!epilogue.isNone())
    operands.back() =
        graph.within(result.sizes, result.strides, CUDNN_DATA_FLOAT);
  addConvolution(builder, graph, convolution, operands);
  if (!epilogue.isNone())
    addEpilogue(graph, epilogue, operands.back(), result);
  return graph.finish(target);
}

Expected<CudnnPlan> planConvolution(const CudnnApi &api,
                                    const CudnnTarget &target,
                                    const GpuConvolution &convolution,
                                    const CudnnAlignments &alignments,
                                    uint64_t mostWorkspaceBytes,
                                    std::string &refusal) {
  CudnnBuilder builder(api);
  std::vector<CudnnDescriptor> parts =
      describeConvolution(builder, target, convolution, alignments);
  CudnnRequirements requirements;
  requirements.usesTensorCores = elementSize(convolution.image.type()) == 2 ||
                                 convolution.roundsFactors != 0;
  // What the library recommends is fast, but may be tensor cores alone.
  requirements.modes = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
  requirements.mostWorkspaceBytes = mostWorkspaceBytes;
  return planGraph(builder, target, std::move(parts), requirements, refusal);
}

} // namespace lockstep::runtime
