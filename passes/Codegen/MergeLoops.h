//===- MergeLoops.h - One loop instead of two in a product ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_MERGELOOPS_H
#define LOCKSTEP_PASSES_CODEGEN_MERGELOOPS_H

#include "passes/Codegen/ProductGroup.h"

namespace lockstep {

/// Replaces pairs of loops of a product and of its epilogue by one loop each,
/// where all operands have them as consecutive indices of contiguous memory,
/// such as those over the examples and the tokens of a batch. A product of
/// matrices then is one, whose rows or terms are divided into blocks of any
/// size. The order of the terms of a sum stays. Operands become views. Returns
/// the product that replaces that of `group`, which is invalid afterwards;
/// null if no loops can be merged.
mlir::linalg::GenericOp mergeLoops(ProductGroup &group);

} // namespace lockstep

#endif
