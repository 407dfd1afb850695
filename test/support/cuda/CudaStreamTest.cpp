//===- CudaStreamTest.cpp - streams, events, copies and handles -----------===//

#include "CudaTest.h"

#include <atomic>
#include <thread>

namespace lockstep::standin {
namespace {

class CudaStream : public CudaStreamsTest {
protected:
  CUevent createEvent() {
    CUevent event = nullptr;
    EXPECT_EQ(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
              CUDA_SUCCESS);
    return event;
  }
  template <typename T> T *pinned(size_t count) {
    void *memory = nullptr;
    EXPECT_EQ(cuda.cuMemHostAlloc(&memory, count * sizeof(T), 0), CUDA_SUCCESS);
    return static_cast<T *>(memory);
  }
};

TEST_F(CudaStream, CommandsOfAStreamAreInOrder) {
  CUdeviceptr x = allocate(4);
  for (unsigned i = 0; i < 100; ++i)
    ASSERT_EQ(cuda.cuMemsetD32Async(x, i, 1, streams[0]), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(download<unsigned>(x, 1)[0], 99u);
}

// Without the event, one of the rounds reads before it is written.
TEST_F(CudaStream, EventsOrderStreams) {
  for (bool isOrdered : {true, false}) {
    bool isRight = true;
    CUdeviceptr x = allocate(4), y = allocate(4);
    CUevent event = createEvent();
    for (unsigned round = 0; round < 50; ++round) {
      for (unsigned i = 0; i < 5; ++i)
        cuda.cuMemsetD32Async(x, round, 1, streams[0]);
      cuda.cuEventRecord(event, streams[0]);
      if (isOrdered)
        cuda.cuStreamWaitEvent(streams[1], event, 0);
      cuda.cuMemcpyDtoDAsync_v2(y, x, 4, streams[1]);
      EXPECT_EQ(cuda.cuStreamSynchronize(streams[1]), CUDA_SUCCESS);
      isRight &= download<unsigned>(y, 1)[0] == round;
      EXPECT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
    }
    EXPECT_EQ(isRight, isOrdered);
  }
}

TEST_F(CudaStream, AWaitIsForTheRecordBefore) {
  CUdeviceptr x = allocate(4);
  CUevent event = createEvent();
  // Not recorded: nothing to wait for.
  ASSERT_EQ(cuda.cuStreamWaitEvent(streams[1], event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuEventQuery(event), CUDA_SUCCESS);
  cuda.cuMemsetD32Async(x, 7, 1, streams[0]);
  ASSERT_EQ(cuda.cuEventRecord(event, streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(download<unsigned>(x, 1)[0], 7u);
}

TEST_F(CudaStream, EventsHaveTimes) {
  CUevent begin = nullptr, end = nullptr, untimed = createEvent();
  for (CUevent *event : {&begin, &end})
    ASSERT_EQ(cuda.cuEventCreate(event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, begin, end),
            CUDA_ERROR_INVALID_HANDLE)
      << "they have not been recorded";
  cuda.cuEventRecord(begin, streams[0]);
  cuda.cuEventRecord(untimed, streams[0]);
  cuda.cuEventRecord(end, streams[0]);
  ASSERT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, end, begin), CUDA_SUCCESS);
  EXPECT_LE(milliseconds, 0);
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, begin, untimed),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CudaStream, PollingMakesProgress) {
  CUdeviceptr x = allocate(4);
  CUevent event = createEvent();
  cuda.cuMemsetD32Async(x, 7, 1, streams[0]);
  cuda.cuEventRecord(event, streams[0]);
  while (cuda.cuEventQuery(event) == CUDA_ERROR_NOT_READY)
    std::this_thread::yield();
  EXPECT_EQ(cuda.cuEventQuery(event), CUDA_SUCCESS);
  while (cuda.cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY)
    std::this_thread::yield();
  EXPECT_EQ(cuda.cuStreamQuery(streams[0]), CUDA_SUCCESS);
}

TEST_F(CudaStream, CallbacksFollowTheCommandsBefore) {
  struct State {
    const CudaFunctions &cuda;
    unsigned *value;
    std::atomic<unsigned> seen{0};
    CUresult inside = CUDA_SUCCESS;
  } state{cuda, pinned<unsigned>(1)};
  CUdeviceptr x = allocate(4);
  cuda.cuMemsetD32Async(x, 9, 1, streams[0]);
  cuda.cuMemcpyDtoHAsync_v2(state.value, x, 4, streams[0]);
  auto call = [](void *data) {
    auto &state = *static_cast<State *>(data);
    // Callbacks must not call the driver.
    state.inside = state.cuda.cuCtxSynchronize();
    state.seen = *state.value;
  };
  ASSERT_EQ(cuda.cuLaunchHostFunc(streams[0], call, &state), CUDA_SUCCESS);
  while (!state.seen)
    std::this_thread::yield();
  EXPECT_EQ(state.seen, 9u);
  EXPECT_EQ(state.inside, CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(CudaStream, ThreadsOfTheHostAreIndependent) {
  CUfunction function = find(loadFile("control.ptx"), "saxpy");
  auto work = [&](float factor) {
    ASSERT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUstream stream = nullptr;
    ASSERT_EQ(
        cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
        CUDA_SUCCESS);
    constexpr unsigned count = 1000, rounds = 20;
    CUdeviceptr x = upload(std::vector<float>(count, factor));
    CUdeviceptr y = upload(std::vector<float>(count, 0));
    for (unsigned round = 0; round < rounds; ++round)
      ASSERT_EQ(launch(function, 8, 128, stream, 1.0f, x, y, count),
                CUDA_SUCCESS);
    std::vector<float> found(count);
    ASSERT_EQ(cuda.cuMemcpyDtoHAsync_v2(found.data(), y, count * 4, stream),
              CUDA_SUCCESS);
    EXPECT_EQ(found, std::vector<float>(count, factor * rounds));
    EXPECT_EQ(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 4; ++i)
    threads.emplace_back(work, float(i));
  for (std::thread &thread : threads)
    thread.join();
}

static std::atomic<uint32_t *> observed;

// The host observes by such fills how far a stream is: kernels of other streams
// do not delay them, here as many as are executed at a time.
TEST_F(CudaStream, FillsOfTheHostArePrompt) {
  observed = pinned<uint32_t>(1);
  *observed = 0;
  auto *await = +[](void *) {
    while (!std::atomic_ref(*observed).load())
      std::this_thread::yield();
  };
  CUfunction function = find(loadFile("control.ptx"), "callHost");
  CUstream another = nullptr;
  ASSERT_EQ(
      cuda.cuStreamCreateWithPriority(&another, CU_STREAM_NON_BLOCKING, 0),
      CUDA_SUCCESS);
  for (int round = 0; round < 20; ++round) {
    cuda.cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(observed.load()), 1, 1,
                          streams[0]);
    for (CUstream stream : {streams[1], another})
      ASSERT_EQ(launch(function, 1, 1, stream, await, CUdeviceptr(0)),
                CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
    *observed = 0;
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

// Pinned memory is read when the copy is executed, other memory at the call.
TEST_F(CudaStream, UploadsReadPinnedMemoryLate) {
  unsigned seenPinned = 0, seenOther = 0, *early = pinned<unsigned>(1);
  unsigned other = 1;
  CUdeviceptr x = allocate(4), y = allocate(4);
  CUevent event = createEvent();
  *early = 1;
  // Nothing is executed before the copies, whenever execution starts.
  for (unsigned i = 0; i < 100; ++i)
    cuda.cuMemsetD32Async(x, i, 1, streams[0]);
  cuda.cuEventRecord(event, streams[0]);
  cuda.cuStreamWaitEvent(streams[1], event, 0);
  for (unsigned i = 0; i < 3; ++i) {
    cuda.cuMemcpyHtoDAsync_v2(x, early, 4, streams[1]);
    cuda.cuMemcpyHtoDAsync_v2(y, &other, 4, streams[1]);
  }
  *early = 2;
  other = 2;
  ASSERT_EQ(cuda.cuStreamSynchronize(streams[1]), CUDA_SUCCESS);
  seenPinned = download<unsigned>(x, 1)[0];
  seenOther = download<unsigned>(y, 1)[0];
  EXPECT_TRUE(seenPinned == 1 || seenPinned == 2);
  EXPECT_EQ(seenOther, 1u);
}

TEST_F(CudaStream, RegisteredMemoryIsPinned) {
  std::vector<unsigned> memory(1024, 3);
  EXPECT_EQ(cuda.cuMemHostRegister_v2(memory.data(), 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuMemHostRegister_v2(memory.data() + 8, 64, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuda.cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuMemHostUnregister(memory.data()),
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(CudaStream, DownloadsToOtherMemoryAreComplete) {
  unsigned value = 0;
  CUdeviceptr x = allocate(4);
  cuda.cuMemsetD32Async(x, 5, 1, streams[0]);
  ASSERT_EQ(cuda.cuMemcpyDtoHAsync_v2(&value, x, 4, streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(value, 5u);
}

TEST_F(CudaStream, Rows) {
  std::vector<int> from = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CUdeviceptr x = upload(from), y = upload(std::vector<int>(6, -1));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = x;
  copy.srcPitch = 16;
  copy.srcXInBytes = 4;
  copy.dstDevice = y;
  copy.dstPitch = 8;
  copy.WidthInBytes = 8;
  copy.Height = 3;
  ASSERT_EQ(cuda.cuMemcpy2DAsync_v2(&copy, streams[0]), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(y, 6), (std::vector<int>{1, 2, 5, 6, 9, 10}));
  copy.Height = 4;
  EXPECT_EQ(cuda.cuMemcpy2DAsync_v2(&copy, streams[0]),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStream, FreshMemoryIsNoNumber) {
  float value = download<float>(allocate(4), 1)[0];
  EXPECT_NE(value, value);
}

// The default stream is ordered against streams that block.
TEST_F(CudaStream, DefaultStream) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuda.cuStreamCreateWithPriority(&blocking, 0, 0), CUDA_SUCCESS);
  CUdeviceptr x = allocate(4), y = allocate(4);
  for (unsigned round = 0; round < 50; ++round) {
    cuda.cuMemsetD32Async(x, round, 1, blocking);
    cuda.cuMemcpyDtoDAsync_v2(y, x, 4, nullptr);
    cuda.cuMemsetD32Async(y, 2 * download<unsigned>(y, 1)[0], 1, blocking);
    EXPECT_EQ(download<unsigned>(y, 1)[0], 2 * round);
  }
}

//===----------------------------------------------------------------------===//
// Handles and arguments
//===----------------------------------------------------------------------===//

TEST_F(CudaStream, DestroyedHandlesAreRefused) {
  CUdeviceptr x = allocate(4);
  CUevent event = createEvent();
  ASSERT_EQ(cuda.cuMemsetD32Async(x, 3, 1, streams[0]), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuEventRecord(event, streams[0]), CUDA_SUCCESS);
  // Commands are executed nevertheless.
  EXPECT_EQ(cuda.cuStreamDestroy_v2(streams[0]), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(download<unsigned>(x, 1)[0], 3u);
  EXPECT_EQ(cuda.cuStreamDestroy_v2(streams[0]), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda.cuMemsetD32Async(x, 3, 1, streams[0]),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda.cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda.cuStreamWaitEvent(streams[1], event, 0),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuda.cuMemFree_v2(x + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuMemFree_v2(x), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuMemFree_v2(x), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuMemsetD8_v2(x, 0, 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStream, ModulesAreUnloaded) {
  CUmodule module = loadFile("control.ptx");
  CUfunction function = find(module, "saxpy");
  int value = 0;
  EXPECT_EQ(cuda.cuFuncGetAttribute(
                &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "nothing"),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuda.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(
      launch(function, 1, 1, nullptr, 0.0f, CUdeviceptr(0), CUdeviceptr(0), 0u),
      CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CudaStream, Arguments) {
  CUfunction function = find(loadFile("control.ptx"), "assertThat");
  EXPECT_EQ(launch(function, 0, 1, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(function, 1, 1025, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                nullptr),
            CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr x = allocate(8);
  uint64_t host = 0;
  EXPECT_EQ(cuda.cuMemcpyHtoD_v2(x, &host, 9), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuMemcpyHtoD_v2(x, reinterpret_cast<void *>(x), 8),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      cuda.cuMemcpyDtoH_v2(&host, reinterpret_cast<CUdeviceptr>(&host), 8),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuMemsetD32Async(x + 2, 0, 1, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.cuMemAlloc_v2(&x, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaStream, Priorities) {
  int least = 1, greatest = 1;
  EXPECT_EQ(cuda.cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
  EXPECT_LT(greatest, least);
  for (int asked : {least + 1, least, greatest, greatest - 1}) {
    CUstream stream = nullptr;
    ASSERT_EQ(
        cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, asked),
        CUDA_SUCCESS);
    int found = 1;
    EXPECT_EQ(cuda.cuStreamGetPriority(stream, &found), CUDA_SUCCESS);
    EXPECT_EQ(found, std::clamp(asked, greatest, least));
    EXPECT_EQ(cuda.cuStreamGetPriority(stream, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamGetPriority(stream, &found),
              CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(CudaStream, Contexts) {
  CUcontext current = nullptr;
  EXPECT_EQ(cuda.cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  std::thread([&] {
    // Each thread has its own current context.
    CUdeviceptr x = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&x, 4), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&x, 4), CUDA_SUCCESS);
  }).join();
  int value = 0;
  EXPECT_EQ(cuda.cuDeviceGetAttribute(
                &value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cuda.cuDeviceGet(&value, 1), CUDA_ERROR_INVALID_DEVICE);
  const char *text = nullptr;
  EXPECT_EQ(cuda.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text),
            CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

} // namespace
} // namespace lockstep::standin
