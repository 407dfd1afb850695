//===- StableHLO.h - Import of StableHLO operations -------------*- C++ -*-===//
//
// Upstream MLIR has no StableHLO dialect: the operations that legalization to
// linalg leaves in a captured program are parsed as unregistered operations,
// whose attributes are dictionaries and text.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_IMPORT_STABLEHLO_H
#define LOCKSTEP_PASSES_IMPORT_STABLEHLO_H

#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace lockstep::stablehlo {

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Marks a scatter whose indices were unsigned before their type became
/// signless.
inline constexpr llvm::StringLiteral kUnsignedIndices =
    "lockstep.unsigned_indices";

/// The parameters of an attribute such as
/// `#stablehlo.scatter<update_window_dims = [1], index_vector_dim = 2>`, by
/// name. A single number is a list of one; missing names are not in the map.
using Parameters = llvm::StringMap<llvm::SmallVector<int64_t>>;

/// Reads the text of an opaque attribute of kind `mnemonic`. An error is
/// reported at `op`.
mlir::FailureOr<Parameters> parseParameters(mlir::Operation *op,
                                            llvm::StringRef attribute,
                                            llvm::StringRef mnemonic);

/// The integers of an attribute that is an array, a dense array, or dense
/// elements in row-major order; empty if `op` does not have it.
llvm::SmallVector<int64_t> getIntegers(mlir::Operation *op,
                                       llvm::StringRef attribute);

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// Starts the error "cannot import 'stablehlo.foo'" at `op`.
mlir::InFlightDiagnostic emitCannotImport(mlir::Operation *op);

/// Fails with an error if the tensors of `op` are not all ranked and of static
/// shape.
mlir::LogicalResult verifyStaticShapes(mlir::Operation *op);

/// Fails with an error if a region of `op` is not a computation on scalars: one
/// block of `arguments` rank-0 tensors that returns `results` of them.
mlir::LogicalResult verifyComputation(mlir::Operation *op, unsigned region,
                                      unsigned arguments, unsigned results);

/// Whether a region is one block that ends in `stablehlo.return`.
bool isReturning(mlir::Region &region);

//===----------------------------------------------------------------------===//
// Computations on scalars
//===----------------------------------------------------------------------===//

/// Copies a region on rank-0 tensors, such as the update computation of a
/// scatter, to scalars at the insertion point.
///
/// \param arguments one scalar for each argument of `body`.
/// \returns one scalar for each operand of the terminator of `body`, which is
/// not changed.
llvm::SmallVector<mlir::Value> inlineOnScalars(mlir::OpBuilder &builder,
                                               mlir::Block &body,
                                               mlir::ValueRange arguments);

/// A constant of type index.
mlir::Value getIndex(mlir::OpBuilder &builder, mlir::Location loc,
                     int64_t value);

/// Builds a loop nest from 0 to `sizes`, outermost first, that carries
/// `carried`, and returns the results. No loop is built for a size of 1: its
/// induction variable is the constant 0.
llvm::SmallVector<mlir::Value> buildLoops(
    mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> sizes,
    mlir::ValueRange carried,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(
        mlir::OpBuilder &, mlir::ValueRange ivs, mlir::ValueRange carried)>
        body);

//===----------------------------------------------------------------------===//
// Operations. Each function replaces `op` by equivalent operations, or reports
// an error. Operations inside its regions must have been replaced before.
//===----------------------------------------------------------------------===//

mlir::LogicalResult importWhile(mlir::Operation *op);
mlir::LogicalResult importIf(mlir::Operation *op);
mlir::LogicalResult importCase(mlir::Operation *op);
mlir::LogicalResult importOptimizationBarrier(mlir::Operation *op);
mlir::LogicalResult importScatter(mlir::Operation *op);
mlir::LogicalResult importSelectAndScatter(mlir::Operation *op);
mlir::LogicalResult importSort(mlir::Operation *op);
mlir::LogicalResult importCustomCall(mlir::Operation *op);

/// Whether `op` is a custom call of `replica.merge_call`. Its function must be
/// imported before it.
bool isMergeCall(mlir::Operation *op);
mlir::LogicalResult importMergeCall(mlir::Operation *op);

/// Whether `op` is a custom call that is valid only in the function of a merge
/// call. It is imported together with that call.
bool isCrossReplica(mlir::Operation *op);

/// The reduction of a custom call, as in `reduction = "SUM"`, in upper or lower
/// case. Error: it is none of `allowed`.
mlir::FailureOr<replica::Reduction>
getReduction(mlir::Operation *customCall,
             llvm::ArrayRef<replica::Reduction> allowed);

//===----------------------------------------------------------------------===//
// Whole modules
//===----------------------------------------------------------------------===//

/// Makes all integers signless. Arguments of functions that were unsigned get
/// the attribute `replica.unsigned`, scatters with unsigned indices
/// `kUnsignedIndices`; the names of other operations already specify how they
/// interpret their operands.
mlir::LogicalResult makeSignless(mlir::ModuleOp module);

/// Inlines every call of a function, keeping the chain of calls in locations. A
/// recursive call is an error.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module);

/// Erases private functions that are not referenced.
void eraseDeadFunctions(mlir::ModuleOp module);

} // namespace lockstep::stablehlo

#endif
