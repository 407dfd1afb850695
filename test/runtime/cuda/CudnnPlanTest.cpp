//===- CudnnPlanTest.cpp - what NVIDIA's cuDNN plans for convolutions -----===//
//
// With cuDNN 9.8 or newer: it plans for a GPU that is not there, of which it
// gets the properties. Skipped without it; docs/cuda.md says how to try it.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnPlan.h"

#include <string_view>

#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

namespace {

/// In the form of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
constexpr std::string_view h200 =
    R"({"deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000,
        "maxGridSize": [2147483647, 65535, 65535],
        "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
        "multiProcessorCount": 132, "warpSize": 32,
        "maxSharedMemoryPerBlock": 49152,
        "maxSharedMemoryPerBlockOptin": 232448,
        "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
        "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
        "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
        "supportCoopLaunch": 1, "totalGlobalMem": 150000000000,
        "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
        "memoryBusWidth": 6144, "l2CacheSize": 62914560, "cudaDeviceId": 0})";

/// The order of outputs and inputs of a filter in memory, behind its height and
/// width or around them.
enum class Filter { HeightWidthInputsOutputs, HeightWidthOutputsInputs };

/// A convolution of square images and filters, with channels as neighbors.
GpuConvolution makeSquare(ElementType type, uint64_t examples, uint64_t inputs,
                          uint64_t outputs, uint64_t image, uint64_t filter,
                          uint64_t stride = 1,
                          Filter order = Filter::HeightWidthInputsOutputs) {
  GpuConvolution it;
  uint64_t result = (image - filter) / stride + 1;
  auto describe = [&](GpuTensor &tensor, uint64_t buffer,
                      std::array<uint64_t, 4> sizes,
                      std::array<size_t, 4> fromInner) {
    tensor.buffer = buffer;
    tensor.element = uint64_t(type);
    tensor.sizes = sizes;
    int64_t next = 1;
    for (size_t dim : fromInner) {
      tensor.strides[dim] = next;
      next *= int64_t(sizes[dim]);
    }
  };
  it.strides = {stride, stride};
  describe(it.image, 0, {examples, inputs, image, image}, {1, 3, 2, 0});
  if (order == Filter::HeightWidthInputsOutputs)
    describe(it.filter, 1, {outputs, inputs, filter, filter}, {0, 1, 3, 2});
  else
    describe(it.filter, 1, {outputs, inputs, filter, filter}, {1, 0, 3, 2});
  describe(it.result, 2, {examples, outputs, result, result}, {1, 3, 2, 0});
  return it;
}

class CudnnPlans : public testing::Test {
protected:
  void SetUp() override {
    Expected<const CudnnApi *> loaded = CudnnApi::load();
    if (!loaded)
      GTEST_SKIP() << loaded.status().message();
    api = *loaded;
    constexpr size_t leastVersion = 90800;
    if (api->cudnnGetVersion() < leastVersion)
      GTEST_SKIP() << "cuDNN is older than 9.8";
    cudnnBackendDescriptor_t created = nullptr;
    cudnnStatus_t status = api->cudnnBackendCreateDescriptor(
        CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &created);
    if (status == CUDNN_STATUS_SUCCESS) {
      properties = CudnnDescriptor(*api, created);
      status = api->cudnnBackendSetAttribute(
          created, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
          int64_t(h200.size()), h200.data());
    }
    if (status == CUDNN_STATUS_SUCCESS)
      status = api->cudnnBackendFinalize(created);
    // Parts of the library are loaded at their first use, and may be missing.
    if (status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)
      GTEST_SKIP() << api->error("the properties of a GPU", status).message();
    ASSERT_EQ(status, CUDNN_STATUS_SUCCESS)
        << api->error("the properties of a GPU", status).message();
  }

  void expectPlan(const GpuConvolution &convolution) {
    constexpr uint64_t most = uint64_t(256) << 20;
    std::string refusal;
    Expected<CudnnPlan> plan =
        planConvolution(*api, {nullptr, properties.get()}, convolution,
                        {16, 16, 16}, most, refusal);
    ASSERT_TRUE(plan) << plan.status().message();
    const GpuTensor &filter = convolution.filter;
    EXPECT_TRUE(plan->plan.get())
        << refusal << ": " << convolution.image.sizes[1] << " inputs, "
        << filter.sizes[0] << " outputs, filter of " << filter.sizes[2]
        << ", stride of " << convolution.strides[0];
    EXPECT_LE(plan->workspaceBytes, most);
  }

  /// And that of the gradient of its filter.
  void expectPlans(GpuConvolution convolution) {
    expectPlan(convolution);
    convolution.kind = GpuConvolution::FilterGradient;
    expectPlan(convolution);
  }

  const CudnnApi *api = nullptr;
  CudnnDescriptor properties;
};

/// With 64 examples; images have been padded.
TEST_F(CudnnPlans, ofResidualNetworks) {
  constexpr uint64_t examples = 64;
  for (ElementType type : {ElementType::bf16, ElementType::f16}) {
    expectPlans(makeSquare(type, examples, 3, 64, 229, 7, /*stride=*/2));
    for (uint64_t width = 64, size = 56; width <= 512; width *= 2, size /= 2) {
      expectPlans(makeSquare(type, examples, width, width, size + 2, 3));
      // The gradient of the image is a convolution by the transposed filter.
      expectPlan(makeSquare(type, examples, width, width, size + 2, 3, 1,
                            Filter::HeightWidthOutputsInputs));
      expectPlans(makeSquare(type, examples, width, width, size + 1, 3, 2));
      expectPlans(makeSquare(type, examples, 4 * width, 8 * width, size, 1, 2));
    }
  }
}

/// Without tensor cores, and with them.
TEST_F(CudnnPlans, ofFactorsOf32Bits) {
  for (uint64_t rounds : {0, 1})
    for (uint64_t stride : {1, 2})
      for (uint64_t inputs : {1, 5, 64}) {
        GpuConvolution it =
            makeSquare(ElementType::f32, 32, inputs, 64, 31, 3, stride);
        it.roundsFactors = rounds;
        expectPlans(it);
      }
}

} // namespace
