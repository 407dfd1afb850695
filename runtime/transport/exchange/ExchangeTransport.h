//===- ExchangeTransport.h - collectives of several executors ---*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGETRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGETRANSPORT_H

#include "runtime/transport/exchange/Exchange.h"

#include <functional>

namespace lockstep::runtime {

/// Local members rendezvous as in ThreadsTransport, which this class wraps;
/// their operands or partial results are exchanged with other executors by
/// messages. Any worker processes the messages, one worker at a time, in the
/// order of arrival.
class ExchangeTransport final : public Transport {
public:
  /// `program` is the number of the program in tags, `describe` names a channel
  /// in errors. `rendezvous`, `plans` and `inbox` outlive the transport.
  /// Errors: a member that no executor has, out of memory.
  static Expected<std::unique_ptr<ExchangeTransport>>
  create(std::unique_ptr<ThreadsTransport> threads, Rendezvous &rendezvous,
         const std::vector<const CollectivePlan *> &plans, NetworkInbox &inbox,
         uint32_t program, std::function<std::string(uint32_t)> describe);

  Status start(const CollectivePlan &plan, const Arrival &arrival) override;
  Status begin() override;
  Status poll(uint32_t worker) override;
  bool hasArrived(uint32_t channel, uint32_t epoch,
                  uint32_t rank) const override;
  bool seesArrival(uint32_t channel, uint32_t rank) const override;

private:
  struct Channel {
    /// Null where all members are here.
    std::unique_ptr<Exchange> exchange;
    /// The instance at which all local members have arrived. The last member
    /// announces it by `activation`, a message to its own executor, so that
    /// only the worker that processes the mailbox accesses this state.
    bool active = false;
    uint32_t epoch = 0;
    Message activation;
    uint32_t phase = 0;
    uint32_t arrived = 0;
    /// Own messages that have not been released, and those of the last phase.
    uint32_t outstanding = 0, outstandingLast = 0;
    /// Messages for a later phase or instance.
    std::vector<Message *> early;
    /// Messages of this instance whose bytes have been passed on.
    std::vector<Message *> kept;
    /// For each executor, the latest instance from which it has sent a message.
    std::vector<std::atomic<uint32_t>> seen;

    /// All messages of an instance and phase have been received. Epochs may
    /// wrap around, so their difference is compared.
    bool hasPassed(const MessageTag &tag) const {
      auto later = int32_t(tag.epoch - epoch);
      return later < 0 || (later == 0 && (!active || tag.part < phase));
    }
  };

  ExchangeTransport(std::unique_ptr<ThreadsTransport> threads,
                    Rendezvous &rendezvous, NetworkInbox &inbox,
                    uint32_t program,
                    std::function<std::string(uint32_t)> describe)
      : threads(std::move(threads)), rendezvous(rendezvous), inbox(inbox),
        program(program), describe(std::move(describe)) {}
  Status addChannel(const CollectivePlan &plan);
  void send(Channel &channel, uint32_t phase);
  Status drain(uint32_t worker);
  Status dispatch(Message &message, uint32_t worker);
  Status receive(Channel &channel, Message &message);
  Status advance(Channel &channel, uint32_t worker);

  std::unique_ptr<ThreadsTransport> threads;
  Rendezvous &rendezvous;
  NetworkInbox &inbox;
  uint32_t program;
  std::function<std::string(uint32_t)> describe;
  std::deque<Channel> channels;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGETRANSPORT_H
