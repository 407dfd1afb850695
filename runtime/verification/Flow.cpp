//===- Flow.cpp - blocks and branches of a program ------------------------===//

#include "runtime/verification/Flow.h"

#include "runtime/verification/Model.h"

#include <algorithm>

namespace lockstep::runtime::verification {

bool meetsOthers(const Model &model, const Op &op) {
  switch (op.kind) {
  case OpKind::start:
  case OpKind::wait:
  case OpKind::barrier:
  case OpKind::once:
    return model.channels[op.channel].program == none ||
           model.groups[model.channels[op.channel].group].ranks.size() > 1;
  default:
    return false;
  }
}

namespace {

class FlowFinder {
public:
  FlowFinder(const Model &model, Program &program)
      : model(model), program(program), ops(program.ops), flow(program.flow) {}

  void find(bool anySidesAreEqual) {
    flow.ownOps = uint32_t(ops.size());
    findBlocks();
    findReachable();
    findJoins();
    findBranches();
    for (uint32_t i = 0; i < flow.branches.size(); ++i)
      if (!flow.branches[i].local)
        compareWays(flow.branches[i], anySidesAreEqual);
  }

private:
  static bool ends(OpKind kind) {
    return kind == OpKind::jump || kind == OpKind::branch ||
           kind == OpKind::ret;
  }
  /// A rank can come to rest there.
  static bool rests(OpKind kind) {
    return kind == OpKind::wait || kind == OpKind::barrier ||
           kind == OpKind::once || kind == OpKind::branch;
  }

