//===- Canonicalization.cpp - MLIR's canonicalization, corrected ----------===//

#include "passes/Canonicalization.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace lockstep;
using namespace mlir;

/// The debug name of the pattern: that of its class.
static const char *const wrongPattern =
    "(anonymous namespace)::FoldInsertPadIntoFill";

std::unique_ptr<Pass>
lockstep::createCanonicalizer(ArrayRef<std::string> disabled,
                              GreedySimplifyRegionLevel regions) {
  auto all = llvm::to_vector(disabled);
  all.push_back(wrongPattern);
  return createCanonicalizerPass(
      GreedyRewriteConfig().setRegionSimplificationLevel(regions), all);
}

void lockstep::addCanonicalizations(RewritePatternSet &patterns,
                                    ArrayRef<StringRef> dialects) {
  MLIRContext *context = patterns.getContext();
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (llvm::is_contained(dialects, op.getDialectNamespace()))
      op.getCanonicalizationPatterns(patterns, context);
}

FrozenRewritePatternSet lockstep::freeze(RewritePatternSet &&patterns,
                                         ArrayRef<std::string> disabled) {
  auto all = llvm::to_vector(disabled);
  all.push_back(wrongPattern);
  return FrozenRewritePatternSet(std::move(patterns), all);
}
