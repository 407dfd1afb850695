//===- MachineTimes.cpp ---------------------------------------------------===//

#include "tools/lockstep-benchmark/MachineTimes.h"

#include "runtime/device/DeviceQueues.h"
#include "runtime/executor/Executor.h"
#include "runtime/simulator/KernelProfile.h"
#include "runtime/support/Memory.h"
#include "tools/lockstep-benchmark/Timing.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace lockstep::tools {

using runtime::Expected;
using runtime::Memory;
using runtime::Status;

static std::string cpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown CPU";
}

Machine Machine::of(const runtime::Device &device) {
  constexpr uint64_t usualCache = 1 << 20;
  if (!device.isHost()) {
    runtime::DeviceInfo info = device.info();
    return {info.name, 1, info.cacheBytes ? info.cacheBytes : usualCache};
  }
  long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return {cpuName(), runtime::availableCpus(),
          cache > 0 ? uint64_t(cache) : usualCache};
}

namespace {

/// Threads that copy memory at the same time.
class Copiers {
public:
  static constexpr uint64_t bytes = uint64_t(64) << 20;

  Status start(unsigned count) {
    for (unsigned i = 0; i < 2 * count; ++i) {
      Expected<Memory> memory = Memory::allocate(bytes);
      if (!memory)
        return memory.status();
      blocks.push_back(std::move(*memory));
    }
    step = std::make_unique<std::barrier<>>(count + 1);
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([this, i] { work(i); });
    return Status::success();
  }

  ~Copiers() {
    if (threads.empty())
      return;
    ends = true;
    step->arrive_and_wait();
    for (std::thread &thread : threads)
      thread.join();
  }

  Status copy() {
    step->arrive_and_wait();
    step->arrive_and_wait();
    return Status::success();
  }

private:
  void work(unsigned index) {
    for (;;) {
      step->arrive_and_wait();
      if (ends)
        return;
      std::memcpy(blocks[2 * index].data(), blocks[2 * index + 1].data(),
                  bytes);
      step->arrive_and_wait();
    }
  }

  std::vector<Memory> blocks;
  std::unique_ptr<std::barrier<>> step;
  std::vector<std::thread> threads;
  /// Written before a barrier and read behind it.
  bool ends = false;
};

} // namespace

Expected<double> measureMemory(unsigned cores, double effort) {
  const double budget = 0.5 * effort;
  Copiers copiers;
  LOCKSTEP_RETURN_IF_ERROR(copiers.start(cores));
  Expected<double> seconds = secondsOf([&] { return copiers.copy(); }, budget);
  if (!seconds)
    return seconds.status();
  return 2.0 * Copiers::bytes * cores / *seconds;
}

Expected<double> measureMemory(runtime::Device &device) {
  constexpr int repetitions = 10, samples = 5;
  std::unique_ptr<runtime::DeviceMemory> memory;
  LOCKSTEP_RETURN_IF_ERROR(
      device.allocate(/*count=*/2, Copiers::bytes).moveTo(memory));
  std::unique_ptr<runtime::Timestamp> begin, end;
  LOCKSTEP_RETURN_IF_ERROR(device.createTimestamp().moveTo(begin));
  LOCKSTEP_RETURN_IF_ERROR(device.createTimestamp().moveTo(end));
  std::vector<double> times;
  for (int sample = 0; sample < samples; ++sample) {
    LOCKSTEP_RETURN_IF_ERROR(
        runtime::transfer(device, [&](runtime::Queue &queue) {
          queue.record(*begin);
          for (int i = 0; i < repetitions; ++i)
            queue.copy({memory->block(0), memory->block(1), 1, Copiers::bytes,
                        Copiers::bytes, Copiers::bytes});
          queue.record(*end);
        }));
    Expected<double> seconds = end->secondsSince(*begin);
    if (!seconds)
      return seconds.status();
    times.push_back(*seconds);
  }
  return 2.0 * Copiers::bytes * repetitions /
         runtime::medianOf(std::move(times));
}

} // namespace lockstep::tools
