//===- CoordinatorImpl.h - state of a coordinator ---------------*- C++ -*-===//
//
// CoordinatorLanes.cpp creates and replaces the clusters of workers,
// Coordinator.cpp schedules functions on them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_COORDINATORIMPL_H
#define LOCKSTEP_RUNTIME_EXECUTOR_COORDINATORIMPL_H

#include "runtime/executor/Coordinator.h"
#include "runtime/executor/ThreadTeam.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace lockstep::runtime {

struct ScheduledFunction::State {
  std::mutex mutex;
  std::condition_variable changed;
  /// Set when the function has ended.
  std::optional<Status> result;

  void end(Status status) {
    std::lock_guard<std::mutex> lock(mutex);
    result = std::move(status);
    changed.notify_all();
  }
};

/// Exclusive access to the variables of one server.
struct ServerAccess {
  std::unique_lock<std::timed_mutex> lock;
  HostCopy *copy = nullptr;
};

class Coordinator::Impl {
public:
  using State = std::shared_ptr<ScheduledFunction::State>;
  struct Scheduled {
    Function function;
    State state;
  };
  struct Lane {
    std::unique_ptr<Cluster> cluster;
    /// The function that the worker executes; null if there is none, or after
    /// its deadline.
    State current;
    /// The thread has not returned from a function whose deadline has expired.
    bool isOverdue = false;
  };

  Status initialize(std::shared_ptr<const Artifact> given,
                    CoordinatorOptions options);
  Status checkArtifact() const;
  Expected<std::unique_ptr<Cluster>> createLane(unsigned worker);
  Status renewLane(unsigned worker);
  Expected<ServerAccess> lockServerOf(std::string_view variable,
                                      std::span<const std::byte> piece) const;
  Cluster &cluster(unsigned worker) {
    std::lock_guard<std::mutex> lock(mutex);
    return *lanes[worker].cluster;
  }

  bool work(unsigned worker);
  void end(unsigned worker, const Status &status, bool isOverdue);
  void cancelQueue(const std::string &reason);
  void cancel(const std::string &reason);
  bool isIdle() const { return running == 0 && queue.empty(); }
  bool isOverdue(const Lane &lane) {
    std::lock_guard<std::mutex> lock(mutex);
    return lane.isOverdue;
  }
  bool isAnyOverdue();
  bool areAllOverdue() const {
    return std::ranges::all_of(lanes,
                               [](const Lane &lane) { return lane.isOverdue; });
  }
  Status takeError(std::unique_lock<std::mutex> &lock);

  std::shared_ptr<const Artifact> artifact;
  CoordinatorOptions options;
  /// By role; null for the workers, which have none.
  std::vector<std::shared_ptr<VariableMemory>> memories;
  std::map<std::string, VariableValue, std::less<>> variables;
  /// Sums over lanes that have been replaced.
  Cluster::ServerTraffic formerTraffic;
  uint64_t formerRuns = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Scheduled> queue;
  /// Functions that are executing and whose deadline has not expired.
  unsigned running = 0;
  /// The first error since one was returned.
  Status error;
  /// Reason of `cancel`; empty before.
  std::string cancelled;
  /// Reason of `abort`, after which lanes are not replaced.
  Status aborted;
  std::vector<Lane> lanes;
  /// Destroyed before the members above, which its threads access.
  ThreadTeam team;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_COORDINATORIMPL_H
