//===- CudaContextTest.cpp - streams of a GPU -----------------------------===//

#include "runtime/device/cuda/CudaContext.h"

#include <dlfcn.h>

#include <gtest/gtest.h>

namespace lockstep::runtime::test {
namespace {

/// The blocks of exchanges are begun before those of kernels, also on streams
/// that have been used before.
TEST(CudaContexts, StreamsForExchangesHavePriority) {
  Expected<const DriverApi *> api = DriverApi::load();
  ASSERT_TRUE(api) << api.status().message();
  std::shared_ptr<CudaContext> context;
  ASSERT_TRUE(CudaContext::open(**api, 0).moveTo(context).ok());
  auto getPriority = reinterpret_cast<decltype(&cuStreamGetPriority)>(::dlsym(
      ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuStreamGetPriority"));
  ASSERT_NE(getPriority, nullptr);
  context->enter();
  int least = 0, greatest = 0;
  ASSERT_EQ((*api)->cuCtxGetStreamPriorityRange(&least, &greatest),
            CUDA_SUCCESS);
  for (auto use : {QueueUse::Kernels, QueueUse::Exchange, QueueUse::Kernels,
                   QueueUse::Exchange}) {
    CudaStream stream;
    ASSERT_TRUE(context->takeStream(use).moveTo(stream).ok());
    int priority = 1;
    EXPECT_EQ(getPriority(stream.stream, &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, use == QueueUse::Exchange ? greatest : least);
    context->giveBack(stream, /*isReusable=*/true);
  }
}

} // namespace
} // namespace lockstep::runtime::test
