//===- ScheduleJson.h - the simulated schedule as JSON ----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SCHEDULEJSON_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SCHEDULEJSON_H

#include "tools/lockstep-inspect/Inspection.h"
#include "tools/lockstep-inspect/JsonValues.h"

namespace lockstep::inspect {

/// `simulation` of a program; its fields are described in docs/tools.md.
Json scheduleToJson(const ProgramInfo &program);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SCHEDULEJSON_H
