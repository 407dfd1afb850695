//===- Projections.cpp - projections of one program -----------------------===//

#include "runtime/verification/Projections.h"

#include "runtime/verification/ControlTree.h"
#include "runtime/verification/OneOrder.h"
#include "runtime/verification/ValueNames.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <set>

#include <fmt/format.h>

namespace lockstep::runtime::verification {
namespace {

class ProjectionChecker {
public:
  ProjectionChecker(const Model &model, ProofRule brokenRule)
      : model(model), brokenRule(brokenRule) {}

  std::optional<Problem> find() {
    buildTrees();
    if (!problem)
      joinExchanges();
    if (!problem && brokenRule != ProofRule::exitsMayDiffer)
      joinExits();
    if (!problem)
      checkClasses();
    if (!problem && brokenRule != ProofRule::ordersMayDiffer)
      checkOrder();
    if (!problem && brokenRule != ProofRule::decisionsMayDiffer)
      checkDecisions();
    return std::move(problem);
  }

private:
  /// A node of a role's tree.
  struct NodeRef {
    uint32_t role, node;
  };
  /// An item of a role's tree.
  struct ItemRef {
    uint32_t role;
    const TreeItem *item;
  };

  std::string describe(uint32_t role, uint32_t op) const {
    const Program &program = model.programs[role];
    return model.describe(program, program.ops[op].command);
  }
  std::string describe(const ItemRef &ref) const {
    return describe(ref.role, ref.item->op);
  }
  std::string at(uint32_t role, uint32_t op) const {
    return fmt::format("role '{}' at {}", model.programs[role].role,
                       describe(role, op));
  }
  std::string at(const ItemRef &ref) const {
    return at(ref.role, ref.item->op);
  }

  CommandPlace placeOf(uint32_t role, uint32_t op) const {
    return verification::placeOf(model.programs[role], op);
  }
  CommandPlace placeOf(const ItemRef &ref) const {
    return placeOf(ref.role, ref.item->op);
  }

  void buildTrees() {
    size_t roles = model.programs.size();
    trees.resize(roles);
    firstNode.resize(roles);
    uint32_t nodes = 0;
    for (uint32_t role = 0; role < roles && !problem; ++role) {
      const Program &program = model.programs[role];
      if (std::optional<Problem> divergence =
              findDivergence(model, program, brokenRule)) {
        problem = std::move(divergence);
        problem->text =
            fmt::format("role '{}': {}", program.role, problem->text);
        return;
      }
      problem = buildControlTree(model, program, trees[role]);
      firstNode[role] = nodes;
      nodes += uint32_t(trees[role].nodes.size());
    }
    parents.resize(nodes);
    std::iota(parents.begin(), parents.end(), 0);
  }

  //===--- Nodes of several roles that are one ----------------------------===//

  uint32_t idOf(NodeRef ref) const { return firstNode[ref.role] + ref.node; }

  uint32_t classOf(uint32_t id) {
    while (parents[id] != id)
      id = parents[id] = parents[parents[id]];
    return id;
  }
  uint32_t classOf(NodeRef ref) { return classOf(idOf(ref)); }

  const TreeNode &node(NodeRef ref) const {
    return trees[ref.role].nodes[ref.node];
  }

  /// Merges the nodes around two places into classes, from the innermost
  /// outwards. False if the kinds or sides of the nodes differ.
  bool join(uint32_t leftRole, TreePlace left, uint32_t rightRole,
            TreePlace right) {
    while (left.node != none && right.node != none) {
      NodeRef a{leftRole, left.node}, b{rightRole, right.node};
      if (left.side != right.side || node(a).kind != node(b).kind)
        return false;
      uint32_t classA = classOf(a), classB = classOf(b);
      if (classA == classB)
        return true;
      parents[std::max(classA, classB)] = std::min(classA, classB);
      left = node(a).place;
      right = node(b).place;
    }
    return left.node == right.node;
  }

  void joinExchanges() {
    // Channel -> the exchange of each role.
    std::map<uint32_t, std::vector<ItemRef>> exchanges;
    for (uint32_t role = 0; role < trees.size(); ++role)
      for (const TreeItem &item : trees[role].items)
        if (item.kind == TreeItem::Kind::exchange)
          exchanges[item.index].push_back({role, &item});
    for (uint32_t channel = 0; channel < model.channels.size(); ++channel)
      if (isShared(model, channel) &&
          brokenRule != ProofRule::membersMayBeAbsent)
        checkMembers(channel, exchanges[channel]);
    if (brokenRule == ProofRule::pathsMayDiffer)
      return;
    for (auto &[channel, refs] : exchanges)
      for (size_t i = 1; i < refs.size() && !problem; ++i)
        if (!join(refs[0].role, refs[0].item->place, refs[i].role,
                  refs[i].item->place))
          problem = {fmt::format("{} has other loops and branches around it "
                                 "than {}",
                                 at(refs[0]), at(refs[i])),
                     {placeOf(refs[0]), placeOf(refs[i])}};
  }

