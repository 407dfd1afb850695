//===- LocalNetwork.cpp ---------------------------------------------------===//

#include "runtime/transport/local/LocalNetwork.h"

#include <algorithm>
#include <sched.h>

#include <fmt/format.h>

namespace lockstep::runtime {

static std::string rangeText(const RankRange &range) {
  return range.count == 1
             ? fmt::format("rank {}", range.first)
             : fmt::format("ranks {}-{}", range.first, range.end() - 1);
}

Expected<std::vector<std::shared_ptr<Network>>>
LocalNetwork::create(std::vector<RankRange> executors,
                     std::optional<Link> link) {
  std::vector<RankRange> sorted = executors;
  std::sort(
      sorted.begin(), sorted.end(),
      [](const RankRange &a, const RankRange &b) { return a.first < b.first; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].count == 0)
      return invalidArgument(fmt::format(
          "expected executors with ranks, found one of none at rank {}",
          sorted[i].first));
    if (i && sorted[i].first < sorted[i - 1].end())
      return invalidArgument(
          fmt::format("expected each rank in one executor, found {} in {}",
                      rangeText(sorted[i - 1]), rangeText(sorted[i])));
  }
  auto shared = std::make_shared<Shared>();
  std::vector<std::shared_ptr<Network>> endpoints;
  for (uint32_t i = 0; i < executors.size(); ++i) {
    shared->endpoints.emplace_back(new LocalNetwork(executors, i, *shared));
    // A pointer to one endpoint keeps all of them alive: another executor may
    // put a message into any mailbox at any time.
    endpoints.emplace_back(shared, shared->endpoints.back().get());
  }
  if (link) {
    Expected<std::unique_ptr<SlowLink>> slow = SlowLink::create(
        *link, executors.size(), [state = shared.get()](Message &message) {
          state->endpoints[message.to]->deliver(message);
        });
    if (!slow)
      return slow.status();
    shared->link = std::move(*slow);
  }
  return endpoints;
}

void LocalNetwork::send(Message &message) {
  message.from = index;
  count(message);
  sent.fetch_add(1, std::memory_order_relaxed);
  if (shared.link && message.to != index)
    return shared.link->send(message);
  shared.endpoints[message.to]->deliver(message);
}

void LocalNetwork::release(Message &message) {
  shared.endpoints[message.from]->deliver(message);
}

uint64_t LocalNetwork::messages() const {
  uint64_t sum = 0;
  for (const auto &endpoint : shared.endpoints)
    sum += endpoint->sent.load(std::memory_order_seq_cst);
  return sum;
}

//===----------------------------------------------------------------------===//
// Abort
//===----------------------------------------------------------------------===//

void LocalNetwork::abort(const Status &reason) {
  {
    std::lock_guard<std::mutex> lock(shared.mutex);
    if (!shared.reason.ok())
      return;
    shared.abortedBy = index;
    shared.reason = reason.withContext(fmt::format(
        "executor {} ({}) has aborted the run", index, rangeText(ownRanks())));
  }
  shared.aborted.store(true, std::memory_order_seq_cst);
  if (shared.link)
    shared.link->close();
  for (const auto &endpoint : shared.endpoints)
    endpoint->events().notify();
}

bool LocalNetwork::isAborted() const {
  return shared.aborted.load(std::memory_order_acquire);
}

Status LocalNetwork::abortReason() const {
  std::lock_guard<std::mutex> lock(shared.mutex);
  return shared.reason;
}

uint32_t LocalNetwork::abortedBy() const {
  std::lock_guard<std::mutex> lock(shared.mutex);
  return shared.abortedBy;
}

// A reader first increments `readers`, then checks `aborted`; an aborting
// executor sets `aborted`, then checks `readers`. Either it waits for the
// reader or the reader does not read.

bool LocalNetwork::beginReading() {
  readers.fetch_add(1, std::memory_order_seq_cst);
  if (!shared.aborted.load(std::memory_order_seq_cst))
    return true;
  endReading();
  return false;
}

void LocalNetwork::endReading() {
  readers.fetch_sub(1, std::memory_order_release);
}

void LocalNetwork::awaitReaders() {
  // The executor that aborts may not have closed the link yet.
  if (shared.link)
    shared.link->close();
  for (const auto &endpoint : shared.endpoints)
    while (endpoint.get() != this &&
           endpoint->readers.load(std::memory_order_seq_cst) != 0)
      ::sched_yield();
}

void LocalNetwork::post(std::string_view topic, uint64_t round,
                        std::string text) {
  {
    std::lock_guard<std::mutex> lock(shared.mutex);
    std::string name(topic);
    if (round >= 2)
      shared.posts.erase({name, round - 2});
    shared.posts[{name, round}][index] = std::move(text);
  }
  for (const auto &endpoint : shared.endpoints)
    endpoint->events().notify();
}

std::optional<std::string> LocalNetwork::posted(uint32_t executor,
                                                std::string_view topic,
                                                uint64_t round) const {
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto posts = shared.posts.find({std::string(topic), round});
  if (posts == shared.posts.end())
    return std::nullopt;
  auto post = posts->second.find(executor);
  return post == posts->second.end() ? std::nullopt
                                     : std::optional(post->second);
}

uint64_t LocalNetwork::exchangeProgress(uint64_t own) {
  progress.store(own, std::memory_order_relaxed);
  uint64_t sum = 0;
  for (const auto &endpoint : shared.endpoints)
    if (endpoint.get() != this)
      sum += endpoint->progress.load(std::memory_order_relaxed);
  return sum;
}

} // namespace lockstep::runtime
