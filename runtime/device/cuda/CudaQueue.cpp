//===- CudaQueue.cpp - commands of a GPU ----------------------------------===//

#include "runtime/device/cuda/CudaQueue.h"

#include "runtime/device/cuda/CudnnLibrary.h"
#include "runtime/device/cuda/ReduceShape.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace lockstep::runtime {

/// The progress is noted at each record, and after this many other commands.
static constexpr uint64_t commandsPerNote = 64;

/// Of a block of a reduction or a search.
static constexpr uint32_t reduceThreads = 256;

static CUdeviceptr addressOf(const std::byte *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

Expected<std::unique_ptr<Queue>>
CudaQueue::create(std::shared_ptr<CudaContext> context,
                  std::shared_ptr<CudaReductions> reductions,
                  std::shared_ptr<CudaWatch> watch, QueueUse use) {
  Expected<CudaStream> stream = context->takeStream(use);
  if (!stream)
    return stream.status();
  return std::unique_ptr<Queue>(new CudaQueue(
      std::move(context), std::move(reductions), std::move(watch), *stream));
}

CudaQueue::CudaQueue(std::shared_ptr<CudaContext> given,
                     std::shared_ptr<CudaReductions> reductions,
                     std::shared_ptr<CudaWatch> givenWatch, CudaStream stream)
    : context(std::move(given)), api(context->api),
      reductions(std::move(reductions)), watch(std::move(givenWatch)),
      stream(stream) {
  watch->add(this);
}

/// Keeps what the driver might still use after a failure, without a leak.
static void keepForever(std::unique_ptr<CudaCallbacks> callbacks) {
  static std::mutex mutex;
  static auto &kept = *new std::vector<std::unique_ptr<CudaCallbacks>>();
  std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(callbacks));
}

CudaQueue::~CudaQueue() {
  watch->remove(this);
  context->enter();
  if (api.cuStreamSynchronize(stream.stream) != CUDA_SUCCESS)
    callbacks->abandon();
  bool isUsable = !callbacks->areAbandoned();
  if (!isUsable)
    keepForever(std::move(callbacks));
  for (CUdeviceptr table : tables)
    context->free(table);
  for (CUdeviceptr workspace : workspaces)
    context->free(workspace);
  context->giveBack(stream, isUsable);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

template <typename Describe, typename Calls>
void CudaQueue::enqueue(Describe describe, Calls calls) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t command = enqueuedCount.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (isFailed.load(std::memory_order_acquire))
    return;
  context->enter();
  CUresult result = calls();
  if (result == CUDA_SUCCESS && command - noted >= commandsPerNote)
    result = noteProgress();
  if (result != CUDA_SUCCESS)
    fail(result, describe());
}

CUresult CudaQueue::noteProgress() {
  noted = enqueuedCount.load(std::memory_order_relaxed);
  uint32_t *word = &stream.progress[recording ? inGraph : oneByOne];
  return api.cuMemsetD32Async(
      reinterpret_cast<CUdeviceptr>(word),
      uint32_t(recording ? noted - recording->before : noted), 1,
      stream.stream);
}

uint64_t CudaQueue::progress() const {
  auto load = [&](size_t word) {
    return std::atomic_ref<uint32_t>(stream.progress[word])
        .load(std::memory_order_acquire);
  };
  uint64_t from = executedFrom.load(std::memory_order_acquire);
  uint32_t executed = load(inGraph);
  uint64_t ofGraph = executed ? from + executed : 0;
  // The word has the low half of the number, which is at most 2^32 commands
  // old.
  uint64_t count = enqueued();
  return std::max(ofGraph, count - uint32_t(uint32_t(count) - load(oneByOne)));
}

/// The error of a phase that nothing but a library can compute.
static Status refused(CudaLibraryPhase &phase) {
  return unsupported(
      fmt::format("this {} is not supported: {}; compile without {}, so that "
                  "generated code computes it",
                  phase.kind.name, phase.refusal().value_or("no reason given"),
                  phase.kind.option));
}

