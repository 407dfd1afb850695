//===- ThreadTeam.h - threads that may have to be left behind ---*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_THREADTEAM_H
#define LOCKSTEP_RUNTIME_EXECUTOR_THREADTEAM_H

#include "runtime/support/Futex.h"
#include "runtime/support/Status.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::runtime {

/// A pool of threads that wait for the same work. A kernel cannot be cancelled:
/// a thread that does not return from one is abandoned, and the objects that it
/// may still use are kept until the process exits.
class ThreadTeam {
public:
  ThreadTeam() = default;
  /// Joins the threads, unless they have been abandoned; no thread may be
  /// inside of `work` for long.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// Starts `count` threads. Each calls `work`, with its index, as long as that
  /// returns true, that is, found work; then polls it for `spinTime` and sleeps
  /// until `wake`. Called once. Error: the system cannot create more threads;
  /// those that exist end with this object.
  Status start(unsigned count, std::chrono::nanoseconds spinTime,
               std::function<bool(unsigned)> work);
  size_t size() const { return threads.size(); }
  /// Ends and joins the threads, as the destructor does.
  void join();
  /// Announces work.
  void wake() { starts.notify(); }

  /// After a failure, when threads have been requested to stop: waits briefly
  /// until `isInside` is false. False if it stays true.
  static bool becomesEmpty(const std::function<bool()> &isInside);
  /// Detaches the threads. They end when they return from `work`, if they ever
  /// do; this object must be kept until the process exits.
  void abandon();

private:
  void main(unsigned index);
  void stop();

  std::chrono::nanoseconds spinTime{};
  std::function<bool(unsigned)> work;
  EventCount starts;
  std::atomic<bool> quit{false};
  std::vector<std::thread> threads;
};

/// Keeps an object that abandoned threads may still use; it is never destroyed.
template <typename T> void keepUntilExit(std::unique_ptr<T> object) {
  static std::mutex mutex;
  static auto *kept = new std::vector<std::unique_ptr<T>>;
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(object));
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_THREADTEAM_H