  void checkMembers(uint32_t channel, const std::vector<ItemRef> &refs) {
    const Channel &c = model.channels[channel];
    const Program &program = model.programs[c.program];
    for (uint32_t rank : model.groups[c.group].ranks) {
      uint32_t role = model.programOf[rank];
      bool takesPart = role != none && std::any_of(refs.begin(), refs.end(),
                                                   [&](const ItemRef &ref) {
                                                     return ref.role == role;
                                                   });
      if (takesPart || problem)
        continue;
      problem = {
          fmt::format("rank {} of role '{}' is a member at {}, but {}", rank,
                      model.roleOf[rank], model.describe(program, c.command),
                      role == none ? "has no program" : "does not reach it"),
          {{program.role, c.command}}};
    }
  }

  /// The exits of a loop that several roles execute together correspond, in
  /// program order.
  void joinExits() {
    // Class -> role -> its exits.
    std::map<uint32_t, std::map<uint32_t, std::vector<ItemRef>>> exits;
    for (uint32_t role = 0; role < trees.size(); ++role)
      for (const TreeItem &item : trees[role].items) {
        if (item.kind == TreeItem::Kind::node &&
            node({role, item.index}).kind == TreeNode::Kind::loop)
          exits[classOf(NodeRef{role, item.index})][role];
        if (item.kind == TreeItem::Kind::exit)
          exits[classOf(NodeRef{role, item.index})][role].push_back(
              {role, &item});
      }
    for (auto &[loop, byRole] : exits) {
      const auto &[firstRole, first] = *byRole.begin();
      for (auto &[role, own] : byRole) {
        bool agree = own.size() == first.size();
        for (size_t i = 0; agree && i < own.size(); ++i)
          agree =
              join(firstRole, first[i].item->place, role, own[i].item->place);
        if (!agree && !problem)
          problem = {fmt::format("the loop of {} is left elsewhere than that "
                                 "of {}",
                                 at(firstRole, loopOf(firstRole, loop)),
                                 at(role, loopOf(role, loop))),
                     {placeOf(firstRole, loopOf(firstRole, loop)),
                      placeOf(role, loopOf(role, loop))}};
      }
    }
  }

  /// The first op of a role's loop of a class.
  uint32_t loopOf(uint32_t role, uint32_t loop) {
    for (uint32_t i = 0; i < trees[role].nodes.size(); ++i)
      if (classOf(NodeRef{role, i}) == loop)
        return trees[role].nodes[i].op;
    return 0;
  }

  /// Two nodes of one role cannot be in one class: in an order of all exchanges
  /// each would precede the other.
  void checkClasses() {
    members.resize(parents.size());
    for (uint32_t role = 0; role < trees.size(); ++role)
      for (uint32_t i = 0; i < trees[role].nodes.size(); ++i) {
        std::vector<NodeRef> &own = members[classOf(NodeRef{role, i})];
        if (!own.empty() && own.back().role == role && !problem)
          problem = {
              fmt::format("{} and {} correspond to one place of another role",
                          at(role, node(own.back()).op),
                          at(role, trees[role].nodes[i].op)),
              {placeOf(role, node(own.back()).op),
               placeOf(role, trees[role].nodes[i].op)}};
        own.push_back({role, i});
      }
  }

  //===--- One order ------------------------------------------------------===//

  /// Two consecutive items at one place of a role.
  struct Succession {
    uint32_t from, to;
    ItemRef first, second;
  };

  /// The successions of exchanges and nodes in all roles must be acyclic: then
  /// there is an order with which all roles are consistent. Channels are
  /// numbered first, then classes.
  void checkOrder() {
    uint32_t ids = uint32_t(model.channels.size() + parents.size());
    std::vector<Succession> successions = findSuccessions();
    std::vector<std::vector<uint32_t>> successors(ids);
    std::vector<uint32_t> incoming(ids, 0);
    for (const Succession &succession : successions) {
      successors[succession.from].push_back(succession.to);
      ++incoming[succession.to];
    }
    std::vector<uint32_t> ready;
    for (uint32_t id = 0; id < ids; ++id)
      if (incoming[id] == 0)
        ready.push_back(id);
    for (size_t i = 0; i < ready.size(); ++i)
      for (uint32_t next : successors[ready[i]])
        if (--incoming[next] == 0)
          ready.push_back(next);
    if (ready.size() < ids)
      reportCycle(successions, incoming);
  }