void CudaQueue::launch(KernelHandle handle, uint32_t /*grid*/,
                       std::span<std::byte *const> buffers,
                       std::span<const int64_t> scalars) {
  const CudaKernel &kernel = *static_cast<const CudaKernel *>(handle);
  // The driver copies the values behind the pointers during the call.
  std::vector<void *> parameters;
  parameters.reserve(buffers.size() + scalars.size());
  for (std::byte *const &buffer : buffers)
    parameters.push_back(const_cast<std::byte **>(&buffer));
  for (const int64_t &scalar : scalars)
    parameters.push_back(const_cast<int64_t *>(&scalar));
  size_t phase = 0;
  bool byLibrary = false;
  auto describe = [&] {
    std::string of = fmt::format("the launch of kernel '{}'", kernel.name);
    if (phase == kernel.phases.size())
      return of;
    const CudaKernel::Phase &failed = kernel.phases[phase];
    if (byLibrary)
      return fmt::format("{}, phase {} by {}", of, phase,
                         failed.byLibrary->kind.library);
    return fmt::format("{}, phase {} ({} blocks of {} threads)", of, phase,
                       failed.blocks, failed.threads);
  };
  enqueue(describe, [&] {
    noteLaunch(kernel.name);
    for (phase = 0; phase < kernel.phases.size(); ++phase) {
      const CudaKernel::Phase &next = kernel.phases[phase];
      if (next.isEmpty())
        continue;
      byLibrary = next.byLibrary != nullptr;
      if (byLibrary) {
        Expected<bool> isEnqueued = compute(*next.byLibrary, buffers);
        if (!isEnqueued)
          return failInLibrary(isEnqueued.status().withContext(describe()));
        if (*isEnqueued)
          continue;
        if (!next.function)
          return failInLibrary(
              refused(*next.byLibrary).withContext(describe()));
        byLibrary = false;
      }
      CUresult result = api.cuLaunchKernel(
          next.function, next.blocks, 1, 1, next.threads, 1, 1,
          /*sharedMemBytes=*/0, stream.stream, parameters.data(), nullptr);
      if (result != CUDA_SUCCESS)
        return result;
    }
    return CUDA_SUCCESS;
  });
}

Expected<bool> CudaQueue::compute(CudaLibraryPhase &phase,
                                  std::span<std::byte *const> buffers) {
  std::optional<uint64_t> bytes;
  LOCKSTEP_RETURN_IF_ERROR(phase.prepare(buffers).moveTo(bytes));
  if (!bytes)
    return false;
  if (*bytes > workspaceBytes) {
    // The smaller ones are kept for what is enqueued or recorded with them;
    // doubling keeps them few.
    uint64_t size = std::max(
        {*bytes, leastWorkspaceBytes,
         std::min(2 * workspaceBytes, CudnnLibrary::mostWorkspaceBytes)});
    CUdeviceptr larger = 0;
    LOCKSTEP_RETURN_IF_ERROR(context->allocate(size).moveTo(larger));
    workspaces.push_back(larger);
    workspaceBytes = size;
  }
  return phase.enqueue(buffers, workspaces.empty() ? 0 : workspaces.back(),
                       stream.stream);
}

void CudaQueue::copy(const RowCopy &rows) {
  enqueue(
      [&] {
        return fmt::format("a copy of {} rows of {} bytes", rows.rows,
                           rows.rowBytes);
      },
      [&] { return copyRows(rows); });
}

