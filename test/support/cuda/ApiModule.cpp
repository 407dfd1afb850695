//===- ApiModule.cpp - modules, functions and launches --------------------===//

#include "Api.h"
#include "MemoryTable.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace lockstep::standin;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {

/// The buffers for texts among the options of cuModuleLoadDataEx.
struct Logs {
  Logs(unsigned count, CUjit_option *options, void **values) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        buffer = static_cast<char *>(values[i]);
      else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        size = &values[i];
      else if (options[i] == CU_JIT_INFO_LOG_BUFFER)
        information = static_cast<char *>(values[i]);
      else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
        informationSize = &values[i];
    }
    if (information && informationSize && *informationSize)
      *information = 0;
    if (informationSize)
      *informationSize = nullptr;
  }

  /// The size becomes that of the text.
  void write(const std::string &text) const {
    if (!size)
      return;
    auto room = uint32_t(reinterpret_cast<uintptr_t>(*size));
    size_t length = 0;
    if (buffer && room) {
      length = std::min<size_t>(text.size(), room - 1);
      std::memcpy(buffer, text.data(), length);
      buffer[length] = 0;
    }
    *size = reinterpret_cast<void *>(length);
  }

  char *buffer = nullptr, *information = nullptr;
  void **size = nullptr, **informationSize = nullptr;
};

} // namespace

/// Binaries, and containers of them, begin with these numbers.
static bool isBinary(const void *image) {
  static constexpr uint32_t magics[] = {0x464C457F, 0xBA55ED50, 0x466243B1};
  uint32_t first = 0;
  // A text has at least four characters, or ends before.
  const auto *bytes = static_cast<const unsigned char *>(image);
  for (unsigned i = 0; i < sizeof(first) && bytes[i]; ++i)
    first |= uint32_t(bytes[i]) << 8 * i;
  return std::find(std::begin(magics), std::end(magics), first) !=
         std::end(magics);
}

static CUresult load(Context &context, const char *text, const Logs &logs,
                     CUmodule *handle) {
  try {
    PtxText &known = PtxText::of(text);
    const PtxModule &ptx = known.module();
    // The driver's version is 12.8.
    constexpr unsigned newest = 87;
    if (ptx.version > newest)
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (ptx.target > DriverOptions::get().capability)
      throw PtxError(1, "the target is newer than the device");
    auto loaded = std::make_unique<LoadedModule>();
    loaded->context = &context;
    loaded->module = std::make_unique<ModuleImage>(known, &context);
    *handle = reinterpret_cast<CUmodule>(
        Driver::get().modules.add(std::move(loaded)));
    logs.write("");
    return CUDA_SUCCESS;
  } catch (const PtxError &error) {
    logs.write(error.what());
    return CUDA_ERROR_INVALID_PTX;
  }
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  return withContext([&](Context &context) {
    if (!module || !image || (count && (!options || !values)))
      return CUDA_ERROR_INVALID_VALUE;
    if (DriverOptions::get().load.happens())
      return CUDA_ERROR_INVALID_IMAGE;
    if (isBinary(image))
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    Logs logs(count, options, values);
    return load(context, static_cast<const char *>(image), logs, module);
  });
}

static LoadedModule *findModule(Context &context, CUmodule handle) {
  LoadedModule *found = Driver::get().modules.find(handle);
  return found && found->context == &context ? found : nullptr;
}

