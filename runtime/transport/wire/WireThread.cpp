//===- WireThread.cpp -----------------------------------------------------===//

#include "runtime/transport/wire/WireThread.h"

#include "runtime/support/Threads.h"

#include <algorithm>
#include <future>
#include <optional>
#include <sched.h>
#include <sys/prctl.h>

#include <fmt/format.h>

namespace lockstep::runtime {

using Kind = FrameHeader::Kind;
using Steady = std::chrono::steady_clock;

/// A frame to send.
struct WireThread::Frame {
  uint32_t process = 0;
  FrameHeader header;
  std::string text = {};
  /// Of a frame of kind `message`, whose bytes are those of the message.
  Message *message = nullptr;
  Remote *remote = nullptr;
};

/// A message in memory of this process. Freed when it is released.
struct WireThread::Received : Message {
  uint32_t process = 0;
  uint64_t id = 0;
  FrameBytes memory;
  MessagePiece piece;
};

/// The executors of other processes, for one network.
class WireThread::Remote final : public RemoteExecutors {
public:
  Remote(std::shared_ptr<WireThread> thread, RemoteArrivals &arrivals,
         std::vector<uint32_t> processOf)
      : thread(std::move(thread)), arrivals(arrivals),
        processOf(std::move(processOf)) {
    Remote &self = *this;
    WireThread &wires = *self.thread;
    std::lock_guard<std::mutex> lock(wires.networksMutex);
    number = wires.networkCount++;
    wires.networks.emplace(number, this);
    // Others may have been faster.
    std::erase_if(wires.early, [&](EarlyFrame &frame) {
      if (frame.header.network != number)
        return false;
      receive(frame.process, frame.header, std::move(frame.bytes));
      return true;
    });
  }
  ~Remote() override {
    {
      std::lock_guard<std::mutex> lock(thread->networksMutex);
      thread->networks.erase(number);
    }
    // There are queued messages only after an abort.
    awaitReaders();
  }

  void send(Message &message) override {
    auto frame = std::make_unique<Frame>();
    frame->process = processOf[message.to];
    frame->header = {.kind = Kind::message,
                     .network = number,
                     .from = message.from,
                     .to = message.to,
                     .tag = message.tag,
                     .id = reinterpret_cast<uint64_t>(&message)};
    for (const MessagePiece &piece : message.pieces)
      frame->header.size += piece.size;
    frame->message = &message;
    frame->remote = this;
    unsent.fetch_add(1, std::memory_order_relaxed);
    thread->submit(std::move(frame));
  }

  void release(Message &message) override {
    auto &received = static_cast<Received &>(message);
    submit(received.process, {.kind = Kind::release,
                              .network = number,
                              .from = received.to,
                              .to = received.from,
                              .id = received.id});
    std::lock_guard<std::mutex> lock(receivedMutex);
    unreleased.erase(unreleased.find(&received));
  }

  void abort(uint32_t executor, const Status &reason) override {
    thread->wasAborted.store(true, std::memory_order_relaxed);
    forEachProcess([&](uint32_t process) {
      submit(process,
             {.kind = Kind::abort,
              .network = number,
              .from = executor,
              .id = uint64_t(reason.code())},
             reason.message());
    });
  }

  void post(uint32_t executor, std::optional<uint32_t> to,
            std::string_view topic, uint64_t round,
            const std::string &text) override {
    std::string bytes(topic);
    bytes += '\0';
    bytes += text;
    FrameHeader header{
        .kind = Kind::post, .network = number, .from = executor, .id = round};
    if (to)
      return submit(processOf[*to], header, std::move(bytes));
    forEachProcess([&](uint32_t process) { submit(process, header, bytes); });
  }

  void progress(uint32_t executor, uint64_t count) override {
    {
      std::lock_guard<std::mutex> lock(receivedMutex);
      uint64_t &last = lastProgress[executor];
      if (last == count)
        return;
      last = count;
    }
    forEachProcess([&](uint32_t process) {
      submit(process, {.kind = Kind::progress,
                       .network = number,
                       .from = executor,
                       .id = count});
    });
  }

  void awaitReaders() override {
    isClosed.store(true, std::memory_order_seq_cst);
    {
      // A message may be returning at this moment.
      std::lock_guard<std::mutex> lock(thread->networksMutex);
    }
    while (unsent.load(std::memory_order_acquire) != 0)
      ::sched_yield();
  }

  // Called by the thread, the first with `networksMutex`.

