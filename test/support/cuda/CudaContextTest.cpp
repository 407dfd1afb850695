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

uint64_t freeBytes(const DriverApi &api) {
  size_t free = 0, total = 0;
  EXPECT_EQ(api.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

/// Memory that other GPUs can map begins at an address of its own, and is
/// released as a whole.
TEST(CudaContexts, ExportableMemory) {
  Expected<const DriverApi *> api = DriverApi::load();
  ASSERT_TRUE(api) << api.status().message();
  std::shared_ptr<CudaContext> context;
  ASSERT_TRUE(CudaContext::open(**api, 0).moveTo(context).ok());
  context->enter();
  ASSERT_TRUE(context->canExport());
  uint64_t before = freeBytes(**api);
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
  EXPECT_EQ((*api)->cuMemcpyDtoH(bytes.data(), exportable, bytes.size()),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, std::vector<std::byte>(1000));
  context->free(usual);
  context->free(exportable);
  EXPECT_TRUE(context->exportable(exportable).empty());
  EXPECT_EQ(freeBytes(**api), before);
}

TEST(CudaContexts, ExportableMemoryIsLimited) {
  Expected<const DriverApi *> api = DriverApi::load();
  ASSERT_TRUE(api) << api.status().message();
  std::shared_ptr<CudaContext> context;
  ASSERT_TRUE(CudaContext::open(**api, 0).moveTo(context).ok());
  context->enter();
  uint64_t before = freeBytes(**api);
  Expected<CUdeviceptr> memory =
      context->allocate(before + 1, CudaContext::MemoryKind::Exportable);
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.status().message().find("out of memory on GPU 0"),
            std::string::npos)
      << memory.status().message();
  EXPECT_EQ(freeBytes(**api), before);
}

} // namespace
} // namespace lockstep::runtime::test
