//===- Exchange.h - one collective across executors -------------*- C++ -*-===//
//
// A collective with members in several executors goes through these steps in
// each of them:
//
//   the last member here arrives     prepare: check sizes, reduce what is here
//   (any worker)                     send a message to each executor that needs
//                                    one
//   a message of everybody has come  finish: combine, write results
//   (one worker at a time)           a second phase if there is one (parts of a
//                                    large sum are given to the others)
//   all own messages have come back  complete
//
// Operands are sent from where they lie, so it is complete only when everybody
// who needs them has read them.
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

/// Reads what a message holds, piece by piece, whether it has arrived in one
/// piece or several.
class MessageReader {
public:
  explicit MessageReader(const Message &message) : pieces(message.pieces) {}
  /// The next `size` bytes; null if there are not as many in one piece.
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

  /// All members here have arrived: fills the messages of the first phase.
  virtual Status prepare(uint32_t worker) = 0;
  /// All messages of a phase are in `received`. Fills the messages of the next
  /// phase, or writes the results.
  virtual Status finish(uint32_t phase, uint32_t worker) = 0;

  /// A message to a peer. Its pieces are filled for each instance.
  struct Outgoing {
    Message message;
    std::vector<MessagePiece> pieces;
  };
  /// What is sent and how many messages are waited for in one phase.
  struct Phase {
    std::deque<Outgoing> outgoing;
    uint32_t expected = 0;
  };
  std::vector<Phase> phases{1};

  const CollectivePlan &plan;
  const std::vector<Peer> peers;
  /// Messages of the phase at hand, by index in `peers`.
  std::vector<Message *> received;

protected:
  /// Adds a message to a phase, when the exchange is made.
  void sendTo(uint32_t phase, uint32_t peer);
  /// Index in `peers` of who has the member at a position.
  uint32_t peerOf(uint32_t position) const;
  /// The error of a message that is shorter than the sizes that both sides
  /// know.
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