  std::vector<Succession> findSuccessions() {
    uint32_t channels = uint32_t(model.channels.size());
    std::vector<Succession> successions;
    for (uint32_t role = 0; role < trees.size(); ++role) {
      // Place -> its latest item.
      std::map<std::pair<uint32_t, uint8_t>, std::pair<uint32_t, ItemRef>> last;
      for (const TreeItem &item : trees[role].items) {
        uint32_t id;
        if (item.kind == TreeItem::Kind::exchange)
          id = item.index;
        else if (item.kind == TreeItem::Kind::node)
          id = channels + classOf(NodeRef{role, item.index});
        else
          continue;
        if (id >= channels && members[id - channels].size() < 2)
          continue;
        ItemRef ref{role, &item};
        auto [place, isFirst] =
            last.try_emplace({item.place.node, item.place.side}, id, ref);
        if (isFirst)
          continue;
        successions.push_back(
            {place->second.first, id, place->second.second, ref});
        place->second = {id, ref};
      }
    }
    return successions;
  }

  /// Reports the successions of one cycle, with their roles. `incoming` is 0
  /// for items that are not reachable from a cycle.
  void reportCycle(const std::vector<Succession> &successions,
                   const std::vector<uint32_t> &incoming) {
    // Each remaining item has a remaining predecessor, so going backwards from
    // any of them finds a cycle.
    std::map<uint32_t, const Succession *> before;
    for (const Succession &succession : successions)
      if (incoming[succession.from] != 0 && incoming[succession.to] != 0)
        before.try_emplace(succession.to, &succession);
    std::set<uint32_t> seen;
    uint32_t start = before.begin()->first;
    while (seen.insert(start).second)
      start = before.at(start)->from;
    // Backwards; consecutive successions of one role are merged.
    std::vector<Succession> steps;
    uint32_t id = start;
    do {
      const Succession &step = *before.at(id);
      if (!steps.empty() && steps.back().first.role == step.first.role)
        steps.back().first = step.first;
      else
        steps.push_back(step);
      id = step.from;
    } while (id != start);
    if (steps.front().first.role == steps.back().first.role) {
      steps.front().second = steps.back().second;
      steps.pop_back();
    }
    std::vector<std::string> orders;
    problem.emplace();
    for (const Succession &step : std::views::reverse(steps)) {
      orders.push_back(
          fmt::format("{} before {}", at(step.first), describe(step.second)));
      problem->places.push_back(placeOf(step.first));
      problem->places.push_back(placeOf(step.second));
    }
    problem->text = fmt::format("roles start exchanges in different orders: {}",
                                fmt::join(orders, "; "));
  }

  //===--- Decisions ------------------------------------------------------===//

  void checkDecisions() {
    NameTable table;
    std::vector<ConditionNames> names;
    names.reserve(trees.size());
    std::vector<std::vector<uint32_t>> classes(trees.size());
    for (uint32_t role = 0; role < trees.size(); ++role) {
      for (uint32_t i = 0; i < trees[role].nodes.size(); ++i)
        classes[role].push_back(classOf(NodeRef{role, i}));
      names.emplace_back(model, model.programs[role], trees[role],
                         classes[role], table, brokenRule);
    }
    for (const std::vector<NodeRef> &own : members) {
      if (own.size() < 2 || node(own[0]).kind == TreeNode::Kind::loop)
        continue;
      NameId first = names[own[0].role].at(node(own[0]).op);
      for (const NodeRef &ref : own) {
        NameId name = names[ref.role].at(node(ref).op);
        if (name != none && name == first)
          continue;
        const NodeRef &unnamed = first == none ? own[0] : ref;
        const NodeRef &other = first == none ? own[1] : own[0];
        problem = {fmt::format("could not show that {} decides as {} does",
                               at(unnamed.role, node(unnamed).op),
                               at(other.role, node(other).op)),
                   {placeOf(unnamed.role, node(unnamed).op),
                    placeOf(other.role, node(other).op)}};
        return;
      }
    }
  }

  const Model &model;
  ProofRule brokenRule;
  std::optional<Problem> problem;
  /// By role.
  std::vector<ControlTree> trees;
  std::vector<uint32_t> firstNode;
  /// Union-find over the nodes of all trees.
  std::vector<uint32_t> parents;
  /// Class -> its nodes, by role.
  std::vector<std::vector<NodeRef>> members;
};

} // namespace

std::optional<Problem> findDisagreement(const Model &model,
                                        ProofRule brokenRule) {
  return ProjectionChecker(model, brokenRule).find();
}

} // namespace lockstep::runtime::verification