CUresult CudaQueue::copyRows(const RowCopy &rows) {
  if (rows.rows == 0 || rows.rowBytes == 0 || rows.to == rows.from)
    return CUDA_SUCCESS;
  CUdeviceptr to = addressOf(rows.to), from = addressOf(rows.from);
  if (rows.rows == 1 ||
      (rows.toStride == rows.rowBytes && rows.fromStride == rows.rowBytes))
    return api.cuMemcpyDtoDAsync(to, from, rows.rows * rows.rowBytes,
                                 stream.stream);
  uint64_t least = std::min(rows.toStride, rows.fromStride),
           most = std::max(rows.toStride, rows.fromStride);
  constexpr uint64_t mostPitch = INT32_MAX;
  if (rows.rowBytes <= least && most <= mostPitch) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.srcPitch = rows.fromStride;
    copy.dstDevice = to;
    copy.dstPitch = rows.toStride;
    copy.WidthInBytes = rows.rowBytes;
    copy.Height = rows.rows;
    CUresult result = api.cuMemcpy2DAsync(&copy, stream.stream);
    // Some pitches may be refused; the documentation does not say which.
    if (result != CUDA_ERROR_INVALID_VALUE)
      return result;
  }
  for (uint64_t row = 0; row < rows.rows; ++row)
    if (CUresult result = api.cuMemcpyDtoDAsync(to + row * rows.toStride,
                                                from + row * rows.fromStride,
                                                rows.rowBytes, stream.stream);
        result != CUDA_SUCCESS)
      return result;
  return CUDA_SUCCESS;
}

void CudaQueue::fill(std::byte *to, uint64_t bytes, uint32_t pattern) {
  enqueue([&] { return fmt::format("a fill of {} bytes", bytes); },
          [&] { return fillBytes(addressOf(to), bytes, pattern); });
}

/// Words where the address is aligned, single bytes before and after them.
CUresult CudaQueue::fillBytes(CUdeviceptr to, uint64_t bytes,
                              uint32_t pattern) {
  if (bytes > 0 && pattern == (pattern & 0xff) * 0x01010101u)
    return api.cuMemsetD8Async(to, static_cast<unsigned char>(pattern), bytes,
                               stream.stream);
  auto fillSome = [&](uint64_t count) {
    CUresult result = CUDA_SUCCESS;
    for (; count > 0 && result == CUDA_SUCCESS; --count, --bytes) {
      result = api.cuMemsetD8Async(to++, static_cast<unsigned char>(pattern), 1,
                                   stream.stream);
      pattern = std::rotr(pattern, 8);
    }
    return result;
  };
  constexpr uint64_t word = sizeof(pattern);
  CUresult result =
      fillSome(std::min<uint64_t>((word - to % word) % word, bytes));
  if (uint64_t words = bytes / word; result == CUDA_SUCCESS && words > 0) {
    result = api.cuMemsetD32Async(to, pattern, words, stream.stream);
    to += words * word;
    bytes -= words * word;
  }
  return result == CUDA_SUCCESS ? fillSome(bytes) : result;
}

/// A graph accesses the memory of the host at each launch, when other memory
/// than that of `allocateHost` may have been freed or used for something else.
/// The driver does not refuse such transfers.
CUresult CudaQueue::checkTransfer(const std::byte *host) const {
  if (!recording)
    return CUDA_SUCCESS;
  unsigned type = 0;
  CUresult result = api.cuPointerGetAttribute(
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addressOf(host));
  bool isOther = result == CUDA_ERROR_INVALID_VALUE ||
                 (result == CUDA_SUCCESS && type != CU_MEMORYTYPE_HOST);
  return isOther ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : result;
}

void CudaQueue::upload(std::byte *to, const std::byte *from, uint64_t bytes) {
  enqueue([&] { return fmt::format("an upload of {} bytes", bytes); },
          [&] {
            if (bytes == 0)
              return CUDA_SUCCESS;
            if (CUresult result = checkTransfer(from); result != CUDA_SUCCESS)
              return result;
            return api.cuMemcpyHtoDAsync(addressOf(to), from, bytes,
                                         stream.stream);
          });
}

