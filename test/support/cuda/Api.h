//===- Api.h - what all functions of the driver begin with ------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_API_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_API_H

#include "Context.h"

namespace lockstep::standin {

/// Calls a function that needs no context. No exception leaves the library.
/// `name` is that of the driver's function, which is the caller.
template <typename Function>
CUresult withDriver(Function function,
                    const char *name = __builtin_FUNCTION()) {
  DriverOptions::get().calls.add(name);
  if (!Driver::get().isInitialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (isInCallback())
    return CUDA_ERROR_NOT_PERMITTED;
  try {
    return function();
  } catch (const std::bad_alloc &) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception &) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// Calls a function with the current context, unless an error has ended it.
template <typename Function>
CUresult withContext(Function function,
                     const char *name = __builtin_FUNCTION()) {
  auto call = [&]() -> CUresult {
    Context *context = currentContext();
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->isActive())
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (CUresult error = context->error())
      return error;
    return function(*context);
  };
  return withDriver(call, name);
}

/// Calls a function with the lane of a stream of the current context; other
/// streams are errors.
template <typename Function>
CUresult withStream(CUstream handle, Function function,
                    const char *name = __builtin_FUNCTION()) {
  auto call = [&](Context &context) -> CUresult {
    if (handle == nullptr || handle == CU_STREAM_LEGACY)
      return function(context, context.defaultLane());
    Stream *stream = Driver::get().streams.find(handle);
    if (!stream || stream->context != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    return function(context, stream->lane);
  };
  return withContext(call, name);
}

/// Waits, and returns the error that the context has afterwards.
inline CUresult finish(Context &context, const Point &point) {
  Scheduler::get().wait({point});
  return context.error();
}

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_API_H
