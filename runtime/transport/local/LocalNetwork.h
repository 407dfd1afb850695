//===- LocalNetwork.h - the executors of a process --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_LOCALNETWORK_H
#define LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_LOCALNETWORK_H

#include "runtime/transport/Network.h"
#include "runtime/transport/local/SlowLink.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace lockstep::runtime {

/// Receives what executors of other processes send to those of this one.
/// Thread-safe.
class RemoteArrivals {
public:
  virtual ~RemoteArrivals() = default;
  /// A message for `message.to`, which returns it by
  /// `RemoteExecutors::release`; or one of `message.from`, which has been
  /// released.
  virtual void message(Message &message, uint32_t executor) = 0;
  /// As in `Network::abort`, by another executor; `reason` names it.
  virtual void abort(uint32_t executor, const Status &reason) = 0;
  virtual void post(uint32_t executor, std::string_view topic, uint64_t round,
                    std::string text) = 0;
  virtual void progress(uint32_t executor, uint64_t count) = 0;
};

/// Reaches the executors of other processes, for those of this one. Its
/// functions do what those of `Network` do that have the same names.
/// Thread-safe.
class RemoteExecutors {
public:
  virtual ~RemoteExecutors() = default;
  virtual void send(Message &message) = 0;
  virtual void release(Message &message) = 0;
  virtual void abort(uint32_t executor, const Status &reason) = 0;
  /// To one executor, or to all of other processes.
  virtual void post(uint32_t executor, std::optional<uint32_t> to,
                    std::string_view topic, uint64_t round,
                    const std::string &text) = 0;
  virtual void progress(uint32_t executor, uint64_t count) = 0;
  /// After an abort: returns when the bytes of messages are no longer read.
  virtual void awaitReaders() = 0;
};

/// The executors of this process read messages in the memory of their sender.
/// Others are reached by a `RemoteExecutors`.
class LocalNetwork final : public Network {
public:
  /// One endpoint for each executor, in this order. They may be destroyed in
  /// any order. All are on one host. Error: an executor without ranks, or a
  /// rank in two executors.
  static Expected<std::vector<std::shared_ptr<Network>>>
  create(std::vector<RankRange> executors);
  /// The same with a host for each executor. With a link, messages between
  /// hosts take the time that it would need for them.
  static Expected<std::vector<std::shared_ptr<Network>>>
  create(std::vector<RankRange> executors, std::vector<uint32_t> hosts,
         const std::optional<SlowLink::Capacity> &capacity = std::nullopt);

  using MakeRemote =
      std::function<std::unique_ptr<RemoteExecutors>(RemoteArrivals &)>;
  /// The same for several processes; null for executors that are not here. The
  /// `RemoteArrivals` live until the remote executors have been destroyed.
  /// `hosts` has that of each executor. `processesSharingCpus` share the CPUs
  /// of this process, itself included, and have as many executors each, and a
  /// thread for messages.
  static Expected<std::vector<std::shared_ptr<Network>>>
  create(std::vector<RankRange> executors, std::vector<uint32_t> hosts,
         const std::vector<bool> &isHere, uint32_t processesSharingCpus,
         const MakeRemote &makeRemote);

  void send(Message &message) override;
  void release(Message &message) override;
  void abort(const Status &reason) override;
  bool isAborted() const override;
  Status abortReason() const override;
  uint32_t abortedBy() const override;
  bool beginReading() override;
  void endReading() override;
  void awaitReaders() override;
  void post(std::string_view topic, uint64_t round, std::string text,
            std::optional<uint32_t> to = std::nullopt) override;
  std::optional<std::string> posted(uint32_t executor, std::string_view topic,
                                    uint64_t round) const override;
  bool hasPosted(uint32_t executor, std::string_view topic,
                 uint64_t round) const override;
  std::string takePosted(uint32_t executor, std::string_view topic,
                         uint64_t round) override;
  uint64_t exchangeProgress(uint64_t own) override;
  uint32_t executorsSharingCpus() const override;
  uint32_t threadsSharingCpus() const override;

  /// Messages sent between all executors so far: if the count has not changed
  /// while all executors were idle, they still are, unless a link delays one.
  uint64_t messages() const;

private:
  struct Shared;

  static std::shared_ptr<Shared> share(const std::vector<RankRange> &executors,
                                       const std::vector<uint32_t> &hosts,
                                       const std::vector<bool> &isHere);
  static std::vector<std::shared_ptr<Network>>
  endpointsOf(const std::shared_ptr<Shared> &shared);
  LocalNetwork(std::vector<RankRange> executors, std::vector<uint32_t> hosts,
               uint32_t index, Shared &shared)
      : Network(std::move(executors), std::move(hosts), index), shared(shared) {
  }

  Shared &shared;
  alignas(64) std::atomic<uint64_t> sent{0};
  /// Number of threads that read messages.
  std::atomic<uint32_t> readers{0};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_LOCAL_LOCALNETWORK_H
