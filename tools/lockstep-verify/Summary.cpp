//===- Summary.cpp - proofs about an artifact -----------------------------===//

#include "tools/lockstep-verify/Summary.h"

#include "runtime/collectives/CollectiveKinds.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Tables.h"

#include <algorithm>
#include <set>

namespace lockstep::verify {

using namespace runtime;

namespace {

using artifact::count;

class Summarizer {
public:
  Summarizer(const artifact::Artifact &artifact, const std::string &name)
      : artifact(artifact) {
    summary.name = name;
  }

  Expected<ProgramSummary> run() {
    Expected<verification::Proof> proof =
        verification::prove(artifact, summary.name);
    if (!proof)
      return proof.status().withContext("program '" + summary.name + "'");
    summary.proof = std::move(*proof);
    std::set<uint32_t> groups;
    for (const runtime::RoleInfo &role : rolesOf(artifact))
      for (uint32_t i = 0; i < count(artifact.programs()); ++i)
        if (const artifact::Program *program = artifact.programs()->Get(i);
            program->name()->string_view() == summary.name &&
            program->role()->string_view() == role.name)
          summary.roles.push_back(describe(role, *program, groups));
    for (uint32_t group : groups)
      summary.groups.push_back({artifact.groups()->Get(group)->name()->str(),
                                ranksOf(artifact, group)});
    return std::move(summary);
  }

private:
  RoleInfo describe(const runtime::RoleInfo &role,
                    const artifact::Program &program,
                    std::set<uint32_t> &groups) {
    RoleInfo info;
    info.name = std::string(role.name);
    info.firstRank = role.ranks.first;
    info.ranks = role.ranks.count;
    info.commands = count(program.commands());
    for (uint32_t i = 0; i < info.commands; ++i) {
      const artifact::Command *command = program.commands()->Get(i);
      RendezvousInfo rendezvous;
      rendezvous.command = i;
      if (command->location() < count(artifact.locations()))
        rendezvous.line = artifact.locations()->Get(command->location())->str();
      uint32_t group;
      if (const artifact::Start *start = command->body_as_Start()) {
        group = start->group();
        describe(rendezvous, *start, program);
      } else if (const artifact::Barrier *barrier =
                     command->body_as_Barrier()) {
        group = barrier->group();
        rendezvous.channel = barrier->channel();
        rendezvous.kind = "barrier";
      } else {
        continue;
      }
      rendezvous.group = artifact.groups()->Get(group)->name()->str();
      groups.insert(group);
      info.sequence.push_back(std::move(rendezvous));
    }
    return info;
  }

  void describe(RendezvousInfo &rendezvous, const artifact::Start &start,
                const artifact::Program &program) {
    rendezvous.channel = start.channel();
    const CollectiveProperties &kind = CollectiveProperties::of(start.kind());
    rendezvous.kind = kind.name;
    if (kind.isReduction)
      rendezvous.reduction = artifact::EnumNameReduction(start.reduction());
    if (kind.hasRoot())
      rendezvous.root = start.root() >= 0
                            ? uint32_t(start.root())
                            : ranksOf(artifact, start.group()).front();
    const auto *buffers =
        count(start.operands()) ? start.operands() : start.results();
    for (uint32_t i = 0; i < count(buffers); ++i)
      rendezvous.bytes += program.buffers()->Get(buffers->Get(i))->size();
  }

  const artifact::Artifact &artifact;
  ProgramSummary summary;
};

} // namespace

Expected<std::vector<ProgramSummary>>
summarize(const artifact::Artifact &artifact) {
  std::vector<ProgramSummary> programs;
  for (const std::string &name : verification::programNames(artifact)) {
    Expected<ProgramSummary> summary = Summarizer(artifact, name).run();
    if (!summary)
      return summary.status();
    programs.push_back(std::move(*summary));
  }
  return programs;
}

} // namespace lockstep::verify
