//===- ProgramDeclarations.cpp - declarations of a case -------------------===//

#include "ProgramDeclarations.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace lockstep::runtime::verification::test {

using artifact::ElementType;
using artifact::Space;

void ProgramDeclarations::read(const std::string &text) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;)
      lines.back().push_back(word);
  }
}

void ProgramDeclarations::fail(const std::string &message) const {
  throw std::runtime_error("line " + std::to_string(at + 1) + ": " + message);
}

void ProgramDeclarations::declaration() {
  Words words = lines[at];
  if (words.empty()) {
    ++at;
    return;
  }
  ++at;
  if (words[0] == "role")
    return role(words.at(1), uint32_t(std::stoul(words.at(2))));
  if (words[0] == "group") {
    auto group = std::make_unique<artifact::GroupT>();
    group->name = words.at(1);
    for (size_t i = 2; i < words.size(); ++i)
      group->ranks.push_back(uint32_t(std::stoul(words[i])));
    groups[words[1]] = uint32_t(tables.groups.size());
    tables.groups.push_back(std::move(group));
    return;
  }
  Memory memory;
  if (words[0] == "part") {
    memory = memories.at(words.at(2));
    memory.offset += std::stoul(words.at(3));
    memory.size = 1;
    memory.isWide = false;
    memories[words.at(1)] = memory;
    return;
  }
  bool wide = words[0] == "wide";
  if (words[0] == "int") {
    memory.element = ElementType::i32;
    memory.size = 4;
  }
  if (wide || words[0] == "int")
    words.erase(words.begin());
  static const std::map<std::string, Space> spaces = {
      {"replica", Space::replica},   {"shared", Space::shared},
      {"variable", Space::variable}, {"private", Space::replica_variable},
      {"constant", Space::constant}, {"input", Space::input},
      {"scalar", Space::scalar},     {"rank", Space::rank},
  };
  auto space = spaces.find(words.at(0));
  if (space == spaces.end())
    fail("unknown word '" + words[0] + "'");
  memory.space = space->second;
  if (wide) {
    memory.isWide = true;
    memory.size = std::stoul(words.at(2));
  }
  place(memory);
  memories[words.at(1)] = memory;
}

uint32_t ProgramDeclarations::kernelNumber(const std::string &name) {
  auto [kernel, isNew] = kernels.emplace(name, uint32_t(kernels.size()));
  if (isNew) {
    tables.kernels.push_back(std::make_unique<artifact::KernelT>());
    tables.kernels.back()->symbol = name;
  }
  return kernel->second;
}

void ProgramDeclarations::place(Memory &memory) {
  uint64_t &end = ends[memory.space];
  memory.offset = memory.space == Space::rank ? 0 : (end + 3) / 4 * 4;
  end = memory.offset + memory.size;
}

void ProgramDeclarations::role(const std::string &name, uint32_t ranks) {
  auto role = std::make_unique<artifact::RoleT>();
  role->name = name;
  role->first_rank = nextRank;
  role->ranks = ranks;
  nextRank += ranks;
  if (tables.roles.empty()) {
    tables.replicas = ranks;
    auto all = std::make_unique<artifact::GroupT>();
    all->name = "all";
    groups["all"] = 0;
    tables.groups.push_back(std::move(all));
  }
  tables.roles.push_back(std::move(role));
}

} // namespace lockstep::runtime::verification::test
