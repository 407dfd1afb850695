//===- WireThread.h - executors of several processes ------------*- C++ -*-===//
//
// The networks that connect the executors of several processes over a wire. A
// message is read in the memory of its sender and received in memory of the
// other process. That memory is freed when the receiver releases the message,
// and the message returns to its sender when a frame has reported this.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIRETHREAD_H
#define LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIRETHREAD_H

#include "runtime/transport/local/LocalNetwork.h"
#include "runtime/transport/wire/Wire.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lockstep::runtime {

/// The only thread that uses the wire of this process.
class WireThread final : public std::enable_shared_from_this<WireThread>,
                         Wire::Events {
public:
  using Open = std::function<Expected<std::unique_ptr<Wire>>()>;

  /// `open` is called on the thread. Errors: its own, no thread.
  static Expected<std::shared_ptr<WireThread>> start(Open open);
  /// Waits until all processes end, so that each can receive what has been sent
  /// to it; after an abort only for a limited time.
  ~WireThread() override;
  /// The same, before the process exits without destroying this object. Nothing
  /// is sent any more.
  void end();

  const ProcessPlace &place() const { return ownPlace; }

  /// The endpoints of executors in this process, null for those of others;
  /// `processOf` is the process of each. All processes make these calls in the
  /// same order. Endpoints keep this object alive. Error: executors that
  /// `LocalNetwork` does not accept. From any thread.
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors, std::vector<uint32_t> processOf);

private:
  class Remote;
  struct Received;
  struct Frame;
  struct EarlyFrame {
    uint32_t process;
    FrameHeader header;
    FrameBytes bytes;
  };

  WireThread() = default;
  void submit(std::unique_ptr<Frame> frame);
  void run();
  bool sendQueued();
  void pause(std::chrono::steady_clock::duration idle);
  bool hasWaitedForOthers(std::chrono::steady_clock::duration duration) const;
  bool isSending(const Message &message) const;
  void lose(const Status &status);
  void sent(void *frame) override;
  void received(uint32_t process, const FrameHeader &header,
                FrameBytes bytes) override;

  ProcessPlace ownPlace;
  std::thread thread;

  std::mutex queueMutex;
  std::condition_variable queueChanged;
  std::deque<std::unique_ptr<Frame>> queue;
  bool isEnding = false;

  /// The connected networks by their numbers; held while one gets a frame.
  std::mutex networksMutex;
  std::map<uint32_t, Remote *> networks;
  uint32_t networkCount = 0;
  /// Frames for networks that are not connected here yet.
  std::deque<EarlyFrame> early;
  /// A network of this process has been aborted.
  std::atomic<bool> wasAborted{false};

  // Used by the thread only.
  std::unique_ptr<Wire> wire;
  /// Frames whose bytes the wire still reads.
  std::map<void *, std::unique_ptr<Frame>> inFlight;
  /// Processes that send nothing any more.
  std::set<uint32_t> ended;
  bool isLost = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_WIRE_WIRETHREAD_H
