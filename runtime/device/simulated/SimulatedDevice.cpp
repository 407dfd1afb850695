//===- SimulatedDevice.cpp - a device for tests ---------------------------===//

#include "runtime/device/simulated/SimulatedDevice.h"

#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/device/simulated/SimulatedReduction.h"
#include "runtime/support/Futex.h"
#include "runtime/support/Memory.h"
#include "runtime/support/Plugin.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

namespace {

class SimulatedMemory final : public DeviceMemory {
public:
  explicit SimulatedMemory(Arenas given) : arenas(std::move(given)) {}
  std::byte *block(uint32_t index) const override {
    return biased(arenas[index].data());
  }

private:
  Arenas arenas;
};

/// Known to the device.
class SimulatedHostMemory final : public HostMemory {
public:
  SimulatedHostMemory(SimulatedDevice &device, Memory given)
      : device(device), memory(std::move(given)) {}
  ~SimulatedHostMemory() override { device.forgetHost(memory.data()); }
  std::byte *data() const override { return memory.data(); }

private:
  SimulatedDevice &device;
  Memory memory;
};

} // namespace

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

/// Commands in the order in which they were recorded, in which each wait comes
/// after its record.
class SimulatedGraph final : public CommandGraph {
public:
  using Lane = SimulatedDevice::Lane;
  using Command = SimulatedDevice::Command;

  /// Guarded by the device's mutex until the recording has ended.
  void keep(Lane &lane, Command command) {
    if (command.isTransfer)
      refuse("a transfer from or to other memory of the host");
    if (command.onComplete)
      refuse("a record of an event with a callback");
    if (command.event && command.isWait && command.event->graph != number)
      refuse("a wait for an event that was not recorded meanwhile");
    if (command.event && !command.isWait)
      command.event->graph = number;
    commands.emplace_back(&lane, std::move(command));
  }

  uint64_t number = 0;
  std::vector<Lane *> lanes;
  std::vector<std::pair<Lane *, Command>> commands;
  Status status;
  /// Order the lanes against the first one.
  SimulatedEvent begins{nullptr};
  std::vector<std::unique_ptr<SimulatedEvent>> ends;

private:
  void refuse(std::string_view what) {
    if (status.ok())
      status = unsupported(fmt::format("cannot record {}", what));
  }
};

class SimulatedQueue final : public Queue {
public:
  explicit SimulatedQueue(SimulatedDevice &device) : device(device) {
    std::lock_guard<std::mutex> lock(device.mutex);
    device.lanes.push_back(&lane);
  }
  ~SimulatedQueue() override { device.remove(&lane); }

  void launch(KernelHandle kernel, uint32_t grid,
              std::span<std::byte *const> buffers,
              std::span<const int64_t> scalars) override {
    std::vector<void *> pointers;
    for (std::byte *buffer : buffers)
      pointers.push_back(unbiased(buffer));
    add([function = functionOf(kernel), grid, pointers = std::move(pointers),
         numbers = std::vector<int64_t>(scalars.begin(), scalars.end())] {
      for (uint32_t tile = 0; tile < grid; ++tile)
        function(pointers.data(), numbers.data(), tile);
    });
  }

  void copy(const RowCopy &rows) override {
    add([copy = rows] {
      std::byte *to = unbiased(copy.to);
      const std::byte *from = unbiased(copy.from);
      for (uint64_t row = 0; row < copy.rows && copy.rowBytes && to != from;
           ++row)
        std::memmove(to + row * copy.toStride, from + row * copy.fromStride,
                     copy.rowBytes);
    });
  }

  void fill(std::byte *to, uint64_t bytes, uint32_t pattern) override {
    add([to = unbiased(to), bytes, pattern] {
      for (uint64_t i = 0; i < bytes; i += sizeof(pattern))
        std::memcpy(to + i, &pattern, std::min(sizeof(pattern), bytes - i));
    });
  }

  void reduce(const DeviceReduction &reduction) override {
    add(SimulatedReduction(reduction));
  }

  void search(const FiniteSearch &given) override {
    FiniteSearch search = given;
    search.tensor = unbiased(given.tensor);
    search.finding = unbiased(given.finding);
    add([search] { searchOnHost(search); });
  }

  void upload(std::byte *to, const std::byte *from, uint64_t bytes) override {
    transfer(unbiased(to), from, bytes, device.isAllocated(from, bytes));
  }

  void download(std::byte *to, const std::byte *from, uint64_t bytes) override {
    transfer(to, unbiased(from), bytes, device.isAllocated(to, bytes));
  }

  void record(Event &event) override {
    device.add(lane, recordOf(static_cast<SimulatedEvent &>(event)));
  }

  void record(Timestamp &timestamp) override {
    add([time = static_cast<SimulatedTimestamp &>(timestamp).time] {
      time->store(std::chrono::steady_clock::now().time_since_epoch() /
                      std::chrono::nanoseconds(1),
                  std::memory_order_release);
    });
  }

