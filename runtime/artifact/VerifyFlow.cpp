//===- VerifyFlow.cpp - branches, once sections, starts and waits ---------===//
//
// Every command is visited with the set of channels that are pending before it. Where two paths
// meet, the sets must be equal: so a wait has a start on every path, a channel is never started
// twice, and nothing is pending when a replica returns. This is what a bytecode verifier does with
// its operand stack, and takes time linear in commands and channels.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Verifier.h"

#include <fmt/format.h>

namespace lockstep::runtime::verify {
namespace {

using artifact::Command;
using artifact::CommandBody;

class FlowVerifier {
public:
  FlowVerifier(const Context &context, const artifact::Program &program)
      : context(context), program(program), size(count(program.commands())) {}

  Status verify() {
    if (size == 0)
      return corrupted("it has no commands");
    CommandBody last = command(size - 1).body_type();
    if (last != CommandBody::Return && last != CommandBody::Jump)
      return error(size - 1, "the last command must be a return or a jump");
    LOCKSTEP_RETURN_IF_ERROR(findSections());
    LOCKSTEP_RETURN_IF_ERROR(checkChannels());
    LOCKSTEP_RETURN_IF_ERROR(findTargets());
    return walk();
  }

private:
  const Command &command(uint32_t index) const { return *program.commands()->Get(index); }

  Status error(uint32_t index, const std::string &message) const {
    return corrupted(commandName(context, program, index) + ": " + message);
  }

  /// `section[i]` is 0 outside of once sections, else 1 + the index of the section's `Once`. The
  /// `Once` itself lies outside, its `EndOnce` inside.
  Status findSections() {
    section.assign(size, 0);
    uint32_t open = 0, end = 0;
    for (uint32_t i = 0; i < size; ++i) {
      CommandBody kind = command(i).body_type();
      if (kind == CommandBody::Once) {
        if (open)
          return error(i, "once inside of a once section");
        end = command(i).body_as_Once()->end();
        if (end <= i || end >= size || command(end).body_type() != CommandBody::EndOnce)
          return error(i, fmt::format("expected its section to end at an end_once, found end {}",
                                      end));
        open = i + 1;
        continue;
      }
      if (kind == CommandBody::EndOnce && (!open || i != end))
        return error(i, "end_once without its once");
      section[i] = open;
      bool meets = kind == CommandBody::Start || kind == CommandBody::Wait ||
                   kind == CommandBody::Barrier;
      if (open && (meets || kind == CommandBody::Return))
        return error(i, fmt::format("{} inside of a once section, which one replica executes",
                                    artifact::EnumNameCommandBody(kind)));
      if (i == end)
        open = 0;
    }
    return Status::success();
  }

  /// A channel is the name of one start, one barrier or one once section.
  Status checkChannels() {
    std::vector<uint32_t> owner(program.channels(), ~0u);
    for (uint32_t i = 0; i < size; ++i) {
      uint32_t channel;
      switch (command(i).body_type()) {
      case CommandBody::Start:
        channel = command(i).body_as_Start()->channel();
        break;
      case CommandBody::Barrier:
        channel = command(i).body_as_Barrier()->channel();
        break;
      case CommandBody::Once:
        channel = command(i).body_as_Once()->channel();
        break;
      case CommandBody::Wait:
        channel = command(i).body_as_Wait()->channel();
        if (channel >= program.channels())
          return error(i, fmt::format("channel {} does not exist among {}", channel,
                                      program.channels()));
        continue;
      default:
        continue;
      }
      if (channel >= program.channels())
        return error(i, fmt::format("channel {} does not exist among {}", channel,
                                    program.channels()));
      if (owner[channel] != ~0u)
        return error(i, fmt::format("channel {} is already used by {}", channel,
                                    commandName(context, program, owner[channel])));
      owner[channel] = i;
    }
    return Status::success();
  }

  /// The target of a jump or branch; nothing for other commands.
  bool targetOf(uint32_t index, uint32_t &target) const {
    switch (command(index).body_type()) {
    case CommandBody::Jump:
      target = command(index).body_as_Jump()->target();
      return true;
    case CommandBody::BranchUnless:
      target = command(index).body_as_BranchUnless()->target();
      return true;
    case CommandBody::BranchGreaterEqual:
      target = command(index).body_as_BranchGreaterEqual()->target();
      return true;
    default:
      return false;
    }
  }

  Status findTargets() {
    isTarget.assign(size, false);
    for (uint32_t i = 0; i < size; ++i) {
      uint32_t target;
      if (!targetOf(i, target))
        continue;
      if (target >= size)
        return error(i, fmt::format("target {} does not exist among {} commands", target, size));
      if (section[target] != section[i])
        return error(i, fmt::format("target {} is on the other side of a once section", target));
      isTarget[target] = true;
    }
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
    stateAt.resize(size);
    Pending none((program.channels() + 63) / 64 + 1, 0);
    LOCKSTEP_RETURN_IF_ERROR(reach(0, 0, none));
    while (!work.empty()) {
      uint32_t begin = work.back();
      work.pop_back();
      LOCKSTEP_RETURN_IF_ERROR(walkBlock(begin));
    }
    return Status::success();
  }

  /// Joins `state` into the start of a block, which must agree with what is known there.
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
        return error(from, fmt::format("leads to {}, where channel {} is pending on one path and "
                                       "not on another",
                                       commandName(context, program, target), channel));
    return Status::success();
  }

  Status walkBlock(uint32_t begin) {
    Pending state = stateAt[begin];
    for (uint32_t i = begin;; ++i) {
      if (i != begin && isTarget[i])
        return reach(i - 1, i, state);
      const Command &current = command(i);
      uint32_t target;
      if (targetOf(i, target))
        LOCKSTEP_RETURN_IF_ERROR(reach(i, target, state));
      switch (current.body_type()) {
      case CommandBody::Jump:
        return Status::success();
      case CommandBody::Start: {
        uint32_t channel = current.body_as_Start()->channel();
        if (has(state, channel))
          return error(i, fmt::format("starts channel {}, which is still pending", channel));
        flip(state, channel);
        break;
      }
      case CommandBody::Wait: {
        uint32_t channel = current.body_as_Wait()->channel();
        if (!has(state, channel))
          return error(i, fmt::format("waits for channel {}, which no start precedes", channel));
        flip(state, channel);
        break;
      }
      case CommandBody::Return:
        for (uint32_t channel = 0; channel < program.channels(); ++channel)
          if (has(state, channel))
            return error(i, fmt::format("returns while channel {} is pending", channel));
        return Status::success();
      default:
        break;
      }
    }
  }

  const Context &context;
  const artifact::Program &program;
  uint32_t size;
  std::vector<uint32_t> section;
  std::vector<bool> isTarget;
  std::vector<Pending> stateAt;
  std::vector<uint32_t> work;
};

} // namespace

Status verifyFlow(const Context &context, const artifact::Program &program) {
  return FlowVerifier(context, program).verify();
}

} // namespace lockstep::runtime::verify
