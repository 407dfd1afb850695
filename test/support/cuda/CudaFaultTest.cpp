//===- CudaFaultTest.cpp - errors of kernels, and those that are injected -===//

#include "CudaTest.h"

#include <cstdlib>

namespace lockstep::standin {
namespace {

class CudaFault : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    control = loadFile("control.ptx");
    cooperation = loadFile("cooperation.ptx");
  }

  /// Expects that the context has ended with the error, and what is written.
  void expectFault(CUresult launched, CUresult expected,
                   const std::string &text) {
    EXPECT_EQ(launched, CUDA_SUCCESS);
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuda.cuCtxSynchronize(), expected);
    std::string found = testing::internal::GetCapturedStderr();
    EXPECT_NE(found.find(text), std::string::npos) << found;
    // The error stays.
    CUdeviceptr pointer = 0;
    CUstream stream = nullptr;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&pointer, 4), expected);
    EXPECT_EQ(cuda.cuStreamCreateWithPriority(&stream, 0, 0), expected);
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), expected);
  }

  CUmodule control = nullptr, cooperation = nullptr;
};

TEST_F(CudaFault, AccessesOutsideOfAllocations) {
  CUdeviceptr x = allocate(400);
  expectFault(
      launch(find(control, "writeAt"), 1, 1, nullptr, x, (long long)(100)),
      CUDA_ERROR_ILLEGAL_ADDRESS, "kernel 'writeAt', block (0, 0, 0), thread");
}

TEST_F(CudaFault, AccessesBeforeAllocations) {
  CUdeviceptr x = allocate(400);
  expectFault(
      launch(find(control, "writeAt"), 1, 1, nullptr, x, (long long)(-1)),
      CUDA_ERROR_ILLEGAL_ADDRESS, "4 bytes before the allocation of 400 bytes");
}

TEST_F(CudaFault, AccessesOfFreedMemory) {
  CUdeviceptr x = allocate(400);
  ASSERT_EQ(cuda.cuMemFree_v2(x), CUDA_SUCCESS);
  allocate(400);
  expectFault(
      launch(find(control, "writeAt"), 1, 1, nullptr, x, (long long)(0)),
      CUDA_ERROR_ILLEGAL_ADDRESS, "is outside of every allocation");
}

TEST_F(CudaFault, AccessesOfTheHost) {
  static float memory = 0;
  expectFault(
      launch(find(control, "writeAt"), 1, 1, nullptr, &memory, (long long)(0)),
      CUDA_ERROR_ILLEGAL_ADDRESS, "is outside of every allocation");
}

TEST_F(CudaFault, CallsOfTheHostWithOtherMemory) {
  auto *nothing = +[](void *) { ADD_FAILURE(); };
  expectFault(launch(find(control, "callHost"), 1, 1, nullptr, nothing,
                     allocate(4) + 4096),
              CUDA_ERROR_ILLEGAL_ADDRESS,
              "the call of the host with the address");
}

TEST_F(CudaFault, MisalignedAccesses) {
  CUdeviceptr x = allocate(400) + 2;
  expectFault(
      launch(find(control, "writeAt"), 1, 1, nullptr, x, (long long)(0)),
      CUDA_ERROR_MISALIGNED_ADDRESS, "is misaligned");
}

TEST_F(CudaFault, SharedMemoryOutOfBounds) {
  expectFault(launch(find(cooperation, "sharedOutOfBounds"), 1, 1, nullptr, 32),
              CUDA_ERROR_ILLEGAL_ADDRESS, "is outside of its 128 bytes");
}

TEST_F(CudaFault, Traps) {
  expectFault(launch(find(control, "assertThat"), 1, 1, nullptr, 0),
              CUDA_ERROR_LAUNCH_FAILED, "trap");
}

TEST_F(CudaFault, BarriersThatNotAllThreadsReach) {
  expectFault(launch(find(cooperation, "diverge"), 1, 64, nullptr, 33),
              CUDA_ERROR_LAUNCH_FAILED,
              "thread 33 has exited, thread 0 is at barrier 0");
}