  void wait(const Event &event) override {
    device.add(lane, waitFor(static_cast<const SimulatedEvent &>(event)));
  }

  Status finish() override {
    // The event is complete before its callback, which may outlive this call.
    auto executed = std::make_shared<EventCount>();
    SimulatedEvent event([executed] { executed->notify(); });
    record(event);
    for (;;) {
      uint32_t key = executed->key();
      if (event.isComplete())
        return status();
      executed->sleep(key);
    }
  }

  Status beginRecording(std::span<Queue *const> others) override {
    recorded = std::make_unique<SimulatedGraph>();
    recorded->lanes.push_back(&lane);
    for (Queue *other : others)
      recorded->lanes.push_back(&static_cast<SimulatedQueue *>(other)->lane);
    {
      std::lock_guard<std::mutex> lock(device.mutex);
      recorded->number = ++device.graphs;
      for (SimulatedDevice::Lane *recording : recorded->lanes)
        recording->graph = recorded.get();
    }
    record(recorded->begins);
    for (Queue *other : others) {
      other->wait(recorded->begins);
      recorded->ends.push_back(std::make_unique<SimulatedEvent>(nullptr));
    }
    return Status::success();
  }

  Expected<std::unique_ptr<CommandGraph>> endRecording() override {
    for (size_t i = 0; i < recorded->ends.size(); ++i) {
      device.add(*recorded->lanes[i + 1], recordOf(*recorded->ends[i]));
      wait(*recorded->ends[i]);
    }
    std::lock_guard<std::mutex> lock(device.mutex);
    for (SimulatedDevice::Lane *recording : recorded->lanes)
      recording->graph = nullptr;
    for (auto &[of, command] : recorded->commands)
      of->enqueued.fetch_sub(1, std::memory_order_relaxed);
    Status status = recorded->status;
    std::unique_ptr<CommandGraph> graph = std::move(recorded);
    if (!status.ok())
      return status;
    return graph;
  }

  void execute(CommandGraph &graph) override {
    for (auto &[of, command] : static_cast<SimulatedGraph &>(graph).commands)
      device.add(*of, command);
  }

  uint64_t enqueued() const override {
    return lane.enqueued.load(std::memory_order_relaxed);
  }
  uint64_t progress() const override {
    return lane.executed.load(std::memory_order_relaxed);
  }
  Status status() const override { return Status::success(); }

private:
  static SimulatedDevice::Command recordOf(SimulatedEvent &event) {
    SimulatedDevice::Command command;
    command.event = event.state;
    command.onComplete = event.onComplete;
    return command;
  }

  static SimulatedDevice::Command waitFor(const SimulatedEvent &event) {
    SimulatedDevice::Command command;
    command.event = event.state;
    command.isWait = true;
    return command;
  }

  void add(std::function<void()> work, bool isTransfer = false) {
    SimulatedDevice::Command command;
    command.work = std::move(work);
    command.isTransfer = isTransfer;
    device.add(lane, std::move(command));
  }

  /// Both addresses are those that the processor uses.
  void transfer(std::byte *to, const std::byte *from, uint64_t bytes,
                bool isAllocated) {
    auto work = [to, from, bytes] {
      if (bytes)
        std::memcpy(to, from, bytes);
    };
    add(work, /*isTransfer=*/!isAllocated);
  }

  SimulatedDevice &device;
  SimulatedDevice::Lane lane;
  /// What this queue is the first one to record.
  std::unique_ptr<SimulatedGraph> recorded;
};

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

SimulatedDevice::SimulatedDevice(uint64_t seed) : random(seed) {
  startThreshold = random() % largestThreshold;
  constexpr unsigned count = 2;
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([this] { work(); });
}

SimulatedDevice::~SimulatedDevice() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

Expected<std::unique_ptr<Module>>
SimulatedDevice::loadModule(const Artifact &artifact, std::string_view target) {
  Expected<CpuBinary> binary = CpuBinary::load(artifact, target);
  if (!binary)
    return binary.status();
  return std::unique_ptr<Module>(
      std::make_unique<CpuBinary>(std::move(*binary)));
}

Expected<std::unique_ptr<DeviceMemory>>
SimulatedDevice::allocate(uint32_t count, uint64_t bytes) {
  Expected<Arenas> arenas = Arenas::allocate(count, bytes);
  if (!arenas)
    return arenas.status();
  return std::unique_ptr<DeviceMemory>(
      std::make_unique<SimulatedMemory>(std::move(*arenas)));
}

Expected<std::unique_ptr<HostMemory>>
SimulatedDevice::allocateHost(uint64_t bytes) {
  Expected<Memory> memory = Memory::allocate(bytes);
  if (!memory)
    return memory.status();
  {
    std::lock_guard<std::mutex> lock(mutex);
    hostMemory[memory->data()] = bytes;
  }
  return std::unique_ptr<HostMemory>(
      std::make_unique<SimulatedHostMemory>(*this, std::move(*memory)));
}

