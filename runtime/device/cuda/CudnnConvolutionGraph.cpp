//===- CudnnConvolutionGraph.cpp - convolutions as graphs -----------------===//
//
// A graph of one operation describes the convolution.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnConvolutionGraph.h"

namespace lockstep::runtime {

static CudnnDescriptor describeOperand(CudnnBuilder &builder,
                                       const GpuTensor &tensor, int64_t name,
                                       int64_t alignment) {
  CudnnTensor described;
  described.type = cudnnType(tensor.type());
  std::ranges::copy(tensor.sizes, described.sizes.begin());
  described.strides = tensor.strides;
  described.name = name;
  described.alignment = alignment;
  return builder.create(described);
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

/// The graph, behind what it is made of.
static std::vector<CudnnDescriptor>
describeConvolution(CudnnBuilder &builder, const CudnnTarget &target,
                    const GpuConvolution &convolution,
                    const CudnnAlignments &alignments) {
  const std::array<const GpuTensor *, 3> operands = {
      &convolution.image, &convolution.filter, &convolution.result};
  std::vector<CudnnDescriptor> parts;
  for (size_t i = 0; i < operands.size(); ++i)
    parts.push_back(describeOperand(builder, *operands[i], convolutionNames[i],
                                    alignments[i]));
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
                  windows = describeWindows(builder, convolution);
  for (size_t i = 0; i < operands.size(); ++i)
    builder.set(operation, names.tensors[i], parts[i]);
  builder.set(operation, names.convolution, windows);
  builder.set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  builder.set(operation, names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  builder.finalize(operation);
  cudnnBackendDescriptor_t only = operation.get();
  for (CudnnDescriptor *part : {&windows, &operation})
    parts.push_back(std::move(*part));
  addGraph(builder, target, {&only, 1}, parts);
  return parts;
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
