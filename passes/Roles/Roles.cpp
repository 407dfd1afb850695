//===- Roles.cpp - Roles of a module, and where they meet -----------------===//

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

FlatSymbolRefAttr Roles::getGroupWithReplicas(Role server) {
  return getGroup(("replicas_and_" + get(server).getSymName()).str(),
                  {getRank(server)}, /*withReplicas=*/true);
}

FlatSymbolRefAttr Roles::getPair(Role a, Role b) {
  // One replica is all of them.
  if (get(kReplicas).getRanks() == 1 && std::min(a, b) == kReplicas)
    return getGroupWithReplicas(std::max(a, b));
  auto [low, high] = std::minmax(a, b);
  return getGroup(
      (get(low).getSymName() + "_and_" + get(high).getSymName()).str(),
      {getRank(low), getRank(high)}, /*withReplicas=*/false);
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
