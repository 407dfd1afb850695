//===- Signals.cpp - asked to stop ----------------------------------------===//

#include "tools/lockstep-run/Signals.h"

#include <atomic>
#include <csignal>

namespace lockstep::run {

namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers need an atomic without locks");

} // namespace

void catchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { received.store(signal, std::memory_order_relaxed); };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int stopSignal() { return received.load(std::memory_order_relaxed); }

} // namespace lockstep::run
