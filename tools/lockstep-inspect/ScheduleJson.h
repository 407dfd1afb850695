//===- ScheduleJson.h - the simulated schedule as JSON ----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SCHEDULEJSON_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SCHEDULEJSON_H

#include "tools/lockstep-inspect/Inspection.h"

#include <nlohmann/json.hpp>

namespace lockstep::inspect {

/// `simulation` of a program; its fields are described in docs/tools.md.
nlohmann::ordered_json scheduleToJson(const ProgramInfo &program);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SCHEDULEJSON_H