  void findBlocks() {
    std::vector<bool> leads(ops.size() + 1, false);
    leads[0] = true;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].target != none)
        leads[ops[i].target] = true;
      if (ends(ops[i].kind))
        leads[i + 1] = true;
      if (rests(ops[i].kind))
        leads[i] = true;
    }
    flow.blockOf.resize(ops.size());
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (leads[i])
        flow.blocks.push_back({i, i, {none, none}, false});
      flow.blocks.back().end = i + 1;
      flow.blockOf[i] = uint32_t(flow.blocks.size() - 1);
    }
    for (Block &block : flow.blocks) {
      const Op &last = ops[block.end - 1];
      if (last.kind != OpKind::ret && last.kind != OpKind::jump)
        block.successors[0] = flow.blockOf[block.end];
      if (last.target != none)
        block.successors[1] = flow.blockOf[last.target];
    }
  }

  void findReachable() {
    std::vector<uint32_t> work = {0};
    flow.blocks[0].reachable = true;
    while (!work.empty()) {
      Block &block = flow.blocks[work.back()];
      work.pop_back();
      for (uint32_t successor : block.successors)
        if (successor != none && !flow.blocks[successor].reachable) {
          flow.blocks[successor].reachable = true;
          work.push_back(successor);
        }
    }
  }

  /// Immediate post-dominators. The exit is one more block, to which every
  /// return leads.
  void findJoins() {
    uint32_t exit = uint32_t(flow.blocks.size());
    std::vector<std::vector<uint32_t>> predecessors(exit + 1);
    for (uint32_t i = 0; i < exit; ++i) {
      if (!flow.blocks[i].reachable)
        continue;
      for (uint32_t successor : flow.blocks[i].successors)
        if (successor != none)
          predecessors[successor].push_back(i);
      if (ops[flow.blocks[i].end - 1].kind == OpKind::ret)
        predecessors[exit].push_back(i);
    }
    // Postorder of the reversed graph.
    std::vector<uint32_t> order, number(exit + 1, none);
    std::vector<std::pair<uint32_t, uint32_t>> stack = {{exit, 0}};
    std::vector<bool> seen(exit + 1, false);
    seen[exit] = true;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      if (next < predecessors[block].size()) {
        uint32_t predecessor = predecessors[block][next++];
        if (!seen[predecessor]) {
          seen[predecessor] = true;
          stack.emplace_back(predecessor, 0);
        }
        continue;
      }
      number[block] = uint32_t(order.size());
      order.push_back(block);
      stack.pop_back();
    }
    join.assign(exit + 1, none);
    join[exit] = exit;
    auto meet = [&](uint32_t a, uint32_t b) {
      while (a != b) {
        while (number[a] < number[b])
          a = join[a];
        while (number[b] < number[a])
          b = join[b];
      }
      return a;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (auto block = order.rbegin(); block != order.rend(); ++block) {
        if (*block == exit)
          continue;
        uint32_t best = none;
        auto consider = [&](uint32_t successor) {
          if (successor != none && number[successor] != none &&
              join[successor] != none)
            best = best == none ? successor : meet(best, successor);
        };
        for (uint32_t successor : flow.blocks[*block].successors)
          consider(successor);
        if (ops[flow.blocks[*block].end - 1].kind == OpKind::ret)
          consider(exit);
        if (join[*block] != best) {
          join[*block] = best;
          changed = true;
        }
      }
    }
  }

  void findBranches() {
    visited.assign(flow.blocks.size(), 0);
    for (uint32_t i = 0; i < flow.blocks.size(); ++i) {
      uint32_t last = flow.blocks[i].end - 1;
      if (!flow.blocks[i].reachable || ops[last].kind != OpKind::branch)
        continue;
      Branch branch;
      branch.op = last;
      // From a loop without an exit nothing is reached but the loop itself: no
      // join either.
      if (join[i] != none && join[i] < flow.blocks.size())
        branch.join = flow.blocks[join[i]].begin;
      branch.local = findRegion(branch, /*alsoIfOthersAreMet=*/false);
      if (!branch.local)
        branch.region.clear();
      ops[last].branch = uint32_t(flow.branches.size());
      flow.branches.push_back(std::move(branch));
    }
  }

  /// Blocks between a branch and its join. False if others are met there, or it
  /// takes too long to say.
  bool findRegion(Branch &branch, bool alsoIfOthersAreMet) {
    uint32_t stop = branch.join == none ? none : flow.blockOf[branch.join];
    ++mark;
    std::vector<uint32_t> work;
    auto reach = [&](uint32_t block) {
      if (block == none || block == stop || visited[block] == mark)
        return;
      visited[block] = mark;
      work.push_back(block);
    };
    const Block &home = flow.blocks[flow.blockOf[branch.op]];
    reach(home.successors[1]);
    reach(home.successors[0]);
    while (!work.empty()) {
      uint32_t block = work.back();
      work.pop_back();
      branch.region.push_back(block);
      if (effort++ > maxEffort)
        return false;
      for (uint32_t i = flow.blocks[block].begin; i < flow.blocks[block].end;
           ++i)
        if (!alsoIfOthersAreMet && meetsOthers(model, ops[i]))
          return false;
      reach(flow.blocks[block].successors[1]);
      reach(flow.blocks[block].successors[0]);
    }
    return true;
  }

  /// Goes along one way of a branch, from one op that meets others to the next.
  struct Way {
    uint32_t at;
    uint32_t left;
  };
  enum : uint32_t { atJoin = none, unknown = none - 1 };

  uint32_t nextMeeting(Way &way, uint32_t stop) const {
    while (way.at != stop) {
      if (way.at == none || way.left-- == 0)
        return unknown;
      const Op &op = ops[way.at];
      if (meetsOthers(model, op) && op.kind != OpKind::once)
        return way.at++;
      switch (op.kind) {
      case OpKind::once:
      case OpKind::next:
        return unknown;
      case OpKind::jump:
        way.at = op.target;
        break;
      case OpKind::branch:
        if (!flow.branches[op.branch].local)
          return unknown;
        way.at = flow.branches[op.branch].join;
        break;
      case OpKind::ret:
        return stop == none ? uint32_t(atJoin) : uint32_t(unknown);
      default:
        ++way.at;
      }
    }
    return atJoin;
  }

  void compareWays(Branch &branch, bool anySidesAreEqual) {
    constexpr uint32_t longest = 1 << 20;
    Way ways[] = {{branch.op + 1, longest}, {ops[branch.op].target, longest}};
    std::vector<uint32_t> meetings;
    for (;;) {
      uint32_t left = nextMeeting(ways[0], branch.join),
               right = nextMeeting(ways[1], branch.join);
      if (left == unknown || right == unknown)
        return;
      if (left == atJoin && right == atJoin)
        break;
      bool same = left != atJoin && right != atJoin &&
                  ops[left].kind == ops[right].kind &&
                  ops[left].channel == ops[right].channel;
      if (!same && !anySidesAreEqual)
        return;
      if (left == atJoin)
        break;
      meetings.push_back(left);
    }
    if (!findRegion(branch, /*alsoIfOthersAreMet=*/true))
      return branch.region.clear();
    branch.sameOnBothWays = uint32_t(ops.size());
    for (uint32_t meeting : meetings)
      ops.push_back(Op(ops[meeting]));
    Op last{OpKind::forget, ops[branch.op].command};
    last.branch = ops[branch.op].branch;
    last.target = branch.join;
    ops.push_back(last);
  }

  static constexpr uint64_t maxEffort = uint64_t(1) << 24;

  const Model &model;
  Program &program;
  std::vector<Op> &ops;
  Flow &flow;
  std::vector<uint32_t> join;
  std::vector<uint32_t> visited;
  uint32_t mark = 0;
  uint64_t effort = 0;
};

} // namespace

void findFlow(const Model &model, Program &program, bool anySidesAreEqual) {
  FlowFinder(model, program).find(anySidesAreEqual);
}

} // namespace lockstep::runtime::verification
