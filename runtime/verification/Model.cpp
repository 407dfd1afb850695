//===- Model.cpp - queries of the model -----------------------------------===//

#include "runtime/verification/Model.h"

#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/Tables.h"
#include "runtime/verification/Verification.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime::verification {

using artifact::CommandBody;
using artifact::count;

uint32_t Group::place(uint32_t rank) const {
  auto found = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return found != ranks.end() && *found == rank
             ? uint32_t(found - ranks.begin())
             : none;
}

std::string_view Model::location(const Program &program,
                                 uint32_t command) const {
  uint32_t index = program.tables->commands()->Get(command)->location();
  return index < count(tables->locations())
             ? tables->locations()->Get(index)->string_view()
             : std::string_view();
}

bool allReceive(const Model &model, const Channel &channel,
                const Program &program) {
  const Group &group = model.groups[channel.group];
  uint32_t first = group.place(program.firstRank),
           last = group.place(program.firstRank + program.ranks - 1);
  if (program.ranks == 0 || first == none || last == none ||
      last - first != program.ranks - 1)
    return false;
  bool hasRoot = channel.root >= program.firstRank &&
                 channel.root < program.firstRank + program.ranks;
  switch (CollectiveProperties::of(channel.collective).resultHolders) {
  case Holders::none:
    return false;
  case Holders::root:
    return hasRoot && program.ranks == 1;
  case Holders::others:
    return !hasRoot;
  case Holders::all:
    return true;
  }
  return false;
}

static std::string commandText(const Program &program, uint32_t command) {
  const artifact::Command &table = *program.tables->commands()->Get(command);
  switch (table.body_type()) {
  case CommandBody::Start: {
    const artifact::Start *start = table.body_as_Start();
    return fmt::format("start of {} on channel {}",
                       CollectiveProperties::of(start->kind()).name,
                       start->channel());
  }
  case CommandBody::Wait:
    return fmt::format("wait for channel {}", table.body_as_Wait()->channel());
  case CommandBody::Barrier:
    return fmt::format("barrier on channel {}",
                       table.body_as_Barrier()->channel());
  case CommandBody::Once:
    return fmt::format("once section on channel {}",
                       table.body_as_Once()->channel());
  case CommandBody::BranchUnless:
  case CommandBody::BranchGreaterEqual:
    return "branch";
  default:
    return artifact::EnumNameCommandBody(table.body_type());
  }
}

std::string Model::describe(const Program &program, uint32_t command) const {
  std::string_view place = location(program, command);
  std::string text = commandText(program, command);
  return place.empty() ? fmt::format("command {}: {}", command, text)
                       : fmt::format("{}: {}", place, text);
}

std::vector<std::string> programNames(const artifact::Artifact &artifact) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count(artifact.programs()); ++i)
    if (std::string name = artifact.programs()->Get(i)->name()->str();
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  return names;
}

} // namespace lockstep::runtime::verification
