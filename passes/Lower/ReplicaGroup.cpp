//===- ReplicaGroup.cpp - The group of all replicas -----------------------===//

#include "passes/Lower/ReplicaGroup.h"

#include "dialect/Collective/CollectiveDialect.h"

#include "mlir/IR/SymbolTable.h"

using namespace lockstep;
using namespace mlir;

StringAttr lockstep::getGroupOfReplicas(ModuleOp module, int64_t replicas) {
  auto allRanks = llvm::to_vector(llvm::seq<int64_t>(replicas));
  for (auto existing : module.getOps<collective::GroupOp>())
    if (!existing.getWithReplicas() &&
        (!existing.getRanks() || llvm::equal(*existing.getRanks(), allRanks)))
      return existing.getSymNameAttr();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  // The symbol table renames the group if a variable has its name.
  SymbolTable symbols(module);
  return symbols.insert(collective::GroupOp::create(
      builder, module.getLoc(), "all", /*ranks=*/DenseI64ArrayAttr(),
      /*with_replicas=*/false));
}
