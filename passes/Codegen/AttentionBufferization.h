//===- AttentionBufferization.h - Attention on memory -----------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_ATTENTIONBUFFERIZATION_H
#define LOCKSTEP_PASSES_CODEGEN_ATTENTIONBUFFERIZATION_H

#include "mlir/IR/DialectRegistry.h"

namespace lockstep {

/// Lets `device.attention` and `device.attention_gradient` be bufferized: they
/// write their results to the memory of their destinations.
void registerAttentionBufferization(mlir::DialectRegistry &registry);

} // namespace lockstep

#endif
