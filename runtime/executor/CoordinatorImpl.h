//===- CoordinatorImpl.h - what a coordinator consists of -------*- C++ -*-===//
//
// CoordinatorLanes.cpp makes the clusters of workers and replaces them,
// Coordinator.cpp gives them functions.
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
  /// What has come of it, once it is over.
  std::optional<Status> result;

  void end(Status status) {
    std::lock_guard<std::mutex> lock(mutex);
    result = std::move(status);
    changed.notify_all();
  }
};

/// The variables of one server, which nobody changes meanwhile.
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
    /// Of the function that it executes; null if it executes none, or one that
    /// has been given up.
    State current;
    /// The thread has not come back from a function that has been given up.
    bool isAway = false;
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
  void end(unsigned worker, const Status &status, bool isAway);
  void cancelQueue(const std::string &reason);
  void cancel(const std::string &reason);
  bool isIdle() const { return running == 0 && queue.empty(); }
  bool isAway(const Lane &lane) {
    std::lock_guard<std::mutex> lock(mutex);
    return lane.isAway;
  }
  bool isSomebodyAway();
  bool areAllAway() const {
    return std::ranges::all_of(lanes,
                               [](const Lane &lane) { return lane.isAway; });
  }
  Status takeError(std::unique_lock<std::mutex> &lock);

  std::shared_ptr<const Artifact> artifact;
  CoordinatorOptions options;
  /// By role; null for the workers, which have none.
  std::vector<std::shared_ptr<VariableMemory>> memories;
  std::map<std::string, VariableValue, std::less<>> variables;
  /// Of lanes that have been replaced.
  Cluster::ServerTraffic formerTraffic;
  uint64_t formerRuns = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Scheduled> queue;
  /// Functions that are executed and have not been given up.
  unsigned running = 0;
  /// The first one since an error was returned.
  Status error;
  /// Why nothing begins any more; empty: it does.
  std::string cancelled;
  /// Why everything has been given up. From then on lanes stay as they are.
  Status aborted;
  std::vector<Lane> lanes;
  /// Destroyed before everything above, which its threads look at.
  ThreadTeam team;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_COORDINATORIMPL_H
