//===- Signals.h - asked to stop --------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_SIGNALS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_SIGNALS_H

namespace lockstep::run {

/// From now on SIGINT and SIGTERM ask the run to stop after the step it is in. Each works once: the
/// second one of a kind ends the process as usual.
void catchStopSignals();

/// The signal that asked to stop, or 0.
int stopSignal();

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_SIGNALS_H
