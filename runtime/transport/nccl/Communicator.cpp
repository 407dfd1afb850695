//===- Communicator.cpp - executors that NCCL connects --------------------===//

#include "runtime/transport/nccl/Communicator.h"

#include "runtime/schema/Types.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {

Communicator::Communicator(const NcclApi &api, Network &network,
                           std::vector<uint32_t> given, std::string name)
    : api(api), network(network), executors(std::move(given)),
      name(std::move(name)) {
  self = uint32_t(std::ranges::find(executors, network.self()) -
                  executors.begin());
}

/// Unlike ncclCommDestroy, an abort does not wait for other executors, which
/// may have gone already.
Communicator::~Communicator() {
  Communicator *self = this;
  abort(std::span(&self, 1));
}

void Communicator::abort(std::span<Communicator *const> communicators) {
  std::vector<ncclComm_t> aborted;
  const NcclApi *api = nullptr;
  for (Communicator *each : communicators) {
    std::lock_guard<std::mutex> lock(each->mutex);
    each->isAborted = true;
    if (each->communicator)
      aborted.push_back(std::exchange(each->communicator, nullptr));
    api = &each->api;
  }
  if (aborted.empty())
    return;
  api->ncclGroupStart();
  for (ncclComm_t communicator : aborted)
    api->ncclCommAbort(communicator);
  api->ncclGroupEnd();
}

static bool isAccepted(ncclResult_t result) {
  return result == ncclSuccess || result == ncclInProgress;
}

/// A call on a communicator that does not block returns before it has ended.
Status Communicator::awaitEnd(std::string_view call, ncclResult_t result) {
  constexpr auto pause = std::chrono::microseconds(50);
  constexpr unsigned yields = 1000;
  for (unsigned i = 0; result == ncclInProgress; ++i) {
    if (network.isAborted())
      return network.abortReason();
    if (i < yields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(pause);
    if (ncclResult_t asked = api.ncclCommGetAsyncError(communicator, &result);
        asked != ncclSuccess)
      result = asked;
  }
  return result == ncclSuccess ? Status::success() : api.error(call, result);
}

//===----------------------------------------------------------------------===//
// Connection
//===----------------------------------------------------------------------===//

/// False: the text is not two hexadecimal digits for each byte.
static bool readDigits(std::string_view text, std::span<char> bytes) {
  if (text.size() != 2 * bytes.size())
    return false;
  constexpr int base = 16;
  for (size_t i = 0; i < bytes.size(); ++i) {
    uint8_t byte = 0;
    const char *first = text.data() + 2 * i, *last = first + 2;
    if (std::from_chars(first, last, byte, base).ptr != last)
      return false;
    bytes[i] = static_cast<char>(byte);
  }
  return true;
}

/// What an executor of the communicator posts once.
Expected<std::string> Communicator::awaitPost(uint32_t executor,
                                              const std::string &of) {
  for (;;) {
    uint32_t key = network.events().key();
    if (std::optional<std::string> text =
            network.posted(executor, of, /*round=*/0))
      return *text;
    if (network.isAborted())
      return network.abortReason();
    network.events().sleep(key);
  }
}

Status Communicator::agreeOnMemory(bool isExchangeable) {
  std::string of = name + ", exchangeable memory";
  constexpr std::string_view yes = "yes", no = "no";
  std::string_view own = isExchangeable ? yes : no;
  network.post(of, /*round=*/0, std::string(own));
  hasExchangeable = isExchangeable;
  for (uint32_t executor : executors) {
    if (executor == network.self())
      continue;
    std::string posted;
    LOCKSTEP_RETURN_IF_ERROR(awaitPost(executor, of).moveTo(posted));
    // The library itself registers what graphs transfer, wherever it can, and
    // would wait for the other side's registration.
    if (posted != own)
      return unsupported(
          fmt::format("expected memory that other GPUs can map on all GPUs or "
                      "on none, found it only on that of executor {}",
                      isExchangeable ? network.self() : executor));
  }
  return Status::success();
}

/// The first executor chooses the id and posts it to the others, as hexadecimal
/// digits.
Expected<ncclUniqueId> Communicator::agreeOnId() {
  ncclUniqueId id{};
  if (self == 0) {
    if (ncclResult_t result = api.ncclGetUniqueId(&id); result != ncclSuccess)
      return api.error("ncclGetUniqueId", result);
    std::string text;
    for (char byte : id.internal)
      text += fmt::format("{:02x}", uint8_t(byte));
    network.post(name, /*round=*/0, std::move(text));
    return id;
  }
  std::string text;
  LOCKSTEP_RETURN_IF_ERROR(awaitPost(executors.front(), name).moveTo(text));
  if (!readDigits(text, id.internal))
    return corrupted(
        fmt::format("expected {} hexadecimal digits as id of '{}', found '{}'",
                    2 * sizeof(id.internal), name, text));
  return id;
}

Status Communicator::initialize() {
  Expected<ncclUniqueId> id = agreeOnId();
  if (!id)
    return id.status();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclResult_t result = api.ncclCommInitRankConfig(
      &communicator, int(executors.size()), *id, int(self), &config);
  return awaitEnd("ncclCommInitRankConfig", result);
}

Status Communicator::connect(Queue &queue, std::byte *scratch,
                             bool isExchangeable) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isAborted)
    return abortReason();
  if (isConnected)
    return Status::success();
  std::vector<Transfer> transfers;
  for (uint32_t peer = 0; peer < executors.size(); ++peer)
    if (peer != self) {
      transfers.push_back({peer, 1, scratch + self, nullptr});
      transfers.push_back(
          {peer, 1, nullptr, scratch + executors.size() + peer});
    }
  LOCKSTEP_RETURN_IF_ERROR(queue.call([&](void *stream) {
    LOCKSTEP_RETURN_IF_ERROR(initialize());
    return transfer(stream, transfers, {});
  }));
  LOCKSTEP_RETURN_IF_ERROR(agreeOnMemory(isExchangeable));
  isConnected = true;
  return Status::success();
}

