//===- CudaGraphTest.cpp - captures and graphs ----------------------------===//

#include "CudaTest.h"

namespace lockstep::standin {
namespace {

class CudaGraph : public CudaStreamsTest {
protected:
  void SetUp() override {
    CudaStreamsTest::SetUp();
    for (CUevent &event : events)
      ASSERT_EQ(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                CUDA_SUCCESS);
  }

  void begin() {
    ASSERT_EQ(cuda.cuStreamBeginCapture_v2(streams[0],
                                           CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_SUCCESS);
  }
  /// The second stream captures, too.
  void fork() {
    ASSERT_EQ(cuda.cuEventRecord(events[0], streams[0]), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuStreamWaitEvent(streams[1], events[0], 0), CUDA_SUCCESS);
  }
  void join() {
    ASSERT_EQ(cuda.cuEventRecord(events[1], streams[1]), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuStreamWaitEvent(streams[0], events[1], 0), CUDA_SUCCESS);
  }
  CUresult end() {
    CUgraph graph = nullptr;
    CUresult result = cuda.cuStreamEndCapture(streams[0], &graph);
    EXPECT_EQ(graph != nullptr, result == CUDA_SUCCESS);
    if (graph)
      EXPECT_EQ(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
    return result;
  }

  CUevent events[2] = {};
};

// y = x on one stream while x += 1 on the other one would be a race.
TEST_F(CudaGraph, IsExecutedAtEachLaunch) {
  CUfunction saxpy = find(loadFile("control.ptx"), "saxpy");
  CUdeviceptr x = upload<float>({1}), y = upload<float>({1}),
              seen = allocate(4);
  begin();
  // y += 2 x
  ASSERT_EQ(launch(saxpy, 1, 32, streams[0], 2.0f, x, y, 1), CUDA_SUCCESS);
  fork();
  ASSERT_EQ(cuda.cuMemcpyDtoDAsync_v2(seen, y, 4, streams[1]), CUDA_SUCCESS);
  join();
  ASSERT_EQ(launch(saxpy, 1, 32, streams[0], 1.0f, x, y, 1), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuda.cuStreamEndCapture(streams[0], &graph), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuda.cuGraphInstantiateWithFlags(&executable, graph, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuGraphDestroy(graph), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(download<float>(y, 1)[0], 1.0f) << "nothing has been executed";
  // Launches are executed one by one, also on different streams.
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(cuda.cuGraphLaunch(executable, streams[i % 2]), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuStreamSynchronize(streams[1]), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 61.0f);
  EXPECT_EQ(download<float>(seen, 1)[0], 60.0f);
  EXPECT_EQ(cuda.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuGraphLaunch(executable, streams[0]),
            CUDA_ERROR_INVALID_HANDLE);
}

// Without a wait between them, some launch executes the second stream first.
TEST_F(CudaGraph, BranchesOvertakeEachOther) {
  CUdeviceptr x = allocate(4), y = allocate(4);
  begin();
  fork();
  for (unsigned i = 0; i < 5; ++i)
    cuda.cuMemsetD32Async(x, i, 1, streams[0]);
  cuda.cuMemcpyDtoDAsync_v2(y, x, 4, streams[1]);
  join();
  CUgraph graph = nullptr;
  ASSERT_EQ(cuda.cuStreamEndCapture(streams[0], &graph), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuda.cuGraphInstantiateWithFlags(&executable, graph, 0),
            CUDA_SUCCESS);
  bool isFirst = false, isSecond = false;
  for (unsigned round = 0; round < 200 && !(isFirst && isSecond); ++round) {
    cuda.cuMemsetD32Async(x, 9, 1, streams[0]);
    ASSERT_EQ(cuda.cuGraphLaunch(executable, streams[0]), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
    isFirst |= download<unsigned>(y, 1)[0] == 4;
    isSecond |= download<unsigned>(y, 1)[0] == 9;
  }
  EXPECT_TRUE(isFirst);
  EXPECT_TRUE(isSecond);
}

TEST_F(CudaGraph, WaitsForOtherCommandsAreErrors) {
  cuda.cuEventRecord(events[1], streams[1]);
  begin();
  EXPECT_EQ(cuda.cuStreamWaitEvent(streams[0], events[1], 0),
            CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CudaGraph, StreamsMustBeJoined) {
  CUdeviceptr x = allocate(4);
  begin();
  fork();
  cuda.cuMemsetD32Async(x, 1, 1, streams[1]);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  // All streams execute commands again.
  for (CUstream stream : streams) {
    cuda.cuMemsetD32Async(x, 3, 1, stream);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(download<unsigned>(x, 1)[0], 3u);
}

TEST_F(CudaGraph, QueriesAreErrors) {
  begin();
  EXPECT_EQ(cuda.cuStreamQuery(streams[0]),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  EXPECT_EQ(cuda.cuStreamSynchronize(streams[0]),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  cuda.cuEventRecord(events[0], streams[0]);
  EXPECT_EQ(cuda.cuEventQuery(events[0]), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuda.cuStreamWaitEvent(streams[1], events[0], 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaGraph, MemoryOfTheHostIsReadAtEachLaunch) {
  CUdeviceptr x = allocate(4);
  unsigned number = 7;
  begin();
  EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(x, &number, 4, streams[0]), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuda.cuStreamEndCapture(streams[0], &graph), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuda.cuGraphInstantiateWithFlags(&executable, graph, 0),
            CUDA_SUCCESS);
  for (unsigned value : {8, 9}) {
    number = value;
    ASSERT_EQ(cuda.cuGraphLaunch(executable, streams[0]), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuStreamSynchronize(streams[0]), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(x, 1)[0], value);
  }
}

TEST_F(CudaGraph, CapturesThatDoNotBeginOrEnd) {
  EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(
      cuda.cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
      CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  begin();
  EXPECT_EQ(
      cuda.cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED),
      CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin();
  fork();
  CUgraph graph = nullptr;
  EXPECT_EQ(cuda.cuStreamEndCapture(streams[1], &graph),
            CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  join();
  EXPECT_EQ(end(), CUDA_SUCCESS);
}

} // namespace
} // namespace lockstep::standin
