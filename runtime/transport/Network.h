//===- Network.h - messages between executors -------------------*- C++ -*-===//
//
// Executors share nothing but a network. Each has an endpoint of it, with a
// mailbox. A message is not copied by who sends it: its bytes belong to the
// network until it comes back to the mailbox of its sender, which is how the
// sender learns that they may be written again.
//
//   sender                           receiver
//   message.to = 1
//   message.pieces = ...
//   network.send(message)         ─► while (Message *m = network.receive())
//                                      if (m->from != network.self()) {
//                                        ... read m->pieces ...
//   network.receive() == &message ◄─     network.release(*m)
//                                      }
//
// Nothing blocks and nothing allocates. `events` is notified when something has
// got into the mailbox, so that workers can sleep on it. Behind this interface,
// MPI posts MPI_Isend of the pieces and puts the message back when the request
// is done; one thread probes, receives into memory of its own and puts what it
// got into the mailbox.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_NETWORK_H
#define LOCKSTEP_RUNTIME_TRANSPORT_NETWORK_H

#include "runtime/support/Futex.h"
#include "runtime/support/RankRange.h"
#include "runtime/support/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// What a message belongs to: an instance (epoch) of a collective (channel) of
/// a program, and the part of it. `program` is the index of the first program
/// of that name in the artifact, which all roles agree on.
struct MessageTag {
  uint32_t program = 0, channel = 0, epoch = 0, part = 0;
};

/// Bytes of a message. A receiver may get those of all pieces as one.
struct MessagePiece {
  const std::byte *bytes = nullptr;
  uint64_t size = 0;
};

/// Owned by the sender's side of a transport, which uses it again and again.
struct Message {
  /// Index of the executor in `Network::executors`.
  uint32_t from = 0, to = 0;
  MessageTag tag;
  std::span<const MessagePiece> pieces;
  /// For lists; belongs to whoever has the message.
  Message *next = nullptr;
};

/// Many threads put messages in, one at a time takes them out, oldest first. No
/// locks.
class Mailbox {
public:
  void put(Message &message) {
    Message *head = newest.load(std::memory_order_relaxed);
    do
      message.next = head;
    while (!newest.compare_exchange_weak(
        head, &message, std::memory_order_acq_rel, std::memory_order_relaxed));
  }
  bool isEmpty() const {
    return newest.load(std::memory_order_acquire) == nullptr;
  }
  /// Everything that is in it, as a list.
  Message *takeAll() {
    Message *list = nullptr;
    for (Message *message = newest.exchange(nullptr, std::memory_order_acq_rel);
         message;) {
      Message *older = message->next;
      message->next = list;
      list = message;
      message = older;
    }
    return list;
  }

private:
  std::atomic<Message *> newest{nullptr};
};

/// One executor's endpoint. Thread-safe where not said otherwise.
class Network {
public:
  virtual ~Network() = default;

  /// The ranks of all executors, and which of them this is.
  std::span<const RankRange> executors() const { return ranks; }
  uint32_t self() const { return index; }
  RankRange ownRanks() const { return ranks[index]; }

  /// Gives a message to `message.to`, or, if that is this executor, back to
  /// itself at once. Messages of one executor to another arrive in the order in
  /// which they were sent.
  virtual void send(Message &message) = 0;
  /// Bytes of all messages to an executor so far.
  uint64_t bytesSentTo(uint32_t executor) const {
    return sentBytes[executor].load(std::memory_order_relaxed);
  }
  /// The receiver needs the bytes of a message no more.
  virtual void release(Message &message) = 0;

  bool hasMail() const { return !mailbox.isEmpty(); }
  /// What has arrived, and messages of one's own that have come back; a list,
  /// oldest first. One thread at a time.
  Message *receive() { return mailbox.takeAll(); }
  /// Notified when something arrives or the network is aborted.
  EventCount &events() { return arrivals; }

  /// Gives up for all executors; the first reason wins, and the network is of
  /// no use any more.
  virtual void abort(const Status &reason) = 0;
  virtual bool isAborted() const = 0;
  /// For executors that have not given up themselves: who has, and why. Only
  /// after an abort.
  virtual Status abortReason() const = 0;
  /// The executor that has given up first. Only after an abort.
  virtual uint32_t abortedBy() const = 0;

  /// Around everything that reads bytes of messages; false: the network is
  /// aborted, and they must not be read.
  virtual bool beginReading() = 0;
  virtual void endReading() = 0;
  /// After an abort: returns when no other executor reads bytes of this one any
  /// more, so that they can be freed.
  virtual void settle() = 0;

  /// Tells all executors something that belongs to no program, once for each
  /// round of a topic; does not wait. Rounds of a topic are 0, 1, 2,
  /// ..., and nobody begins one before having read the last one of all others:
  /// an endpoint keeps the last two. Behind this, MPI sends a message with a
  /// tag of its own to everybody, or gathers where all are known to be at the
  /// same place.
  virtual void post(std::string_view topic, uint64_t round,
                    std::string text) = 0;
  /// What an executor, this one or another, has posted; nothing if that has not
  /// arrived yet. `events` is notified when it does.
  virtual std::optional<std::string>
  posted(uint32_t executor, std::string_view topic, uint64_t round) const = 0;

  /// Tells the others how far this executor has come, and returns a sum of what
  /// they have told: watchdogs take it for a sign of life.
  virtual uint64_t exchangeProgress(uint64_t own) = 0;
  /// How many of the executors share the CPUs of this process.
  virtual uint32_t executorsInProcess() const = 0;

protected:
  Network(std::vector<RankRange> given, uint32_t index)
      : ranks(std::move(given)), index(index), sentBytes(ranks.size()) {}
  /// To be called for each message that is sent.
  void count(const Message &message) {
    uint64_t bytes = 0;
    for (const MessagePiece &piece : message.pieces)
      bytes += piece.size;
    sentBytes[message.to].fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Puts a message into the mailbox and wakes whoever waits for one.
  void deliver(Message &message) {
    mailbox.put(message);
    arrivals.notify();
  }

  const std::vector<RankRange> ranks;
  const uint32_t index;

private:
  std::vector<std::atomic<uint64_t>> sentBytes;
  alignas(64) Mailbox mailbox;
  EventCount arrivals;
};

/// What the programs of a session share of its network: only one of them runs,
/// but messages for another may come before it does.
struct NetworkInbox {
  NetworkInbox(Network &network, uint32_t programs)
      : network(network), early(programs) {}

  Network &network;
  /// Somebody looks through the mailbox.
  std::atomic<bool> busy{false};
  /// Messages for each program, oldest first.
  std::vector<std::vector<Message *>> early;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_NETWORK_H
