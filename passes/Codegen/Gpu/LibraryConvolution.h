//===- LibraryConvolution.h - Convolutions by a library ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYCONVOLUTION_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_LIBRARYCONVOLUTION_H

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/ProductGroup.h"
#include "runtime/artifact/GpuConvolutions.h"

namespace lockstep {

/// The description, for a library, of a convolution in one or two dimensions,
/// or of the gradient of its filter, and of as much of its epilogue as the
/// library computes, which is a rounding to 16 bits, or a bias and a ReLU: the
/// rest of the epilogue is taken out of the group. None, and the group is
/// unchanged, for other products, for convolutions of groups of channels, and
/// for sums of factors of 16 bits that are not rounded, and if `options` want
/// none.
std::optional<runtime::GpuConvolution>
takeLibraryConvolution(ProductGroup &group, const GpuProductOptions &options);

} // namespace lockstep

#endif
