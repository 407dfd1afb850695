//===- CudnnOperations.h - graphs of operations for cuDNN -------*- C++ -*-===//
//
// Products of matrices, pointwise operations, reductions and transposes, as
// attention is described by. All tensors have two dimensions of matrices, of
// which each is computed by itself.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNOPERATIONS_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNOPERATIONS_H

#include "CudnnGraphs.h"

#include <map>
#include <string>

namespace lockstep::standin {

struct Operation {
  enum class Kind { Multiply, Pointwise, Reduce, Transpose };

  Kind kind = Kind::Multiply;
  /// Of `Pointwise`.
  cudnnPointwiseMode_t mode{};
  int64_t axis = -1;
  cudnnDataType_t precision{};
  /// Of `Reduce`.
  cudnnReduceTensorOp_t reduction{};
  std::vector<Tensor> operands;
  Tensor result;

  bool isValid() const;
};

/// None if an attribute is missing or wrong.
std::optional<Operation> readOperation(const Descriptor &operation);

/// Where the tensors in memory are, by their names, and the numbers.
struct OperandPlaces {
  std::map<int64_t, std::byte *> memory;
  std::map<int64_t, float> numbers;
};

struct OperationGraph {
  /// Each after those that have its operands as results.
  std::vector<Operation> operations;
  /// By their names.
  std::map<int64_t, Tensor> tensors;

  /// Why the library would not support it; empty if it does.
  std::string unsupported() const;
  /// That of the library: for a gradient, a matrix of 16 bits for each matrix
  /// of scores, with rows and columns of whole blocks.
  uint64_t workspaceBytes() const;
  /// In f32; each result is rounded once.
  void execute(const OperandPlaces &places) const;
};

/// The graph of final operations that a descriptor has; none if they are wrong,
/// are no such operations, or do not make up a graph.
std::optional<OperationGraph> operationsOf(const Descriptor &graph);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNOPERATIONS_H