Status Communicator::check() {
  // Who holds the mutex sees an error, too.
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock || !isConnected || isAborted)
    return Status::success();
  ncclResult_t result = ncclSuccess;
  if (ncclResult_t asked = api.ncclCommGetAsyncError(communicator, &result);
      asked != ncclSuccess)
    result = asked;
  return isAccepted(result) ? Status::success()
                            : api.error("a transfer that was enqueued", result);
}

Status Communicator::abortReason() const {
  return network.isAborted() ? network.abortReason()
                             : systemError("the communicator is aborted");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<void *> Communicator::registerMemory(Queue &queue,
                                              std::span<std::byte> memory) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isAborted)
    return abortReason();
  void *registered = nullptr;
  LOCKSTEP_RETURN_IF_ERROR(queue.call([&](void *) {
    return awaitEnd("ncclCommRegister",
                    api.ncclCommRegister(communicator, memory.data(),
                                         memory.size(), &registered));
  }));
  return registered;
}

void Communicator::forgetMemory(void *registered) {
  std::lock_guard<std::mutex> lock(mutex);
  if (communicator)
    api.ncclCommDeregister(communicator, registered);
}

//===----------------------------------------------------------------------===//
// Transfers and reductions
//===----------------------------------------------------------------------===//

using artifact::ElementType;
using artifact::Reduction;

/// None: the library has no such elements.
static std::optional<ncclDataType_t> typeOf(ElementType element) {
  switch (element) {
  case ElementType::i8:
    return ncclInt8;
  case ElementType::i32:
    return ncclInt32;
  case ElementType::i64:
    return ncclInt64;
  case ElementType::u8:
    return ncclUint8;
  case ElementType::u32:
    return ncclUint32;
  case ElementType::u64:
    return ncclUint64;
  case ElementType::f16:
    return ncclFloat16;
  case ElementType::bf16:
    return ncclBfloat16;
  case ElementType::f32:
    return ncclFloat32;
  case ElementType::f64:
    return ncclFloat64;
  default:
    return std::nullopt;
  }
}

/// None: the library has no such reduction, or one that may lose a NaN.
static std::optional<ncclRedOp_t> operationOf(ElementType element,
                                              Reduction reduction) {
  switch (reduction) {
  case Reduction::sum:
    return ncclSum;
  case Reduction::product:
    return ncclProd;
  case Reduction::min:
    return isFloat(element) ? std::nullopt : std::optional(ncclMin);
  case Reduction::max:
    return isFloat(element) ? std::nullopt : std::optional(ncclMax);
  default:
    return std::nullopt;
  }
}

bool Communicator::reducesElements(ElementType element, Reduction reduction) {
  return typeOf(element) && operationOf(element, reduction);
}

Status Communicator::transfer(void *native, std::span<const Transfer> transfers,
                              std::span<const LibraryReduction> reductions) {
  auto *stream = static_cast<cudaStream_t>(native);
  std::string_view call = "ncclGroupStart";
  ncclResult_t result = api.ncclGroupStart();
  if (result != ncclSuccess)
    return api.error(call, result);
  for (const Transfer &next : transfers) {
    call = next.send ? "ncclSend" : "ncclRecv";
    result = next.send ? api.ncclSend(next.send, next.bytes, ncclInt8,
                                      int(next.peer), communicator, stream)
                       : api.ncclRecv(next.receive, next.bytes, ncclInt8,
                                      int(next.peer), communicator, stream);
    if (!isAccepted(result))
      break;
  }
  for (const LibraryReduction &next : reductions) {
    if (!isAccepted(result))
      break;
    call = next.isScattered ? "ncclReduceScatter" : "ncclAllReduce";
    auto reduce = next.isScattered ? api.ncclReduceScatter : api.ncclAllReduce;
    result = reduce(
        next.operand, next.result, next.elements, *typeOf(next.element),
        *operationOf(next.element, next.reduction), communicator, stream);
  }
  // A group ends also after an error.
  ncclResult_t end = api.ncclGroupEnd();
  if (isAccepted(result)) {
    call = "ncclGroupEnd";
    result = end;
  }
  return awaitEnd(call, result);
}

Status Communicator::exchange(Queue &queue, std::span<const Transfer> transfers,
                              std::span<const LibraryReduction> reductions) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isAborted || !communicator)
    return abortReason();
  return queue.call(
      [&](void *stream) { return transfer(stream, transfers, reductions); });
}

} // namespace lockstep::runtime
