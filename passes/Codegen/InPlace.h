//===- InPlace.h - Results in the memory of an argument ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_INPLACE_H
#define LOCKSTEP_PASSES_CODEGEN_INPLACE_H

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// Attribute of a function on memory: number of its arguments that are buffers
/// (arguments, results, then scratch).
inline constexpr llvm::StringLiteral kNumBuffersAttr = "lockstep.num_buffers";
/// For each result, the argument that may be the same memory, or -1.
inline constexpr llvm::StringLiteral kInPlaceAttr = "lockstep.in_place";
/// Whether the last buffer is working memory; and, before that has been
/// decided, whether the code for another target has one.
inline constexpr llvm::StringLiteral kHasScratchAttr = "lockstep.has_scratch";
inline constexpr llvm::StringLiteral kNeedsScratchAttr =
    "lockstep.needs_scratch";
/// Number of tiles that may run at the same time.
inline constexpr llvm::StringLiteral kGridAttr = "lockstep.grid";
/// Bytes of working memory of one tile.
inline constexpr llvm::StringLiteral kScratchAttr = "lockstep.scratch";

/// On a GPU, where an intermediate buffer is in working memory, in bytes.
inline constexpr llvm::StringLiteral kOffsetAttr = "lockstep.offset";
/// On a GPU: the numbers of threads in a block of a phase, and of blocks; and,
/// for a kernel, the numbers of blocks and of threads of each of its phases.
inline constexpr llvm::StringLiteral kThreadsAttr = "lockstep.threads";
inline constexpr llvm::StringLiteral kBlocksAttr = "lockstep.blocks";
inline constexpr llvm::StringLiteral kLaunchesAttr = "lockstep.launches";
/// Where a result of a kernel may be written.
struct ResultPlace {
  int64_t argument = -1; ///< Argument whose memory it may be, or -1.
  bool isUpdatedCopy =
      false; ///< It starts as a copy of that argument and is then updated.
};

/// The result places that the kernel permits. Marks results that are updated
/// copies of their argument.
llvm::SmallVector<ResultPlace> chooseResultPlaces(device::KernelOp kernel);

/// Resets places that are invalid for the bufferized code: each element of the
/// argument must be read before the same element of the result is written,
/// since the two may be the same memory.
void confirmResultPlaces(mlir::func::FuncOp function, unsigned numArguments,
                         llvm::MutableArrayRef<ResultPlace> places);

mlir::DenseI64ArrayAttr getInPlaceAttr(mlir::MLIRContext *context,
                                       llvm::ArrayRef<ResultPlace> places);

/// The buffer that a view is a part of: an argument of the function, an
/// allocation, or a global.
mlir::Value getBuffer(mlir::Value view);

} // namespace lockstep

#endif