CUresult cuModuleUnload(CUmodule handle) {
  return withContext([&](Context &context) {
    LoadedModule *found = findModule(context, handle);
    if (!found)
      return CUDA_ERROR_INVALID_HANDLE;
    context.synchronize();
    Driver::get().removeFunctions(found);
    Driver::get().modules.remove(handle);
    return context.error();
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes,
                              CUmodule handle, const char *name) {
  return withContext([&](Context &context) {
    LoadedModule *found = findModule(context, handle);
    if (!found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    const ModuleImage::Placed *variable = found->module->variable(name);
    if (!variable)
      return CUDA_ERROR_NOT_FOUND;
    if (pointer)
      *pointer = variable->address;
    if (bytes)
      *bytes = variable->bytes;
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static constexpr uint32_t plainSharedBytes = 48 << 10;
static constexpr uint32_t mostSharedBytes = 227 << 10;
static constexpr uint64_t mostThreads = 1024;

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle,
                             const char *name) {
  return withContext([&](Context &context) {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    LoadedModule *found = findModule(context, handle);
    if (!found)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!function || !name)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<const Kernel> kernel = found->module->kernel(name);
    if (!kernel)
      return CUDA_ERROR_NOT_FOUND;
    std::unique_ptr<LoadedFunction> &loaded = found->functions[name];
    if (!loaded) {
      int most = int(plainSharedBytes) - int(kernel->code().sharedBytes);
      loaded = std::make_unique<LoadedFunction>(
          LoadedFunction{found, kernel, std::max(most, 0)});
      Driver::get().addFunction(loaded.get());
    }
    *function = reinterpret_cast<CUfunction>(loaded.get());
    return CUDA_SUCCESS;
  });
}

static LoadedFunction *findFunction(Context &context, CUfunction handle) {
  LoadedFunction *found = Driver::get().functionOf(handle);
  return found && found->module->context == &context ? found : nullptr;
}

static uint64_t mostThreadsOf(const KernelCode &code) {
  uint64_t most = code.requiredThreads ? code.requiredThreads : code.maxThreads;
  return most ? std::min(most, mostThreads) : mostThreads;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction handle) {
  return withContext([&](Context &context) {
    LoadedFunction *function = findFunction(context, handle);
    if (!function)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    const KernelCode &code = function->kernel->code();
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = int(mostThreadsOf(code));
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = int(code.sharedBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = int(code.localBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = int(DriverOptions::get().capability);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function->maxDynamicShared;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                            int value) {
  return withContext([&](Context &context) {
    LoadedFunction *function = findFunction(context, handle);
    if (!function)
      return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
      return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
        value < 0 ||
        uint64_t(value) + function->kernel->code().sharedBytes >
            mostSharedBytes)
      return CUDA_ERROR_INVALID_VALUE;
    function->maxDynamicShared = value;
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CUresult checkSizes(const LoadedFunction &function,
                           const Launch &launch) {
  const KernelCode &code = function.kernel->code();
  uint64_t threads = 1;
  for (unsigned i = 0; i < 3; ++i) {
    // Both the products and the limits of y and z.
    if (!launch.grid[i] || !launch.block[i])
      return CUDA_ERROR_INVALID_VALUE;
    uint32_t mostBlocks = i ? 65535 : 0x7FFFFFFF;
    uint32_t mostInBlock = i == 2 ? 64 : 1024;
    if (launch.grid[i] > mostBlocks || launch.block[i] > mostInBlock)
      return CUDA_ERROR_INVALID_VALUE;
    threads *= launch.block[i];
  }
  if (threads > mostThreads ||
      launch.dynamicSharedBytes > uint32_t(function.maxDynamicShared))
    return CUDA_ERROR_INVALID_VALUE;
  if (threads > mostThreadsOf(code) ||
      (code.requiredThreads && threads != code.requiredThreads))
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  return CUDA_SUCCESS;
}

/// Arguments are copied at the call.
static CUresult readArguments(const KernelCode &code, void **parameters,
                              void **extra, Launch &launch) {
  launch.arguments.resize(code.parameterBytes);
  if (parameters && extra)
    return CUDA_ERROR_INVALID_VALUE;
  if (parameters) {
    for (size_t i = 0; i < code.parameters.size(); ++i) {
      if (!parameters[i])
        return CUDA_ERROR_INVALID_VALUE;
      std::memcpy(launch.arguments.data() + code.parameters[i].offset,
                  parameters[i], code.parameters[i].bytes);
    }
    return CUDA_SUCCESS;
  }
  if (!extra)
    return code.parameters.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  const void *buffer = nullptr;
  size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<size_t *>(extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (size < code.parameterBytes || (code.parameterBytes && !buffer))
    return CUDA_ERROR_INVALID_VALUE;
  if (code.parameterBytes)
    std::memcpy(launch.arguments.data(), buffer, code.parameterBytes);
  return CUDA_SUCCESS;
}

static CUresult resultOf(Context &context, const Fault &fault) {
  CUresult result =
      fault.kind == FaultKind::None             ? CUDA_SUCCESS
      : fault.kind == FaultKind::IllegalAddress ? CUDA_ERROR_ILLEGAL_ADDRESS
      : fault.kind == FaultKind::MisalignedAddress
          ? CUDA_ERROR_MISALIGNED_ADDRESS
      : fault.kind == FaultKind::Assert ? CUDA_ERROR_ASSERT
                                        : CUDA_ERROR_LAUNCH_FAILED;
  if (result)
    context.setError(result, fault.message);
  return result;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        LoadedFunction *function = findFunction(context, handle);
        if (!function)
          return CUDA_ERROR_INVALID_HANDLE;
        Launch launch{function->kernel,
                      {gridX, gridY, gridZ},
                      {blockX, blockY, blockZ},
                      sharedBytes,
                      {},
                      Scheduler::get().draw(),
                      &context};
        if (CUresult error = checkSizes(*function, launch))
          return error;
        if (CUresult error = readArguments(function->kernel->code(), parameters,
                                           extra, launch))
          return error;
        if (DriverOptions::get().launch.happens())
          return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        context.submit(lane, [&context, launch = std::move(launch)] {
          DriverOptions &options = DriverOptions::get();
          if (!options.hangingKernel.empty() &&
              launch.kernel->code().name.starts_with(options.hangingKernel) &&
              options.hang.happens())
            for (;;)
              std::this_thread::sleep_for(std::chrono::hours(1));
          if (DriverOptions::get().fault.happens())
            return resultOf(context,
                            {FaultKind::IllegalAddress,
                             "kernel '" + launch.kernel->code().name +
                                 "': an illegal address, as asked for"});
          return resultOf(context, execute(launch));
        });
        return CUDA_SUCCESS;
      });
}
