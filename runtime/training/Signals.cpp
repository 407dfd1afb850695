//===- Signals.cpp - requests to stop -------------------------------------===//

#include "runtime/training/Signals.h"

#include "runtime/support/RunningTime.h"
#include "runtime/support/Threads.h"
#include "runtime/training/Messages.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lockstep::training {

static int64_t monotonicMilliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

namespace {

std::atomic<int> first = 0;
/// When the last signal that counted was acted upon, in milliseconds. A
/// repetition may be handled much later, if this process does not get a CPU.
constexpr int64_t notYet = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> handledAt = notYet;
/// The next signal that counts ends the process.
std::atomic<bool> endsProcess = false;
std::atomic<SignalClock> signalClock = monotonicMilliseconds;
static_assert(std::atomic<int>::is_always_lock_free &&
                  std::atomic<int64_t>::is_always_lock_free &&
                  std::atomic<SignalClock>::is_always_lock_free,
              "signal handlers need atomics without locks");
/// Handlers write to one end, the thread reads from the other: 'S' for a
/// signal, 'O' when the steps are over, 'Q' to quit.
std::array<int, 2> ends = {-1, -1};

void notifyThread(char what) {
  // If the pipe is full, messages are pending anyway.
  [[maybe_unused]] ssize_t written = write(ends[1], &what, 1);
}

sigset_t stopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void setHandler(void (*handler)(int));
void markHandled() { handledAt = signalClock.load()(); }

void handle(int signal) {
  int saved = errno, none = 0;
  int64_t now = signalClock.load()(), last = handledAt;
  // Read before `first` publishes the signal: other threads may act on it
  // before this handler ends.
  bool ends = endsProcess;
  // One request may arrive as several signals: a terminal sends one to each
  // process of a group, and a wrapper forwards its own.
  bool counts = first.compare_exchange_strong(none, signal) ||
                (last != notYet && now - last >= signalGap.count());
  if (counts) {
    handledAt = notYet;
    if (ends) {
      setHandler(SIG_DFL);
      raise(signal);
    } else {
      notifyThread('S');
    }
  }
  errno = saved;
}

void setHandler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESTART);
  // One at a time: the handler compares and sets.
  action.sa_mask = stopSignals();
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// The next message of the pipe; 0 after `milliseconds` without one, if not
/// negative.
char awaitMessage(int milliseconds) {
  pollfd descriptor = {ends[0], POLLIN, 0};
  int ready = 0;
  do
    ready = poll(&descriptor, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  char what = 0;
  if (ready > 0 && read(ends[0], &what, 1) == 1)
    return what;
  return 0;
}

/// The next message within `seconds`, excluding time during which the process
/// is stopped; 0 without one.
char awaitMessageFor(double seconds) {
  auto all = std::chrono::duration_cast<runtime::Clock::Duration>(
      std::chrono::duration<double>(std::min(seconds, 1e9)));
  runtime::RunningTime time(
      runtime::Clock::system(),
      std::min<runtime::Clock::Duration>(all / 8, std::chrono::hours(1)));
  char message = 0;
  while (message == 0 && time.now() < all)
    message = time.spend([](runtime::Clock::Duration slice) {
      return awaitMessage(static_cast<int>(
          std::chrono::ceil<std::chrono::milliseconds>(slice).count()));
    });
  return message;
}

/// Acts on later signals until the end; after that, a signal ends the process.
void handleUntilQuit() {
  while (awaitMessage(-1) != 'Q')
    markHandled();
}

const char *nameOf(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

} // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t set = stopSignals();
  pthread_sigmask(SIG_BLOCK, &set, &before);
}

SignalsBlocked::~SignalsBlocked() {
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StopSignals::StopSignals(
    double seconds, std::function<void()> givenStop,
    std::function<void(int, const std::string &)> givenForceStop)
    : seconds(seconds), stop(std::move(givenStop)),
      forceStop(std::move(givenForceStop)) {
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    printError("no pipe for signals: SIGINT and SIGTERM end the process "
               "without saving");
    return;
  }
  blockedHere.emplace();
  runtime::Expected<std::thread> created =
      runtime::startThread([this] { main(); });
  if (!created) {
    printError(
        fmt::format("{}: SIGINT and SIGTERM end the process without saving",
                    created.status().message()));
    blockedHere.reset();
    return;
  }
  thread = std::move(*created);
  setHandler(handle);
}

StopSignals::~StopSignals() {
  if (!thread.joinable())
    return;
  // From now on a signal ends the process as usual, except a repetition of the
  // signal that has just been handled.
  endsProcess = true;
  notifyThread('Q');
  thread.join();
  if (handledAt == notYet)
    markHandled();
  close(ends[0]);
  close(ends[1]);
}

void StopSignals::main() {
  sigset_t set = stopSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  char message = awaitMessage(-1);
  // The steps may be over before the handler's message arrives.
  if (message == 'O')
    handleUntilQuit();
  if (message != 'S')
    return;
  markHandled();
  const char *name = nameOf(stopSignal());
  printOwnNote(fmt::format(
      "{}: stopping after the current step; a second signal aborts it", name));
  stop();
  char next = awaitMessageFor(seconds);
  if (next == 'O')
    handleUntilQuit();
  if (next == 'O' || next == 'Q')
    return;
  endsProcess = true;
  markHandled();
  std::string why =
      next == 'S'
          ? fmt::format("aborted at the second signal, {}", name)
          : fmt::format(
                "aborted, since the current step has not ended {} s after {}",
                seconds, name);
  {
    std::lock_guard<std::mutex> lock(mutex);
    interruption = {runtime::StatusCode::interrupted, why};
  }
  forceStop(stopSignal(), why);
  handleUntilQuit();
}

void setSignalClock(SignalClock clock) {
  signalClock = clock ? clock : monotonicMilliseconds;
}

runtime::Status StopSignals::outcome(runtime::Status ofRun) {
  std::lock_guard<std::mutex> lock(mutex);
  return ofRun.ok() || interruption.ok() ? ofRun : interruption;
}

int stopSignal() { return first.load(std::memory_order_relaxed); }

void stepsAreOver() {
  if (ends[1] < 0)
    return;
  endsProcess = true;
  notifyThread('O');
}

} // namespace lockstep::training
