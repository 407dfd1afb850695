//===- Exchange.h - one collective across executors -------------*- C++ -*-===//
//
// Each executor with members of a collective executes these steps:
//
//   the last local member arrives    prepare: check sizes, reduce the local
//   (any worker)                     operands, send a message to each executor
//                                    that needs one
//   all expected messages are here   finish: combine, write results; then a
//   (one worker at a time)           second phase if there is one (parts of a
//                                    large sum are sent to the others)
//   all own messages are released    complete
//
// Operands are sent without a copy, so the instance is complete only when every
// receiver has read them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGE_H
#define LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGE_H

#include "runtime/transport/Network.h"
#include "runtime/transport/threads/ThreadsTransport.h"

#include <deque>
#include <memory>
#include <vector>

namespace lockstep::runtime {

/// An executor that has members of a collective: `count` of them, from position
/// `first` among all members.
struct Peer {
  uint32_t executor = 0;
  uint32_t first = 0, count = 0;
};

/// Reads the contents of a message in sequence; the message may have arrived as
/// one piece or as several.
class MessageReader {
public:
  explicit MessageReader(const Message &message) : pieces(message.pieces) {}
  /// The next `size` bytes; null if the current piece has fewer.
  const std::byte *take(uint64_t size);

private:
  std::span<const MessagePiece> pieces;
  uint64_t used = 0;
};

class Exchange {
public:
  /// `peers` are ascending by rank; the executor itself is `peers[self]`.
  Exchange(const CollectivePlan &plan, ThreadsTransport &threads,
           std::vector<Peer> peers, uint32_t self)
      : plan(plan), peers(std::move(peers)),
        received(this->peers.size(), nullptr), self(self), threads(threads),
        members(threads.members(plan.channel)) {}
  virtual ~Exchange() = default;

  /// All local members have arrived: fills the messages of the first phase.
  virtual Status prepare(uint32_t worker) = 0;
  /// All messages of a phase are in `received`. Fills the messages of the next
  /// phase, or writes the results.
  virtual Status finish(uint32_t phase, uint32_t worker) = 0;

  /// A message to a peer. Its pieces are filled for each instance.
  struct Outgoing {
    Message message;
    std::vector<MessagePiece> pieces;
  };
  /// The messages that one phase sends, and how many it waits for.
  struct Phase {
    std::deque<Outgoing> outgoing;
    uint32_t expected = 0;
  };
  std::vector<Phase> phases{1};

  const CollectivePlan &plan;
  const std::vector<Peer> peers;
  /// Messages of the current phase, by index in `peers`.
  std::vector<Message *> received;

protected:
  /// Adds a message to a phase; called by constructors.
  void sendTo(uint32_t phase, uint32_t peer);
  /// Index in `peers` of the executor that has the member at a position.
  uint32_t peerOf(uint32_t position) const;
  /// The error of a message that is shorter than the sizes require.
  Status doesNotFit(uint32_t peer) const;

  const uint32_t self;
  ThreadsTransport &threads;
  ChannelMembers &members;
};

/// all_gather, gather, broadcast, scatter and barrier.
std::unique_ptr<Exchange> makeGatherExchange(const CollectivePlan &plan,
                                             ThreadsTransport &threads,
                                             std::vector<Peer> peers,
                                             uint32_t self);
/// all_to_all, permute, send and recv.
std::unique_ptr<Exchange> makeMoveExchange(const CollectivePlan &plan,
                                           ThreadsTransport &threads,
                                           std::vector<Peer> peers,
                                           uint32_t self);
/// all_reduce, reduce_scatter and reduce. Error: out of memory.
Expected<std::unique_ptr<Exchange>>
makeReduceExchange(const CollectivePlan &plan, ThreadsTransport &threads,
                   std::vector<Peer> peers, uint32_t self);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGE_H
