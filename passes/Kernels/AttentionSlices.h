//===- AttentionSlices.h - Attention of a few heads at a time ---*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_ATTENTIONSLICES_H
#define LOCKSTEP_PASSES_KERNELS_ATTENTIONSLICES_H

#include "mlir/IR/PatternMatch.h"

namespace lockstep {

/// Replaces `op`, an attention on tensors or the gradient of one, by loops over
/// its examples and, if need be, their heads, if the scores of all of them are
/// more than `mostBytes`. An iteration computes an attention of as many
/// examples, or heads of one, as have at most so many bytes of scores, but one
/// head at least; what is left at the end is behind the loop. Returns the
/// attentions that there are then: `op` itself if it has not been replaced.
llvm::SmallVector<mlir::Operation *>
sliceAttention(mlir::RewriterBase &rewriter, mlir::Operation *op,
               uint64_t mostBytes);

} // namespace lockstep

#endif
