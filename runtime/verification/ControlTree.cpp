//===- ControlTree.cpp - a role's shared exchanges ------------------------===//

#include "runtime/verification/ControlTree.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime::verification {

bool isShared(const Model &model, uint32_t channel) {
  const Channel &c = model.channels[channel];
  if (c.program == none || c.kind == Channel::Kind::once)
    return false;
  const std::vector<uint32_t> &ranks = model.groups[c.group].ranks;
  // Ranks are ascending and each role has a contiguous range: if the first and
  // the last are of one role, all are.
  return !ranks.empty() &&
         model.programOf[ranks.front()] != model.programOf[ranks.back()];
}

bool ControlTree::contains(uint32_t loop, uint32_t block) const {
  for (uint32_t node = loopOf[block]; node != none;
       node = nodes[node].place.node)
    if (node == loop)
      return true;
  return false;
}

namespace {

using Kind = TreeItem::Kind;

class TreeBuilder {
public:
  TreeBuilder(const Model &model, const Program &program, ControlTree &tree)
      : model(model), program(program), blocks(program.flow.blocks),
        tree(tree) {}

  std::optional<Problem> build() {
    tree.loopOf.assign(blocks.size(), none);
    tree.inEachIteration.assign(blocks.size(), false);
    visited.assign(blocks.size(), false);
    if (findLoops()) {
      walk(0, none, {}, /*inEachIteration=*/true, /*depth=*/0);
      findLoopNodes();
    }
    return std::move(problem);
  }

private:
  //===--- Loops ----------------------------------------------------------===//

  struct Loop {
    uint32_t header;
    std::vector<uint32_t> body;
    /// The loop around it, or `none`.
    uint32_t outer = none;
    /// The block after the loop.
    uint32_t exit = none;
    uint32_t node = none;
  };

  void fail(uint32_t op, const char *what) {
    if (!problem)
      problem = {fmt::format("role '{}': {} at {}", program.role, what,
                             model.describe(program, program.ops[op].command)),
                 {placeOf(program, op)}};
  }

  /// Natural loops of the back edges of a depth-first search, outer ones first.
  bool findLoops() {
    std::vector<std::vector<uint32_t>> predecessors(blocks.size()),
        latches(blocks.size());
    std::vector<uint32_t> headers;
    enum : uint8_t { unvisited, open, done };
    std::vector<uint8_t> state(blocks.size(), unvisited);
    std::vector<std::pair<uint32_t, uint32_t>> stack = {{0, 0}};
    state[0] = open;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      if (next == 2) {
        state[block] = done;
        stack.pop_back();
        continue;
      }
      uint32_t from = block, to = blocks[block].successors[next++];
      if (to == none)
        continue;
      predecessors[to].push_back(from);
      if (state[to] == open) {
        if (latches[to].empty())
          headers.push_back(to);
        latches[to].push_back(from);
      } else if (state[to] == unvisited) {
        state[to] = open;
        stack.emplace_back(to, 0);
      }
    }
    std::vector<uint32_t> mark(blocks.size(), none);
    for (uint32_t header : headers) {
      Loop loop{header, {header}};
      mark[header] = header;
      for (uint32_t latch : latches[header])
        addToBody(loop, latch, mark);
      for (size_t i = 1; i < loop.body.size(); ++i)
        for (uint32_t predecessor : predecessors[loop.body[i]])
          addToBody(loop, predecessor, mark);
      // If the backward traversal reaches the entry of the program, the loop
      // has several entries.
      if (header != 0 && mark[0] == header) {
        fail(blocks[header].begin, "a loop with several entries");
        return false;
      }
      loops.push_back(std::move(loop));
    }
    return nestLoops();
  }

  static void addToBody(Loop &loop, uint32_t block,
                        std::vector<uint32_t> &mark) {
    if (mark[block] == loop.header)
      return;
    mark[block] = loop.header;
    loop.body.push_back(block);
  }

