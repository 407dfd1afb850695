//===- Gradients.cpp - which variables collectives update -----------------===//
//
// Users know a gradient by its variable. The names are those of the variables
// that the commands behind a collective compute from its result.
//
//===----------------------------------------------------------------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include <algorithm>
#include <set>

namespace lockstep::inspect {

namespace {

constexpr unsigned mostSteps = 4;
constexpr size_t mostVariables = 4;

bool isVariable(const BufferInfo &buffer) {
  return !buffer.name.empty() &&
         (buffer.space == artifact::Space::variable ||
          buffer.space == artifact::Space::replica_variable);
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

/// The variables of the type of `result` that the fewest kernels behind command
/// `start` compute from it; empty if there are many.
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
          const BufferInfo &info = program.buffers[written];
          if (isVariable(info) && info.type == program.buffers[result].type)
            names.insert(info.name);
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
