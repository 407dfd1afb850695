//===- VectorAccess.h - Elements that a thread accesses at once -*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_CODEGEN_GPU_VECTORACCESS_H
#define LOCKSTEP_PASSES_CODEGEN_GPU_VECTORACCESS_H

#include "passes/Codegen/LoopGroup.h"
#include "passes/Codegen/ScalarBody.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lockstep {

/// The most bytes that an instruction of a GPU loads or stores.
inline constexpr int64_t kVectorBytes = 16;

/// How a stage accesses an operand in neighboring iterations of a loop.
enum class NeighborAccess {
  /// All of them need the same element, or the operand is a scalar.
  Uniform,
  /// They access neighboring elements, of which the first is at a multiple of
  /// their number from the beginning of the buffer.
  Contiguous,
  /// In another manner.
  Other
};

/// The access in `count` iterations along the dimension `dim` of the operation
/// that owns `operand`, of which the first has a number that is a multiple of
/// `count`.
NeighborAccess classifyAccess(mlir::OpOperand &operand, unsigned dim,
                              int64_t count);

/// Whether a stage has no other accesses in `count` neighboring iterations of
/// its innermost loop, within the `depth` outer loops; there must be one. What
/// is in `registers` is not accessed.
bool accessesVectors(const LoopStage &stage, unsigned depth,
                     const llvm::SmallDenseSet<mlir::Value> &registers,
                     int64_t count);

/// How many elements of the smallest type that a group accesses fit into
/// `kVectorBytes`.
int64_t getMostElements(const LoopGroup &group, unsigned depth,
                        const llvm::SmallDenseSet<mlir::Value> &registers);

/// How many neighboring iterations of the innermost loop a thread should
/// execute, a power of two: so many that it accesses `kVectorBytes` of the
/// operands with the smallest elements at once. 1 if that cannot be done in all
/// stages. `depth` is the number of outer loops that do not count; stages
/// without further ones may do as they like.
int64_t chooseVectorLength(const LoopGroup &group, unsigned depth,
                           const llvm::SmallDenseSet<mlir::Value> &registers);

/// Loads and stores elements of neighboring iterations of an innermost loop, as
/// vectors if all buffers that are accessed so are aligned to `kVectorBytes`,
/// which a thread finds out once, and else one by one.
class VectorAccess {
public:
  /// The iterations of a thread are in runs of `length`, for which
  /// `accessesVectors` holds in stages of `group`, with the same `depth` and
  /// `registers`. Code is inserted where `builder` stands.
  VectorAccess(mlir::OpBuilder &builder, const LoopGroup &group, unsigned depth,
               const llvm::SmallDenseSet<mlir::Value> &registers,
               int64_t length);

  int64_t getLength() const { return length; }
  /// Whether a stage may have vectors, if not all of the group do.
  bool isFor(const LoopStage &stage) const {
    return accessesVectors(stage, depth, registers, length);
  }

  /// Lets `bodies`, the iterations of a stage, have the elements of operands
  /// that it reads; not of those in `computed`.
  void load(const LoopStage &stage, llvm::MutableArrayRef<ScalarBody> bodies,
            const ScalarBody::Elements &computed);
  /// Stores the results of these iterations but for those in registers.
  void store(const LoopStage &stage, llvm::MutableArrayRef<ScalarBody> bodies,
             llvm::ArrayRef<llvm::SmallVector<mlir::Value>> results);

private:
  unsigned getInnermost(const LoopStage &stage) const;

  mlir::OpBuilder &builder;
  unsigned depth;
  const llvm::SmallDenseSet<mlir::Value> &registers;
  int64_t length;
  /// Whether all buffers of which vectors are accessed are aligned.
  mlir::Value isAligned;
};

/// Lets accesses of vectors in `function` be of buffers instead of views of
/// them, aligned to their size, or to `kVectorBytes` if they have more:
/// upstream's folding of views loses the alignment, after which LLVM accesses
/// single elements.
void foldVectorViews(mlir::func::FuncOp function);

} // namespace lockstep

#endif
