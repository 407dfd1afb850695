//===- LibraryAttention.h - Attention by a library --------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYATTENTION_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYATTENTION_H

#include "runtime/artifact/GpuAttention.h"

#include "mlir/IR/Operation.h"

namespace lockstep {

/// The description, for a library, of an attention, or the gradient of one.
/// None if the places of its operands are not known at compile time, or for
/// operands that libraries do not support.
std::optional<runtime::GpuAttention>
describeAttention(mlir::Operation *attention);

} // namespace lockstep

#endif
