//===- Tensor.h - Tensors of case files -------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_TENSOR_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_TENSOR_H

#include "runtime/schema/Types.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace lockstep::conformance::driver {

using Json = nlohmann::json;

/// Little-endian and row-major, a byte for a bool.
struct Tensor {
  runtime::TensorInfo type;
  std::vector<std::byte> bytes;
};

/// `{"dtype": "f32", "shape": [2], "data": [1, "nan"]}`.
bool isTensor(const Json &json);
/// Errors: a type that the compiler does not have (E_DTYPE_UNSUPPORTED), data
/// that does not fit the shape.
Tensor readTensor(const Json &json);
Json writeTensor(const Tensor &tensor);
/// A vector of i64.
Tensor makeVector(const std::vector<int64_t> &elements);
/// Of a type with a static shape.
Tensor zerosOf(mlir::RankedTensorType type);

/// By the name in case files; rejects types that the compiler does not support.
artifact::ElementType elementByName(const std::string &name);
mlir::Type toType(mlir::MLIRContext *context, artifact::ElementType element);
mlir::RankedTensorType toType(mlir::MLIRContext *context, const Tensor &tensor);
mlir::DenseElementsAttr toAttribute(mlir::MLIRContext *context,
                                    const Tensor &tensor);

} // namespace lockstep::conformance::driver

#endif
