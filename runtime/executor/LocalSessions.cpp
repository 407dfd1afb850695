//===- LocalSessions.cpp --------------------------------------------------===//

#include "runtime/executor/LocalSessions.h"

#include "runtime/executor/Executor.h"
#include "runtime/executor/Report.h"

#include <algorithm>

namespace lockstep::runtime {

LocalSessions::LocalSessions(std::vector<Member> given, Options givenOptions)
    : members(std::move(given)), options(std::move(givenOptions)) {
  // As in Executor: spinning costs less than a wake-up, unless the thread that
  // is waited for needs this very CPU.
  constexpr auto wakeUpCost = std::chrono::microseconds(60);
  auto spinTime = options.workers <= availableCpus()
                      ? wakeUpCost
                      : std::chrono::microseconds(0);
  seen.assign(members.size(), 0);
  started = team.start(unsigned(members.size() - 1), spinTime,
                       [this](unsigned index) { return join(index + 1); });
  if (!started.ok())
    return;
  // Other processes say eight times per deadline how far they are.
  std::chrono::nanoseconds watchedDeadline = options.deadline;
  if (options.hasOthers)
    watchedDeadline += options.deadline / 8;
  watchdog = std::make_unique<Watchdog>(
      *options.clock, watchedDeadline, [this] { return sample(); },
      [this](uint64_t run) { return expire(run); },
      [this](uint64_t run, std::chrono::nanoseconds duration) {
        reportWait(run, duration);
      });
  started = watchdog->status();
}

bool LocalSessions::leaveOrAbandon() {
  if (ThreadTeam::becomesEmpty(
          [this] { return threadsInRun.load(std::memory_order_acquire) != 0; }))
    return true;
  abandon();
  return false;
}

void LocalSessions::abandon() {
  watchdog.reset();
  team.abandon();
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

bool LocalSessions::isMember(uint32_t executor) const {
  return std::ranges::any_of(members, [&](const Member &member) {
    return member.endpoint->self() == executor;
  });
}

/// Executes a member's part of the current run; false if it has done so
/// already.
bool LocalSessions::join(size_t member) {
  uint64_t current = generation.load(std::memory_order_acquire);
  if (current == seen[member])
    return false;
  seen[member] = current;
  execute(member);
  if (threadsInRun.fetch_sub(1, std::memory_order_acq_rel) == 1)
    ends.notify();
  return true;
}

void LocalSessions::execute(size_t member) {
  if (!parts[member])
    return;
  auto [session, endpoint] = members[member];
  Status status = session->execute(*parts[member]);
  // An executor that was aborted by another one of this process has nothing to
  // add; the other one has reported why.
  auto isFirst = [&] {
    return !endpoint->isAborted() ||
           endpoint->abortedBy() == endpoint->self() ||
           !isMember(endpoint->abortedBy());
  };
  if (!status.ok() && isFirst())
    fail(status);
}

Status LocalSessions::cannotBegin(const Status &status) {
  if (options.hasOthers)
    fail(status);
  return status;
}

Status LocalSessions::run(const std::vector<std::optional<ProgramId>> &given) {
  if (failed())
    return failure.poisoned();
  // All sessions must be able to begin before any of them does: none should
  // wait for one that is not ready.
  for (size_t member = 0; member < members.size(); ++member) {
    if (!given[member])
      continue;
    Status ready = members[member].session->prepare(*given[member]);
    if (!ready.ok())
      return cannotBegin(ready);
  }
  parts = given;
  uint64_t active = runs.begin();
  threadsInRun.store(team.size(), std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  team.wake();
  execute(0);

  // After a deadline a member may be inside of a kernel that never ends; it is
  // not waited for.
  auto isOver = [&] {
    return threadsInRun.load(std::memory_order_acquire) == 0 ||
           failure.leavesKernelsBehind().load(std::memory_order_acquire);
  };
  while (!isOver()) {
    uint32_t key = ends.key();
    if (!isOver())
      ends.sleep(key);
  }
  // The other members return at once; then it is known which variables their
  // runs have written.
  if (failed())
    ThreadTeam::becomesEmpty(
        [&] { return threadsInRun.load(std::memory_order_acquire) != 0; });
  runs.end(active, ends);
  if (failed())
    return failure.status();
  for (const Member &member : members)
    member.session->commit();
  return Status::success();
}

Status
LocalSessions::await(const std::function<std::vector<uint32_t>()> &missing,
                     std::string_view what) {
  if (failed())
    return failure.poisoned();
  Network &endpoint = *members.front().endpoint;
  awaited = &missing;
  awaitedWhat = what;
  uint64_t active = runs.begin();
  for (;;) {
    uint32_t key = endpoint.events().key();
    if (failed() || endpoint.isAborted() || missing().empty())
      break;
    endpoint.events().sleep(key);
  }
  if (!failed() && endpoint.isAborted())
    fail(endpoint.abortReason());
  runs.end(active, ends);
  awaited = nullptr;
  return failure.status();
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// The first failure is kept and aborts all sessions.
void LocalSessions::fail(const Status &status) {
  failure.set(status, [this](const Status &reason) {
    for (const Member &member : members)
      member.session->abort(reason);
  });
  ends.notify();
}

Watchdog::Sample LocalSessions::sample() const {
  Watchdog::Sample result;
  result.run = runs.active();
  if (result.run == 0)
    return result;
  for (const Member &member : members) {
    // The sum of the last endpoint counts: its own progress and that of all
    // others, those in other processes included.
    uint64_t own = member.session->progress();
    result.progress = own + member.endpoint->exchangeProgress(own);
    // The result depends on the order of the sessions.
    result.waiting = result.waiting * 31 + member.session->waiting();
  }
  return result;
}

bool LocalSessions::expire(uint64_t run) {
  return runs.expire(run, ends, [this](DeadlineReport &report) {
    writeReportAndAbort(report);
  });
}

void LocalSessions::reportWait(uint64_t run,
                               std::chrono::nanoseconds duration) {
  if (!options.onLongWait)
    return;
  runs.inspect(run, [&] {
    if (awaited)
      return;
    auto [program, states] = statesOfRun();
    options.onLongWait(describeLongWait(program, states, duration));
  });
}

std::pair<std::string_view, std::vector<const ProgramState *>>
LocalSessions::statesOfRun() const {
  std::string_view program;
  std::vector<const ProgramState *> states;
  for (size_t member = 0; member < members.size(); ++member) {
    if (!parts[member])
      continue;
    const Session &session = *members[member].session;
    program = session.programs()[*parts[member]].name;
    // One that has not begun still shows what it ran before.
    if (const ProgramState *state = session.currentState();
        state && state->program.name() == program)
      states.push_back(state);
  }
  return {program, states};
}

DeadlineReport LocalSessions::describe() const {
  if (awaited) {
    std::vector<RankRange> ranks;
    for (uint32_t executor : (*awaited)())
      ranks.push_back(members.front().endpoint->executors()[executor]);
    return describeSilence(awaitedWhat, ranks, options.deadline);
  }
  // No command is executed before all executors have said what they run.
  for (const Member &member : members)
    if (std::optional<DeadlineReport> report =
            member.session->findAwaited(options.deadline))
      return *report;
  auto [program, states] = statesOfRun();
  return describeDeadline(program, states, options.deadline);
}

void LocalSessions::writeReportAndAbort(DeadlineReport &report) {
  report = describe();
  if (options.onDeadline)
    options.onDeadline(report);
  fail({StatusCode::deadline, report.text});
}

} // namespace lockstep::runtime
