//===- SimulationText.h - the result of a simulation ------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_SIMULATE_SIMULATIONTEXT_H
#define LOCKSTEP_TOOLS_LOCKSTEP_SIMULATE_SIMULATIONTEXT_H

#include "runtime/simulator/Simulator.h"

#include <string>

namespace lockstep::tools {

/// For people: times, memory, and the critical path.
std::string toText(const runtime::SimulationResult &result,
                   const std::string &topology);

/// The same as JSON; times in seconds, memory in bytes.
std::string toJson(const runtime::SimulationResult &result,
                   const std::string &topology);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_LOCKSTEP_SIMULATE_SIMULATIONTEXT_H
