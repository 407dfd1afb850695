//===- ClusterProcesses.cpp - what the processes of a cluster exchange ----===//

#include "runtime/device/HostCopy.h"
#include "runtime/executor/Agreement.h"
#include "runtime/executor/ClusterImpl.h"

#include <cstring>

#include <fmt/format.h>

namespace lockstep::runtime {

namespace {

/// Outside of the topics of sessions.
std::string topicName(std::string_view topic) {
  return fmt::format("process: {}", topic);
}

template <typename T> void appendNumber(std::string &text, T value) {
  text.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void appendBytes(std::string &text, std::span<const std::byte> bytes) {
  text.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

/// Removes a number from the front; there is one.
template <typename T> T takeNumber(std::string_view &text) {
  T value;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return value;
}

std::string_view takeBytes(std::string_view &text, uint64_t size) {
  std::string_view front = text.substr(0, size);
  text.remove_prefix(size);
  return front;
}

} // namespace

void Cluster::post(std::string_view topic, std::string text) {
  if (!impl->isWhole())
    impl->postTo(std::nullopt, topic, std::move(text));
}

void Cluster::Impl::postTo(std::optional<uint32_t> executor,
                           std::string_view topic, std::string text) {
  std::string name = topicName(topic);
  uint64_t round = posts[name]++;
  ownSpeaker().post(name, round, std::move(text), executor);
}

Expected<std::vector<std::string>> Cluster::collect(std::string_view topic,
                                                    std::string_view what) {
  if (impl->isWhole())
    return std::vector<std::string>(1);
  return impl->collect(topic, what);
}

Expected<std::vector<std::string>>
Cluster::Impl::collect(std::string_view topic, std::string_view what) {
  std::string name = topicName(topic);
  uint64_t round = collections[name]++;
  Network &network = ownSpeaker();
  LOCKSTEP_RETURN_IF_ERROR(localSessions->await(
      [&] {
        std::vector<uint32_t> missing;
        for (uint32_t executor : speakers())
          if (!network.hasPosted(executor, name, round))
            missing.push_back(executor);
        return missing;
      },
      what));
  std::vector<std::string> texts;
  for (uint32_t executor : speakers())
    texts.push_back(network.takePosted(executor, name, round));
  return texts;
}

Status Cluster::Impl::collectCounts(ProgramId program,
                                    std::vector<size_t> &counts) {
  std::string text;
  for (size_t count : batchCounts[program])
    appendNumber(text, count);
  constexpr std::string_view topic = "batches";
  postTo(std::nullopt, topic, std::move(text));
  Expected<std::vector<std::string>> texts =
      collect(topic, "how many batches their replicas have");
  if (!texts)
    return texts.status();
  for (unsigned replica = 0; replica < counts.size(); ++replica) {
    std::string_view from = (*texts)[executors[executorOf(replica)].process];
    from.remove_prefix(replica * sizeof(size_t));
    counts[replica] = takeNumber<size_t>(from);
  }
  return Status::success();
}

std::vector<uint32_t> Cluster::Impl::speakers() const {
  std::vector<uint32_t> first;
  for (uint32_t i = 0; i < workerExecutors; ++i)
    if (i == 0 || executors[i].process != executors[i - 1].process)
      first.push_back(i);
  return first;
}

Status Cluster::requireSame(const Facts &facts) {
  Expected<std::vector<std::string>> texts =
      exchange("facts", "their options", toText(facts));
  if (!texts)
    return texts.status();
  std::vector<Post> posts;
  std::vector<uint32_t> speakers = impl->speakers();
  for (size_t process = 0; process < texts->size(); ++process) {
    const ExecutorInfo &executor = impl->executors[speakers[process]];
    posts.push_back({speakers[process],
                     {executor.firstRank, executor.ranks},
                     std::move((*texts)[process])});
  }
  return compareFacts(posts);
}

void Cluster::beat() {
  if (impl->isWhole())
    return;
  // Any change counts as progress.
  impl->ownSpeaker().exchangeProgress(impl->present.front()->progress() +
                                      ++impl->beats);
}

Expected<std::vector<std::string>> Cluster::exchange(std::string_view topic,
                                                     std::string_view what,
                                                     std::string text) {
  if (impl->isWhole())
    return std::vector<std::string>{std::move(text)};
  post(topic, std::move(text));
  return collect(topic, what);
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

Status Cluster::collectOutputs(ProgramId program) {
  const std::vector<OutputInfo> &outputs = impl->programs[program].outputs;
  bool hasOwnValues = std::ranges::any_of(outputs, &OutputInfo::perReplica);
  if (impl->isWhole() || !hasOwnValues)
    return Status::success();
  // For each output of each replica here: its shape and its bytes.
  std::string text;
  for (unsigned i = 0; i < outputs.size(); ++i)
    for (unsigned replica = 0; replica < replicas(); ++replica) {
      if (!outputs[i].perReplica || !hasReplica(replica))
        continue;
      for (int64_t size : outputShape(program, i, replica))
        appendNumber(text, size);
      std::span<const std::byte> value = output(program, i, replica);
      appendNumber(text, uint64_t(value.size()));
      appendBytes(text, value);
    }
  Expected<std::vector<std::string>> texts =
      exchange("outputs", "the outputs of their replicas", std::move(text));
  if (!texts)
    return texts.status();
  std::vector<std::string_view> rest(texts->begin(), texts->end());
  for (unsigned i = 0; i < outputs.size(); ++i)
    for (unsigned replica = 0; replica < replicas(); ++replica) {
      if (!outputs[i].perReplica || hasReplica(replica))
        continue;
      std::string_view &from =
          rest[impl->executors[impl->executorOf(replica)].process];
      Impl::RemoteOutput value;
      for (size_t d = 0; d < outputs[i].type.shape.size(); ++d)
        value.shape.push_back(takeNumber<int64_t>(from));
      value.bytes = takeBytes(from, takeNumber<uint64_t>(from));
      impl->remoteOutputs[{program, i, replica}] = std::move(value);
    }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

std::vector<std::vector<WholeVariable::Part>>
Cluster::Impl::placesOf(const WholeVariable &variable, unsigned replica) const {
  if (variable.info.perReplica) {
    size_t executor = executorOf(replica);
    return {
        {{executor, variable.info.name, replica - executors[executor].firstRank,
          variable.info.type.bytes}}};
  }
  // Copies of this process, else a copy that is elsewhere, at least in part.
  std::vector<std::vector<WholeVariable::Part>> here;
  for (const std::vector<WholeVariable::Part> &copy : variable.copies)
    if (std::ranges::all_of(copy,
                            [&](const auto &part) { return isHere(part); }))
      here.push_back(copy);
  if (here.empty())
    here.push_back(variable.copies.front());
  return here;
}

std::span<std::byte> Cluster::Impl::copyOf(const WholeVariable::Part &part) {
  if (place.index != 0)
    return {static_cast<std::byte *>(nullptr), part.bytes};
  std::vector<std::byte> &copy =
      remoteVariables[{part.executor, part.name, part.replica}];
  copy.resize(part.bytes);
  return copy;
}

std::vector<WholeVariable::Part> Cluster::Impl::partsElsewhere() const {
  auto isInFirst = [&](const WholeVariable::Part &part) {
    return executors[part.executor].process == 0;
  };
  std::vector<WholeVariable::Part> parts;
  for (const WholeVariable &variable : places) {
    std::vector<WholeVariable::Part> needed;
    if (variable.info.perReplica)
      for (unsigned replica = 0; replica < tables().replicas(); ++replica)
        needed.push_back(placesOf(variable, replica).front().front());
    else if (std::ranges::none_of(variable.copies, [&](const auto &copy) {
               return std::ranges::all_of(copy, isInFirst);
             }))
      needed = variable.copies.front();
    std::erase_if(needed, isInFirst);
    parts.insert(parts.end(), needed.begin(), needed.end());
  }
  return parts;
}

bool Cluster::firstHasAllVariables() const {
  return impl->partsElsewhere().empty();
}

Status Cluster::collectVariables() {
  if (impl->isWhole())
    return Status::success();
  std::vector<WholeVariable::Part> parts = impl->partsElsewhere();
  if (parts.empty())
    return Status::success();
  std::string text;
  for (const WholeVariable::Part &part : parts) {
    if (!impl->isHere(part))
      continue;
    VariablePlace place =
        impl->sessions[part.executor]->variablePlace(part.name, part.replica);
    if (place.copy)
      LOCKSTEP_RETURN_IF_ERROR(place.copy->fetch());
    appendBytes(text, place.bytes.first(part.bytes));
  }
  constexpr std::string_view topic = "variables";
  impl->postTo(0, topic, std::move(text));
  if (impl->place.index != 0)
    return Status::success();
  Expected<std::vector<std::string>> texts =
      impl->collect(topic, "the variables of their replicas");
  if (!texts)
    return texts.status();
  std::vector<std::string_view> rest(texts->begin(), texts->end());
  for (const WholeVariable::Part &part : parts) {
    std::string_view bytes =
        takeBytes(rest[impl->executors[part.executor].process], part.bytes);
    std::ranges::copy(std::as_bytes(std::span(bytes)),
                      impl->copyOf(part).begin());
  }
  return Status::success();
}

} // namespace lockstep::runtime
