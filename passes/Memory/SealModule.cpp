//===- SealModule.cpp - Reduce a module to its artifact's contents --------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Emit/VariableSymbols.h"
#include "passes/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SEALMODULEPASS
#include "passes/Passes.h.inc"

namespace {

/// Removes blocks that are unreachable or contain no command, and merges a
/// block with its single successor if it is the only predecessor.
void simplifyBlocks(device::ProgramOp program) {
  Region &body = program.getBody();
  bool changed = true;
  while (changed) {
    changed = false;
    for (Block &block : llvm::make_early_inc_range(body)) {
      if (&block != &body.front() && block.hasNoPredecessors()) {
        block.erase();
        changed = true;
        break;
      }
      auto jump = dyn_cast<device::JumpOp>(block.getTerminator());
      Block *next = block.getNextNode();
      if (!jump || jump.getTarget() != next)
        continue;
      if (next->getSinglePredecessor() == &block) {
        jump.erase();
        block.getOperations().splice(block.end(), next->getOperations());
        next->erase();
      } else if (&block != &body.front() && llvm::hasSingleElement(block)) {
        block.replaceAllUsesWith(next);
        block.erase();
      } else {
        continue;
      }
      changed = true;
      break;
    }
  }
}

/// Moves all slices to the start of the program, before the commands.
void hoistSlices(device::ProgramOp program) {
  Block &entry = program.getBody().front();
  Operation *last = nullptr;
  for (auto slice :
       llvm::make_early_inc_range(program.getOps<device::SliceOp>())) {
    if (last)
      slice->moveAfter(last);
    else
      slice->moveBefore(&entry, entry.begin());
    last = slice;
  }
}

struct SealModule : impl::SealModulePassBase<SealModule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> replicas = getReplicas(module);
    if (failed(replicas))
      return signalPassFailure();
    Attribute topology = module->getAttr(kTopologyAttr);
    module->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    module->setAttr(
        kReplicasAttr,
        IntegerAttr::get(IntegerType::get(&getContext(), 64), *replicas));
    if (topology)
      module->setAttr(kTopologyAttr, topology);
    for (auto strategy :
         llvm::make_early_inc_range(module.getOps<replica::StrategyOp>()))
      strategy.erase();
    OpBuilder builder(&getContext());
    for (auto kernel :
         llvm::make_early_inc_range(module.getOps<device::KernelOp>())) {
      builder.setInsertionPoint(kernel);
      device::EntryOp::create(builder, kernel.getLoc(), kernel.getSymName(),
                              kernel.getLaunchArguments(), kernel.getGrid(),
                              kernel.getFlops(), kernel.getBytes(),
                              kernel.getCodeAttr());
      kernel.erase();
    }
    for (auto program : module.getOps<device::ProgramOp>()) {
      hoistSlices(program);
      simplifyBlocks(program);
    }
    nameVariables(module);
    sort(module);
  }

  void sort(ModuleOp module) {
    SmallVector<SmallVector<Operation *>> kinds(10);
    for (Operation &op : *module.getBody()) {
      unsigned kind = TypeSwitch<Operation *, unsigned>(&op)
                          .Case([](collective::GroupOp) { return 0; })
                          .Case([](device::RoleOp) { return 1; })
                          .Case([](device::VariableOp) { return 2; })
                          .Case([](device::ScalarOp) { return 3; })
                          .Case([](device::ConstantsOp) { return 4; })
                          .Case([](device::EntryOp) { return 5; })
                          .Case([](device::BinaryOp) { return 6; })
                          .Case([](device::ProgramOp) { return 7; })
                          .Case([](device::ConstantOutputOp) { return 8; })
                          .Default([](Operation *) { return 9; });
      kinds[kind].push_back(&op);
    }
    for (ArrayRef<Operation *> ops : kinds)
      for (Operation *op : ops)
        op->moveBefore(module.getBody(), module.getBody()->end());
  }
};

} // namespace
} // namespace lockstep
