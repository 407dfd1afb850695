//===- SummaryText.cpp - the summary for people ---------------------------===//

#include "tools/lockstep-verify/Summary.h"

#include "tools/support/ProofText.h"
#include "tools/support/Table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::verify {
namespace {

using tools::bytesText;
using tools::Table;
using tools::verdictText;

std::string ranksText(uint32_t first, uint32_t count) {
  return count == 1 ? fmt::format("rank {}", first)
                    : fmt::format("ranks {} to {}", first, first + count - 1);
}

void addRole(std::string &text, const RoleInfo &role) {
  text += fmt::format("\nsequence of role {} ({}, {} commands)\n", role.name,
                      ranksText(role.firstRank, role.ranks), role.commands);
  Table table(
      {">command", ">channel", "collective", "group", ">bytes", "line"});
  for (const RendezvousInfo &rendezvous : role.sequence) {
    std::string kind = rendezvous.kind;
    if (!rendezvous.reduction.empty())
      kind += " " + rendezvous.reduction;
    if (rendezvous.root)
      kind += fmt::format(" root {}", *rendezvous.root);
    table.add({fmt::format("{}", rendezvous.command),
               fmt::format("{}", rendezvous.channel), kind, rendezvous.group,
               bytesText(rendezvous.bytes), rendezvous.line});
  }
  text += table.empty() ? "  takes part in no exchange\n" : table.text();
}

void addProgram(std::string &text, const ProgramSummary &program) {
  const auto &proof = program.proof;
  text += fmt::format("program '{}': {}\n", program.name, verdictText(proof));
  if (!program.isProven())
    text += fmt::format("  reason       {}\n", proof.reason);
  text += fmt::format("  method       {}\n", proof.method);
  for (const GroupInfo &group : program.groups)
    text += fmt::format("  group        {}: {} {}\n", group.name,
                        group.ranks.size() == 1 ? "rank" : "ranks",
                        fmt::join(group.ranks, ", "));
  for (const auto &branch : proof.dynamic)
    text += fmt::format("  decided when it runs: role {}, {}\n", branch.role,
                        branch.text);
  for (const auto &loop : proof.loops)
    text +=
        fmt::format("  assumed to end: role {}, {}\n", loop.role, loop.text);
  for (const RoleInfo &role : program.roles)
    addRole(text, role);
}

} // namespace

std::string toText(const std::vector<ProgramSummary> &programs,
                   const std::string &file) {
  std::string text =
      programs.empty() ? fmt::format("{}: no programs\n", file) : std::string();
  for (const ProgramSummary &program : programs) {
    if (!text.empty())
      text += "\n";
    addProgram(text, program);
  }
  return text;
}

} // namespace lockstep::verify
