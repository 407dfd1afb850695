//===- SummaryJson.cpp - the summary for programs -------------------------===//

#include "tools/lockstep-verify/Summary.h"

#include "runtime/support/JsonText.h"
#include "tools/support/ProofText.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace lockstep::verify {
namespace {

using nlohmann::ordered_json;
using tools::verdictText;

ordered_json toJson(const RendezvousInfo &rendezvous) {
  ordered_json json = {{"command", rendezvous.command},
                       {"kind", rendezvous.kind},
                       {"channel", rendezvous.channel},
                       {"group", rendezvous.group}};
  if (!rendezvous.reduction.empty())
    json["reduction"] = rendezvous.reduction;
  if (rendezvous.root)
    json["root"] = *rendezvous.root;
  json["bytes"] = rendezvous.bytes;
  json["line"] = rendezvous.line;
  return json;
}

ordered_json toJson(const ProgramSummary &program) {
  ordered_json json = {{"name", program.name},
                       {"verdict", verdictText(program.proof)},
                       {"method", program.proof.method}};
  if (!program.isProven())
    json["reason"] = program.proof.reason;
  json["roles"] = ordered_json::array();
  for (const RoleInfo &role : program.roles) {
    ordered_json entry = {{"name", role.name},
                          {"first_rank", role.firstRank},
                          {"ranks", role.ranks},
                          {"commands", role.commands}};
    entry["sequence"] = ordered_json::array();
    for (const RendezvousInfo &rendezvous : role.sequence)
      entry["sequence"].push_back(toJson(rendezvous));
    json["roles"].push_back(std::move(entry));
  }
  json["groups"] = ordered_json::array();
  for (const GroupInfo &group : program.groups)
    json["groups"].push_back({{"name", group.name}, {"ranks", group.ranks}});
  json["dynamic"] = ordered_json::array();
  for (const auto &branch : program.proof.dynamic)
    json["dynamic"].push_back({{"role", branch.role},
                               {"command", branch.command},
                               {"text", branch.text}});
  json["assumed_to_end"] = ordered_json::array();
  for (const auto &loop : program.proof.loops)
    json["assumed_to_end"].push_back(
        {{"role", loop.role}, {"command", loop.command}, {"text", loop.text}});
  return json;
}

} // namespace

std::string toJson(const std::vector<ProgramSummary> &programs,
                   const std::string &file) {
  ordered_json json = {{"file", file}, {"programs", ordered_json::array()}};
  for (const ProgramSummary &program : programs)
    json["programs"].push_back(toJson(program));
  return runtime::jsonText(json, 2) + "\n";
}

Refusal describeRefusal(const std::string &file, const std::string &errors,
                        const std::string &failure) {
  std::ifstream stream(errors);
  ordered_json found =
      ordered_json::parse(stream, /*cb=*/nullptr, /*allow_exceptions=*/false);
  ordered_json list = found.is_object() && found.contains("errors")
                          ? found["errors"]
                          : ordered_json::array();
  Refusal refusal;
  for (const ordered_json &error : list)
    refusal.isVerdict |= error.contains("class");
  if (list.empty())
    list.push_back({{"message", failure}});
  ordered_json json = {{"file", file},
                       {"verdict", nullptr},
                       {"programs", ordered_json::array()},
                       {"errors", list}};
  if (refusal.isVerdict)
    json["verdict"] = "refused by the compiler";
  refusal.json = runtime::jsonText(json, 2) + "\n";
  return refusal;
}

} // namespace lockstep::verify
