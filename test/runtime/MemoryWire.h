//===- MemoryWire.h - a wire between threads, for tests ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_MEMORYWIRE_H
#define LOCKSTEP_TEST_RUNTIME_MEMORYWIRE_H

#include "runtime/transport/wire/WireThread.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace lockstep::runtime::test {

/// Connects "processes" that are threads of one. A frame is read, and arrives,
/// a random number of polls after it has been sent.
class MemoryWire final : public Wire {
public:
  /// What all wires share.
  struct Hub {
    struct Frame {
      uint32_t from = 0;
      FrameHeader header;
      FrameBytes bytes;
    };
    explicit Hub(uint32_t processes) : inboxes(processes) {}

    std::mutex mutex;
    std::vector<std::deque<Frame>> inboxes;
  };

  /// `processesOfHost` of them, in order, are said to be on one host.
  MemoryWire(std::shared_ptr<Hub> hub, uint32_t index, uint64_t seed,
             uint32_t processesOfHost)
      : hub(std::move(hub)), random(seed * 1000 + index) {
    ownPlace = {.index = index,
                .count = uint32_t(this->hub->inboxes.size()),
                .sharingCpus = uint32_t(this->hub->inboxes.size())};
    for (uint32_t i = 0; i < ownPlace.count; ++i)
      ownPlace.firstOnHost.push_back(i / processesOfHost * processesOfHost);
    outgoing.resize(ownPlace.count);
  }

  const ProcessPlace &place() const override { return ownPlace; }

  Status send(uint32_t process, const FrameHeader &header,
              std::span<const MessagePiece> pieces, void *frame) override {
    outgoing[process].push_back({header,
                                 {pieces.begin(), pieces.end()},
                                 frame,
                                 uint32_t(random() % 4)});
    return Status::success();
  }

  Expected<bool> poll(Events &events) override {
    bool progress = false;
    for (uint32_t process = 0; process < outgoing.size(); ++process)
      progress |= transmit(process, events);
    std::deque<Hub::Frame> arrived;
    {
      std::lock_guard<std::mutex> lock(hub->mutex);
      arrived.swap(hub->inboxes[ownPlace.index]);
    }
    for (Hub::Frame &frame : arrived)
      events.received(frame.from, frame.header, std::move(frame.bytes));
    return progress || !arrived.empty();
  }

  void close() override {}

private:
  struct Outgoing {
    FrameHeader header;
    std::vector<MessagePiece> pieces;
    void *frame;
    uint32_t delay;
  };

  bool transmit(uint32_t process, Events &events) {
    std::deque<Outgoing> &frames = outgoing[process];
    if (frames.empty())
      return false;
    if (frames.front().delay > 0) {
      --frames.front().delay;
      return true;
    }
    Outgoing frame = std::move(frames.front());
    frames.pop_front();
    Hub::Frame copy{ownPlace.index, frame.header, {}};
    copy.bytes.size = frame.header.size;
    copy.bytes.bytes.reset(new std::byte[frame.header.size]);
    std::byte *next = copy.bytes.bytes.get();
    for (const MessagePiece &piece : frame.pieces)
      if (piece.size)
        next = std::copy_n(piece.bytes, piece.size, next);
    {
      std::lock_guard<std::mutex> lock(hub->mutex);
      hub->inboxes[process].push_back(std::move(copy));
    }
    events.sent(frame.frame);
    return true;
  }

  std::shared_ptr<Hub> hub;
  ProcessPlace ownPlace;
  std::mt19937_64 random;
  /// By process, in order.
  std::vector<std::deque<Outgoing>> outgoing;
};

/// The wires of several "processes".
class MemoryProcesses {
public:
  MemoryProcesses(uint32_t count, uint64_t seed, uint32_t processesOfHost = 1) {
    auto hub = std::make_shared<MemoryWire::Hub>(count);
    for (uint32_t i = 0; i < count; ++i)
      threads.push_back(
          *WireThread::start([=]() -> Expected<std::unique_ptr<Wire>> {
            return std::unique_ptr<Wire>(
                std::make_unique<MemoryWire>(hub, i, seed, processesOfHost));
          }));
  }
  /// Each waits for the end of all others.
  ~MemoryProcesses() {
    std::vector<std::thread> enders;
    for (std::shared_ptr<WireThread> &thread : threads)
      enders.emplace_back([&thread] { thread.reset(); });
    for (std::thread &ender : enders)
      ender.join();
  }

  std::vector<std::shared_ptr<WireThread>> threads;
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_MEMORYWIRE_H
