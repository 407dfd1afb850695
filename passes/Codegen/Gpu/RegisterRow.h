//===- RegisterRow.h - Rows of which threads keep elements ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_REGISTERROW_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_REGISTERROW_H

#include "passes/Codegen/LoopGroup.h"

namespace lockstep {

/// The loops of a stage within the `depth` outer ones of its group, in order,
/// without those of one iteration.
llvm::SmallVector<unsigned> getInnerDims(const LoopStage &stage,
                                         unsigned depth);

/// Whether a block can execute so many neighboring iterations of the innermost
/// loop of a stage at once, and the rest one by one. Not if there are several
/// inner loops and the last one has a rest, nor a reduction with several
/// results, over several loops, or one that `matchCombiner` does not find.
bool mayHaveVectors(const LoopStage &stage, unsigned depth, int64_t length);

/// The sizes of the inner loops of a group, if a thread can execute the same
/// iterations of them for all stages, and keep what it computes in registers:
/// each stage has exactly these loops, as element-wise ones or as one
/// reduction, or none (but for loops of one iteration); what a stage writes is
/// accessed by others in the same iteration only; and what a row has once is
/// not read before it is computed. None otherwise.
std::optional<llvm::SmallVector<int64_t>>
matchRegisterRow(const LoopGroup &group, unsigned depth,
                 const Aliases &aliases);

} // namespace lockstep

#endif
