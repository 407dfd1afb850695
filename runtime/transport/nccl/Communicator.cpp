//===- Communicator.cpp - executors that NCCL connects --------------------===//

#include "runtime/transport/nccl/Communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

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
Communicator::~Communicator() { abort(); }

void Communicator::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  isAborted = true;
  if (communicator)
    api.ncclCommAbort(communicator);
  communicator = nullptr;
}

/// A call on a communicator that does not block returns before it has ended.
Status Communicator::settle(std::string_view call, ncclResult_t result) {
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

/// The first executor chooses the id and posts it to the others, as hexadecimal
/// digits.
Expected<ncclUniqueId> Communicator::agreeOnId() {
  ncclUniqueId id{};
  constexpr unsigned base = 16;
  if (self == 0) {
    if (ncclResult_t result = api.ncclGetUniqueId(&id); result != ncclSuccess)
      return api.error("ncclGetUniqueId", result);
    std::string text;
    for (char byte : id.internal)
      text += fmt::format("{:02x}", uint8_t(byte));
    network.post(name, /*round=*/0, std::move(text));
    return id;
  }
  for (;;) {
    uint32_t key = network.events().key();
    if (std::optional<std::string> text =
            network.posted(executors.front(), name, /*round=*/0)) {
      if (text->size() != 2 * sizeof(id.internal))
        return corrupted(
            fmt::format("expected {} digits as id of '{}', found '{}'",
                        2 * sizeof(id.internal), name, *text));
      for (size_t i = 0; i < sizeof(id.internal); ++i)
        id.internal[i] = static_cast<char>(
            std::stoul(text->substr(2 * i, 2), nullptr, base));
      return id;
    }
    if (network.isAborted())
      return network.abortReason();
    network.events().sleep(key);
  }
}

Status Communicator::initialize() {
  Expected<ncclUniqueId> id = agreeOnId();
  if (!id)
    return id.status();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclResult_t result = api.ncclCommInitRankConfig(
      &communicator, int(executors.size()), *id, int(self), &config);
  return settle("ncclCommInitRankConfig", result);
}

Status Communicator::connect(Queue &queue, std::byte *scratch) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isConnected || isAborted)
    return Status::success();
  isConnected = true;
  std::vector<Transfer> transfers;
  for (uint32_t peer = 0; peer < executors.size(); ++peer)
    if (peer != self) {
      transfers.push_back({peer, 1, scratch + self, nullptr});
      transfers.push_back(
          {peer, 1, nullptr, scratch + executors.size() + peer});
    }
  return queue.call([&](void *stream) {
    LOCKSTEP_RETURN_IF_ERROR(initialize());
    return transfer(stream, transfers);
  });
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

Status Communicator::transfer(void *native,
                              std::span<const Transfer> transfers) {
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
    if (result != ncclSuccess && result != ncclInProgress)
      break;
  }
  // A group ends also after an error.
  ncclResult_t end = api.ncclGroupEnd();
  if (result == ncclSuccess || result == ncclInProgress) {
    call = "ncclGroupEnd";
    result = end;
  }
  return settle(call, result);
}

Status Communicator::exchange(Queue &queue,
                              std::span<const Transfer> transfers) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isAborted || !communicator)
    return network.isAborted() ? network.abortReason()
                               : systemError("the communicator is aborted");
  return queue.call([&](void *stream) { return transfer(stream, transfers); });
}

} // namespace lockstep::runtime
