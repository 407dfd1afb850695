//===- LibraryEpilogue.h - What a library adds to a product -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_LIBRARYEPILOGUE_H
#define LOCKSTEP_PASSES_KERNELS_LIBRARYEPILOGUE_H

#include "runtime/artifact/GpuEpilogue.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// What a library can do with a product of `f32` before it stores it.
struct LibraryEpilogue {
  /// The input that is added to the product, repeated along outer dimensions of
  /// the result; null if there is none.
  mlir::OpOperand *bias = nullptr;
  runtime::GpuActivation activation = runtime::GpuActivation::None;
};

/// Matches `op` as an epilogue of `product`, which is one of its inputs; none
/// if it is no epilogue that a library may have. Activations only if
/// `activations`: a library's may make 0 of a NaN.
std::optional<LibraryEpilogue> matchLibraryEpilogue(mlir::linalg::GenericOp op,
                                                    mlir::Value product,
                                                    bool activations);

/// Whether the library that computes `product`, on tensors, may also compute
/// `epilogue`: with a bias, one element for each column or channel. `tf32`: it
/// multiplies factors of f32 on tensor cores, for which rows may be padded.
bool isLibraryEpilogue(mlir::linalg::GenericOp epilogue,
                       mlir::linalg::LinalgOp product, bool activations,
                       bool tf32);

} // namespace lockstep

#endif
