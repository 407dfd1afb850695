//===- EmitLoops.h - Loops of element-wise operations and reductions ------===//

#ifndef LOCKSTEP_PASSES_CODEGEN_EMITLOOPS_H
#define LOCKSTEP_PASSES_CODEGEN_EMITLOOPS_H

#include "passes/Codegen/Grid.h"
#include "passes/Codegen/LoopGroup.h"

namespace lockstep {

/// Along which of the group's loops its iterations are divided among tiles.
/// Stages without outer loops in common may be divided along the one that each
/// has; its number is then 0 too.
llvm::SmallVector<Split> splitLoops(const LoopGroup &group);

/// Writes the loops of the group before its last operation, and removes its
/// operations.
///
/// A reduction along contiguous memory keeps `kReductionLanes` partial results
/// that are added in a fixed tree, whatever the target; one along another
/// dimension adds whole rows to the result; short ones are done in order.
void emitLoops(mlir::OpBuilder &builder, LoopGroup &group, mlir::Value tile,
               llvm::ArrayRef<Split> splits);

} // namespace lockstep

#endif
