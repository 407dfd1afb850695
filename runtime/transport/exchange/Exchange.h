//===- Exchange.h - one collective across executors -------------*- C++ -*-===//
//
// Each executor that has members of a collective executes these steps for each
// of its instances (executions):
//
//   when the last local member       `prepare`: checks sizes, reduces the local
//   arrives (on any worker)          operands, fills a message for each peer
//                                    that needs one
//   when all expected messages       `finish`: combines their contents, writes
//   have arrived (on one worker      results, or fills the messages of the next
//   at a time)                       phase.
//   when receivers have released     the instance is complete
//   all messages of this executor
//
// Messages whose bytes are passed on are released when those of the last phase
// have been.
//
// Operands are sent without a copy. Therefore an instance is complete only when
// every receiver has read them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGE_H
#define LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGE_H

#include "runtime/transport/Network.h"
#include "runtime/transport/Peers.h"
#include "runtime/transport/threads/ThreadsTransport.h"

#include <deque>
#include <memory>
#include <vector>

namespace lockstep::runtime {

/// Reads the contents of a message in sequence. The message may have arrived in
/// one piece or in those in which it was sent.
class MessageReader {
public:
  explicit MessageReader(const Message &message) : pieces(message.pieces) {}
  /// The next `size` bytes, which must be in one piece: null if the piece at
  /// the current position ends before. Valid until the message is released.
  const std::byte *take(uint64_t size);

private:
  std::span<const MessagePiece> pieces;
  uint64_t used = 0;
};

/// One executor's part in the instances of one collective. It fills and reads
/// messages; `ExchangeTransport` sends and receives them. Not thread-safe:
/// calls are one after the other.
class Exchange {
public:
  /// `plan` and `threads` must outlive the object.
  Exchange(const CollectivePlan &plan, ThreadsTransport &threads, Peers given)
      : plan(plan), group(std::move(given)), peers(group.all),
        received(peers.size(), nullptr), self(group.self), threads(threads),
        members(threads.members(plan.channel)) {}
  virtual ~Exchange() = default;

  /// Called when all local members have arrived: fills the messages of the
  /// first phase. Error: a size that exceeds its bound.
  virtual Status prepare(uint32_t worker) = 0;
  /// Called when all messages of a phase are in `received`: fills the messages
  /// of the next phase, or writes the results. Error: a message does not fit
  /// the sizes of the collective.
  virtual Status finish(uint32_t phase, uint32_t worker) = 0;

  /// A message to a peer, reused by all instances; its pieces are filled anew
  /// for each.
  struct Outgoing {
    Message message;
    std::vector<MessagePiece> pieces;
  };
  /// A peer that sends one message; `peer` and `sources` are indices in
  /// `peers`.
  struct Sender {
    uint32_t peer;
    /// The peers whose operands are in the message, or in what it depends on.
    std::vector<uint32_t> sources;
  };
  /// The messages that one phase sends, and those that it waits for.
  struct Phase {
    std::deque<Outgoing> outgoing;
    std::vector<Sender> senders;
  };
  std::vector<Phase> phases{1};

  const CollectivePlan &plan;
  const Peers group;
  const std::vector<Peer> &peers;
  /// The messages of the current phase, by index in `peers`; null for executors
  /// that send none.
  std::vector<Message *> received;
  /// Messages of the last phase have bytes of those that the phases before have
  /// received, which are kept until the receivers have read them.
  bool passesOn = false;

protected:
  /// These add a message to a phase; called by constructors.
  void sendTo(uint32_t phase, uint32_t peer);
  void receiveFrom(uint32_t phase, uint32_t peer);
  void receiveFrom(uint32_t phase, uint32_t peer,
                   std::vector<uint32_t> sources);
  /// The error that the message of a peer is shorter than its sizes require.
  Status tooShort(uint32_t peer) const;

  const uint32_t self;
  ThreadsTransport &threads;
  ChannelMembers &members;
};

/// The exchange of an all_gather, gather, broadcast, scatter or barrier.
std::unique_ptr<Exchange> makeGatherExchange(const CollectivePlan &plan,
                                             ThreadsTransport &threads,
                                             Peers peers);
/// The exchange of an all_to_all, permute, send or recv.
std::unique_ptr<Exchange> makeMoveExchange(const CollectivePlan &plan,
                                           ThreadsTransport &threads,
                                           Peers peers);
/// The exchange of a reduction. Error: out of memory.
Expected<std::unique_ptr<Exchange>>
makeReduceExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                   Peers peers);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGE_H
