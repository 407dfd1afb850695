//===- Signals.h - asked to stop --------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_SIGNALS_H
#define LOCKSTEP_RUNTIME_TRAINING_SIGNALS_H

#include "runtime/support/Status.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace lockstep::training {

/// While it lives, this thread gets neither SIGINT nor SIGTERM, nor do the
/// threads that it creates, for all their lives. Threads that execute kernels
/// wait in ways that a sanitizer does not take for waiting, and would put a
/// signal off for as long.
class SignalsBlocked {
public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

/// Signals that come sooner after another one was obeyed are the same wish.
inline constexpr std::chrono::milliseconds signalGap{500};

/// While it lives, SIGINT and SIGTERM ask the run to stop after the step it is
/// in. If a second one comes first, or the step does not end in time, the run
/// is given up; the next one after that ends the process as usual. A signal
/// within `signalGap` of one that counted does not count. Signals go to a
/// thread of its own. After its life, a signal that counts ends the process.
class StopSignals {
public:
  /// On another thread `stop()` is called at the first signal, and
  /// `giveUp(signal, why)` at most once, `seconds` later or at the second one.
  StopSignals(double seconds, std::function<void()> stop,
              std::function<void(int, const std::string &)> giveUp);
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;

  /// What has become of a run: after it was given up it may fail in many ways,
  /// all of which are this interruption.
  runtime::Status outcome(runtime::Status ofRun);

private:
  void main();

  std::optional<SignalsBlocked> blockedHere;
  double seconds;
  std::function<void()> stop;
  std::function<void(int, const std::string &)> giveUp;
  std::mutex mutex;
  /// Why the run has been given up; success: it has not.
  runtime::Status interruption;
  std::thread thread;
};

/// Milliseconds since some point, for signal handlers; tests put in another
/// one, null puts back the system's.
using SignalClock = int64_t (*)();
void setSignalClock(SignalClock clock);

/// The first signal that asked to stop, or 0.
int stopSignal();
/// The step at hand has ended: nothing is given up any more. A further signal
/// that counts ends the process as usual.
void stepsAreOver();

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_SIGNALS_H
