//===- ApiCopy.cpp - copies and fills -------------------------------------===//
//
// Copies of pinned memory of the host access it when they are executed. Other
// memory of the host is read at the call, and written before the call returns,
// as by the driver. Captured copies access memory of the host, pinned or not,
// when the graph is executed.
//
// A staged copy has one owner, the command: a sanitizer of the program does not
// see what orders the ends of several, since this library has none.
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include "Capture.h"
#include "MemoryTable.h"

#include <cstring>
#include <utility>

using namespace lockstep::standin;

static bool isOnDevice(CUdeviceptr address, uint64_t bytes) {
  return MemoryTable::get().find(address, bytes).has_value();
}

/// Memory of the host is where no address of the device is.
static bool isOnHost(const void *pointer) {
  return pointer && !(reinterpret_cast<uint64_t>(pointer) & addressBias);
}

static CUresult upload(Context &context, const std::shared_ptr<Lane> &lane,
                       CUdeviceptr to, const void *from, size_t bytes,
                       bool isWaiting) {
  if (!bytes)
    return CUDA_SUCCESS;
  if (!isOnHost(from) || !isOnDevice(to, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<std::byte[]> staged;
  // A graph reads the memory each time.
  if (!PinnedMemory::get().contains(from, bytes) && !isCaptured(*lane, {})) {
    staged = std::shared_ptr<std::byte[]>(new std::byte[bytes]);
    std::memcpy(staged.get(), from, bytes);
  }
  Point point = context.submit(lane, [=, staged = std::move(staged)] {
    std::memcpy(MemoryTable::host(to), staged ? staged.get() : from, bytes);
    return CUDA_SUCCESS;
  });
  return isWaiting ? finish(context, point) : CUDA_SUCCESS;
}

static CUresult download(Context &context, const std::shared_ptr<Lane> &lane,
                         void *to, CUdeviceptr from, size_t bytes,
                         bool isWaiting) {
  if (!bytes)
    return CUDA_SUCCESS;
  if (!isOnHost(to) || !isOnDevice(from, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  bool isPinned =
      PinnedMemory::get().contains(to, bytes) || isCaptured(*lane, {});
  Point point = context.submit(lane, [=] {
    std::memcpy(to, MemoryTable::host(from), bytes);
    return CUDA_SUCCESS;
  });
  return isWaiting || !isPinned ? finish(context, point) : CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  return withStream(stream, [&](Context &context, const auto &lane) {
    return upload(context, lane, to, from, bytes, /*isWaiting=*/false);
  });
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return withStream(stream, [&](Context &context, const auto &lane) {
    return download(context, lane, to, from, bytes, /*isWaiting=*/false);
  });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return withContext([&](Context &context) {
    return upload(context, context.defaultLane(), to, from, bytes,
                  /*isWaiting=*/true);
  });
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return withContext([&](Context &context) {
    return download(context, context.defaultLane(), to, from, bytes,
                    /*isWaiting=*/true);
  });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        if (!bytes)
          return CUDA_SUCCESS;
        if (!isOnDevice(to, bytes) || !isOnDevice(from, bytes))
          return CUDA_ERROR_INVALID_VALUE;
        context.submit(lane, [=] {
          std::memmove(MemoryTable::host(to), MemoryTable::host(from), bytes);
          return CUDA_SUCCESS;
        });
        return CUDA_SUCCESS;
      });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// One side of a copy of rows, at the host's address of its first byte.
struct Rows {
  std::byte *first = nullptr;
  size_t pitch = 0;
  bool isHost = false, isPinned = false;
};

} // namespace

static CUresult findRows(CUmemorytype type, const void *host,
                         CUdeviceptr device, size_t pitch, size_t x, size_t y,
                         size_t width, size_t height, Rows &rows) {
  if (type == CU_MEMORYTYPE_UNIFIED) {
    type = device & addressBias ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    host = reinterpret_cast<const void *>(device);
  }
  rows.pitch = pitch ? pitch : x + width;
  if (rows.pitch < x + width)
    return CUDA_ERROR_INVALID_VALUE;
  size_t offset = y * rows.pitch + x;
  size_t extent = (height - 1) * rows.pitch + width;
  if (type == CU_MEMORYTYPE_DEVICE) {
    if (!isOnDevice(device + offset, extent))
      return CUDA_ERROR_INVALID_VALUE;
    rows.first = MemoryTable::host(device + offset);
    return CUDA_SUCCESS;
  }
  if (type != CU_MEMORYTYPE_HOST || !isOnHost(host))
    return CUDA_ERROR_INVALID_VALUE;
  rows.isHost = true;
  rows.first = static_cast<std::byte *>(const_cast<void *>(host)) + offset;
  rows.isPinned = PinnedMemory::get().contains(rows.first, extent);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        if (!copy)
          return CUDA_ERROR_INVALID_VALUE;
        size_t width = copy->WidthInBytes, height = copy->Height;
        if (!width || !height)
          return CUDA_SUCCESS;
        Rows from, to;
        if (CUresult error =
                findRows(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
                         copy->srcPitch, copy->srcXInBytes, copy->srcY, width,
                         height, from))
          return error;
        if (CUresult error =
                findRows(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
                         copy->dstPitch, copy->dstXInBytes, copy->dstY, width,
                         height, to))
          return error;
        from.isPinned |= isCaptured(*lane, {});
        to.isPinned |= isCaptured(*lane, {});
        std::shared_ptr<std::byte[]> staged;
        if (from.isHost && !from.isPinned) {
          staged = std::shared_ptr<std::byte[]>(new std::byte[width * height]);
          for (size_t row = 0; row < height; ++row)
            std::memcpy(staged.get() + row * width,
                        from.first + row * from.pitch, width);
          from.first = staged.get();
          from.pitch = width;
        }
        Point point = context.submit(lane, [=, staged = std::move(staged)] {
          for (size_t row = 0; row < height; ++row)
            std::memmove(to.first + row * to.pitch,
                         from.first + row * from.pitch, width);
          return CUDA_SUCCESS;
        });
        return to.isHost && !to.isPinned ? finish(context, point)
                                         : CUDA_SUCCESS;
      });
}

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

/// Even without a stream, fills are not waited for.
static CUresult fill(Context &context, const std::shared_ptr<Lane> &lane,
                     CUdeviceptr to, uint32_t value, size_t count,
                     size_t unit) {
  size_t bytes = count * unit;
  if (!bytes)
    return CUDA_SUCCESS;
  // Pinned memory of the host has the same address on the device.
  auto *pinned = reinterpret_cast<std::byte *>(to);
  bool isPinned = PinnedMemory::get().contains(pinned, bytes);
  if (to % unit || count > SIZE_MAX / unit ||
      !(isPinned || isOnDevice(to, bytes)))
    return CUDA_ERROR_INVALID_VALUE;
  std::byte *begin = isPinned ? pinned : MemoryTable::host(to);
  auto work = [=] {
    if (unit == 1)
      std::memset(begin, int(value), bytes);
    else
      fillPattern(begin, bytes, value);
    return CUDA_SUCCESS;
  };
  context.submit(lane, work,
                 isPinned ? CommandKind::HostFill : CommandKind::OnDevice);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return withStream(stream, [&](Context &context, const auto &lane) {
    return fill(context, lane, to, value, count, sizeof(value));
  });
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return withStream(stream, [&](Context &context, const auto &lane) {
    return fill(context, lane, to, value, count, sizeof(value));
  });
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return withContext([&](Context &context) {
    return fill(context, context.defaultLane(), to, value, count,
                sizeof(value));
  });
}
