//===- LibraryProduct.h - Products that a library computes ------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYPRODUCT_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYPRODUCT_H

#include "passes/Codegen/ProductGroup.h"
#include "runtime/artifact/GpuProducts.h"

namespace lockstep {

/// Where an intermediate buffer is in the working memory of its kernel.
inline constexpr llvm::StringLiteral kOffsetAttr = "lockstep.offset";

/// The description, for a library, of a product and of as much of its epilogue
/// as the library computes, which is a rounding to 16 bits: the rest of the
/// epilogue is taken out of the group. The dimensions of the rows, of the
/// columns and of the sums have to be consecutive in memory, or to be left to
/// at most two loops over matrices. None, and the group is unchanged, for other
/// products, such as convolutions.
std::optional<runtime::GpuProduct> takeLibraryProduct(ProductGroup &group);

} // namespace lockstep

#endif