void CudaQueue::download(std::byte *to, const std::byte *from, uint64_t bytes) {
  enqueue([&] { return fmt::format("a download of {} bytes", bytes); },
          [&] {
            if (bytes == 0)
              return CUDA_SUCCESS;
            if (CUresult result = checkTransfer(to); result != CUDA_SUCCESS)
              return result;
            return api.cuMemcpyDtoHAsync(to, addressOf(from), bytes,
                                         stream.stream);
          });
}

Status CudaQueue::call(const std::function<Status(void *)> &calls) {
  enqueue([] { return std::string("a call of a library"); },
          [&] {
            if (Status result = calls(stream.stream); !result.ok())
              fail(result);
            return CUDA_SUCCESS;
          });
  return status();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void CudaQueue::reduce(const DeviceReduction &reduction) {
  auto describe = [&] {
    return fmt::format("a reduction of {} operands of {} x {}",
                       reduction.operands.size(), reduction.elements,
                       elementName(reduction.element));
  };
  enqueue(describe, [&] {
    if (reduction.elements == 0 || reduction.operands.empty() ||
        reduction.results.empty())
      return CUDA_SUCCESS;
    Status status;
    if (reduction.operands.size() > reduceMostOperands)
      status = unsupported(
          fmt::format("expected at most {} operands", reduceMostOperands));
    CudaReduction kernels;
    if (status.ok())
      status = reductions->find(reduction).moveTo(kernels);
    if (status.ok())
      return launchReduction(kernels, reduction);
    fail(status.withContext(describe()));
    return CUDA_SUCCESS;
  });
}

CUresult CudaQueue::launchReduction(const CudaReduction &kernels,
                                    const DeviceReduction &reduction) {
  uint64_t elements = reduction.elements,
           operandCount = reduction.operands.size(),
           resultCount = reduction.results.size();
  CUdeviceptr table = 0;
  std::array<CUdeviceptr, reduceDirect> operands{}, results{};
  if (operandCount > reduceDirect || resultCount > reduceDirect) {
    if (CUresult result = storeAddresses(kernels, reduction, table);
        result != CUDA_SUCCESS)
      return result;
  } else {
    std::transform(reduction.operands.begin(), reduction.operands.end(),
                   operands.begin(), addressOf);
    std::transform(reduction.results.begin(), reduction.results.end(),
                   results.begin(), addressOf);
  }
  std::vector<void *> parameters{&elements, &operandCount, &resultCount,
                                 &table};
  for (CUdeviceptr &operand : operands)
    parameters.push_back(&operand);
  for (CUdeviceptr &result : results)
    parameters.push_back(&result);
  noteLaunch("");
  return api.cuLaunchKernel(kernels.reduce, blocksFor(elements), 1, 1,
                            reduceThreads, 1, 1, /*sharedMemBytes=*/0,
                            stream.stream, parameters.data(), nullptr);
}

uint32_t CudaQueue::blocksFor(uint64_t elements) const {
  constexpr uint32_t blocksPerProcessor = 8;
  return uint32_t(
      std::min<uint64_t>((elements + reduceThreads - 1) / reduceThreads,
                         blocksPerProcessor * context->multiprocessors()));
}

void CudaQueue::search(const FiniteSearch &search) {
  auto describe = [&] {
    return fmt::format("a search in {} x {}", search.elements,
                       elementName(search.element));
  };
  enqueue(describe, [&] {
    if (search.elements == 0)
      return CUDA_SUCCESS;
    Expected<CUfunction> kernel = reductions->findSearch(search.element);
    if (!kernel) {
      fail(kernel.status().withContext(describe()));
      return CUDA_SUCCESS;
    }
    uint64_t elements = search.elements, order = search.order,
             exponent = exponentBits(search.element);
    CUdeviceptr tensor = addressOf(search.tensor),
                finding = addressOf(
                    reinterpret_cast<const std::byte *>(search.finding));
    std::array<void *, 5> parameters{&elements, &tensor, &finding, &order,
                                     &exponent};
    noteLaunch("");
    return api.cuLaunchKernel(*kernel, blocksFor(elements), 1, 1, reduceThreads,
                              1, 1, /*sharedMemBytes=*/0, stream.stream,
                              parameters.data(), nullptr);
  });
}

CUresult CudaQueue::storeAddresses(const CudaReduction &kernels,
                                   const DeviceReduction &reduction,
                                   CUdeviceptr &table) {
  std::vector<CUdeviceptr> addresses;
  for (const std::byte *operand : reduction.operands)
    addresses.push_back(addressOf(operand));
  for (std::byte *result : reduction.results)
    addresses.push_back(addressOf(result));
  // Whole groups are stored.
  uint64_t size =
      (addresses.size() + reduceDirect - 1) / reduceDirect * reduceDirect;
  addresses.resize(size);
  if (size > tableSize) {
    CUdeviceptr larger = 0;
    if (CUresult result = api.cuMemAlloc(&larger, size * sizeof(CUdeviceptr));
        result != CUDA_SUCCESS)
      return result;
    tables.push_back(larger);
    tableSize = size;
  }
  table = tables.back();
  for (uint64_t first = 0; first < size; first += reduceDirect) {
    CUdeviceptr part = table + first * sizeof(CUdeviceptr);
    std::array<void *, 1 + reduceDirect> parameters{&part};
    for (uint32_t i = 0; i < reduceDirect; ++i)
      parameters[1 + i] = &addresses[first + i];
    if (CUresult result = api.cuLaunchKernel(
            kernels.storeAddresses, 1, 1, 1, 1, 1, 1, /*sharedMemBytes=*/0,
            stream.stream, parameters.data(), nullptr);
        result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

void CudaQueue::record(Timestamp &timestamp) {
  enqueue([] { return std::string("the record of a time"); },
          [&] {
            return api.cuEventRecord(
                static_cast<CudaTimestamp &>(timestamp).event, stream.stream);
          });
}

void CudaQueue::record(Event &event) {
  const std::shared_ptr<CudaEvent::State> &state =
      static_cast<CudaEvent &>(event).state;
  std::lock_guard<std::mutex> lock(mutex);
  enqueuedCount.fetch_add(1, std::memory_order_acq_rel);
  if (recording && state->onComplete)
    return fail(unsupported("cannot record an event with a callback"));
  uint64_t number = state->recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
  context->enter();
  // Before the event, so that whoever sees it complete sees the progress.
  CUresult result = state->creation;
  if (result == CUDA_SUCCESS)
    result = noteProgress();
  if (result == CUDA_SUCCESS)
    result = api.cuEventRecord(state->event, stream.stream);
  bool isAdded = !state->onComplete || callbacks->add(state, number);
  if (result == CUDA_SUCCESS && state->onComplete && isAdded)
    result = api.cuLaunchHostFunc(stream.stream, CudaCallbacks::callNext,
                                  callbacks.get());
  if (result != CUDA_SUCCESS) {
    fail(result, "the record of an event");
    if (!recording)
      abandon();
  }
  if (!isAdded) {
    // As `abandon`: the commands before it may still be executed.
    api.cuStreamSynchronize(stream.stream);
    state->complete(number);
  }
}

void CudaQueue::wait(const Event &event) {
  const CudaEvent::State &state = *static_cast<const CudaEvent &>(event).state;
  std::lock_guard<std::mutex> lock(mutex);
  enqueuedCount.fetch_add(1, std::memory_order_acq_rel);
  // Without a record, the driver's event may still have one of an earlier
  // owner.
  if (state.recorded.load(std::memory_order_acquire) == 0 || !state.event)
    return;
  context->enter();
  if (CUresult result =
          api.cuStreamWaitEvent(stream.stream, state.event, /*Flags=*/0);
      result != CUDA_SUCCESS)
    fail(result, "a wait for an event");
}

} // namespace lockstep::runtime
