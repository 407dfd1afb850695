//===- RoleTraffic.cpp - what replicas exchange with other roles ----------===//

#include "tools/lockstep-inspect/Inspection.h"

#include "runtime/collectives/CollectiveKinds.h"

#include <algorithm>

namespace lockstep::inspect {

namespace {

class ExchangeFinder {
public:
  ExchangeFinder(const runtime::Artifact &artifact,
                 const artifact::Program &tables, ProgramInfo &program)
      : artifact(artifact), tables(tables), program(program) {}

  /// Each replica sends its operands to a root of another role and receives its
  /// results from it.
  void run() {
    if (program.role != roles.front().name)
      return;
    for (size_t i = 1; i < roles.size(); ++i)
      program.exchanges.push_back({roles[i].name, 0, 0});
    for (const CollectiveInfo &collective : program.collectives) {
      const artifact::Start *start =
          tables.commands()->Get(collective.start)->body_as_Start();
      // A barrier exchanges nothing.
      if (!start)
        continue;
      const artifact::Group &group =
          *artifact.tables().groups()->Get(start->group());
      const RoleInfo &role = roleOfRank(roles, collective.root.value_or(0));
      if (role.name == program.role && isBroadcast(*start))
        addGiven(collective, group, headerBytes(*start));
      auto exchange = std::find_if(
          program.exchanges.begin(), program.exchanges.end(),
          [&](const ExchangeInfo &e) { return e.role == role.name; });
      if (exchange == program.exchanges.end())
        continue;
      uint64_t times = timesOf(program, collective.start) * replicasIn(group);
      // Without operands, the root sends the sizes.
      uint64_t header = times * headerBytes(*start);
      (collective.operands.empty() ? exchange->fromRole : exchange->toRole) +=
          header;
      exchange->toRole += times * collective.bytes;
      for (uint32_t buffer : collective.results)
        exchange->fromRole += times * program.buffers[buffer].size;
    }
  }

private:
  /// Replicas that take part in a collective.
  uint64_t replicasIn(const artifact::Group &group) const {
    const RoleInfo &replicas = roles.front();
    if (!group.ranks() || group.ranks()->size() == 0)
      return replicas.ranks;
    return std::count_if(group.ranks()->begin(), group.ranks()->end(),
                         [&](uint32_t rank) { return rank < replicas.ranks; });
  }

  /// Bytes of the sizes before a member's operands in a message: all dimensions
  /// of all tensors, or of a scatter, the number of rows.
  uint64_t headerBytes(const artifact::Start &start) const {
    const auto &kind = runtime::CollectiveProperties::of(start.kind());
    if (kind.isReduction)
      return 0;
    if (kind.shape == runtime::ShapeRule::rows)
      return sizeof(int64_t);
    const auto *buffers = start.operands() && start.operands()->size()
                              ? start.operands()
                              : start.results();
    uint64_t dimensions = 0;
    for (uint32_t i = 0; buffers && i < buffers->size(); ++i)
      if (const auto *shape =
              tables.buffers()->Get(buffers->Get(i))->type()->shape())
        dimensions += shape->size();
    return dimensions * sizeof(int64_t);
  }

  /// Whether all members receive the root's operands.
  static bool isBroadcast(const artifact::Start &start) {
    const auto &kind = runtime::CollectiveProperties::of(start.kind());
    return kind.operandHolders == runtime::Holders::root && kind.isSameForAll();
  }

  /// Adds a broadcast of a replica, which is sent to every role in the group.
  void addGiven(const CollectiveInfo &collective, const artifact::Group &group,
                uint64_t header) {
    for (ExchangeInfo &exchange : program.exchanges) {
      auto role =
          std::find_if(roles.begin(), roles.end(), [&](const RoleInfo &known) {
            return known.name == exchange.role;
          });
      bool takesPart =
          group.ranks() &&
          std::any_of(group.ranks()->begin(), group.ranks()->end(),
                      [&](uint32_t rank) {
                        return rank >= role->firstRank &&
                               rank - role->firstRank < role->ranks;
                      });
      if (takesPart)
        exchange.toRole +=
            timesOf(program, collective.start) * (collective.bytes + header);
    }
  }

  const runtime::Artifact &artifact;
  const artifact::Program &tables;
  ProgramInfo &program;
  const std::vector<RoleInfo> roles = rolesOf(artifact.tables());
};

} // namespace

void findExchanges(const runtime::Artifact &artifact,
                   const artifact::Program &tables, ProgramInfo &program) {
  ExchangeFinder(artifact, tables, program).run();
}

} // namespace lockstep::inspect
