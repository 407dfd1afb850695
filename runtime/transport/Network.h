//===- Network.h - messages between executors -------------------*- C++ -*-===//
//
// Executors share nothing but a network. Each has an endpoint with a mailbox.
// The sender does not copy a message: its bytes belong to the network until the
// message returns to the mailbox of its sender, which may then overwrite them.
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
// No operation blocks or allocates. `events` is notified when a message enters
// the mailbox, so that workers can sleep on it.
//
// A message returns only when its receiver has released it, also where its
// bytes were copied before: otherwise a sender could run ahead without bound,
// and end a run successfully whose receiver then refuses what it was sent. An
// implementation over a wire sends an acknowledgement for each release. A
// thread of its own receives into memory of its own, and puts the messages into
// the mailbox; those that are never released are freed with the endpoint.
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

/// Identifies a message by program, channel (the collective), epoch (the
/// instance of the collective) and part (the phase). `program` is the index of
/// the first program of that name in the artifact, the same for all roles.
struct MessageTag {
  uint32_t program = 0, channel = 0, epoch = 0, part = 0;
};

/// A contiguous part of a message, of any alignment. A receiver may get several
/// pieces as one, but never a part of one.
struct MessagePiece {
  const std::byte *bytes = nullptr;
  uint64_t size = 0;
};

/// Owned by the sender's transport, which reuses it.
struct Message {
  /// Index of the executor in `Network::executors`.
  uint32_t from = 0, to = 0;
  MessageTag tag;
  std::span<const MessagePiece> pieces;
  /// Link of a list; belongs to the current holder of the message.
  Message *next = nullptr;
};

/// A lock-free queue: many threads put messages, and one thread at a time takes
/// them, oldest first.
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
  /// All messages in the mailbox, as a list, oldest first.
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

  /// The ranks of all executors, and the index of this executor among them.
  std::span<const RankRange> executors() const { return ranks; }
  uint32_t self() const { return index; }
  /// For each executor, the number of its host. Executors with equal numbers
  /// reach each other faster than those of other hosts. The same in all
  /// executors.
  std::span<const uint32_t> hosts() const { return hostOf; }
  RankRange ownRanks() const { return ranks[index]; }

  /// Sends a message to `message.to` and sets `message.from`; a message to this
  /// executor enters its own mailbox at once. Messages from one executor to
  /// another arrive in the order in which they were sent. From any thread.
  /// After an abort it has no effect.
  virtual void send(Message &message) = 0;
  /// Bytes of all messages sent to an executor so far.
  uint64_t bytesSentTo(uint32_t executor) const {
    return sentBytes[executor].load(std::memory_order_relaxed);
  }
  /// The receiver has finished reading a message: returns it to its sender.
  virtual void release(Message &message) = 0;

  bool hasMail() const { return !mailbox.isEmpty(); }
  /// Messages of other executors, and own messages that have been released; a
  /// list, oldest first. One thread at a time.
  Message *receive() { return mailbox.takeAll(); }
  /// Notified when a message or post arrives or the network is aborted.
  EventCount &events() { return arrivals; }

  /// Aborts all executors; each keeps the first reason that it learns, and the
  /// network can no longer be used. A network that loses an executor aborts on
  /// its behalf.
  virtual void abort(const Status &reason) = 0;
  virtual bool isAborted() const = 0;
  /// The first abort's executor and reason, for the report of another executor.
  /// Only after an abort.
  virtual Status abortReason() const = 0;
  /// The executor that has aborted first. Only after an abort.
  virtual uint32_t abortedBy() const = 0;

  /// Brackets all code that reads the bytes of messages. False: the network is
  /// aborted, and they must not be read.
  virtual bool beginReading() = 0;
  virtual void endReading() = 0;
  /// After an abort: returns when neither another executor nor a thread of the
  /// network still reads memory of this one, so that it can be freed.
  virtual void awaitReaders() = 0;

  /// Sends text that belongs to no program to all executors, or to one, once
  /// for each round of a topic; does not wait. Rounds of a topic are numbered
  /// from 0. No executor begins a round before it has read the previous round
  /// of all others, so an endpoint keeps two rounds of each topic and executor.
  /// The length of a text is not bounded.
  virtual void post(std::string_view topic, uint64_t round, std::string text,
                    std::optional<uint32_t> to = std::nullopt) = 0;
  /// The text that an executor, this one or another, has posted; none if it has
  /// not arrived yet. `events` is notified when it does.
  virtual std::optional<std::string>
  posted(uint32_t executor, std::string_view topic, uint64_t round) const = 0;
  virtual bool hasPosted(uint32_t executor, std::string_view topic,
                         uint64_t round) const = 0;
  /// The text of an executor that has posted it. It is forgotten in this
  /// process.
  virtual std::string takePosted(uint32_t executor, std::string_view topic,
                                 uint64_t round) = 0;

  /// A heartbeat: publishes the progress counter of this executor and returns
  /// the sum of those of the others, which watchdogs observe for changes.
  virtual uint64_t exchangeProgress(uint64_t own) = 0;
  /// The number of executors that share the CPUs of this process.
  virtual uint32_t executorsSharingCpus() const = 0;
  /// The number of threads on these CPUs that wait for messages all the time.
  virtual uint32_t threadsSharingCpus() const { return 0; }

protected:
  Network(std::vector<RankRange> given, std::vector<uint32_t> hosts,
          uint32_t index)
      : ranks(std::move(given)), hostOf(std::move(hosts)), index(index),
        sentBytes(ranks.size()) {}
  /// Implementations call this for each message that is sent, those to the
  /// executor itself included, before it can return.
  void count(const Message &message) {
    uint64_t bytes = 0;
    for (const MessagePiece &piece : message.pieces)
      bytes += piece.size;
    sentBytes[message.to].fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Puts a message into the mailbox and wakes waiting threads.
  void deliver(Message &message) {
    mailbox.put(message);
    arrivals.notify();
  }

  const std::vector<RankRange> ranks;
  const std::vector<uint32_t> hostOf;
  const uint32_t index;

private:
  std::vector<std::atomic<uint64_t>> sentBytes;
  alignas(64) Mailbox mailbox;
  EventCount arrivals;
};

/// The mailbox that the programs of a session share. Only one program runs at a
/// time, but messages for another may arrive before that one runs.
struct NetworkInbox {
  NetworkInbox(Network &network, uint32_t programs)
      : network(network), early(programs) {}

  Network &network;
  /// A worker processes the mailbox.
  std::atomic<bool> busy{false};
  /// Messages for each program, oldest first.
  std::vector<std::vector<Message *>> early;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_NETWORK_H
