//===- Sizes.h - Sizes of the tensors of a step -----------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_SIZES_H
#define LOCKSTEP_PASSES_MEMORY_SIZES_H

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Analysis/Views.h"

#include "mlir/IR/OpDefinition.h"

namespace lockstep {

/// The upper bound of the bytes of a tensor of a step.
int64_t getByteSize(mlir::Value tensor);

/// The sizes of the dynamic dimensions of `tensor`, in order, of type `index`.
llvm::SmallVector<mlir::OpFoldResult> getDynamicSizes(mlir::Value tensor);

/// Whether the sizes of `tensor`, and their bounds, are known in the step.
bool hasKnownSizes(mlir::Value tensor);

} // namespace lockstep

#endif
