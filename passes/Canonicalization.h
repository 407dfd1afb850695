//===- Canonicalization.h - MLIR's canonicalization, corrected --*- C++ -*-===//
//
// One pattern of MLIR 22 is wrong: `FoldInsertPadIntoFill` replaces
//
//   %p = tensor.pad %x low[1] high[1] { tensor.yield %zero }
//   %f = linalg.fill ins(%zero) outs(%empty)
//   tensor.insert_slice %p into %f[1] [3] [2]
//
// by an `insert_slice` of %x at the offset 1 + 1, instead of 1 + 1 * 2 as the
// stride requires. All stages canonicalize through this file, which disables
// it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_CANONICALIZATION_H
#define LOCKSTEP_PASSES_CANONICALIZATION_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace lockstep {

/// MLIR's canonicalizer without its wrong pattern, and without the patterns
/// whose names are in `disabled`. Where all control flow is structured,
/// `regions` may be `Disabled`: blocks have no successors to simplify.
std::unique_ptr<mlir::Pass>
createCanonicalizer(llvm::ArrayRef<std::string> disabled = {},
                    mlir::GreedySimplifyRegionLevel regions =
                        mlir::GreedySimplifyRegionLevel::Normal);

/// Adds the canonicalization patterns of all operations of `dialects`.
void addCanonicalizations(mlir::RewritePatternSet &patterns,
                          llvm::ArrayRef<llvm::StringRef> dialects);

/// Freezes `patterns` without the wrong one, and without those whose names are
/// in `disabled`. To be used for every set to which canonicalization patterns
/// were added.
mlir::FrozenRewritePatternSet freeze(mlir::RewritePatternSet &&patterns,
                                     llvm::ArrayRef<std::string> disabled = {});

} // namespace lockstep

#endif
