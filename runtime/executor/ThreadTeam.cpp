//===- ThreadTeam.cpp -----------------------------------------------------===//

#include "runtime/executor/ThreadTeam.h"

#include "runtime/support/Threads.h"

namespace lockstep::runtime {

ThreadTeam::~ThreadTeam() { join(); }

void ThreadTeam::join() {
  stop();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

Status ThreadTeam::start(unsigned count, std::chrono::nanoseconds given,
                         std::function<bool(unsigned)> function) {
  spinTime = given;
  work = std::move(function);
  for (unsigned index = 0; index < count; ++index) {
    Expected<std::thread> thread = startThread([this, index] { main(index); });
    if (!thread)
      return thread.status().withContext(
          fmt::format("expected {} threads, found {}", count, index));
    threads.push_back(std::move(*thread));
  }
  return Status::success();
}

void ThreadTeam::main(unsigned index) {
  while (!quit.load(std::memory_order_acquire)) {
    uint32_t key = starts.key();
    if (work(index))
      continue;
    auto begin = std::chrono::steady_clock::now();
    while (!starts.changed(key) &&
           std::chrono::steady_clock::now() - begin < spinTime)
      for (int i = 0; i < 32; ++i)
        spinPause();
    if (!starts.changed(key) && !quit.load(std::memory_order_acquire))
      starts.sleep(key);
  }
}

void ThreadTeam::stop() {
  quit.store(true, std::memory_order_release);
  starts.notify();
}

bool ThreadTeam::becomesEmpty(const std::function<bool()> &isInside) {
  // Threads check for a stop between commands.
  constexpr auto moment = std::chrono::milliseconds(200);
  auto begin = std::chrono::steady_clock::now();
  while (isInside() && std::chrono::steady_clock::now() - begin < moment)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !isInside();
}

void ThreadTeam::abandon() {
  stop();
  for (std::thread &thread : threads)
    thread.detach();
  threads.clear();
}

} // namespace lockstep::runtime