  void receive(uint32_t process, const FrameHeader &header, FrameBytes bytes) {
    bool isKnown = header.from < processOf.size() &&
                   processOf[header.from] == process &&
                   header.to < processOf.size();
    if (!isKnown) {
      auto executor =
          uint32_t(std::ranges::find(processOf, process) - processOf.begin());
      Status reason = invalidArgument(fmt::format(
          "expected the same executors in all processes, found another "
          "division of the ranks in process {}",
          process));
      arrivals.abort(executor, reason);
      return abort(executor, reason);
    }
    // After an abort, memory of messages may have been freed.
    if (closed() &&
        (header.kind == Kind::message || header.kind == Kind::release))
      return;
    switch (header.kind) {
    case Kind::message:
      return deliver(process, header, std::move(bytes));
    case Kind::release:
      return released(*reinterpret_cast<Message *>(header.id));
    case Kind::post: {
      std::string_view text(reinterpret_cast<const char *>(bytes.bytes.get()),
                            bytes.size);
      size_t end = text.find('\0');
      return arrivals.post(header.from, text.substr(0, end), header.id,
                           std::string(text.substr(end + 1)));
    }
    case Kind::abort:
      thread->wasAborted.store(true, std::memory_order_relaxed);
      return arrivals.abort(
          header.from,
          {StatusCode(header.id),
           std::string(reinterpret_cast<const char *>(bytes.bytes.get()),
                       bytes.size)});
    case Kind::progress:
      return arrivals.progress(header.from, header.id);
    case Kind::end:
      return;
    }
  }
  void lose(const Status &status) {
    for (uint32_t i = 0; i < processOf.size(); ++i)
      if (processOf[i] != thread->ownPlace.index)
        return arrivals.abort(i, status);
  }
  bool closed() const { return isClosed.load(std::memory_order_seq_cst); }
  /// A message is no longer read by the wire. The remote may be destroyed at
  /// once.
  void messageSent(Message &message) {
    // It may already have been released, if nobody has asked the wire before.
    if (auto early = releasedEarly.find(&message);
        early != releasedEarly.end()) {
      releasedEarly.erase(early);
      arrivals.message(message, message.from);
    }
    messageDropped();
  }
  void messageDropped() { unsent.fetch_sub(1, std::memory_order_release); }

private:
  template <typename Function> void forEachProcess(Function function) const {
    std::set<uint32_t> processes(processOf.begin(), processOf.end());
    processes.erase(thread->ownPlace.index);
    for (uint32_t process : processes)
      function(process);
  }

  void submit(uint32_t process, FrameHeader header, std::string text = {}) {
    header.size = text.size();
    thread->submit(std::make_unique<Frame>(process, header, std::move(text)));
  }

  void released(Message &message) {
    if (thread->isSending(message))
      releasedEarly.insert(&message);
    else
      arrivals.message(message, message.from);
  }

  void deliver(uint32_t process, const FrameHeader &header, FrameBytes bytes) {
    auto owned = std::make_unique<Received>();
    Received &message = *owned;
    message.from = header.from;
    message.to = header.to;
    message.tag = header.tag;
    message.process = process;
    message.id = header.id;
    message.memory = std::move(bytes);
    message.piece = {message.memory.bytes.get(), message.memory.size};
    message.pieces = {&message.piece, 1};
    {
      std::lock_guard<std::mutex> lock(receivedMutex);
      unreleased.emplace(&message, std::move(owned));
    }
    arrivals.message(message, header.to);
  }