bool SimulatedDevice::isAllocated(const std::byte *memory, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto next = hostMemory.upper_bound(memory);
  if (next == hostMemory.begin())
    return false;
  auto [first, size] = *std::prev(next);
  return memory + bytes <= first + size;
}

void SimulatedDevice::forgetHost(const std::byte *memory) {
  std::lock_guard<std::mutex> lock(mutex);
  hostMemory.erase(memory);
}

Expected<std::unique_ptr<Queue>> SimulatedDevice::createQueue(QueueUse) {
  return std::unique_ptr<Queue>(std::make_unique<SimulatedQueue>(*this));
}

std::unique_ptr<Event>
SimulatedDevice::createEvent(std::function<void()> onComplete) {
  return std::make_unique<SimulatedEvent>(std::move(onComplete));
}

void SimulatedDevice::add(Lane &lane, Command command) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    lane.enqueued.fetch_add(1, std::memory_order_relaxed);
    if (lane.graph)
      return lane.graph->keep(lane, std::move(command));
    if (command.event) {
      // A wait ends when the records enqueued before it are complete.
      command.number =
          command.isWait
              ? command.event->recorded.load(std::memory_order_relaxed)
              : command.event->recorded.fetch_add(1,
                                                  std::memory_order_acq_rel) +
                    1;
      awaited += command.onComplete ? 1 : 0;
    }
    lane.commands.push_back(std::move(command));
    ++waiting;
    wake();
  }
}

/// Wakes who may continue: each wake-up takes longer than most commands.
void SimulatedDevice::wake() {
  if (removing > 0)
    changed.notify_all();
  else if (idle > 0 && choose())
    changed.notify_one();
}

/// Removes a queue after it has executed all its commands.
void SimulatedDevice::remove(Lane *lane) {
  std::unique_lock<std::mutex> lock(mutex);
  // Unless a caller waits, commands are delayed until many are pending.
  ++awaited;
  ++removing;
  wake();
  changed.wait(lock, [&] { return lane->commands.empty() && !lane->isBusy; });
  --removing;
  --awaited;
  std::erase(lanes, lane);
}

bool SimulatedDevice::mayStart() const {
  return awaited > 0 || isEnding || waiting > startThreshold;
}

bool SimulatedDevice::canProceed(const Lane &lane) {
  if (lane.isBusy || lane.commands.empty())
    return false;
  const Command &first = lane.commands.front();
  return !first.isWait ||
         first.event->completed.load(std::memory_order_relaxed) >= first.number;
}

/// The lane with the highest priority among those whose next command is ready.
SimulatedDevice::Lane *SimulatedDevice::choose() const {
  if (!mayStart())
    return nullptr;
  Lane *best = nullptr;
  for (Lane *lane : lanes)
    if (canProceed(*lane) && (!best || lane->priority > best->priority))
      best = lane;
  return best;
}

void SimulatedDevice::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    Lane *lane = nullptr;
    ++idle;
    changed.wait(lock, [&] {
      lane = choose();
      return lane || (isEnding && waiting == 0);
    });
    --idle;
    if (!lane)
      return;
    // Once in 16 commands on average, draw new priorities, and the number of
    // pending commands at which execution starts.
    constexpr uint64_t commandsBetween = 16;
    if (random() % commandsBetween == 0) {
      for (Lane *other : lanes)
        other->priority = uint32_t(random());
      startThreshold = random() % largestThreshold;
    }
    Command command = std::move(lane->commands.front());
    lane->commands.pop_front();
    lane->isBusy = true;
    wake();
    if (command.work) {
      lock.unlock();
      command.work();
      lock.lock();
    }
    if (command.event && !command.isWait)
      command.event->completed.store(command.number, std::memory_order_release);
    if (command.onComplete) {
      --awaited;
      // The queue stays busy, so that it is not removed before the callback
      // returns.
      lock.unlock();
      command.onComplete();
      lock.lock();
    }
    lane->isBusy = false;
    --waiting;
    lane->executed.fetch_add(1, std::memory_order_relaxed);
    // This thread executes what may be executed now.
    if (removing > 0 || (isEnding && waiting == 0))
      changed.notify_all();
  }
}

} // namespace lockstep::runtime

LOCKSTEP_PLUGIN

extern "C" __attribute__((visibility("default"))) void
lockstepOpenDevice(std::string_view options, uint32_t executor,
                   std::unique_ptr<lockstep::runtime::Device> &device,
                   lockstep::runtime::Status &status) {
  using namespace lockstep::runtime;
  uint64_t seed = 1;
  const char *end = options.data() + options.size();
  if (!options.empty() && std::from_chars(options.data(), end, seed).ptr != end)
    status = invalidArgument(
        fmt::format("expected a number as seed, found '{}'", options));
  else
    device = std::make_unique<SimulatedDevice>(seed + executor);
}
