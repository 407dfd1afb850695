//===- LoopMetadata.cpp - Mark parallel loops for LLVM --------------------===//

#include "passes/Codegen/LoopMetadata.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"

using namespace mlir;

/// Upstream's conversions copy attributes with the prefix of the LLVM dialect
/// from a loop to the branch that repeats it.
static constexpr StringLiteral kLoopMark = "llvm.loop_annotation";

void lockstep::setParallel(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto group = LLVM::AccessGroupAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)));
  auto annotation = LLVM::LoopAnnotationAttr::get(
      context, /*disableNonforced=*/{}, /*vectorize=*/{}, /*interleave=*/{},
      /*unroll=*/{},
      /*unrollAndJam=*/{}, /*licm=*/{}, /*distribute=*/{}, /*pipeline=*/{},
      /*peeled=*/{}, /*unswitch=*/{},
      /*mustProgress=*/{}, /*isVectorized=*/{}, /*startLoc=*/{}, /*endLoc=*/{},
      /*parallelAccesses=*/{group});
  loop->setDiscardableAttr(kLoopMark, annotation);
}

void lockstep::adoptLoopMarks(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    if (Attribute mark = branch->removeDiscardableAttr(kLoopMark))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(mark));
  });
}

/// The access group that the loop's metadata names, or null.
static llvm::MDNode *getAccessGroup(llvm::Loop &loop) {
  llvm::MDNode *properties = loop.getLoopID();
  if (!properties)
    return nullptr;
  for (const llvm::MDOperand &operand :
       llvm::drop_begin(properties->operands())) {
    auto *property = llvm::dyn_cast<llvm::MDNode>(operand);
    if (!property || property->getNumOperands() != 2)
      continue;
    auto *name = llvm::dyn_cast<llvm::MDString>(property->getOperand(0));
    if (name && name->getString() == "llvm.loop.parallel_accesses")
      return llvm::dyn_cast<llvm::MDNode>(property->getOperand(1));
  }
  return nullptr;
}

void lockstep::markParallelLoops(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    for (llvm::Loop *loop : loops.getLoopsInPreorder())
      if (llvm::MDNode *group = getAccessGroup(*loop))
        for (llvm::BasicBlock *block : loop->blocks())
          for (llvm::Instruction &instruction : *block)
            if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction))
              instruction.setMetadata(llvm::LLVMContext::MD_access_group,
                                      group);
  }
}
