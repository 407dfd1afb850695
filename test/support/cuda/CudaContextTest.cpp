//===- CudaContextTest.cpp - streams of a GPU -----------------------------===//

#include "runtime/device/cuda/CudaContext.h"

#include <dlfcn.h>

#include <gtest/gtest.h>

namespace lockstep::runtime::test {
namespace {

/// That of the first GPU; null, and a failure, if there is none.
std::shared_ptr<CudaContext> openContext() {
  std::shared_ptr<CudaContext> context;
  Expected<const DriverApi *> api = DriverApi::load();
  Status status =
      api ? CudaContext::open(**api, 0).moveTo(context) : api.status();
  EXPECT_TRUE(status.ok()) << status.message();
  return context;
}

/// The blocks of exchanges are begun before those of kernels, also on streams
/// that have been used before.
TEST(CudaContexts, StreamsForExchangesHavePriority) {
  std::shared_ptr<CudaContext> context = openContext();
  ASSERT_TRUE(context);
  auto getPriority = reinterpret_cast<decltype(&cuStreamGetPriority)>(::dlsym(
      ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuStreamGetPriority"));
  ASSERT_NE(getPriority, nullptr);
  context->enter();
  int least = 0, greatest = 0;
  ASSERT_EQ(context->api.cuCtxGetStreamPriorityRange(&least, &greatest),
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

uint64_t freeBytes(const DriverApi &api) {
  size_t free = 0, total = 0;
  EXPECT_EQ(api.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

/// Memory that other GPUs can map begins at an address of its own, and is
/// released as a whole.
TEST(CudaContexts, ExportableMemory) {
  std::shared_ptr<CudaContext> context = openContext();
  ASSERT_TRUE(context);
  context->enter();
  ASSERT_TRUE(context->canExport());
  uint64_t before = freeBytes(context->api);
  CUdeviceptr usual = 0, exportable = 0;
  ASSERT_TRUE(context->allocate(1000).moveTo(usual).ok());
  ASSERT_TRUE(context->allocateZeroed(1000, CudaContext::MemoryKind::Exportable)
                  .moveTo(exportable)
                  .ok());
  EXPECT_TRUE(context->exportable(usual).empty());
  std::span<std::byte> whole = context->exportable(exportable + 999);
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(whole.data()), exportable);
  EXPECT_GE(whole.size(), 1000u);
  EXPECT_TRUE(context->exportable(exportable + whole.size()).empty());
  EXPECT_TRUE(context->exportable(exportable - 1).empty());
  std::vector<std::byte> bytes(1000, std::byte(1));
  EXPECT_EQ(context->api.cuMemcpyDtoH(bytes.data(), exportable, bytes.size()),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, std::vector<std::byte>(1000));
  context->free(usual);
  context->free(exportable);
  EXPECT_TRUE(context->exportable(exportable).empty());
  EXPECT_EQ(freeBytes(context->api), before);
}

TEST(CudaContexts, ExportableMemoryIsLimited) {
  std::shared_ptr<CudaContext> context = openContext();
  ASSERT_TRUE(context);
  context->enter();
  uint64_t before = freeBytes(context->api);
  Expected<CUdeviceptr> memory =
      context->allocate(before + 1, CudaContext::MemoryKind::Exportable);
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.status().message().find("out of memory on GPU 0"),
            std::string::npos)
      << memory.status().message();
  EXPECT_EQ(freeBytes(context->api), before);
}

} // namespace
} // namespace lockstep::runtime::test