TEST_F(CudaFault, BarriersThatAllOrNoThreadsReach) {
  EXPECT_EQ(launch(find(cooperation, "diverge"), 1, 64, nullptr, 64),
            CUDA_SUCCESS);
  EXPECT_EQ(launch(find(cooperation, "diverge"), 1, 64, nullptr, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(CudaFault,
       BarriersOfKernelsWithChecksDoNotWaitForThreadsThatHaveExited) {
  for (int reaching : {64, 0, 33})
    EXPECT_EQ(launch(find(loadFile("checked.ptx"), "leave"), 1, 64, nullptr,
                     reaching),
              CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(CudaFault, WarpsThatDiverge) {
  CUdeviceptr x = upload<int>({1});
  expectFault(launch(find(cooperation, "divergeInWarp"), 1, 32, nullptr, x),
              CUDA_ERROR_LAUNCH_FAILED, "threads wait forever");
}

TEST_F(CudaFault, CallbacksAreNotCalledAfterErrors) {
  CUdeviceptr x = allocate(4);
  bool isCalled = false;
  ASSERT_EQ(launch(find(control, "writeAt"), 1, 1, nullptr, x, (long long)(5)),
            CUDA_SUCCESS);
  cuda.cuLaunchHostFunc(
      nullptr, [](void *data) { *static_cast<bool *>(data) = true; },
      &isCalled);
  EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(isCalled);
}

TEST_F(CudaFault, UnknownInstructionsAreNamed) {
  char log[200] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER};
  auto error = [&](const std::string &body) -> std::string {
    std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry k() {\n.reg .b32 %r<9>;\n" +
                      body + "\nret;\n}\n";
    void *values[] = {reinterpret_cast<void *>(sizeof(log)), log};
    CUmodule module = nullptr;
    EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values),
              CUDA_ERROR_INVALID_PTX);
    return log;
  };
  EXPECT_EQ(error("frobnicate.b32 %r1, %r2;"),
            "line 6: unknown instruction 'frobnicate.b32'");
  EXPECT_EQ(error("\nadd.strange.s32 %r1, %r2, 1;"),
            "line 7: unknown modifier '.strange' of 'add.strange.s32'");
  EXPECT_EQ(error("add.s32 %r1, %q, 1;"), "line 6: unknown register '%q'");
  EXPECT_EQ(error("ld.global.b32 %r1, [nothing];"),
            "line 6: unknown variable 'nothing'");
  EXPECT_EQ(error("bra nowhere;"), "line 6: unknown label 'nowhere'");
  EXPECT_EQ(error(".reg .pred %p1;\nadd.s32 %r1, %p1, 1;"),
            "line 7: '%p1' has a wrong type for 'add.s32'");
  EXPECT_EQ(error("mov.b32 %r1, {};"),
            "line 6: a vector of 0 elements cannot have 32 bits");
  EXPECT_EQ(error("call.uni f, ();"), "line 6: unknown function 'f'");
  EXPECT_EQ(error("add.s32 %r1, %r2"), "line 7: expected ',', found 'ret'");
}

TEST_F(CudaFault, OtherImages) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuda.cuModuleLoadDataEx(&module,
                                    "\x7f"
                                    "ELF\x02",
                                    0, nullptr, nullptr),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, "hello", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuda.cuModuleLoadDataEx(&module,
                                    ".version 9.0\n.target sm_80\n"
                                    ".address_size 64\n",
                                    0, nullptr, nullptr),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(cuda.cuModuleLoadDataEx(&module,
                                    ".version 8.7\n.target sm_100\n"
                                    ".address_size 64\n",
                                    0, nullptr, nullptr),
            CUDA_ERROR_INVALID_PTX);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Executed by processes of their own, since the environment is read once.
class CudaOptions : public CudaFault {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override {}

  /// Sets the variable, then calls the function with a context, and exits.
  template <typename Function>
  [[noreturn]] void runWith(const char *name, const char *value,
                            Function function) {
    setenv(name, value, 1);
    CudaFault::SetUp();
    function();
    std::_Exit(HasFailure() ? 1 : 0);
  }
};

#define EXPECT_WITH(name, value, ...)                                          \
  EXPECT_EXIT(runWith(name, value, [&] __VA_ARGS__),                           \
              testing::ExitedWithCode(0), "")

TEST_F(CudaOptions, LaunchesFail) {
  EXPECT_WITH("LOCKSTEP_CUDA_FAIL", "launch:2", {
    CUfunction function = find(control, "assertThat");
    EXPECT_EQ(launch(function, 1, 1, nullptr, 1), CUDA_SUCCESS);
    EXPECT_EQ(launch(function, 1, 1, nullptr, 1),
              CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_EQ(launch(function, 1, 1, nullptr, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST_F(CudaOptions, DevicesAreLost) {
  EXPECT_WITH("LOCKSTEP_CUDA_FAIL", "lost:3", {
    CUdeviceptr x = upload<int>({1});
    EXPECT_EQ(download<int>(x, 1)[0], 1);
    int value = 0;
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(&value, x, 4), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(cuda.cuMemFree_v2(x), CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_F(CudaOptions, KernelsFail) {
  EXPECT_WITH("LOCKSTEP_CUDA_FAIL", "fault:2,alloc:3,load:3", {
    CUfunction function = find(control, "assertThat");
    EXPECT_EQ(launch(function, 1, 1, nullptr, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
    CUdeviceptr x = allocate(4), y = allocate(4);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&x, 4), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&y, 4), CUDA_SUCCESS);
    CUmodule module = nullptr;
    EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, "", 0, nullptr, nullptr),
              CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(launch(function, 1, 1, nullptr, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

TEST_F(CudaOptions, MemoryFails) {
  EXPECT_WITH("LOCKSTEP_CUDA_FAIL", "ecc:1", {
    CUdeviceptr x = allocate(4);
    EXPECT_EQ(cuda.cuMemsetD8_v2(x, 0, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_ECC_UNCORRECTABLE);
  });
}

TEST_F(CudaOptions, MemoryIsLimited) {
  EXPECT_WITH("LOCKSTEP_CUDA_MEMORY", "1000", {
    CUdeviceptr x = allocate(600), y = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&y, 600), CUDA_ERROR_OUT_OF_MEMORY);
    size_t free = 0, total = 0;
    EXPECT_EQ(cuda.cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, 400u);
    EXPECT_EQ(total, 1000u);
    EXPECT_EQ(cuda.cuMemFree_v2(x), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&y, 600), CUDA_SUCCESS);
  });
}

TEST_F(CudaOptions, SeveralDevices) {
  EXPECT_WITH("LOCKSTEP_CUDA_DEVICES", "2", {
    int count = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 2);
    // What one device has is not the other's.
    CUdeviceptr x = allocate(4);
    CUcontext other = nullptr;
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(other), CUDA_SUCCESS);
    CUfunction function = find(control = loadFile("control.ptx"), "writeAt");
    EXPECT_EQ(launch(function, 1, 1, nullptr, x, (long long)(0)), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

} // namespace
} // namespace lockstep::standin
