//===- Loops.cpp - loops with data-dependent ends -------------------------===//

#include "runtime/verification/Loops.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace lockstep::runtime::verification {
namespace {

using artifact::CommandBody;

/// Commands from the head to the last jump back to it.
struct Loop {
  uint32_t head = 0, last = 0;
  bool contains(uint32_t command) const {
    return head <= command && command <= last;
  }
};

class LoopFinder {
public:
  explicit LoopFinder(const artifact::Program &tables)
      : commands(*tables.commands()) {}

  std::vector<Loop> find() const {
    std::map<uint32_t, uint32_t> lastOf;
    for (uint32_t i = 0; i < commands.size(); ++i)
      if (uint32_t target = targetOf(i); target <= i)
        lastOf[target] = i;
    std::vector<Loop> loops;
    for (auto [head, last] : lastOf)
      loops.push_back({head, last});
    return loops;
  }

  /// The branch that decides whether the loop is left; without one, the jump
  /// back.
  uint32_t exitOf(const Loop &loop) const {
    for (uint32_t i = loop.head; i <= loop.last; ++i)
      if (commands.Get(i)->body_type() != CommandBody::Jump &&
          targetOf(i) != none &&
          (!loop.contains(targetOf(i)) || i == loop.last))
        return i;
    return loop.last;
  }

  /// Whether each iteration begins with a comparison of a register, which each
  /// iteration increments by a constant, with a loop-invariant register.
  bool counts(const Loop &loop) const {
    const artifact::BranchGreaterEqual *branch =
        commands.Get(loop.head)->body_as_BranchGreaterEqual();
    if (!branch || loop.contains(branch->target()))
      return false;
    bool steps = false;
    for (uint32_t i = loop.head; i <= loop.last; ++i) {
      uint32_t written = writtenRegister(i);
      if (written == branch->rhs())
        return false;
      if (written != branch->lhs())
        continue;
      const artifact::AddRegister *add = commands.Get(i)->body_as_AddRegister();
      if (!add || !isPositive(add->source()))
        return false;
      steps |= isInEachIteration(loop, i);
    }
    return steps;
  }

private:
  uint32_t targetOf(uint32_t i) const {
    if (const auto *jump = commands.Get(i)->body_as_Jump())
      return jump->target();
    if (const auto *branch = commands.Get(i)->body_as_BranchUnless())
      return branch->target();
    if (const auto *branch = commands.Get(i)->body_as_BranchGreaterEqual())
      return branch->target();
    return none;
  }

  uint32_t writtenRegister(uint32_t i) const {
    if (const auto *set = commands.Get(i)->body_as_SetRegister())
      return set->register_();
    if (const auto *add = commands.Get(i)->body_as_AddRegister())
      return add->register_();
    if (const auto *load = commands.Get(i)->body_as_LoadRegister())
      return load->register_();
    return none;
  }

  /// Whether a register is only set to positive constants.
  bool isPositive(uint32_t index) const {
    bool isSet = false;
    for (uint32_t i = 0; i < commands.size(); ++i)
      if (writtenRegister(i) == index) {
        const artifact::SetRegister *set =
            commands.Get(i)->body_as_SetRegister();
        if (!set || set->value() <= 0)
          return false;
        isSet = true;
      }
    return isSet;
  }

  /// Whether each iteration executes a command: no earlier branch skips it and
  /// stays in the loop.
  bool isInEachIteration(const Loop &loop, uint32_t command) const {
    for (uint32_t i = loop.head; i < command; ++i)
      if (uint32_t target = targetOf(i);
          loop.contains(target) && (target > command || target == loop.head))
        return false;
    return true;
  }

  const flatbuffers::Vector<flatbuffers::Offset<artifact::Command>> &commands;
};

std::string textOf(const Model &model, const Program &program,
                   uint32_t command) {
  std::string_view place = model.location(program, command);
  return place.empty() ? fmt::format("command {}: loop", command)
                       : fmt::format("{}: loop", place);
}

} // namespace

std::vector<AssumedLoop> findAssumedLoops(const Model &model) {
  std::vector<AssumedLoop> found;
  for (const Program &program : model.programs) {
    LoopFinder finder(*program.tables);
    for (const Loop &loop : finder.find())
      if (!finder.counts(loop)) {
        uint32_t exit = finder.exitOf(loop);
        found.push_back({program.role, exit, textOf(model, program, exit)});
      }
  }
  return found;
}

} // namespace lockstep::runtime::verification
