//===- LibraryEpilogue.h - What a library adds to a product -----*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_KERNELS_LIBRARYEPILOGUE_H
#define LOCKSTEP_PASSES_KERNELS_LIBRARYEPILOGUE_H

#include "runtime/artifact/GpuProducts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace lockstep {

/// What a library can do with a product of `f32` before it stores it.
struct LibraryEpilogue {
  /// The input that is added to the product, whose elements are repeated along
  /// a dimension; null if there is none. They need not be those of columns.
  mlir::OpOperand *bias = nullptr;
  runtime::GpuProduct::Activation activation =
      runtime::GpuProduct::Activation::None;
};

/// The epilogue that `op` is of `product`, the value of one of its inputs; none
/// if it is none that a library has. Activations only with `activations`: they
/// need not have the results of `op` for what is no number.
std::optional<LibraryEpilogue> matchLibraryEpilogue(mlir::linalg::GenericOp op,
                                                    mlir::Value product,
                                                    bool activations);

} // namespace lockstep

#endif
