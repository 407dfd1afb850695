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

/// Threads that wait for work together. A kernel cannot be cancelled: a thread
/// that does not come back from one is abandoned, and what it may still use is
/// kept until the process exits.
class ThreadTeam {
public:
  ThreadTeam() = default;
  /// Joins the threads, unless they have been abandoned: nobody is in `work`
  /// for long.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// Starts `count` threads. Each calls `work`, with its index, as long as that
  /// returns true; false: there was nothing to do. Then it looks again and
  /// again for `spinTime`, and sleeps until `wake`. Called once. Error: the
  /// system gives no more threads; those that it has given end with this
  /// object.
  Status start(unsigned count, std::chrono::nanoseconds spinTime,
               std::function<bool(unsigned)> work);
  size_t size() const { return threads.size(); }
  /// Ends and joins the threads, as the destructor does.
  void join();
  /// There is work.
  void wake() { starts.notify(); }

  /// After a failure, when everybody has been told to stop: waits a moment
  /// until nobody is inside any more. False if somebody stays.
  static bool becomesEmpty(const std::function<bool()> &isInside);
  /// Lets go of the threads. They end as soon as they come back, if they ever
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

/// Keeps what abandoned threads may still use. It is never destroyed.
template <typename T> void keepUntilExit(std::unique_ptr<T> object) {
  static std::mutex mutex;
  static auto *kept = new std::vector<std::unique_ptr<T>>;
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(object));
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_THREADTEAM_H
