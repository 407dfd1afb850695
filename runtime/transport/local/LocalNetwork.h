//===- LocalNetwork.h - executors of one process ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_LOCALNETWORK_H
#define LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_LOCALNETWORK_H

#include "runtime/transport/Network.h"
#include "runtime/transport/local/SlowLink.h"

#include <map>
#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// All executors are in this process: receivers read a message in the memory of
/// its sender.
class LocalNetwork final : public Network {
public:
  /// One endpoint for each executor, in this order. They may be destroyed in
  /// any order. With a link, messages to other executors take the time that it
  /// would need for them. Error: an executor without ranks, or a rank in two
  /// executors.
  static Expected<std::vector<std::shared_ptr<Network>>>
  create(std::vector<RankRange> executors,
         std::optional<Link> link = std::nullopt);

  void send(Message &message) override;
  void release(Message &message) override;
  void abort(const Status &reason) override;
  bool isAborted() const override;
  Status abortReason() const override;
  uint32_t abortedBy() const override;
  bool beginReading() override;
  void endReading() override;
  void awaitReaders() override;
  void post(std::string_view topic, uint64_t round, std::string text) override;
  std::optional<std::string> posted(uint32_t executor, std::string_view topic,
                                    uint64_t round) const override;
  uint64_t exchangeProgress(uint64_t own) override;
  uint32_t executorsInProcess() const override {
    return uint32_t(ranks.size());
  }

  /// Messages sent between all executors so far: if the count has not changed
  /// while all executors were idle, they still are, unless a link delays one.
  uint64_t messages() const;

private:
  /// State shared by the endpoints. It owns them and lives as long as any of
  /// them is used.
  struct Shared {
    std::vector<std::unique_ptr<LocalNetwork>> endpoints;
    std::atomic<bool> aborted{false};
    std::mutex mutex;
    Status reason;
    uint32_t abortedBy = 0;
    /// By topic and round, the post of each executor.
    std::map<std::pair<std::string, uint64_t>, std::map<uint32_t, std::string>>
        posts;
    /// Null: messages arrive at once. Ends before the endpoints.
    std::unique_ptr<SlowLink> link;
  };

  LocalNetwork(std::vector<RankRange> executors, uint32_t index, Shared &shared)
      : Network(std::move(executors), index), shared(shared) {}

  Shared &shared;
  alignas(64) std::atomic<uint64_t> sent{0};
  std::atomic<uint64_t> progress{0};
  /// Number of threads that read messages.
  std::atomic<uint32_t> readers{0};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_LOCALNETWORK_H
