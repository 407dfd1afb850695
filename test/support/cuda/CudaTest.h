//===- CudaTest.h - for tests of the CUDA stand-in --------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CUDATEST_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CUDATEST_H

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace lockstep::standin {

#define LOCKSTEP_CUDA_FUNCTIONS(X)                                             \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceTotalMem_v2)                                                       \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease_v2)                                              \
  X(cuCtxSetCurrent)                                                           \
  X(cuCtxGetCurrent)                                                           \
  X(cuCtxGetStreamPriorityRange)                                               \
  X(cuCtxSynchronize)                                                          \
  X(cuMemGetInfo_v2)                                                           \
  X(cuModuleLoadDataEx)                                                        \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleGetGlobal_v2)                                                      \
  X(cuFuncGetAttribute)                                                        \
  X(cuFuncSetAttribute)                                                        \
  X(cuMemAlloc_v2)                                                             \
  X(cuMemFree_v2)                                                              \
  X(cuMemHostAlloc)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuMemHostRegister_v2)                                                      \
  X(cuMemHostUnregister)                                                       \
  X(cuMemcpyHtoDAsync_v2)                                                      \
  X(cuMemcpyDtoHAsync_v2)                                                      \
  X(cuMemcpyDtoDAsync_v2)                                                      \
  X(cuMemcpyHtoD_v2)                                                           \
  X(cuMemcpyDtoH_v2)                                                           \
  X(cuMemcpy2DAsync_v2)                                                        \
  X(cuMemsetD8Async)                                                           \
  X(cuMemsetD32Async)                                                          \
  X(cuMemsetD8_v2)                                                             \
  X(cuStreamCreateWithPriority)                                                \
  X(cuStreamGetPriority)                                                       \
  X(cuStreamDestroy_v2)                                                        \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamQuery)                                                             \
  X(cuStreamWaitEvent)                                                         \
  X(cuStreamBeginCapture_v2)                                                   \
  X(cuStreamEndCapture)                                                        \
  X(cuGraphInstantiateWithFlags)                                               \
  X(cuGraphDestroy)                                                            \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphLaunch)                                                             \
  X(cuLaunchHostFunc)                                                          \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy_v2)                                                         \
  X(cuEventRecord)                                                             \
  X(cuEventQuery)                                                              \
  X(cuEventElapsedTime)                                                        \
  X(cuEventSynchronize)                                                        \
  X(cuLaunchKernel)                                                            \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)

/// The functions of the library under test, found as products find them.
struct CudaFunctions {
#define DECLARE(name) decltype(&::name) name = nullptr;
  LOCKSTEP_CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

  static const CudaFunctions &get() {
    static const CudaFunctions *functions = [] {
      void *library = dlopen(LOCKSTEP_CUDA_STANDIN, RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        ADD_FAILURE() << dlerror();
        std::abort();
      }
      auto *found = new CudaFunctions;
#define FIND(name)                                                             \
  found->name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));    \
  EXPECT_NE(found->name, nullptr) << #name;
      LOCKSTEP_CUDA_FUNCTIONS(FIND)
#undef FIND
      return found;
    }();
    return *functions;
  }
};

/// A test with a fresh context of device 0.
class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  CUmodule load(const std::string &ptx) {
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
    CUmodule module = nullptr;
    EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values),
              CUDA_SUCCESS)
        << log;
    return module;
  }
  CUmodule loadFile(const std::string &name) {
    std::ifstream file(std::string(LOCKSTEP_CUDA_KERNELS) + "/" + name);
    EXPECT_TRUE(file.good()) << name;
    std::stringstream text;
    text << file.rdbuf();
    return load(text.str());
  }
  CUfunction find(CUmodule module, const char *name) {
    CUfunction function = nullptr;
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, name), CUDA_SUCCESS)
        << name;
    return function;
  }

  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }
  template <typename T> CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr pointer = allocate(values.size() * sizeof(T));
    EXPECT_EQ(
        cuda.cuMemcpyHtoD_v2(pointer, values.data(), values.size() * sizeof(T)),
        CUDA_SUCCESS);
    return pointer;
  }
  template <typename T>
  std::vector<T> download(CUdeviceptr pointer, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(values.data(), pointer, count * sizeof(T)),
              CUDA_SUCCESS);
    return values;
  }

  template <typename... Arguments>
  CUresult launch(CUfunction function, unsigned grid, unsigned block,
                  CUstream stream, Arguments... arguments) {
    void *parameters[] = {&arguments..., nullptr};
    return cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream,
                               parameters, nullptr);
  }

  const CudaFunctions &cuda = CudaFunctions::get();
  CUcontext context = nullptr;
};

/// A test with two streams that do not wait for the default one.
class CudaStreamsTest : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    for (CUstream &stream : streams)
      ASSERT_EQ(
          cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
          CUDA_SUCCESS);
  }

  CUstream streams[2] = {};
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CUDATEST_H
