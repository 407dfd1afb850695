//===- ApiStream.cpp - streams, events and callbacks ----------------------===//

#include "Api.h"
#include "Capture.h"

using namespace lockstep::standin;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Of streams, as on NVIDIA's GPUs: greater ones are lower numbers.
static constexpr int leastPriority = 0, greatestPriority = -5;

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags,
                                    int priority) {
  return withContext([&](Context &context) {
    if (!stream || (flags & ~unsigned(CU_STREAM_NON_BLOCKING)))
      return CUDA_ERROR_INVALID_VALUE;
    auto created = std::make_unique<Stream>();
    created->context = &context;
    created->flags = flags;
    created->priority = std::clamp(priority, greatestPriority, leastPriority);
    created->lane = Scheduler::get().open(
        &context, /*isDefault=*/false, (flags & CU_STREAM_NON_BLOCKING) != 0);
    *stream = reinterpret_cast<CUstream>(
        Driver::get().streams.add(std::move(created)));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  return withContext([&](Context &context) {
    Stream *found = Driver::get().streams.find(handle);
    if (!found || found->context != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    if (!priority)
      return CUDA_ERROR_INVALID_VALUE;
    *priority = found->priority;
    return CUDA_SUCCESS;
  });
}

/// The streams execute in any order all the same: priorities are no order.
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return withContext([&](Context &) {
    if (least)
      *least = leastPriority;
    if (greatest)
      *greatest = greatestPriority;
    return CUDA_SUCCESS;
  });
}

/// Commands that are pending are still executed.
CUresult cuStreamDestroy_v2(CUstream handle) {
  return withContext([&](Context &context) {
    Stream *found = Driver::get().streams.find(handle);
    if (!found || found->context != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    std::unique_ptr<Stream> stream = Driver::get().streams.remove(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    Scheduler::get().close(stream->lane);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return withStream(stream,
                    [&](Context &context, const auto &lane) -> CUresult {
                      if (CUresult error = checkQuery(*lane))
                        return error;
                      // The default stream's work includes that of the streams
                      // before it.
                      if (lane == context.defaultLane())
                        return finish(context, context.submit(lane, nullptr));
                      return finish(context, Scheduler::get().last(lane));
                    });
}

CUresult cuStreamQuery(CUstream stream) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        if (CUresult error = checkQuery(*lane))
          return error;
        bool isDone = Scheduler::get().poll(Scheduler::get().last(lane));
        if (CUresult error = context.error())
          return error;
        return isDone ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
      });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  return withStream(stream,
                    [&](Context &context, const auto &lane) -> CUresult {
                      if (!function)
                        return CUDA_ERROR_INVALID_VALUE;
                      auto call = [function, data] {
                        isInCallback() = true;
                        function(data);
                        isInCallback() = false;
                        return CUDA_SUCCESS;
                      };
                      context.submit(lane, call, CommandKind::Callback);
                      return CUDA_SUCCESS;
                    });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return withContext([&](Context &context) {
    constexpr unsigned known = CU_EVENT_BLOCKING_SYNC |
                               CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!event || (flags & ~known))
      return CUDA_ERROR_INVALID_VALUE;
    auto created = std::make_unique<Event>();
    created->context = &context;
    created->flags = flags;
    *event =
        reinterpret_cast<CUevent>(Driver::get().events.add(std::move(created)));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return withContext([&](Context &) {
    return Driver::get().events.remove(event) ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        Event *event = Driver::get().events.find(handle);
        if (!event || event->context != &context)
          return CUDA_ERROR_INVALID_HANDLE;
        // A command of its own, which follows those that the
        // stream waits for.
        std::function<CUresult()> work;
        if (!(event->flags & CU_EVENT_DISABLE_TIMING))
          work = [time = event->time] {
            *time = std::chrono::steady_clock::now().time_since_epoch() /
                    std::chrono::nanoseconds(1);
            return CUDA_SUCCESS;
          };
        Point point = context.submit(lane, std::move(work));
        std::lock_guard lock(event->mutex);
        event->point = point;
        return CUDA_SUCCESS;
      });
}

static Point pointOf(Event &event) {
  std::lock_guard lock(event.mutex);
  return event.point;
}

/// Waits for the last record before the call, if there is one.
CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        Event *event = Driver::get().events.find(handle);
        if (!event)
          return CUDA_ERROR_INVALID_HANDLE;
        Point point = pointOf(*event);
        if (!point.lane && !point.capture)
          return CUDA_SUCCESS;
        if (CUresult error = checkWait(*lane, point))
          return error;
        context.submit(lane, nullptr, CommandKind::OnDevice, {point});
        return CUDA_SUCCESS;
      });
}

CUresult cuEventQuery(CUevent handle) {
  return withContext([&](Context &context) -> CUresult {
    Event *event = Driver::get().events.find(handle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    Point point = pointOf(*event);
    if (CUresult error = checkQuery(point))
      return error;
    bool isDone = Scheduler::get().poll(point);
    if (CUresult error = context.error())
      return error;
    return isDone ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

// Of CUDA 12.4, which the macro of a newer cuda.h replaces by another one.
#undef cuEventElapsedTime
extern "C" [[gnu::visibility("default")]] CUresult
cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  return withContext([&](Context &context) -> CUresult {
    int64_t times[2];
    for (size_t i = 0; i < 2; ++i) {
      Event *event = Driver::get().events.find(i == 0 ? begin : end);
      if (!event || event->flags & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
      Point point = pointOf(*event);
      if (!point.lane)
        return CUDA_ERROR_INVALID_HANDLE;
      if (CUresult error = checkQuery(point))
        return error;
      bool isDone = Scheduler::get().poll(point);
      if (CUresult error = context.error())
        return error;
      if (!isDone)
        return CUDA_ERROR_NOT_READY;
      times[i] = *event->time;
    }
    *milliseconds = float(double(times[1] - times[0]) * 1e-6);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return withContext([&](Context &context) -> CUresult {
    Event *event = Driver::get().events.find(handle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    Point point = pointOf(*event);
    if (CUresult error = checkQuery(point))
      return error;
    return finish(context, point);
  });
}
