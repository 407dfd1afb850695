//===- LibraryProduct.h - Products that a library computes ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYPRODUCT_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYPRODUCT_H

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/ProductGroup.h"
#include "runtime/artifact/GpuProducts.h"

namespace lockstep {

/// The description, for a library, of a product and of as much of its epilogue
/// as the library computes, which is a rounding to 16 bits, or a bias and an
/// activation: the rest of the epilogue is taken out of the
/// group. Several loops may be one dimension of the matrices if they have one
/// constant stride in each operand; up to two dimensions of other parallel
/// loops become a batch and its repetitions. None, and the group is unchanged,
/// for other products, such as convolutions, and if `options` want none.
std::optional<runtime::GpuProduct>
takeLibraryProduct(ProductGroup &group, const GpuProductOptions &options);

} // namespace lockstep

#endif
