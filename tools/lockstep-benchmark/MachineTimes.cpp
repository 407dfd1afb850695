//===- MachineTimes.cpp ---------------------------------------------------===//

#include "tools/lockstep-benchmark/MachineTimes.h"

#include "runtime/executor/Executor.h"
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

Machine Machine::here() {
  constexpr long usualCache = 1 << 20;
  long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return {cpuName(), runtime::availableCpus(),
          uint64_t(cache > 0 ? cache : usualCache)};
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

Expected<double> measureMemory(unsigned cores) {
  constexpr double budget = 0.5;
  Copiers copiers;
  LOCKSTEP_RETURN_IF_ERROR(copiers.start(cores));
  Expected<double> seconds = secondsOf([&] { return copiers.copy(); }, budget);
  if (!seconds)
    return seconds.status();
  return 2.0 * Copiers::bytes * cores / *seconds;
}

} // namespace lockstep::tools
