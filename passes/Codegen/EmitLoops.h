//===- EmitLoops.h - Code of element-wise loops and reductions --*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_EMITLOOPS_H
#define LOCKSTEP_PASSES_CODEGEN_EMITLOOPS_H

#include "passes/Codegen/Grid.h"
#include "passes/Codegen/LoopGroup.h"

namespace lockstep {

/// The loops of the group along which its iterations are divided into tiles.
/// Stages without common outer loops may be divided along the single parallel
/// loop of each; its number is then 0, too.
llvm::SmallVector<Split> splitLoops(const LoopGroup &group);

/// Emits the loops of the group before its last operation, and erases its
/// operations.
///
/// A reduction along contiguous memory keeps `kReductionLanes` partial results
/// that are combined in a fixed tree, independent of the target; one along
/// another dimension adds whole rows to the result, in registers if a row is
/// short; short ones are sequential.
void emitLoops(mlir::OpBuilder &builder, LoopGroup &group, mlir::Value tile,
               llvm::ArrayRef<Split> splits);

} // namespace lockstep

#endif
