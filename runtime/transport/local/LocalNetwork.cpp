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

/// State shared by the endpoints. It owns them and lives as long as any of them
/// is used.
struct LocalNetwork::Shared final : RemoteArrivals {
  void message(Message &message, uint32_t executor) override {
    endpoints[executor]->deliver(message);
  }
  void abort(uint32_t executor, const Status &reason) override {
    keepFirst(executor, reason);
  }
  /// False if there has been an abort before.
  bool keepFirst(uint32_t executor, const Status &reason);
  void post(uint32_t executor, std::string_view topic, uint64_t round,
            std::string text) override;
  void progress(uint32_t executor, uint64_t count) override {
    progressOf[executor].store(count, std::memory_order_relaxed);
  }
  std::string *find(uint32_t executor, std::string_view topic, uint64_t round);
  template <typename Function> void forEach(Function function) const {
    for (const auto &endpoint : endpoints)
      if (endpoint)
        function(*endpoint);
  }
  void notifyAll() const {
    forEach([](LocalNetwork &endpoint) { endpoint.events().notify(); });
  }

  /// By executor; null for those of other processes.
  std::vector<std::unique_ptr<LocalNetwork>> endpoints;
  uint32_t executorsSharingCpus = 0, threadsSharingCpus = 0;
  std::atomic<bool> aborted{false};
  mutable std::mutex mutex;
  Status reason;
  uint32_t abortedBy = 0;
  /// By topic and round, the post of each executor.
  std::map<std::pair<std::string, uint64_t>, std::map<uint32_t, std::string>>
      posts;
  /// By executor, its latest heartbeat.
  std::vector<std::atomic<uint64_t>> progressOf;
  /// Between hosts; null: messages arrive at once. Ends before the endpoints.
  std::unique_ptr<SlowLink> link;
  /// Null if all executors are here. Ends before the endpoints.
  std::unique_ptr<RemoteExecutors> remote;
};

static Status checkRanks(const std::vector<RankRange> &executors) {
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
  return Status::success();
}

std::shared_ptr<LocalNetwork::Shared>
LocalNetwork::share(const std::vector<RankRange> &executors,
                    const std::vector<uint32_t> &hosts,
                    const std::vector<bool> &isHere) {
  auto shared = std::make_shared<Shared>();
  shared->progressOf = std::vector<std::atomic<uint64_t>>(executors.size());
  shared->executorsSharingCpus = uint32_t(std::ranges::count(isHere, true));
  for (uint32_t i = 0; i < executors.size(); ++i)
    shared->endpoints.emplace_back(
        isHere[i] ? new LocalNetwork(executors, hosts, i, *shared) : nullptr);
  return shared;
}

/// A pointer to one endpoint keeps all of them alive: another executor may put
/// a message into any mailbox at any time.
std::vector<std::shared_ptr<Network>>
LocalNetwork::endpointsOf(const std::shared_ptr<Shared> &shared) {
  std::vector<std::shared_ptr<Network>> endpoints;
  for (const auto &endpoint : shared->endpoints)
    endpoints.push_back(
        endpoint ? std::shared_ptr<Network>(shared, endpoint.get()) : nullptr);
  return endpoints;
}

Expected<std::vector<std::shared_ptr<Network>>>
LocalNetwork::create(std::vector<RankRange> executors) {
  std::vector<uint32_t> hosts(executors.size());
  return create(std::move(executors), std::move(hosts));
}

Expected<std::vector<std::shared_ptr<Network>>>
LocalNetwork::create(std::vector<RankRange> executors,
                     std::vector<uint32_t> hosts,
                     const std::optional<SlowLink::Capacity> &capacity) {
  LOCKSTEP_RETURN_IF_ERROR(checkRanks(executors));
  std::shared_ptr<Shared> shared =
      share(executors, hosts, std::vector<bool>(executors.size(), true));
  if (capacity) {
    Expected<std::unique_ptr<SlowLink>> slow = SlowLink::create(
        *capacity, executors.size(), [state = shared.get()](Message &message) {
          state->endpoints[message.to]->deliver(message);
        });
    if (!slow)
      return slow.status();
    shared->link = std::move(*slow);
  }
  return endpointsOf(shared);
}

Expected<std::vector<std::shared_ptr<Network>>> LocalNetwork::create(
    std::vector<RankRange> executors, std::vector<uint32_t> hosts,
    const std::vector<bool> &isHere, uint32_t processesSharingCpus,
    const MakeRemote &makeRemote) {
  LOCKSTEP_RETURN_IF_ERROR(checkRanks(executors));
  std::shared_ptr<Shared> shared = share(executors, hosts, isHere);
  shared->executorsSharingCpus *= processesSharingCpus;
  shared->threadsSharingCpus = processesSharingCpus;
  shared->remote = makeRemote(*shared);
  return endpointsOf(shared);
}

