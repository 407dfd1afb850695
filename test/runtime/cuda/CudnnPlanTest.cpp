//===- CudnnPlanTest.cpp - what NVIDIA's cuDNN plans ----------------------===//
//
// With cuDNN 9.8 or newer: it plans for a GPU that is not there, of which it
// gets the properties. Skipped without it; docs/cuda.md says how to try it.
//
// Plans of attention need more: cuDNN 9.16, NVRTC, which compiles them, and a
// driver that loads the result, as that of cudnn_driver.c does.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnAttentionGraph.h"
#include "runtime/device/cuda/CudnnConvolutionGraph.h"

#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

namespace {

/// In the form of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
std::string propertiesOf(const char *name, int capability, int processors,
                         int sharedMemory) {
  return fmt::format(
      R"({{"deviceName": "{}", "deviceVer": {}, "driverVer": 13000,
           "maxGridSize": [2147483647, 65535, 65535],
           "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
           "multiProcessorCount": {}, "warpSize": 32,
           "maxSharedMemoryPerBlock": 49152,
           "maxSharedMemoryPerBlockOptin": {},
           "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
           "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
           "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
           "supportCoopLaunch": 1, "totalGlobalMem": 80000000000,
           "smClockRateKHz": 1500000, "memClockRateKHz": 3000000,
           "memoryBusWidth": 5120, "l2CacheSize": 41943040,
           "cudaDeviceId": 0}})",
      name, capability, processors, sharedMemory);
}

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
    setProperties(propertiesOf("NVIDIA H200", 900, 132, 232448));
  }

  /// Plans are for a GPU with these.
  void setProperties(const std::string &json) {
    cudnnBackendDescriptor_t created = nullptr;
    cudnnStatus_t status = api->cudnnBackendCreateDescriptor(
        CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &created);
    if (status == CUDNN_STATUS_SUCCESS) {
      properties = CudnnDescriptor(*api, created);
      status = api->cudnnBackendSetAttribute(
          created, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
          int64_t(json.size()), json.data());
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

/// A bias, alone and with a ReLU, also of filters with one element, strides and
/// dilations, and of few channels or an odd number of them.
TEST_F(CudnnPlans, ofEpilogues) {
  for (uint64_t rounds : {0, 1})
    for (uint64_t stride : {1, 2})
      for (uint64_t inputs : {1, 3, 5, 64})
        for (uint64_t filter : {1, 3, 7})
          for (auto activation : {GpuActivation::None, GpuActivation::Relu}) {
            GpuConvolution it = makeSquare(ElementType::f32, 32, inputs, 64, 31,
                                           filter, stride);
            it.roundsFactors = rounds;
            it.epilogue = {1, 3, 0, activation};
            expectPlan(it);
            it = makeSquare(ElementType::f32, 32, inputs, 17, 31, filter,
                            stride, Filter::HeightWidthOutputsInputs);
            it.epilogue = {1, 3, 0, activation};
            expectPlan(it);
          }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Of the gradient of an attention. Each tensor has its own buffer, with
/// [examples, positions, heads, size of a head] one after the other.
GpuAttention makeGradient(ElementType type, std::array<uint64_t, 2> batch,
                          uint64_t queries, uint64_t keys, uint64_t size,
                          bool isCausal) {
  auto [examples, heads] = batch;
  GpuAttention it;
  it.kind = GpuAttention::Gradient;
  it.isCausal = isCausal;
  it.scaleBits = std::bit_cast<uint64_t>(0.125);
  uint64_t buffer = 0;
  for (const AttentionOperand &operand : attentionOperands(it.kind)) {
    GpuTensor &tensor = it.*operand.tensor;
    tensor.buffer = buffer++;
    bool isOfKeys = operand.name == AttentionName::Key ||
                    operand.name == AttentionName::Value ||
                    operand.name == AttentionName::KeyGradient ||
                    operand.name == AttentionName::ValueGradient;
    uint64_t positions = isOfKeys ? keys : queries;
    if (operand.name == AttentionName::Statistics) {
      tensor.element = uint64_t(ElementType::f32);
      tensor.sizes = {examples, heads, positions, 1};
      tensor.strides = {int64_t(heads * positions), int64_t(positions), 1, 1};
      continue;
    }
    tensor.element = uint64_t(type);
    tensor.sizes = {examples, heads, positions, size};
    tensor.strides = {int64_t(positions * heads * size), int64_t(size),
                      int64_t(heads * size), 1};
  }
  return it;
}

class CudnnAttentionPlans : public CudnnPlans {
protected:
  /// Plans of both kinds. Skips the test if the library lacks what it compiles
  /// code with.
  void expectPlans(GpuAttention attention) {
    for (auto kind : {GpuAttention::Forward, GpuAttention::Gradient}) {
      attention.kind = kind;
      expectPlan(attention);
      if (IsSkipped() || HasFatalFailure())
        return;
    }
  }

private:
  void expectPlan(const GpuAttention &attention) {
    if (Status status = CudnnApi::load(leastCudnnForAttention).status();
        !status.ok())
      GTEST_SKIP() << status.message();
    for (const std::optional<std::string> &unsupported :
         {attention.findObstacle(), findUnsupportedStride(attention)})
      ASSERT_FALSE(unsupported) << *unsupported;
    constexpr uint64_t most = uint64_t(256) << 20;
    std::string refusal;
    Expected<CudnnPlan> plan = planAttention(*api, {nullptr, properties.get()},
                                             attention, most, refusal);
    ASSERT_TRUE(plan) << plan.status().message();
    if (!plan->plan.get() && !canCompile())
      GTEST_SKIP() << "cuDNN cannot compile: there is no NVRTC, or no driver "
                      "that loads code without a GPU";
    auto [examples, heads, queries, size] = attention.query.sizes;
    EXPECT_TRUE(plan->plan.get())
        << refusal << ": "
        << (attention.kind == GpuAttention::Forward ? "" : "gradient of ")
        << examples << "x" << heads << "x" << queries << "x" << size << ", "
        << attention.key.sizes[2] << " keys, causal: " << attention.isCausal;
    // An element of 16 bits for each query and key, in whole blocks: by this,
    // parts of the examples are chosen.
    constexpr uint64_t other = 4096, block = 128;
    auto up = [](uint64_t positions) {
      return (positions + block - 1) / block * block;
    };
    uint64_t expected = other;
    if (attention.kind == GpuAttention::Gradient)
      expected +=
          2 * examples * heads * up(queries) * up(attention.key.sizes[2]);
    EXPECT_LE(plan->workspaceBytes, expected);
  }

  /// Whether what the library has compiled can be loaded. It opens NVRTC when
  /// it is asked for engines.
  static bool canCompile() {
    auto isLoaded = [](const char *name) {
      return dlopen(name, RTLD_LAZY | RTLD_NOLOAD) != nullptr;
    };
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver && dlsym(driver, "lockstepLoadsCode") &&
           (isLoaded("libnvrtc.so.13") || isLoaded("libnvrtc.so.12"));
  }
};

/// What a translator of sentences or a language model has.
TEST_F(CudnnAttentionPlans, ofTransformers) {
  const std::string targets[] = {propertiesOf("A100", 800, 108, 166912),
                                 propertiesOf("H200", 900, 132, 232448),
                                 propertiesOf("B200", 1000, 148, 232448)};
  for (const std::string &target : targets) {
    setProperties(target);
    for (ElementType type : {ElementType::bf16, ElementType::f16})
      for (bool isCausal : {false, true})
        for (uint64_t size : {64, 128})
          if (!IsSkipped() && !HasFatalFailure())
            expectPlans(
                makeGradient(type, {8, 12}, 1024, 1024, size, isCausal));
  }
}

/// Sizes that are not multiples of what a block computes, and layouts.
TEST_F(CudnnAttentionPlans, ofOtherSizes) {
  constexpr uint64_t size = 64;
  for (bool isCausal : {false, true})
    for (auto [queries, keys] : {std::pair<uint64_t, uint64_t>(1, 64),
                                 {64, 1},
                                 {100, 100},
                                 {33, 77},
                                 {512, 300}})
      if (!IsSkipped() && !HasFatalFailure())
        expectPlans(makeGradient(ElementType::bf16, {2, 3}, queries, keys, size,
                                 isCausal));
  for (uint64_t head : {8, 32, 40, 72, 96})
    if (!IsSkipped() && !HasFatalFailure())
      expectPlans(makeGradient(ElementType::bf16, {1, 1}, 128, 128, head,
                               /*isCausal=*/true));
}

/// Query, key and value, and their gradients, in one buffer.
TEST_F(CudnnAttentionPlans, ofInterleavedOperands) {
  GpuAttention it =
      makeGradient(ElementType::bf16, {4, 8}, 256, 256, 64, /*isCausal=*/true);
  for (GpuTensor *tensor : {&it.query, &it.key, &it.value, &it.queryGradient,
                            &it.keyGradient, &it.valueGradient}) {
    tensor->strides[0] *= 3;
    tensor->strides[2] *= 3;
  }
  expectPlans(it);
}

} // namespace
