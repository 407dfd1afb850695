//===- Sections.h - sections of the output ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SECTIONS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SECTIONS_H

#include "tools/lockstep-inspect/Inspection.h"

#include <set>

namespace lockstep::inspect {

enum class Section {
  summary,
  simulation,
  schedule,
  collectives,
  memory,
  kernels,
  remarks
};

inline constexpr std::pair<const char *, Section> sectionNames[] = {
    {"summary", Section::summary},   {"simulation", Section::simulation},
    {"schedule", Section::schedule}, {"collectives", Section::collectives},
    {"memory", Section::memory},     {"kernels", Section::kernels},
    {"remarks", Section::remarks},
};

/// The sections of `inspection` as tables for a terminal.
std::string toText(const Inspection &inspection,
                   const std::set<Section> &sections);

/// The simulated schedule of a program (ScheduleText.cpp).
std::string scheduleText(const ProgramInfo &program);

/// Everything, as a JSON document; its fields are described in docs/tools.md.
std::string toJson(const Inspection &inspection);

/// Everything, as one page for a browser, which loads nothing else.
std::string toHtml(const Inspection &inspection);

/// A command, as in reports of the runtime: "start all_reduce sum channel 3".
std::string commandText(const Inspection &inspection,
                        const ProgramInfo &program, uint32_t command);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_SECTIONS_H
