//===- SessionAgreement.cpp - comparisons between executors ---------------===//

#include "runtime/executor/SessionImpl.h"

#include <fmt/format.h>

namespace lockstep::runtime {

/// The topic of the facts.
static constexpr std::string_view factsTopic = "introduction";

void Session::Impl::postFacts() {
  if (!options.network)
    return;
  std::string division;
  for (const RankRange &range : options.network->executors())
    division += fmt::format("{}{}-{}", division.empty() ? "" : ", ",
                            range.first, range.end() - 1);
  Facts facts = {{"artifact (SHA-256)", artifact->digestHex()},
                 {"division of the ranks", division},
                 {"kernel target", std::string(module->target())},
                 {"transport", std::string(memory.transport->name())},
                 {"number of runs between comparisons of mirrored variables",
                  std::to_string(options.checkMirrored)},
                 {"recording of runs (none with a trace, a check, an injected "
                  "fault or --no-recording)",
                  recordsRuns() ? "on" : "off"},
                 {"subnormal floats (--flush-subnormals)",
                  options.flushSubnormals ? "zero" : "kept"}};
  facts.insert(facts.end(), options.agreement.begin(), options.agreement.end());
  options.network->post(factsTopic, 0, toText(facts));
}

/// Waits for the posts of the executors with ranks in `among`.
Status Session::Impl::exchange(std::string_view topic, uint64_t round,
                               const RankRange &among, std::string_view what,
                               std::vector<Post> &posts) {
  Network &network = *options.network;
  std::span<const RankRange> executors = network.executors();
  std::function<std::vector<uint32_t>()> missing = [&] {
    std::vector<uint32_t> result;
    for (uint32_t i = 0; i < executors.size(); ++i)
      if (among.contains(executors[i].first) &&
          !network.posted(i, topic, round))
        result.push_back(i);
    return result;
  };
  LOCKSTEP_RETURN_IF_ERROR(executor->await(missing, what));
  for (uint32_t i = 0; i < executors.size(); ++i)
    if (among.contains(executors[i].first))
      posts.push_back({i, executors[i], *network.posted(i, topic, round)});
  return Status::success();
}

Status Session::Impl::awaitAgreement() {
  if (!options.network || hasAgreed)
    return Status::success();
  std::vector<Post> posts;
  LOCKSTEP_RETURN_IF_ERROR(exchange(factsTopic, 0, {0, ~0u},
                                    "executors to report their configuration",
                                    posts));
  Status status = compareFacts(posts);
  if (!status.ok())
    executor->fail(status);
  hasAgreed = status.ok();
  return status;
}

Status Session::Impl::checkAgreementIfPosted() {
  for (uint32_t i = 0;
       options.network && !hasAgreed && i < options.network->executors().size();
       ++i)
    if (!options.network->posted(i, factsTopic, 0))
      return Status::success();
  return awaitAgreement();
}

Status Session::Impl::compareMirrored(const Program &program) {
  if (!options.network || !options.checkMirrored || !program.writesVariables ||
      ++updates % options.checkMirrored)
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(memory.variables->copy().fetch());
  std::vector<std::string> names;
  std::string fingerprints;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].perReplica)
      continue;
    names.push_back(variables[i].name);
    Fingerprint fingerprint =
        fingerprintOf({memory.variables->data() + variableOffsets[i],
                       variables[i].type.bytes});
    fingerprints.append(fingerprint.data(), fingerprint.size());
  }
  std::string topic = fmt::format("variables of {}", role.name);
  uint64_t round = comparisons++;
  options.network->post(topic, round, std::move(fingerprints));
  std::vector<Post> posts;
  LOCKSTEP_RETURN_IF_ERROR(exchange(topic, round, role.ranks,
                                    "the fingerprints of mirrored variables",
                                    posts));
  Status status = compareCopies(
      posts, names,
      fmt::format("after run {} of program '{}'", runs + 1, program.name()));
  if (!status.ok())
    executor->fail(status);
  return status;
}

} // namespace lockstep::runtime
