//===- CudaAttentionTest.h - for tests of attention -------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CUDAATTENTIONTEST_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CUDAATTENTIONTEST_H

#include "AttentionReference.h"

#include "runtime/device/cuda/CudaAttention.h"
#include "runtime/device/cuda/CudaQueue.h"

#include <random>

#include <gtest/gtest.h>

namespace lockstep::runtime::test {

using artifact::ElementType;

/// Of an attention, and how its operands are in memory.
struct Shape {
  uint64_t examples = 2, heads = 3, queries = 20, keys = 20, size = 16;
  ElementType type = ElementType::bf16;
  bool isCausal = false;
  /// Query, key and value are in one buffer, as are their gradients: then there
  /// are as many keys as queries.
  bool isInterleaved = false;
};

inline GpuAttention makeGradient(const Shape &shape) {
  GpuAttention it;
  it.kind = GpuAttention::Gradient;
  it.isCausal = shape.isCausal;
  it.scaleBits = std::bit_cast<uint64_t>(0.25);
  uint64_t buffer = 0;
  auto next = [&](uint64_t positions, uint64_t of = 1) {
    GpuTensor tensor;
    tensor.buffer = buffer++;
    tensor.element = uint64_t(shape.type);
    tensor.sizes = {shape.examples, shape.heads, positions, shape.size};
    auto row = int64_t(of * shape.heads * shape.size);
    tensor.strides = {int64_t(positions) * row, int64_t(shape.size), row, 1};
    return tensor;
  };
  auto three = [&](GpuTensor &ofQueries, GpuTensor &ofKeys,
                   GpuTensor &ofValues) {
    if (!shape.isInterleaved) {
      ofQueries = next(shape.queries);
      ofKeys = next(shape.keys);
      ofValues = next(shape.keys);
      return;
    }
    ofQueries = ofKeys = ofValues = next(shape.queries, 3);
    ofKeys.offset = 2 * shape.heads * shape.size;
    ofValues.offset = 2 * ofKeys.offset;
  };
  three(it.query, it.key, it.value);
  it.output = next(shape.queries);
  it.cotangent = next(shape.queries);
  three(it.queryGradient, it.keyGradient, it.valueGradient);
  it.statistics.buffer = buffer;
  it.statistics.element = uint64_t(ElementType::f32);
  it.statistics.sizes = {shape.examples, shape.heads, shape.queries, 1};
  it.statistics.strides = {int64_t(shape.heads * shape.queries),
                           int64_t(shape.queries), 1, 1};
  return it;
}

inline uint64_t endOf(const GpuTensor &tensor) {
  uint64_t elements = 1;
  for (size_t dim = 0; dim < 4; ++dim)
    elements += (tensor.sizes[dim] - 1) * uint64_t(tensor.strides[dim]);
  return tensor.offset + elements * elementSize(tensor.type());
}

/// With operands at random.
inline Buffers makeBuffers(const GpuAttention &attention) {
  Buffers buffers;
  for (const AttentionOperand &operand : attentionOperands(attention.kind)) {
    const GpuTensor &tensor = attention.*operand.tensor;
    buffers.resize(std::max<size_t>(buffers.size(), tensor.buffer + 1));
    std::vector<std::byte> &buffer = buffers[tensor.buffer];
    buffer.resize(std::max<size_t>(buffer.size(), endOf(tensor)));
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> distribution(-2, 2);
  for (auto member : {&GpuAttention::query, &GpuAttention::key,
                      &GpuAttention::value, &GpuAttention::cotangent}) {
    const auto &sizes = (attention.*member).sizes;
    Elements elements(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
    for (double &element : elements)
      element = distribution(random);
    storeTensor(attention.*member, elements, buffers);
  }
  return buffers;
}

class CudaAttentions : public testing::Test {
protected:
  void SetUp() override {
    Expected<const DriverApi *> api = DriverApi::load();
    ASSERT_TRUE(api) << api.status().message();
    ASSERT_TRUE(CudaContext::open(**api, 0).moveTo(context).ok());
    Status status = CudnnLibrary::create(context).moveTo(library);
    ASSERT_TRUE(status.ok()) << status.message();
    reductions = std::make_shared<CudaReductions>(context);
    ASSERT_TRUE(CudaWatch::start().moveTo(watch).ok());
    ASSERT_TRUE(
        CudaQueue::create(context, reductions, watch).moveTo(queue).ok());
  }
  void TearDown() override {
    queue.reset();
    for (CUdeviceptr memory : allocated)
      context->free(memory);
  }

  std::vector<std::byte *> upload(const Buffers &buffers) {
    std::vector<std::byte *> addresses;
    for (const std::vector<std::byte> &buffer : buffers) {
      CUdeviceptr memory = 0;
      EXPECT_TRUE(context->allocate(buffer.size()).moveTo(memory).ok());
      allocated.push_back(memory);
      addresses.push_back(reinterpret_cast<std::byte *>(memory));
      queue->upload(addresses.back(), buffer.data(), buffer.size());
    }
    return addresses;
  }

  /// Computes an attention and its gradient in these buffers.
  void compute(GpuAttention attention, Buffers &buffers,
               uint64_t mostWorkspaceBytes = CudnnLibrary::mostWorkspaceBytes) {
    CudaKernel kernel;
    kernel.name = "attend";
    for (auto kind : {GpuAttention::Forward, GpuAttention::Gradient}) {
      attention.kind = kind;
      kernel.phases.emplace_back().byLibrary = std::make_unique<CudaAttention>(
          library, attention, mostWorkspaceBytes);
    }
    std::vector<std::byte *> addresses = upload(buffers);
    queue->launch(&kernel, /*grid=*/1, addresses, {});
    for (size_t i = 0; i < buffers.size(); ++i)
      queue->download(buffers[i].data(), addresses[i], buffers[i].size());
    Status status = queue->finish();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// Expects the results of a computation in f64.
  void expectResults(const Shape &shape) {
    GpuAttention attention = makeGradient(shape);
    Buffers buffers = makeBuffers(attention), given = buffers;
    compute(attention, buffers);
    AttentionResults expected = computeAttention(attention, given);
    // Of results of this size, which sums of rounded factors have.
    double tolerance = shape.type == ElementType::bf16 ? 0.02 : 0.0025;
    auto expectClose = [&](const char *name, const GpuTensor &tensor,
                           const Elements &reference) {
      Elements found = loadTensor(tensor, buffers);
      double most = 0, difference = 0;
      ASSERT_EQ(found.size(), reference.size());
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_TRUE(std::isfinite(found[i])) << name;
        most = std::max(most, std::abs(reference[i]));
        difference = std::max(difference, std::abs(found[i] - reference[i]));
      }
      EXPECT_LE(difference, tolerance * most) << name;
    };
    expectClose("output", attention.output, expected.output);
    expectClose("statistics", attention.statistics, expected.statistics);
    expectClose("queries", attention.queryGradient, expected.queryGradient);
    expectClose("keys", attention.keyGradient, expected.keyGradient);
    expectClose("values", attention.valueGradient, expected.valueGradient);
    for (auto member : {&GpuAttention::query, &GpuAttention::key,
                        &GpuAttention::value, &GpuAttention::cotangent})
      EXPECT_EQ(loadTensor(attention.*member, buffers),
                loadTensor(attention.*member, given));
  }

  /// What an attention is refused for; empty if it is not.
  std::string
  refusal(const GpuAttention &attention, uint64_t distance = 0,
          uint64_t mostWorkspaceBytes = CudnnLibrary::mostWorkspaceBytes) {
    CudaAttention phase(library, attention, mostWorkspaceBytes);
    // Nothing is accessed.
    std::vector<std::byte *> buffers(
        9, reinterpret_cast<std::byte *>(uint64_t(4096) + distance));
    Expected<std::optional<uint64_t>> bytes = phase.prepare(buffers);
    EXPECT_TRUE(bytes) << bytes.status().message();
    EXPECT_EQ(bytes->has_value(), !phase.refusal());
    return phase.refusal().value_or("");
  }

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<CudnnLibrary> library;
  std::shared_ptr<CudaReductions> reductions;
  std::shared_ptr<CudaWatch> watch;
  std::unique_ptr<Queue> queue;
  std::vector<CUdeviceptr> allocated;
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CUDAATTENTIONTEST_H
