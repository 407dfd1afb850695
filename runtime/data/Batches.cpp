//===- Batches.cpp - batches for all replicas, prepared ahead -------------===//

#include "runtime/data/Batches.h"

#include "runtime/data/AlignedBytes.h"
#include "runtime/data/BatchFiller.h"
#include "runtime/support/Checked.h"
#include "runtime/support/RunningTime.h"
#include "runtime/support/Threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::runtime {

static_assert(AlignedBytes::alignment >= Session::inputAlignment);

namespace {

constexpr uint64_t ringBytes = 64 << 20;
/// One is in use, one is the next, which may be peeked at, and one is filled.
constexpr uint64_t fewestSlots = 3, mostSlots = 16;

} // namespace

/// `produced` and `taken` count batches; slot i % slots.size() holds batch i.
/// The thread owns the slots [produced, taken + slots.size()), the caller of
/// `next` those of [taken - 1, produced): the last returned batch is in use
/// until the next call.
class Batches::Impl {
public:
  Impl(BatchLayout layout, const BatchOptions &options)
      : filler(std::move(layout), options), deadline(options.deadline),
        clock(options.clock ? *options.clock : Clock::system()) {}

  ~Impl() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    slotFreed.notify_one();
    if (thread.joinable())
      thread.join();
  }

  Status start(const BatchOptions &options);
  Expected<const Batch *> next();
  const Batch *peek();

  BatchFiller filler;

private:
  /// Memory of one global batch.
  struct Slot {
    AlignedBytes memory;
    std::vector<std::byte *> inputs;
    Batch batch;
  };

  void produce();
  uint64_t inUse() const { return produced - (taken == 0 ? 0 : taken - 1); }
  /// The producer sleeps until half of the ring is free, so that there is one
  /// wake-up for several steps, but not when the next batch has been taken.
  bool hasRoom() const {
    return inUse() <= std::max<uint64_t>(2, slots.size() / 2);
  }

  std::vector<Slot> slots;
  std::chrono::nanoseconds deadline;
  Clock &clock;

  std::mutex mutex;
  std::condition_variable slotFreed, batchReady;
  uint64_t produced = 0, taken = 0;
  bool producerSleeps = false, consumerSleeps = false, stopping = false;
  /// Why the thread has ended early.
  Status failure;
  std::thread thread;
};

Status Batches::Impl::start(const BatchOptions &options) {
  LOCKSTEP_RETURN_IF_ERROR(filler.check());
  uint64_t stride = alignUp(filler.layout().inputSize, AlignedBytes::alignment);
  RankRange filled = options.filledReplicas();
  std::optional<uint64_t> size = checkedMultiply(stride, filled.count);
  if (!size)
    return invalidArgument(
        "the size of a global batch does not fit into 64 bits");
  uint64_t count = options.slots
                       ? std::max<uint64_t>(options.slots, fewestSlots)
                       : std::clamp(ringBytes / std::max<uint64_t>(*size, 1),
                                    fewestSlots, mostSlots);
  slots.resize(count);
  for (Slot &slot : slots) {
    Expected<AlignedBytes> memory = AlignedBytes::allocate(*size);
    if (!memory)
      return memory.status().withContext("prefetched batches");
    slot.memory = std::move(*memory);
    // Gaps between the tensors of a batch are never written again.
    std::memset(slot.memory.bytes().data(), 0, *size);
    slot.inputs.resize(options.replicas);
    for (uint32_t i = 0; i < filled.count; ++i)
      slot.inputs[filled.first + i] = slot.memory.bytes().data() + i * stride;
    slot.batch.inputs = slot.inputs;
  }
  Expected<std::thread> producer = startThread([this] { produce(); });
  if (!producer)
    return producer.status();
  thread = std::move(*producer);
  return Status::success();
}

void Batches::Impl::produce() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    if (inUse() == slots.size()) {
      producerSleeps = true;
      slotFreed.wait(lock, [this] { return stopping || hasRoom(); });
      producerSleeps = false;
    }
    if (stopping)
      return;
    Slot &slot = slots[produced % slots.size()];
    lock.unlock();
    Status filled = filler.fill(slot.inputs, slot.batch);
    lock.lock();
    if (!filled.ok())
      failure = filled;
    else
      ++produced;
    if (consumerSleeps)
      batchReady.notify_one();
    if (!filled.ok())
      return;
  }
}

Expected<const Batch *> Batches::Impl::next() {
  std::unique_lock<std::mutex> lock(mutex);
  ++taken; // Also releases the previous batch.
  if (producerSleeps && hasRoom())
    slotFreed.notify_one();
  if (produced < taken) {
    RunningTime time(clock, deadline / 8);
    consumerSleeps = true;
    while (produced < taken && failure.ok() && time.now() < deadline)
      time.wait(lock, batchReady);
    consumerSleeps = false;
    if (produced < taken) {
      --taken;
      if (!failure.ok())
        return failure;
      return Status(
          StatusCode::deadline,
          fmt::format("'{}': expected a batch within {} s, found none",
                      filler.layout().source,
                      std::chrono::duration<double>(deadline).count()));
    }
  }
  return &slots[(taken - 1) % slots.size()].batch;
}

const Batch *Batches::Impl::peek() {
  std::lock_guard<std::mutex> lock(mutex);
  return produced > taken ? &slots[taken % slots.size()].batch : nullptr;
}

Expected<std::unique_ptr<Batches>>
Batches::create(BatchLayout layout, const BatchOptions &options) {
  auto impl = std::make_unique<Impl>(std::move(layout), options);
  LOCKSTEP_RETURN_IF_ERROR(impl->start(options));
  return std::unique_ptr<Batches>(new Batches(std::move(impl)));
}

Batches::Batches(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Batches::~Batches() = default;

Expected<const Batch *> Batches::next() { return impl->next(); }
const Batch *Batches::peek() { return impl->peek(); }
const BatchLayout &Batches::layout() const { return impl->filler.layout(); }
uint64_t Batches::globalBatch() const { return impl->filler.globalBatch(); }
uint64_t Batches::batchesFrom(uint64_t position) const {
  return impl->filler.batchesFrom(position);
}
uint64_t Batches::droppedExamples() const {
  return impl->filler.droppedExamples();
}

} // namespace lockstep::runtime
