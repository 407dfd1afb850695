//===- Agreement.cpp ------------------------------------------------------===//

#include "runtime/executor/Agreement.h"

#include "runtime/support/Sha256.h"

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

namespace lockstep::runtime {

namespace {

/// "executor 1 (ranks 2-3)"
std::string nameOf(const Post &post) {
  const RankRange &ranks = post.ranks;
  return ranks.count == 1
             ? fmt::format("executor {} (rank {})", post.executor, ranks.first)
             : fmt::format("executor {} (ranks {}-{})", post.executor,
                           ranks.first, ranks.end() - 1);
}

/// "executor 1 (ranks 2-3) and executor 2 (rank 4)"
std::string namesOf(const std::vector<const Post *> &posts) {
  std::string names;
  for (size_t i = 0; i < posts.size(); ++i)
    names += fmt::format("{}{}",
                         i == 0                  ? ""
                         : i + 1 == posts.size() ? " and "
                                                 : ", ",
                         nameOf(*posts[i]));
  return names;
}

/// Executors that have posted the same value.
struct AgreeingExecutors {
  std::string value;
  std::vector<const Post *> members;
};

/// Groups posts by their values, the smallest group first; of groups of equal
/// size, the one with the first executor comes last.
template <typename ValueOf>
std::vector<AgreeingExecutors> groupByValue(std::span<const Post> posts,
                                            ValueOf valueOf) {
  std::vector<AgreeingExecutors> groups;
  for (const Post &post : posts) {
    std::string value = valueOf(post);
    auto known = std::ranges::find(groups, value, &AgreeingExecutors::value);
    if (known == groups.end())
      known = groups.insert(groups.end(), {value, {}});
    known->members.push_back(&post);
  }
  std::ranges::sort(groups,
                    [](const AgreeingExecutors &a, const AgreeingExecutors &b) {
                      return std::pair(a.members.size(), b.members.front()) <
                             std::pair(b.members.size(), a.members.front());
                    });
  return groups;
}

} // namespace

std::string toText(const Facts &facts) {
  std::string text;
  for (const auto &[name, value] : facts)
    text += fmt::format("{}\n{}\n", name, value);
  return text;
}

Facts factsOf(const std::string &text) {
  Facts facts;
  for (size_t begin = 0; begin < text.size();) {
    size_t middle = text.find('\n', begin), end = text.find('\n', middle + 1);
    if (middle == std::string::npos || end == std::string::npos)
      break;
    facts.emplace_back(text.substr(begin, middle - begin),
                       text.substr(middle + 1, end - middle - 1));
    begin = end + 1;
  }
  return facts;
}

Status compareFacts(std::span<const Post> posts) {
  std::vector<std::string> names;
  for (const Post &post : posts)
    for (const auto &[name, value] : factsOf(post.text))
      if (std::ranges::find(names, name) == names.end())
        names.push_back(name);
  for (const std::string &name : names) {
    std::vector<AgreeingExecutors> groups =
        groupByValue(posts, [&](const Post &post) {
          for (const auto &[known, value] : factsOf(post.text))
            if (known == name)
              return "'" + value + "'";
          return std::string("none");
        });
    if (groups.size() < 2)
      continue;
    std::string text = fmt::format("executors must have the same {}", name);
    for (size_t i = 0; i < groups.size(); ++i)
      text += fmt::format("{}{} in {}", i == 0 ? ": found " : ", ",
                          groups[i].value, namesOf(groups[i].members));
    return invalidArgument(text);
  }
  return Status::success();
}

Fingerprint fingerprintOf(std::span<const std::byte> bytes) {
  return std::bit_cast<Fingerprint>(Sha256::of(bytes));
}

Status compareCopies(std::span<const Post> posts,
                     std::span<const std::string> names,
                     const std::string &when) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<AgreeingExecutors> groups =
        groupByValue(posts, [&](const Post &post) {
          return post.text.substr(i * sizeof(Fingerprint), sizeof(Fingerprint));
        });
    if (groups.size() < 2)
      continue;
    // Without a majority it is not known which copy is right.
    bool hasMajority =
        groups.back().members.size() > groups[groups.size() - 2].members.size();
    std::string text = fmt::format(
        "{}, the copies of the mirrored variable '{}' differ: ", when,
        names[i]);
    for (size_t k = 0; k + 1 < groups.size(); ++k)
      text += fmt::format("{}{}", k ? "; " : "", namesOf(groups[k].members));
    text += fmt::format("{} what {} {}",
                        groups.size() == 2 && groups[0].members.size() == 1
                            ? " has not"
                            : " have not",
                        namesOf(groups.back().members),
                        groups.back().members.size() == 1 ? "has" : "have");
    return {StatusCode::diverged,
            text + (hasMajority ? "" : " (there is no majority)")};
  }
  return Status::success();
}

} // namespace lockstep::runtime
