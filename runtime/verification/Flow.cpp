//===- Flow.cpp - blocks and branches of a program ------------------------===//

#include "runtime/verification/Flow.h"

#include "runtime/verification/Model.h"

#include <algorithm>

namespace lockstep::runtime::verification {

namespace {

/// Whether an op starts, waits for or arrives at a channel with several
/// members.
bool isExchange(const Model &model, const Op &op) {
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

class FlowFinder {
public:
  FlowFinder(const Model &model, Program &program)
      : model(model), program(program), ops(program.ops), flow(program.flow) {}

  void find() {
    findBlocks();
    findReachable();
    findJoins();
    findBranches();
  }

private:
  static bool endsBlock(OpKind kind) {
    return kind == OpKind::jump || kind == OpKind::branch ||
           kind == OpKind::ret;
  }
  /// Whether the op begins a block: a rank can wait there, or it branches.
  static bool beginsBlock(OpKind kind) {
    return kind == OpKind::wait || kind == OpKind::barrier ||
           kind == OpKind::once || kind == OpKind::branch;
  }

  void findBlocks() {
    std::vector<bool> isLeader(ops.size() + 1, false);
    isLeader[0] = true;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (ops[i].target != none)
        isLeader[ops[i].target] = true;
      if (endsBlock(ops[i].kind))
        isLeader[i + 1] = true;
      if (beginsBlock(ops[i].kind))
        isLeader[i] = true;
    }
    flow.blockOf.resize(ops.size());
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (isLeader[i])
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

  /// Immediate post-dominators. The exit is one more block, the successor of
  /// every return.
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
    auto common = [&](uint32_t a, uint32_t b) {
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
            best = best == none ? successor : common(best, successor);
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
      // A loop without an exit reaches only itself, so there is no join.
      if (join[i] != none && join[i] < flow.blocks.size())
        branch.join = flow.blocks[join[i]].begin;
      branch.local = findRegion(branch);
      if (!branch.local)
        branch.region.clear();
      ops[last].branch = uint32_t(flow.branches.size());
      flow.branches.push_back(std::move(branch));
    }
  }

  /// Blocks between a branch and its join. False if they contain an exchange,
  /// or the search exceeds its limit.
  bool findRegion(Branch &branch) {
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
        if (isExchange(model, ops[i]))
          return false;
      reach(flow.blocks[block].successors[1]);
      reach(flow.blocks[block].successors[0]);
    }
    return true;
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

void findFlow(const Model &model, Program &program) {
  FlowFinder(model, program).find();
}

} // namespace lockstep::runtime::verification
