//===- VerifyFlow.cpp - branches, once sections, starts and waits ---------===//
//
// Every command is visited with the set of channels that are pending before it.
// Where two paths join, the sets must be equal. So a wait has a start on every
// path, a channel is never started twice, and nothing is pending when a replica
// returns. A bytecode verifier checks its operand stack in the same manner, in
// time linear in commands and channels.
//
// Launches do not affect the sets; the remaining commands are called steps.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Verifier.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace lockstep::runtime::verify {
namespace {

using artifact::Command;
using artifact::CommandBody;

class FlowVerifier {
public:
  FlowVerifier(const Context &context, const artifact::Program &program)
      : context(context), program(program), size(count(program.commands())) {}

  Status verify(const std::vector<uint32_t> &others) {
    if (size == 0)
      return corrupted("it has no commands");
    CommandBody last = command(size - 1).body_type();
    if (last != CommandBody::Return && last != CommandBody::Jump)
      return error(size - 1, "the last command must be a return or a jump");
    findSteps(others);
    LOCKSTEP_RETURN_IF_ERROR(findSections());
    LOCKSTEP_RETURN_IF_ERROR(checkChannels());
    LOCKSTEP_RETURN_IF_ERROR(findTargets());
    return walk();
  }

private:
  const Command &command(uint32_t index) const {
    return *program.commands()->Get(index);
  }

  Status error(uint32_t index, const std::string &message) const {
    return corrupted(commandName(context, program, index) + ": " + message);
  }

  /// A command other than a launch, or any target of a branch.
  struct Step {
    uint32_t index;
    CommandBody kind;
    /// Channel or branch target.
    uint32_t operand = 0;
    bool isTarget = false;
    /// Of a jump or branch, the index of the target step.
    uint32_t next = 0;

    bool branches() const {
      return kind == CommandBody::Jump || kind == CommandBody::BranchUnless ||
             kind == CommandBody::BranchGreaterEqual;
    }
  };

  void findSteps(const std::vector<uint32_t> &others) {
    for (uint32_t i : others) {
      const Command &current = command(i);
      CommandBody kind = current.body_type();
      switch (kind) {
      case CommandBody::Start:
        steps.push_back({i, kind, current.body_as_Start()->channel()});
        break;
      case CommandBody::Wait:
        steps.push_back({i, kind, current.body_as_Wait()->channel()});
        break;
      case CommandBody::Barrier:
        steps.push_back({i, kind, current.body_as_Barrier()->channel()});
        break;
      case CommandBody::Once:
        steps.push_back({i, kind, current.body_as_Once()->channel()});
        break;
      case CommandBody::Jump:
        steps.push_back({i, kind, current.body_as_Jump()->target()});
        break;
      case CommandBody::BranchUnless:
        steps.push_back({i, kind, current.body_as_BranchUnless()->target()});
        break;
      case CommandBody::BranchGreaterEqual:
        steps.push_back(
            {i, kind, current.body_as_BranchGreaterEqual()->target()});
        break;
      case CommandBody::EndOnce:
      case CommandBody::Return:
        steps.push_back({i, kind});
        break;
      default:
        break;
      }
    }
  }

  /// A `Once` lies outside of its section, its `EndOnce` inside.
  Status findSections() {
    bool open = false;
    uint32_t end = 0;
    for (const Step &step : steps) {
      if (step.kind == CommandBody::Once) {
        if (open)
          return error(step.index, "once inside of a once section");
        end = command(step.index).body_as_Once()->end();
        if (end <= step.index || end >= size ||
            command(end).body_type() != CommandBody::EndOnce)
          return error(
              step.index,
              fmt::format(
                  "expected its section to end at an end_once, found end {}",
                  end));
        open = true;
        sections.push_back({step.index, end});
        continue;
      }
      if (step.kind == CommandBody::EndOnce && (!open || step.index != end))
        return error(step.index, "end_once without its once");
      bool synchronizes = step.kind == CommandBody::Start ||
                          step.kind == CommandBody::Wait ||
                          step.kind == CommandBody::Barrier;
      if (open && (synchronizes || step.kind == CommandBody::Return))
        return error(
            step.index,
            fmt::format(
                "{} inside of a once section, which one replica executes",
                artifact::EnumNameCommandBody(step.kind)));
      if (step.kind == CommandBody::EndOnce)
        open = false;
    }
    return Status::success();
  }

  /// 0 outside of once sections, else 1 + the number of the section.
  size_t sectionOf(uint32_t index) const {
    auto after = std::lower_bound(
        sections.begin(), sections.end(), index,
        [](const Section &section, uint32_t i) { return section.end < i; });
    return after != sections.end() && after->begin < index
               ? size_t(after - sections.begin()) + 1
               : 0;
  }