  std::shared_ptr<WireThread> thread;
  RemoteArrivals &arrivals;
  const std::vector<uint32_t> processOf;
  uint32_t number = 0;
  /// Messages that the wire has not finished reading.
  std::atomic<uint64_t> unsent{0};
  /// Messages are no longer sent.
  std::atomic<bool> isClosed{false};
  std::mutex receivedMutex;
  std::map<Received *, std::unique_ptr<Received>> unreleased;
  std::map<uint32_t, uint64_t> lastProgress;
  /// Used by the thread only.
  std::set<Message *> releasedEarly;
};

//===----------------------------------------------------------------------===//
// Called by any thread
//===----------------------------------------------------------------------===//

Expected<std::shared_ptr<WireThread>> WireThread::start(Open open) {
  std::shared_ptr<WireThread> result(new WireThread);
  std::promise<Status> opened;
  std::future<Status> outcome = opened.get_future();
  Expected<std::thread> thread =
      startThread([state = result.get(), open = std::move(open),
                   opened = std::move(opened)]() mutable {
        Expected<std::unique_ptr<Wire>> wire = open();
        if (wire) {
          state->wire = std::move(*wire);
          state->ownPlace = state->wire->place();
        }
        opened.set_value(wire.status());
        if (state->wire)
          state->run();
      });
  if (!thread)
    return thread.status();
  result->thread = std::move(*thread);
  LOCKSTEP_RETURN_IF_ERROR(outcome.get());
  return result;
}

WireThread::~WireThread() { end(); }

void WireThread::end() {
  {
    std::lock_guard<std::mutex> lock(queueMutex);
    isEnding = true;
  }
  queueChanged.notify_one();
  if (thread.joinable())
    thread.join();
}

Expected<std::vector<std::shared_ptr<Network>>>
WireThread::connect(std::vector<RankRange> executors,
                    std::vector<uint32_t> processOf) {
  std::vector<bool> isHere;
  std::vector<uint32_t> hosts;
  for (uint32_t process : processOf) {
    isHere.push_back(process == ownPlace.index);
    hosts.push_back(ownPlace.hostOf(process));
  }
  return LocalNetwork::create(
      std::move(executors), std::move(hosts), isHere, ownPlace.sharingCpus,
      [&](RemoteArrivals &arrivals) {
        return std::make_unique<Remote>(shared_from_this(), arrivals,
                                        std::move(processOf));
      });
}

void WireThread::submit(std::unique_ptr<Frame> frame) {
  {
    std::lock_guard<std::mutex> lock(queueMutex);
    queue.push_back(std::move(frame));
  }
  queueChanged.notify_one();
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

void WireThread::run() {
  // The system may wake a thread 50 us late, as long as a short message takes.
  ::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  auto lastProgress = Steady::now();
  std::optional<Steady::time_point> endingSince;
  for (;;) {
    bool progress = sendQueued();
    if (!isLost) {
      Expected<bool> polled = wire->poll(*this);
      if (!polled)
        lose(polled.status());
      progress |= polled && *polled;
    }
    auto now = Steady::now();
    if (progress) {
      lastProgress = now;
      continue;
    }
    {
      std::lock_guard<std::mutex> lock(queueMutex);
      if (isEnding && !endingSince) {
        endingSince = now;
        for (uint32_t i = 0; i < ownPlace.count; ++i)
          if (i != ownPlace.index)
            queue.push_back(
                std::make_unique<Frame>(i, FrameHeader{.kind = Kind::end}));
        continue;
      }
    }
    if (endingSince && inFlight.empty() && ended.size() + 1 == ownPlace.count)
      break;
    if (endingSince && (isLost || wasAborted.load()) &&
        hasWaitedForOthers(now - *endingSince))
      return;
    pause(now - lastProgress);
  }
  wire->close();
}

/// After an abort, a process may end without having said so. The first one may
/// still be saving, and if another one ends with an error, mpirun ends it.
bool WireThread::hasWaitedForOthers(Steady::duration duration) const {
  constexpr std::chrono::seconds moment(2), longest(60);
  bool awaitsFirst = ownPlace.index != 0 && !isLost && !ended.contains(0);
  return duration > (awaitsFirst ? longest : moment);
}

/// Whether the wire may still read a message.
bool WireThread::isSending(const Message &message) const {
  return std::ranges::any_of(inFlight, [&](const auto &entry) {
    return entry.second->message == &message;
  });
}

/// Passes the frames of the queue to the wire; false if there are none.
bool WireThread::sendQueued() {
  std::deque<std::unique_ptr<Frame>> frames;
  {
    std::lock_guard<std::mutex> lock(queueMutex);
    frames.swap(queue);
  }
  bool hasFrames = !frames.empty();
  for (std::unique_ptr<Frame> &owned : frames) {
    Frame &frame = *owned;
    if (isLost || (frame.remote && frame.remote->closed())) {
      if (frame.remote)
        frame.remote->messageDropped();
      continue;
    }
    MessagePiece text{reinterpret_cast<const std::byte *>(frame.text.data()),
                      frame.text.size()};
    std::span<const MessagePiece> pieces(&text, 1);
    if (frame.message)
      pieces = frame.message->pieces;
    inFlight.emplace(&frame, std::move(owned));
    if (Status status = wire->send(frame.process, frame.header, pieces, &frame);
        !status.ok())
      lose(status);
  }
  return hasFrames;
}

/// Waits for a frame to send, or a moment that depends on the time since the
/// last progress: a wait for another process becomes at most an eighth longer.
void WireThread::pause(Steady::duration idle) {
  using namespace std::chrono_literals;
  if (idle < 50us) {
    ::sched_yield();
    return;
  }
  std::unique_lock<std::mutex> lock(queueMutex);
  queueChanged.wait_for(lock, std::min<Steady::duration>(idle / 8, 5ms),
                        [&] { return !queue.empty(); });
}

/// The wire can no longer be used: nothing is read or received any more.
void WireThread::lose(const Status &status) {
  if (isLost)
    return;
  isLost = true;
  for (auto &[key, frame] : inFlight)
    if (frame->remote)
      frame->remote->messageDropped();
  inFlight.clear();
  std::lock_guard<std::mutex> lock(networksMutex);
  for (auto &[number, network] : networks)
    network->lose(status);
}

void WireThread::sent(void *key) {
  auto frame = inFlight.find(key);
  if (frame == inFlight.end())
    return;
  std::unique_ptr<Frame> owned = std::move(frame->second);
  inFlight.erase(frame);
  if (owned->remote)
    owned->remote->messageSent(*owned->message);
}

void WireThread::received(uint32_t process, const FrameHeader &header,
                          FrameBytes bytes) {
  if (header.kind == Kind::end) {
    ended.insert(process);
    return;
  }
  std::lock_guard<std::mutex> lock(networksMutex);
  auto network = networks.find(header.network);
  if (network != networks.end())
    network->second->receive(process, header, std::move(bytes));
  else if (header.network >= networkCount)
    early.push_back({process, header, std::move(bytes)});
}

} // namespace lockstep::runtime
