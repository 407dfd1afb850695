//===- Scheduler.cpp - commands of streams, late and in any order ---------===//

#include "Scheduler.h"

#include "DriverOptions.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace lockstep::standin {

Scheduler &Scheduler::get() {
  // Never destroyed: its threads run until the process ends.
  static auto *scheduler = new Scheduler;
  return *scheduler;
}

Scheduler::Scheduler() : random(DriverOptions::get().seed) {
  startThreshold = random() % largestThreshold;
  constexpr unsigned count = 2;
  for (unsigned i = 0; i < count; ++i)
    std::thread([this] { work(); }).detach();
}

std::shared_ptr<Lane> Scheduler::open(const void *group, bool isDefault,
                                      bool isIndependent) {
  auto lane = std::make_shared<Lane>();
  lane->group = group;
  lane->isDefault = isDefault;
  lane->isIndependent = isIndependent;
  std::lock_guard lock(mutex);
  lane->priority = uint32_t(random());
  lanes.push_back(lane);
  return lane;
}

void Scheduler::close(const std::shared_ptr<Lane> &lane) {
  std::lock_guard lock(mutex);
  lane->isClosed = true;
  if (lane->commands.empty() && !lane->isBusy)
    std::erase(lanes, lane);
}

Point Scheduler::enqueue(const std::shared_ptr<Lane> &lane, Command command) {
  Point point{lane, 0};
  {
    std::lock_guard lock(mutex);
    // A command of the default stream follows those before of all others, and
    // is followed by those after.
    if (!lane->isIndependent)
      for (const std::shared_ptr<Lane> &other : lanes)
        if (other != lane && other->group == lane->group &&
            !other->isIndependent && (lane->isDefault || other->isDefault) &&
            other->executed < other->enqueued)
          command.waits.push_back({other, other->enqueued});
    awaited += command.kind == CommandKind::Callback;
    lane->commands.push_back(std::move(command));
    point.count = ++lane->enqueued;
    ++pending;
    wakeThread();
  }
  return point;
}

Point Scheduler::last(const std::shared_ptr<Lane> &lane) {
  std::lock_guard lock(mutex);
  return {lane, lane->enqueued};
}

void Scheduler::waitLocked(std::unique_lock<std::mutex> &lock,
                           const std::vector<Point> &points) {
  auto isOver = [&] {
    return std::all_of(points.begin(), points.end(), isComplete);
  };
  if (isOver())
    return;
  Waiter waiter{points, {}};
  waiters.push_back(&waiter);
  ++awaited;
  wakeThread();
  waiter.isComplete.wait(lock, isOver);
  --awaited;
  std::erase(waiters, &waiter);
}

void Scheduler::wait(const std::vector<Point> &points) {
  std::unique_lock lock(mutex);
  waitLocked(lock, points);
}

void Scheduler::waitForGroup(const void *group) {
  std::unique_lock lock(mutex);
  std::vector<Point> points;
  for (const std::shared_ptr<Lane> &lane : lanes)
    if (lane->group == group)
      points.push_back({lane, lane->enqueued});
  waitLocked(lock, points);
}

bool Scheduler::poll(const Point &point) {
  std::lock_guard lock(mutex);
  if (isComplete(point))
    return true;
  ++polls;
  // Also for the time after which commands are overdue.
  hasWork.notify_all();
  return false;
}

uint64_t Scheduler::draw() {
  std::lock_guard lock(mutex);
  return random();
}

bool Scheduler::mayStart() const {
  return awaited > 0 || isOverdue || pending + polls > startThreshold;
}

bool Scheduler::canProceed(const Lane &lane) {
  if (lane.isBusy || lane.commands.empty())
    return false;
  const std::vector<Point> &waits = lane.commands.front().waits;
  return std::all_of(waits.begin(), waits.end(), isComplete);
}

/// Among the lanes whose next command is ready, one that fills the host's
/// memory, or that with the highest priority.
std::shared_ptr<Lane> Scheduler::choose() const {
  if (!mayStart())
    return nullptr;
  auto rank = [](const Lane &lane) {
    return std::pair(lane.commands.front().kind == CommandKind::HostFill,
                     lane.priority);
  };
  std::shared_ptr<Lane> best;
  for (const std::shared_ptr<Lane> &lane : lanes)
    if (canProceed(*lane) && (!best || rank(*lane) > rank(*best)))
      best = lane;
  return best;
}

/// If there is a command for one that is idle: each wake-up takes longer than
/// most commands.
void Scheduler::wakeThread() {
  if (idle > 0 && choose())
    hasWork.notify_one();
}

/// Callers whose points are complete.
void Scheduler::wakeWaiters() {
  for (Waiter *waiter : waiters)
    if (std::all_of(waiter->points.begin(), waiter->points.end(), isComplete))
      waiter->isComplete.notify_one();
}

void Scheduler::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    std::shared_ptr<Lane> lane = choose();
    if (!lane) {
      constexpr auto longest = std::chrono::milliseconds(50);
      ++idle;
      if (!pending || mayStart())
        hasWork.wait(lock);
      else if (hasWork.wait_for(lock, longest) == std::cv_status::timeout)
        isOverdue = pending > 0;
      --idle;
      continue;
    }
    // Once in 16 commands on average, draw new priorities, and the number of
    // pending commands at which execution starts.
    constexpr uint64_t commandsBetween = 16;
    if (random() % commandsBetween == 0) {
      for (const std::shared_ptr<Lane> &other : lanes)
        other->priority = uint32_t(random());
      startThreshold = random() % largestThreshold;
    }
    Command command = std::move(lane->commands.front());
    lane->commands.pop_front();
    lane->isBusy = true;
    if (command.work) {
      wakeThread();
      lock.unlock();
      command.work();
      // What it refers to is destroyed here, too.
      command.work = nullptr;
      lock.lock();
    }
    awaited -= command.kind == CommandKind::Callback;
    lane->isBusy = false;
    ++lane->executed;
    if (--pending == 0) {
      polls = 0;
      isOverdue = false;
    }
    if (lane->isClosed && lane->commands.empty())
      std::erase(lanes, lane);
    wakeWaiters();
  }
}

} // namespace lockstep::standin
