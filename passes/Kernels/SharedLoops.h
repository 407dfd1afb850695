//===- SharedLoops.h - Operations that one nest of loops computes -*- C++
//-*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_SHAREDLOOPS_H
#define LOCKSTEP_PASSES_KERNELS_SHAREDLOOPS_H

#include "mlir/IR/Operation.h"

namespace lockstep {

/// Whether the operations of one block, in program order, are best computed in
/// one kernel, by common outer loops: an iteration of these needs only what it
/// has computed itself, which is small enough to stay in a cache until it is
/// read, as the rows of a softmax are. Not if one is a product of matrices,
/// which has loops of its own.
bool mayShareLoops(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace lockstep

#endif
