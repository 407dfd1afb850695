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
std::string nameOf(const Statement &statement) {
  const RankRange &ranks = statement.ranks;
  return ranks.count == 1
             ? fmt::format("executor {} (rank {})", statement.executor,
                           ranks.first)
             : fmt::format("executor {} (ranks {}-{})", statement.executor,
                           ranks.first, ranks.end() - 1);
}

/// "executor 1 (ranks 2-3) and executor 2 (rank 4)"
std::string namesOf(const std::vector<const Statement *> &statements) {
  std::string names;
  for (size_t i = 0; i < statements.size(); ++i)
    names += fmt::format("{}{}",
                         i == 0                       ? ""
                         : i + 1 == statements.size() ? " and "
                                                      : ", ",
                         nameOf(*statements[i]));
  return names;
}

struct Camp {
  std::string value;
  std::vector<const Statement *> members;
};

/// Groups of statements with equal values, the smallest first; of groups of
/// equal size, the one with the first executor comes last.
template <typename ValueOf>
std::vector<Camp> campsOf(std::span<const Statement> statements,
                          ValueOf valueOf) {
  std::vector<Camp> camps;
  for (const Statement &statement : statements) {
    std::string value = valueOf(statement);
    auto known = std::ranges::find(camps, value, &Camp::value);
    if (known == camps.end())
      known = camps.insert(camps.end(), {value, {}});
    known->members.push_back(&statement);
  }
  std::ranges::sort(camps, [](const Camp &a, const Camp &b) {
    return std::pair(a.members.size(), b.members.front()) <
           std::pair(b.members.size(), a.members.front());
  });
  return camps;
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

Status compareFacts(std::span<const Statement> statements) {
  std::vector<std::string> names;
  for (const Statement &statement : statements)
    for (const auto &[name, value] : factsOf(statement.text))
      if (std::ranges::find(names, name) == names.end())
        names.push_back(name);
  for (const std::string &name : names) {
    std::vector<Camp> camps =
        campsOf(statements, [&](const Statement &statement) {
          for (const auto &[known, value] : factsOf(statement.text))
            if (known == name)
              return "'" + value + "'";
          return std::string("none");
        });
    if (camps.size() < 2)
      continue;
    std::string text = fmt::format("executors must have the same {}", name);
    for (size_t i = 0; i < camps.size(); ++i)
      text += fmt::format("{}{} in {}", i == 0 ? ": found " : ", ",
                          camps[i].value, namesOf(camps[i].members));
    return invalidArgument(text);
  }
  return Status::success();
}

Fingerprint fingerprintOf(std::span<const std::byte> bytes) {
  return std::bit_cast<Fingerprint>(Sha256::of(bytes));
}

Status compareCopies(std::span<const Statement> statements,
                     std::span<const std::string> names,
                     const std::string &when) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<Camp> camps =
        campsOf(statements, [&](const Statement &statement) {
          return statement.text.substr(i * sizeof(Fingerprint),
                                       sizeof(Fingerprint));
        });
    if (camps.size() < 2)
      continue;
    // Without a majority it is not known which copy is right.
    bool hasMajority =
        camps.back().members.size() > camps[camps.size() - 2].members.size();
    std::string text = fmt::format(
        "{}, the copies of the mirrored variable '{}' differ: ", when,
        names[i]);
    for (size_t k = 0; k + 1 < camps.size(); ++k)
      text += fmt::format("{}{}", k ? "; " : "", namesOf(camps[k].members));
    text += fmt::format("{} what {} {}",
                        camps.size() == 2 && camps[0].members.size() == 1
                            ? " has not"
                            : " have not",
                        namesOf(camps.back().members),
                        camps.back().members.size() == 1 ? "has" : "have");
    return {StatusCode::diverged,
            text + (hasMajority ? "" : " (there is no majority)")};
  }
  return Status::success();
}

} // namespace lockstep::runtime
