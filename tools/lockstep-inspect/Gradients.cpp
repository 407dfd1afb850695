//===- Gradients.cpp - which variables collectives update -----------------===//
//
// Users know a gradient by its variable. The names are those of the variables
// and outputs that the commands behind a collective compute from its result.
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include <algorithm>
#include <set>

namespace lockstep::inspect {

namespace {

constexpr unsigned mostSteps = 4;
constexpr size_t mostVariables = 4;

/// The name of the variable or output that is in a buffer, or empty.
std::string resultName(const ProgramInfo &program, uint32_t buffer) {
  for (const OutputInfo &output : program.outputs)
    if (output.buffer == buffer)
      return output.name;
  const BufferInfo &info = program.buffers[buffer];
  bool isVariable = info.space == artifact::Space::variable ||
                    info.space == artifact::Space::replica_variable;
  return isVariable ? info.name : "";
}

/// The commands that read each buffer.
using Readers = std::vector<std::vector<uint32_t>>;

Readers readersOf(const ProgramInfo &program) {
  Readers readers(program.buffers.size());
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    const std::string &op = program.commands[i].op;
    if (op == "launch" || op == "copy")
      for (uint32_t buffer : program.commands[i].reads)
        readers[buffer].push_back(i);
  }
  return readers;
}

/// The variables and outputs of the type of `result` that the fewest kernels
/// behind command `start` compute from it; empty if there are many.
std::vector<std::string> updatedBy(const ProgramInfo &program,
                                   const Readers &readers, uint32_t start,
                                   uint32_t result) {
  std::set<uint32_t> seen = {result}, now = {result};
  for (unsigned step = 0; step < mostSteps && !now.empty(); ++step) {
    std::set<std::string> names;
    std::set<uint32_t> next;
    for (uint32_t buffer : now)
      for (uint32_t command : readers[buffer]) {
        if (command < start)
          continue;
        for (uint32_t written : program.commands[command].writes) {
          std::string name = resultName(program, written);
          if (!name.empty() &&
              program.buffers[written].type == program.buffers[result].type)
            names.insert(name);
          if (seen.insert(written).second)
            next.insert(written);
        }
      }
    if (names.size() > mostVariables)
      return {};
    if (!names.empty())
      return {names.begin(), names.end()};
    now = std::move(next);
  }
  return {};
}

} // namespace

void findUpdates(ProgramInfo &program) {
  Readers readers = readersOf(program);
  for (CollectiveInfo &collective : program.collectives) {
    if (collective.operands.size() != collective.results.size())
      continue;
    for (size_t i = 0; i < collective.operands.size(); ++i)
      collective.operands[i].updates =
          updatedBy(program, readers, collective.start, collective.results[i]);
  }
}

} // namespace lockstep::inspect