  /// An outer loop has more blocks than an inner one.
  bool nestLoops() {
    std::vector<uint32_t> order(loops.size());
    for (uint32_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return loops[a].body.size() > loops[b].body.size();
    });
    innermost.assign(blocks.size(), none);
    uint64_t effort = 0;
    for (uint32_t index : order) {
      Loop &loop = loops[index];
      loop.outer = innermost[loop.header];
      effort += loop.body.size();
      for (uint32_t block : loop.body) {
        // Loops must be nested or disjoint.
        if (innermost[block] != loop.outer || effort > maxEffort) {
          fail(blocks[loop.header].begin, "loops that are not nested");
          return false;
        }
        innermost[block] = index;
      }
    }
    return true;
  }

  bool isInside(uint32_t block, uint32_t loop) const {
    if (loop == none)
      return true;
    for (uint32_t i = innermost[block]; i != none; i = loops[i].outer)
      if (i == loop)
        return true;
    return false;
  }

  /// Loops without a node are inside of local branches, which the walk skips.
  void findLoopNodes() {
    for (uint32_t block = 0; block < blocks.size(); ++block) {
      uint32_t loop = innermost[block];
      while (loop != none && loops[loop].node == none)
        loop = loops[loop].outer;
      if (loop != none)
        tree.loopOf[block] = loops[loop].node;
    }
  }

  //===--- The walk -------------------------------------------------------===//

  uint32_t addNode(TreeNode::Kind kind, TreePlace place, uint32_t op) {
    uint32_t node = uint32_t(tree.nodes.size());
    tree.nodes.push_back({kind, place, op});
    tree.headers.push_back(none);
    tree.items.push_back({Kind::node, node, place, op});
    return node;
  }

  /// How a path of the walk ends.
  enum class End : uint8_t { stop, iteration, program };

  /// Walks the program from a block to `stop`, to the next iteration of the
  /// innermost loop, or to its end.
  End walk(uint32_t block, uint32_t stop, TreePlace place, bool inEachIteration,
           uint32_t depth) {
    if (depth > maxDepth)
      fail(blocks[block].begin, "too many nested loops and branches");
    for (bool first = true; !problem; first = false) {
      if (block == none)
        return End::program;
      if (block == stop)
        return End::stop;
      if (current != none && loops[current].header == block && !first)
        return End::iteration;
      if (visited[block]) {
        fail(blocks[block].begin, "paths that are not structured");
        break;
      }
      if (innermost[block] != current) {
        block = walkLoop(block, place, depth);
        continue;
      }
      visited[block] = true;
      tree.inEachIteration[block] = inEachIteration;
      addExchanges(blocks[block], place);
      uint32_t last = blocks[block].end - 1;
      const Op &op = program.ops[last];
      if (op.kind == OpKind::ret)
        return End::program;
      if (op.kind == OpKind::branch) {
        std::optional<uint32_t> next =
            walkBranch(last, stop, place, inEachIteration, depth);
        // Both sides have been walked to the end of the iteration or of the
        // program.
        if (!next)
          return current == none ? End::program : End::iteration;
        block = *next;
        continue;
      }
      block = op.kind == OpKind::jump ? program.flow.blockOf[op.target]
                                      : blocks[block].successors[0];
      // A loop without relevant commands has been replaced by a jump out of it.
      if (!isInside(block, current)) {
        leaveLoop(block, block, place, last, depth);
        return End::iteration;
      }
    }
    return End::program;
  }

  /// Returns the block after the loop, or `none`.
  uint32_t walkLoop(uint32_t block, TreePlace place, uint32_t depth) {
    uint32_t loop = innermost[block];
    if (loop == none || loops[loop].header != block ||
        loops[loop].outer != current) {
      fail(blocks[block].begin, "paths that are not structured");
      return none;
    }
    uint32_t node = addNode(TreeNode::Kind::loop, place, blocks[block].begin);
    loops[loop].node = node;
    tree.headers[node] = block;
    current = loop;
    walk(block, none, {node, 0}, /*inEachIteration=*/true, depth + 1);
    current = loops[loop].outer;
    return loops[loop].exit;
  }

  /// Returns the block where both sides join; none if they do not join before
  /// the end of the iteration or of the program.
  std::optional<uint32_t> walkBranch(uint32_t last, uint32_t stop,
                                     TreePlace place, bool inEachIteration,
                                     uint32_t depth) {
    const Branch &branch = program.flow.branches[program.ops[last].branch];
    uint32_t join =
        branch.join == none ? none : program.flow.blockOf[branch.join];
    auto beginsIteration = [&](uint32_t block) {
      return current != none && loops[current].header == block;
    };
    bool joins =
        join != none && isInside(join, current) && !beginsIteration(join);
    if (branch.local && joins)
      return join;
    const Block &home = blocks[program.flow.blockOf[last]];
    uint32_t node = addNode(TreeNode::Kind::branch, place, last);
    for (uint8_t side = 0; side < 2; ++side) {
      uint32_t to = home.successors[side], other = home.successors[1 - side];
      TreePlace inside{node, side};
      if (!isInside(to, current))
        leaveLoop(to, join, inside, last, depth);
      else if (!(joins && to == join) && !beginsIteration(to))
        walk(to, joins ? join : stop, inside,
             inEachIteration && !joins && !isInside(other, current), depth + 1);
    }
    return joins ? std::optional(join) : std::nullopt;
  }

  /// Walks the path from a branch that leaves the innermost loop to the block
  /// where all exits join. A rank that leaves at this branch executes the path
  /// once.
  void leaveLoop(uint32_t to, uint32_t join, TreePlace place, uint32_t op,
                 uint32_t depth) {
    uint32_t loop = current;
    if (join == none)
      return fail(op, "a return from within a loop");
    if (loops[loop].exit != none && loops[loop].exit != join)
      return fail(op, "a loop that is left to several places");
    loops[loop].exit = join;
    current = loops[loop].outer;
    if (!isInside(to, current) || !isInside(join, current) ||
        walk(to, join, place, /*inEachIteration=*/false, depth + 1) !=
            End::stop)
      fail(op, "two loops that are left at once");
    current = loop;
    tree.items.push_back({Kind::exit, loops[loop].node, place, op});
  }

  void addExchanges(const Block &block, TreePlace place) {
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Op &op = program.ops[i];
      if ((op.kind == OpKind::start || op.kind == OpKind::barrier) &&
          isShared(model, op.channel) && isMember(op.channel))
        tree.items.push_back({Kind::exchange, op.channel, place, i});
    }
  }

  bool isMember(uint32_t channel) const {
    const std::vector<uint32_t> &ranks =
        model.groups[model.channels[channel].group].ranks;
    auto first =
        std::lower_bound(ranks.begin(), ranks.end(), program.firstRank);
    return first != ranks.end() && *first < program.firstRank + program.ranks;
  }

  static constexpr uint32_t maxDepth = 500;
  static constexpr uint64_t maxEffort = uint64_t(1) << 26;

  const Model &model;
  const Program &program;
  const std::vector<Block> &blocks;
  ControlTree &tree;
  std::vector<Loop> loops;
  /// Block -> its innermost loop, or `none`.
  std::vector<uint32_t> innermost;
  std::vector<bool> visited;
  /// The innermost loop at the walk's position.
  uint32_t current = none;
  std::optional<Problem> problem;
};

} // namespace

std::optional<Problem> buildControlTree(const Model &model,
                                        const Program &program,
                                        ControlTree &tree) {
  return TreeBuilder(model, program, tree).build();
}

} // namespace lockstep::runtime::verification
