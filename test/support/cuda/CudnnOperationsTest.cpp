//===- CudnnOperationsTest.cpp - what the stand-in for cuDNN refuses ------===//

#include "runtime/device/cuda/CudnnAttentionGraph.h"
#include "runtime/device/cuda/CudnnGraphBuilder.h"
#include "runtime/device/cuda/CudnnLibrary.h"

#include <gtest/gtest.h>

namespace lockstep::runtime {
namespace {

using Node = CudnnGraphBuilder::Node;
using Sizes = CudnnGraphBuilder::Sizes;

class CudnnOperations : public testing::Test {
protected:
  void SetUp() override {
    Expected<const DriverApi *> loaded = DriverApi::load();
    ASSERT_TRUE(loaded) << loaded.status().message();
    ASSERT_TRUE(CudaContext::open(**loaded, 0).moveTo(context).ok());
    Status status = CudnnLibrary::create(context).moveTo(library);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(context->takeStream().moveTo(stream).ok());
  }
  void TearDown() override {
    for (CUdeviceptr memory : allocated)
      context->free(memory);
    if (stream.stream)
      context->giveBack(stream, /*isReusable=*/true);
  }

  void *allocate(uint64_t bytes) {
    CUdeviceptr memory = 0;
    EXPECT_TRUE(context->allocate(bytes).moveTo(memory).ok());
    allocated.push_back(memory);
    return reinterpret_cast<void *>(memory);
  }

  /// Why there is no plan for what `add` adds to a graph; empty if there is.
  template <typename Add> std::string refusal(Add add) {
    CudnnBuilder builder(library->api);
    CudnnGraphBuilder graph(builder, attentionAlignment);
    add(graph);
    CudnnRequirements requirements;
    requirements.usesTensorCores = true;
    requirements.modes = {CUDNN_HEUR_MODE_A};
    requirements.mostWorkspaceBytes = 1 << 20;
    std::string refused;
    Expected<CudnnPlan> plan = library->plan([&](const CudnnTarget &target) {
      std::vector<CudnnDescriptor> parts = graph.finish(target);
      return planGraph(builder, target, std::move(parts), requirements,
                       refused);
    });
    return !plan ? plan.status().message() : plan->plan.get() ? "" : refused;
  }

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<CudnnLibrary> library;
  CudaStream stream;
  std::vector<CUdeviceptr> allocated;
};

constexpr Sizes square = {2, 3, 16, 16};

Node inMemory(CudnnGraphBuilder &graph, int64_t name,
              cudnnDataType_t type = CUDNN_DATA_HALF,
              const Sizes &sizes = square) {
  return graph.inMemory(sizes, CudnnGraphBuilder::packedStrides(sizes), type,
                        name);
}

TEST_F(CudnnOperations, ofOneProduct) {
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.multiply(inMemory(graph, 1), inMemory(graph, 2),
                             inMemory(graph, 3));
            }),
            "");
}

TEST_F(CudnnOperations, thatDoNotFitTogether) {
  const std::string operation = "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM "
                                "(operation)",
                    graph = "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM "
                            "(graph)";
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.multiply(
                  inMemory(graph, 1), inMemory(graph, 2),
                  inMemory(graph, 3, CUDNN_DATA_HALF, {2, 3, 16, 8}));
            }),
            operation);
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.compute(CUDNN_POINTWISE_ADD, inMemory(graph, 1), nullptr,
                            inMemory(graph, 2));
            }),
            operation)
      << "one operand";
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              Node index = graph.index(inMemory(graph, 1), 2);
              graph.compute(CUDNN_POINTWISE_EXP, index, nullptr,
                            inMemory(graph, 2));
            }),
            operation)
      << "an index";
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.reduce(CUDNN_REDUCE_TENSOR_ADD, inMemory(graph, 1),
                           inMemory(graph, 2, CUDNN_DATA_FLOAT, {2, 3, 8, 1}));
            }),
            operation);
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.multiply(inMemory(graph, 1), graph.within(square),
                             inMemory(graph, 2));
            }),
            graph)
      << "nothing computes an operand";
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.multiply(inMemory(graph, 1), inMemory(graph, 2),
                             graph.within(square));
            }),
            graph)
      << "nothing uses the result";
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.multiply(inMemory(graph, 1), inMemory(graph, 1),
                             inMemory(graph, 1, CUDNN_DATA_BFLOAT16));
            }),
            graph)
      << "two tensors of one name";
}