uint32_t LocalNetwork::executorsSharingCpus() const {
  return shared.executorsSharingCpus;
}

uint32_t LocalNetwork::threadsSharingCpus() const {
  return shared.threadsSharingCpus;
}

void LocalNetwork::send(Message &message) {
  message.from = index;
  count(message);
  sent.fetch_add(1, std::memory_order_relaxed);
  if (shared.link && hostOf[message.to] != hostOf[index])
    shared.link->send(message);
  else if (const auto &receiver = shared.endpoints[message.to])
    receiver->deliver(message);
  else
    shared.remote->send(message);
}

void LocalNetwork::release(Message &message) {
  if (const auto &sender = shared.endpoints[message.from])
    sender->deliver(message);
  else
    shared.remote->release(message);
}

uint64_t LocalNetwork::messages() const {
  uint64_t sum = 0;
  shared.forEach([&](LocalNetwork &endpoint) {
    sum += endpoint.sent.load(std::memory_order_seq_cst);
  });
  return sum;
}

//===----------------------------------------------------------------------===//
// Abort
//===----------------------------------------------------------------------===//

bool LocalNetwork::Shared::keepFirst(uint32_t executor, const Status &given) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!reason.ok())
      return false;
    abortedBy = executor;
    reason = given;
  }
  aborted.store(true, std::memory_order_seq_cst);
  if (link)
    link->close();
  notifyAll();
  return true;
}

void LocalNetwork::abort(const Status &reason) {
  Status named = reason.withContext(fmt::format(
      "executor {} ({}) has aborted the run", index, rangeText(ownRanks())));
  if (shared.keepFirst(index, named) && shared.remote)
    shared.remote->abort(index, named);
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
  if (shared.remote)
    shared.remote->awaitReaders();
  shared.forEach([&](LocalNetwork &endpoint) {
    while (&endpoint != this &&
           endpoint.readers.load(std::memory_order_seq_cst) != 0)
      ::sched_yield();
  });
}

//===----------------------------------------------------------------------===//
// Posts and heartbeats
//===----------------------------------------------------------------------===//

void LocalNetwork::Shared::post(uint32_t executor, std::string_view topic,
                                uint64_t round, std::string text) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    std::string name(topic);
    if (round >= 2)
      posts.erase({name, round - 2});
    posts[{name, round}][executor] = std::move(text);
  }
  notifyAll();
}

void LocalNetwork::post(std::string_view topic, uint64_t round,
                        std::string text, std::optional<uint32_t> to) {
  if (shared.remote && !(to && shared.endpoints[*to]))
    shared.remote->post(index, to, topic, round, text);
  if (!to || shared.endpoints[*to])
    shared.post(index, topic, round, std::move(text));
}

/// Null if there is none. With the mutex.
std::string *LocalNetwork::Shared::find(uint32_t executor,
                                        std::string_view topic,
                                        uint64_t round) {
  auto ofRound = posts.find({std::string(topic), round});
  if (ofRound == posts.end())
    return nullptr;
  auto post = ofRound->second.find(executor);
  return post == ofRound->second.end() ? nullptr : &post->second;
}

std::optional<std::string> LocalNetwork::posted(uint32_t executor,
                                                std::string_view topic,
                                                uint64_t round) const {
  std::lock_guard<std::mutex> lock(shared.mutex);
  std::string *text = shared.find(executor, topic, round);
  return text ? std::optional(*text) : std::nullopt;
}

bool LocalNetwork::hasPosted(uint32_t executor, std::string_view topic,
                             uint64_t round) const {
  std::lock_guard<std::mutex> lock(shared.mutex);
  return shared.find(executor, topic, round) != nullptr;
}

std::string LocalNetwork::takePosted(uint32_t executor, std::string_view topic,
                                     uint64_t round) {
  std::lock_guard<std::mutex> lock(shared.mutex);
  std::string text = std::move(*shared.find(executor, topic, round));
  shared.posts[{std::string(topic), round}].erase(executor);
  return text;
}

uint64_t LocalNetwork::exchangeProgress(uint64_t own) {
  shared.progress(index, own);
  if (shared.remote)
    shared.remote->progress(index, own);
  uint64_t sum = 0;
  for (uint32_t executor = 0; executor < shared.progressOf.size(); ++executor)
    if (executor != index)
      sum += shared.progressOf[executor].load(std::memory_order_relaxed);
  return sum;
}

} // namespace lockstep::runtime