  /// Each channel is used by exactly one start, barrier or once section.
  Status checkChannels() {
    std::vector<uint32_t> owner(program.channels(), ~0u);
    for (const Step &step : steps) {
      bool isOwner = step.kind == CommandBody::Start ||
                     step.kind == CommandBody::Barrier ||
                     step.kind == CommandBody::Once;
      if (!isOwner && step.kind != CommandBody::Wait)
        continue;
      uint32_t channel = step.operand;
      if (channel >= program.channels())
        return error(step.index,
                     fmt::format("channel {} does not exist among {}", channel,
                                 program.channels()));
      if (!isOwner)
        continue;
      if (owner[channel] != ~0u)
        return error(
            step.index,
            fmt::format("channel {} is already used by {}", channel,
                        commandName(context, program, owner[channel])));
      owner[channel] = step.index;
    }
    return Status::success();
  }

  Status findTargets() {
    std::vector<uint32_t> targets = {0};
    for (const Step &step : steps) {
      if (!step.branches())
        continue;
      if (step.operand >= size)
        return error(step.index,
                     fmt::format("target {} does not exist among {} commands",
                                 step.operand, size));
      if (sectionOf(step.operand) != sectionOf(step.index))
        return error(
            step.index,
            fmt::format("target {} is on the other side of a once section",
                        step.operand));
      targets.push_back(step.operand);
    }
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());

    // Branch targets become steps.
    std::vector<Step> all;
    all.reserve(steps.size() + targets.size());
    auto target = targets.begin();
    for (const Step &step : steps) {
      for (; target != targets.end() && *target < step.index; ++target)
        all.push_back({*target, command(*target).body_type(), 0, true});
      all.push_back(step);
      if (target != targets.end() && *target == step.index) {
        all.back().isTarget = true;
        ++target;
      }
    }
    steps = std::move(all);
    for (Step &step : steps)
      if (step.branches())
        step.next =
            uint32_t(std::lower_bound(steps.begin(), steps.end(), step.operand,
                                      [](const Step &other, uint32_t index) {
                                        return other.index < index;
                                      }) -
                     steps.begin());
    return Status::success();
  }

  using Pending = std::vector<uint64_t>;
  static bool has(const Pending &set, uint32_t channel) {
    return set[channel / 64] >> (channel % 64) & 1;
  }
  static void flip(Pending &set, uint32_t channel) {
    set[channel / 64] ^= uint64_t(1) << (channel % 64);
  }

  Status walk() {
    stateAt.resize(steps.size());
    Pending none((program.channels() + 63) / 64 + 1, 0);
    LOCKSTEP_RETURN_IF_ERROR(reach(0, 0, none));
    while (!work.empty()) {
      uint32_t begin = work.back();
      work.pop_back();
      LOCKSTEP_RETURN_IF_ERROR(walkBlock(begin));
    }
    return Status::success();
  }

  /// Propagates `state` to the start of a block; an earlier state there must be
  /// equal. `from` is a command, `target` a step.
  Status reach(uint32_t from, uint32_t target, const Pending &state) {
    if (stateAt[target].empty()) {
      stateAt[target] = state;
      work.push_back(target);
      return Status::success();
    }
    if (state == stateAt[target])
      return Status::success();
    for (uint32_t channel = 0; channel < program.channels(); ++channel)
      if (has(state, channel) != has(stateAt[target], channel))
        return error(
            from,
            fmt::format(
                "leads to {}, where channel {} is pending on one path and "
                "not on another",
                commandName(context, program, steps[target].index), channel));
    return Status::success();
  }

  /// Visits a block; the program ends with a return or a jump.
  Status walkBlock(uint32_t begin) {
    Pending state = stateAt[begin];
    for (uint32_t i = begin;; ++i) {
      const Step &step = steps[i];
      if (i != begin && step.isTarget)
        return reach(step.index - 1, i, state);
      if (step.branches())
        LOCKSTEP_RETURN_IF_ERROR(reach(step.index, step.next, state));
      switch (step.kind) {
      case CommandBody::Jump:
        return Status::success();
      case CommandBody::Start:
        if (has(state, step.operand))
          return error(step.index,
                       fmt::format("starts channel {}, which is still pending",
                                   step.operand));
        flip(state, step.operand);
        break;
      case CommandBody::Wait:
        if (!has(state, step.operand))
          return error(
              step.index,
              fmt::format("waits for channel {}, which no start precedes",
                          step.operand));
        flip(state, step.operand);
        break;
      case CommandBody::Return:
        for (uint32_t channel = 0; channel < program.channels(); ++channel)
          if (has(state, channel))
            return error(
                step.index,
                fmt::format("returns while channel {} is pending", channel));
        return Status::success();
      default:
        break;
      }
    }
  }

  /// Indices of commands.
  struct Section {
    uint32_t begin, end;
  };

  const Context &context;
  const artifact::Program &program;
  uint32_t size;
  std::vector<Step> steps;
  std::vector<Section> sections;
  /// The state before each branch target and before the first step.
  std::vector<Pending> stateAt;
  std::vector<uint32_t> work;
};

} // namespace

Status verifyFlow(const Context &context, const artifact::Program &program,
                  const std::vector<uint32_t> &others) {
  return FlowVerifier(context, program).verify(others);
}

Status verifyFlow(const Context &context, const artifact::Program &program) {
  std::vector<uint32_t> all(count(program.commands()));
  std::iota(all.begin(), all.end(), 0);
  return verifyFlow(context, program, all);
}

} // namespace lockstep::runtime::verify
