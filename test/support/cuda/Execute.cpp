//===- Execute.cpp - all blocks of a launch -------------------------------===//

#include "Block.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

namespace lockstep::standin {

namespace {

/// The order of the blocks: i -> (i * step + start) modulo their number, in
/// which each block is once, and what the threads that execute them share.
struct Progress {
  const Launch &launch;
  uint64_t blocks, step, start;
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  Fault fault;
  std::atomic<bool> hasFault{false};
};

/// A thread that helps with one launch after another.
class Helper {
public:
  /// Never destroyed: launches may be executed until the process ends.
  static Helper &get() {
    static auto *helper = new Helper;
    return *helper;
  }

  /// Whether the helper executes the function beside the caller, who has to
  /// call `wait`.
  bool start(std::function<void()> function) {
    std::lock_guard lock(mutex);
    if (work || isBusy)
      return false;
    work = std::move(function);
    isBusy = true;
    changed.notify_all();
    return true;
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !isBusy; });
  }

private:
  Helper() {
    std::thread([this] { run(); }).detach();
  }
  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return bool(work); });
      std::function<void()> function = std::exchange(work, nullptr);
      lock.unlock();
      function();
      lock.lock();
      isBusy = false;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;
  bool isBusy = false;
};

} // namespace

static void executeBlocks(Progress &progress) {
  Block block(progress.launch);
  while (!progress.hasFault.load(std::memory_order_relaxed)) {
    uint64_t i = progress.next.fetch_add(1, std::memory_order_relaxed);
    if (i >= progress.blocks)
      return;
    auto index =
        uint64_t(((unsigned __int128)(i)*progress.step + progress.start) %
                 progress.blocks);
    if (block.run(index))
      continue;
    std::lock_guard lock(progress.mutex);
    if (!progress.hasFault.exchange(true))
      progress.fault = block.fault();
  }
}

void prepareExecution() { Helper::get(); }

Fault execute(const Launch &launch) {
  std::mt19937_64 random(launch.seed);
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  uint64_t step = 1 + random() % blocks;
  while (std::gcd(step, blocks) != 1)
    ++step;
  Progress progress{launch, blocks, step, random() % blocks, {}, {}, {}, {}};
  // Compiled before both threads need it.
  try {
    launch.kernel->function();
  } catch (const std::exception &error) {
    return {FaultKind::LaunchFailed, error.what()};
  }
  bool isHelped =
      blocks > 1 && Helper::get().start([&] { executeBlocks(progress); });
  executeBlocks(progress);
  if (isHelped)
    Helper::get().wait();
  return progress.fault;
}

} // namespace lockstep::standin