TEST_F(CudnnOperations, thatAreNotSupported) {
  auto reason = [](const char *name) {
    return std::string("cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED (") +
           name + ")";
  };
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              graph.multiply(inMemory(graph, 1), inMemory(graph, 2),
                             inMemory(graph, 3, CUDNN_DATA_FLOAT));
            }),
            reason("sum in memory"));
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              Sizes strides = CudnnGraphBuilder::packedStrides(square);
              strides[1] += 4;
              graph.multiply(
                  graph.inMemory(square, strides, CUDNN_DATA_HALF, 1),
                  inMemory(graph, 2), inMemory(graph, 3));
            }),
            reason("stride"));
  EXPECT_EQ(refusal([](CudnnGraphBuilder &graph) {
              constexpr Sizes wide = {2, 3, 8, 136};
              graph.compute(CUDNN_POINTWISE_EXP,
                            inMemory(graph, 1, CUDNN_DATA_HALF, wide), nullptr,
                            inMemory(graph, 2, CUDNN_DATA_HALF, wide));
            }),
            reason("head"));
}

//===----------------------------------------------------------------------===//
// What plans are executed with
//===----------------------------------------------------------------------===//

/// A causal attention of one head, with what it is executed with.
class CudnnPacks : public CudnnOperations {
protected:
  void SetUp() override {
    CudnnOperations::SetUp();
    if (HasFatalFailure())
      return;
    GpuAttention attention;
    attention.isCausal = 1;
    for (const AttentionOperand &operand : attentionOperands(attention.kind)) {
      bool isStatistics = operand.name == AttentionName::Statistics;
      GpuTensor &tensor = attention.*operand.tensor;
      tensor.element = uint64_t(isStatistics ? artifact::ElementType::f32
                                             : artifact::ElementType::bf16);
      tensor.sizes = {1, 1, 16, isStatistics ? 1u : 8u};
      tensor.strides = {128, 128, isStatistics ? 1 : 8, 1};
      add(operand.name, allocate(bytes));
    }
    for (AttentionName name : attentionNumbers(attention))
      add(name, &number);
    std::string refused;
    Expected<CudnnPlan> made = library->plan([&](const CudnnTarget &target) {
      return planAttention(library->api, target, attention, bytes, refused);
    });
    ASSERT_TRUE(made && made->plan.get()) << refused;
    plan = std::move(*made);
    workspace = allocate(plan.workspaceBytes);
  }

  void add(AttentionName name, const void *address) {
    names.push_back(int64_t(name));
    addresses.push_back(address);
  }
  size_t placeOf(AttentionName name) const {
    return size_t(std::ranges::find(names, int64_t(name)) - names.begin());
  }

  /// What the library says; empty if it computes.
  std::string execute() {
    const CudnnApi &api = library->api;
    Expected<CudnnDescriptor> pack =
        packOperands(api, names, addresses, workspace);
    EXPECT_TRUE(pack);
    Expected<cudnnHandle_t> handle = library->handleFor(stream.stream);
    EXPECT_TRUE(handle);
    cudnnStatus_t status =
        api.cudnnBackendExecute(*handle, plan.plan.get(), pack->get());
    return status == CUDNN_STATUS_SUCCESS
               ? ""
               : api.error("execute", status).message();
  }

  static constexpr uint64_t bytes = 4096;
  const float number = 1;
  std::vector<int64_t> names;
  std::vector<const void *> addresses;
  CudnnPlan plan;
  void *workspace = nullptr;
};

TEST_F(CudnnPacks, haveAllOperands) {
  EXPECT_EQ(execute(), "");
  addresses[placeOf(AttentionName::Scale)] = nullptr;
  EXPECT_EQ(execute(), "execute: CUDNN_STATUS_BAD_PARAM (operand)");
  names[placeOf(AttentionName::Scale)] = 50;
  EXPECT_EQ(execute(), "execute: CUDNN_STATUS_BAD_PARAM (operand)");
}

TEST_F(CudnnPacks, haveNoOthers) {
  add(AttentionName::One, &number);
  EXPECT_EQ(execute(), "execute: CUDNN_STATUS_BAD_PARAM (names)");
}

TEST_F(CudnnPacks, haveNumbersOfTheHost) {
  addresses[placeOf(AttentionName::Unseen)] = workspace;
  EXPECT_EQ(execute(), "execute: CUDNN_STATUS_BAD_PARAM (number)");
}

TEST_F(CudnnPacks, haveMemoryOfTheDevice) {
  addresses[placeOf(AttentionName::Output)] = &number;
  EXPECT_EQ(execute(), "execute: CUDNN_STATUS_BAD_PARAM (memory)");
}

TEST_F(CudnnPacks, haveAllWorkingMemory) {
  workspace = allocate(plan.workspaceBytes - 16);
  EXPECT_EQ(execute(), "execute: CUDNN_STATUS_BAD_PARAM (variant pack)");
}

} // namespace
} // namespace lockstep::runtime
