//===- Roles.cpp - Roles of a module and their groups ---------------------===//

#include "passes/Roles/Roles.h"

#include "dialect/Collective/CollectiveDialect.h"

using namespace lockstep;
using namespace mlir;

Roles::Roles(ModuleOp module)
    : module(module), roles(module.getOps<device::RoleOp>()) {
  llvm::sort(roles, [](device::RoleOp a, device::RoleOp b) {
    return a.getFirstRank() < b.getFirstRank();
  });
}

FlatSymbolRefAttr Roles::getGroupOf(ArrayRef<Role> members, bool allReplicas) {
  bool hasReplicas = members.front() == kReplicas;
  // A single replica is all replicas.
  bool withReplicas =
      hasReplicas && (allReplicas || get(kReplicas).getRanks() == 1);
  std::string name;
  SmallVector<int64_t> ranks;
  for (Role role : members) {
    bool isAll = role == kReplicas && withReplicas;
    if (!name.empty())
      name += "_and_";
    name += isAll ? "replicas" : get(role).getSymName().str();
    if (!isAll)
      ranks.push_back(getRank(role));
  }
  return getGroup(name, ranks, withReplicas);
}

FlatSymbolRefAttr Roles::getGroup(const std::string &name,
                                  ArrayRef<int64_t> ranks, bool withReplicas) {
  if (!module.lookupSymbol<collective::GroupOp>(name)) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    collective::GroupOp::create(builder, module.getLoc(), name,
                                builder.getDenseI64ArrayAttr(ranks),
                                withReplicas);
  }
  return FlatSymbolRefAttr::get(module.getContext(), name);
}
