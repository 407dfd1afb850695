//===- Scheduler.h - commands of streams, late and in any order -*- C++ -*-===//
//
// Threads of the scheduler execute the commands of all streams. As with the
// device `simulated`, execution starts as late as possible, when something
// waits, polls or awaits a callback or when many commands are pending, and
// chooses among the streams at random, as far as events and the default stream
// allow. But fills of the host's memory, by which it observes how far a stream
// is, do not wait for kernels of other streams.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_SCHEDULER_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_SCHEDULER_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

namespace lockstep::standin {

struct Capture;
struct Lane;

/// The first so many commands of a stream. Complete when they are executed.
struct Point {
  std::shared_ptr<Lane> lane;
  uint64_t count = 0;
  /// Instead, a command that has been captured (Capture.h).
  std::shared_ptr<Capture> capture = nullptr;
  size_t node = 0;
};

enum class CommandKind {
  OnDevice,
  /// The host waits for it.
  Callback,
  /// Executed as soon as the commands before it have been.
  HostFill,
};

struct Command {
  /// Empty for waits.
  std::function<void()> work;
  /// What must be complete before.
  std::vector<Point> waits;
  CommandKind kind = CommandKind::OnDevice;
};

/// The commands of a stream. Guarded by the scheduler's mutex.
struct Lane {
  /// Lanes of one group are ordered against its default lane, unless they are
  /// independent of it.
  const void *group = nullptr;
  bool isDefault = false, isIndependent = false;

  std::deque<Command> commands;
  bool isBusy = false;
  /// No commands follow.
  bool isClosed = false;
  /// Lanes with higher numbers go first.
  uint32_t priority = 0;
  uint64_t enqueued = 0, executed = 0;

  /// Where its commands are captured, and the last of them; guarded by the
  /// mutex of captures.
  std::shared_ptr<Capture> capture;
  std::optional<size_t> lastNode;
};

class Scheduler {
public:
  static Scheduler &get();

  std::shared_ptr<Lane> open(const void *group, bool isDefault,
                             bool isIndependent);
  /// Commands that are pending are still executed.
  void close(const std::shared_ptr<Lane> &lane);
  /// The point that is complete after the command.
  Point enqueue(const std::shared_ptr<Lane> &lane, Command command);
  /// All commands of the lane up to now.
  Point last(const std::shared_ptr<Lane> &lane);
  void wait(const std::vector<Point> &points);
  /// Waits for all commands of a group.
  void waitForGroup(const void *group);
  /// Whether a point is complete; who asks often enough makes it so.
  bool poll(const Point &point);
  /// A number for choices elsewhere.
  uint64_t draw();

private:
  Scheduler();
  static bool isComplete(const Point &point) {
    return !point.lane || point.lane->executed >= point.count;
  }
  void waitLocked(std::unique_lock<std::mutex> &lock,
                  const std::vector<Point> &points);
  bool mayStart() const;
  static bool canProceed(const Lane &lane);
  std::shared_ptr<Lane> choose() const;
  void wakeThread();
  void wakeWaiters();
  void work();

  /// A caller that waits.
  struct Waiter {
    const std::vector<Point> &points;
    std::condition_variable isComplete;
  };

  std::mutex mutex;
  /// Of the scheduler's threads, those that execute nothing.
  std::condition_variable hasWork;
  size_t idle = 0;
  std::vector<Waiter *> waiters;
  std::mt19937_64 random;
  std::vector<std::shared_ptr<Lane>> lanes;
  size_t pending = 0;
  /// Callbacks among the commands, and callers that wait.
  size_t awaited = 0;
  /// Queries without success since no command was pending.
  size_t polls = 0;
  /// Nobody has waited for long. The host may look at memory instead.
  bool isOverdue = false;
  /// The number of commands that must be pending before any is executed.
  size_t startThreshold = 0;
  static constexpr size_t largestThreshold = 64;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_SCHEDULER_H
