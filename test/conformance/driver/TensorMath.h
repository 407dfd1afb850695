//===- TensorMath.h - The math of the case language -------------*- C++ -*-===//
//
// Emits the operations that the importer generates for a user's math, with
// NumPy's rules for broadcasting and dynamic sizes.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_TENSORMATH_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_TENSORMATH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace lockstep::conformance::driver {

enum class Binary { Add, Sub, Mul, Div, Min, Max, Less, Equal };
enum class Unary { Neg, Tanh };

/// The type of a tensor; rejects one whose rank differs between replicas.
mlir::RankedTensorType rankedTypeOf(mlir::Value value);
std::string printed(mlir::Type type);
/// Rejects booleans.
void requireNumbers(mlir::Type element);

/// All values are tensors with a rank. Other values are rejected with a
/// CaseError.
class TensorMath {
public:
  TensorMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Element types are equal, shapes are broadcast.
  mlir::Value binary(Binary op, mlir::Value a, mlir::Value b);
  mlir::Value unary(Unary op, mlir::Value a);
  mlir::Value cast(mlir::Value a, mlir::Type element);
  /// `a` where `condition` (one i1 of rank 0), else `b`; types are equal.
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// Of rank 2, or 3 with the batch in front.
  mlir::Value matmul(mlir::Value a, mlir::Value b);
  /// Swaps the last two dimensions.
  mlir::Value transpose(mlir::Value a);

  /// Without the dimensions `axes`.
  mlir::Value reduceSum(mlir::Value a, llvm::ArrayRef<int64_t> axes);
  /// `a` divided by the number of elements that `of` has along `axes`.
  mlir::Value divideBySize(mlir::Value a, mlir::Value of,
                           llvm::ArrayRef<int64_t> axes);
  /// With a dimension of size 1 before each of `axes` of the result, which are
  /// sorted.
  mlir::Value expandDims(mlir::Value a, llvm::ArrayRef<int64_t> axes);
  /// In the shape of `like`, which `a` broadcasts to.
  mlir::Value broadcastLike(mlir::Value a, mlir::Value like);
  /// The sum of `a`, which has the shape of a broadcast of `like`, over the
  /// dimensions that were broadcast.
  mlir::Value sumToShapeOf(mlir::Value a, mlir::Value like);

  /// In the shape of `like`, every element `number`.
  mlir::Value filled(mlir::Value like, double number);
  mlir::Value scalar(mlir::Type element, double number);
  /// The size of a dimension, as an index.
  mlir::Value size(mlir::Value a, int64_t dimension);
  /// The rows `[offset, offset + count)` along an axis; `type` is that of the
  /// result.
  mlir::Value slice(mlir::RankedTensorType type, mlir::Value a, int64_t axis,
                    mlir::Value offset, mlir::Value count);
  /// An index as a tensor<i64>, and back from any tensor of one integer.
  mlir::Value toTensor(mlir::Value index);
  mlir::Value toIndex(mlir::Value tensor);
  /// The only element of a tensor of rank 0.
  mlir::Value element(mlir::Value tensor);

private:
  using Body =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;

  mlir::Value constant(mlir::Type element, double number);
  llvm::SmallVector<int64_t> broadcastShape(mlir::ValueRange values);
  /// A tensor that `shape` describes, sizes that are not static taken from
  /// `sources`, which broadcast to it.
  mlir::Value empty(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                    mlir::ValueRange sources);
  mlir::Value elementwise(mlir::ValueRange inputs,
                          llvm::ArrayRef<int64_t> shape, mlir::ValueRange sizes,
                          mlir::Type element, Body body);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace lockstep::conformance::driver

#endif
