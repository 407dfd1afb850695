//===- Executors.h - several sessions over a network, for tests -*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_EXECUTORS_H
#define LOCKSTEP_TEST_RUNTIME_EXECUTORS_H

#include "TestProgram.h"

#include "runtime/transport/TransportFactory.h"
#include "runtime/transport/local/LocalNetwork.h"

#include <functional>
#include <thread>

namespace lockstep::runtime::test {

/// `count` ranks from `first`, split as evenly as possible; the first parts
/// have one more.
inline std::vector<RankRange> split(uint32_t first, uint32_t count,
                                    uint32_t parts) {
  std::vector<RankRange> result;
  for (uint32_t i = 0; i < parts; ++i) {
    uint32_t size = count / parts + (i < count % parts);
    if (size)
      result.push_back({first, size});
    first += size;
  }
  return result;
}

/// One session for each executor, which run together. They share nothing but a
/// network and the artifact.
class Executors {
public:
  struct Part {
    std::string role;
    RankRange ranks;
  };

  /// `options(i)` are those of executor `i`, except role, ranks and network.
  /// With `hosts`, those of the executors, they are connected as by the
  /// transport `threads`.
  Executors(std::shared_ptr<const Artifact> artifact, std::vector<Part> given,
            const std::function<SessionOptions(uint32_t)> &options,
            std::vector<uint32_t> hosts = {})
      : parts(std::move(given)) {
    std::vector<RankRange> ranks;
    for (const Part &part : parts)
      ranks.push_back(part.ranks);
    network = hosts.empty()
                  ? *(*openTransport(""))
                         ->connect(ranks, std::vector<uint32_t>(ranks.size()))
                  : *LocalNetwork::create(ranks, hosts);
    for (uint32_t i = 0; i < parts.size(); ++i) {
      SessionOptions own = options(i);
      own.role = parts[i].role;
      own.firstRank = parts[i].ranks.first;
      own.rankCount = parts[i].ranks.count;
      own.network = network[i];
      own.deviceIndex = i;
      Expected<std::unique_ptr<Session>> session =
          Session::create(artifact, std::move(own));
      EXPECT_TRUE(session.ok()) << session.status().message();
      sessions.push_back(session ? std::move(*session) : nullptr);
    }
  }

  /// Runs a program `times` times in all executors, each in a thread of its
  /// own, as far as it succeeds.
  std::vector<Status> run(std::string_view program = "main", int times = 1,
                          const std::function<void()> &meanwhile = {}) {
    std::vector<Status> statuses(sessions.size());
    std::vector<std::thread> threads;
    running = sessions.size();
    for (size_t i = 0; i < sessions.size(); ++i)
      threads.emplace_back([&, i] {
        for (int k = 0; k < times && statuses[i].ok(); ++k)
          statuses[i] = sessions[i]->run(program);
        --running;
      });
    if (meanwhile)
      meanwhile();
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  }

  /// All executors are idle and no message is in flight: only a deadline can
  /// end the runs. A message is counted before it wakes its receiver, so they
  /// must be idle twice.
  bool isIdle() const {
    uint64_t before = messages();
    for (int i = 0; i < 2; ++i)
      for (const auto &session : sessions)
        if (session->idleWorkers() < session->workers())
          return false;
    return messages() == before;
  }

  /// The session that has a rank, and its number in there.
  std::pair<Session *, unsigned> find(uint32_t rank) const {
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].ranks.contains(rank))
        return {sessions[i].get(), rank - parts[i].ranks.first};
    return {nullptr, 0};
  }

  /// Messages that have been sent; not known of other transports than the one
  /// within the process.
  uint64_t messages() const {
    auto *local = dynamic_cast<LocalNetwork *>(network.front().get());
    return local ? local->messages() : 0;
  }

  std::vector<Part> parts;
  std::vector<std::shared_ptr<Network>> network;
  std::vector<std::unique_ptr<Session>> sessions;
  std::atomic<size_t> running{0};
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_EXECUTORS_H
