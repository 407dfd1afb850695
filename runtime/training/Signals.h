//===- Signals.h - requests to stop -----------------------------*- C++ -*-===//

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

/// Blocks SIGINT and SIGTERM in this thread while the object exists, and
/// permanently in threads created meanwhile. Sanitizers do not recognize the
/// waits of threads that execute kernels as blocking calls, and would defer a
/// signal for as long.
class SignalsBlocked {
public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

/// A signal within this time after the previous one was handled is a repetition
/// of it.
inline constexpr std::chrono::milliseconds signalGap{500};

/// While the object exists, SIGINT and SIGTERM request the run to stop after
/// the current step. On a second signal, or if the step does not end in time,
/// the run is aborted; the next signal after that ends the process as usual. A
/// signal within `signalGap` of one that counted does not count. A separate
/// thread handles signals. After the object is destroyed, a signal that counts
/// ends the process.
class StopSignals {
public:
  /// On the thread for signals, `stop()` is called at the first signal, and
  /// `forceStop(signal, why)` at most once, `seconds` later or at the second
  /// signal.
  StopSignals(double seconds, std::function<void()> stop,
              std::function<void(int, const std::string &)> forceStop);
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;

  /// The result of a run: after an abort, any failure is reported as the
  /// interruption.
  runtime::Status outcome(runtime::Status ofRun);

private:
  void main();

  std::optional<SignalsBlocked> blockedHere;
  double seconds;
  std::function<void()> stop;
  std::function<void(int, const std::string &)> forceStop;
  std::mutex mutex;
  /// Why the run has been aborted; success: it has not.
  runtime::Status interruption;
  std::thread thread;
};

/// Milliseconds since some point, for signal handlers; tests replace it, null
/// restores the system's.
using SignalClock = int64_t (*)();
void setSignalClock(SignalClock clock);

/// The first signal that requested a stop, or 0.
int stopSignal();
/// The last step has ended: the run is no longer aborted. A further signal that
/// counts ends the process as usual.
void stepsAreOver();

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_SIGNALS_H
