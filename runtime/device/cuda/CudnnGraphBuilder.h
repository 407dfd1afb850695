//===- CudnnGraphBuilder.h - graphs of operations for cuDNN -----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNGRAPHBUILDER_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNGRAPHBUILDER_H

#include "runtime/device/cuda/CudnnPlan.h"

#include <initializer_list>

namespace lockstep::runtime {

/// Adds operations to a graph, in f32.
class CudnnGraphBuilder {
public:
  using Sizes = std::array<int64_t, 4>;
  /// A tensor of the graph.
  struct Node {
    cudnnBackendDescriptor_t descriptor = nullptr;
    Sizes sizes{}, strides{};
  };

  /// Errors are those of `builder`. Tensors have this alignment in bytes.
  CudnnGraphBuilder(CudnnBuilder &builder, int64_t alignment)
      : builder(builder), alignment(alignment) {}

  /// A tensor that an operand of the plan is. Names are below `firstName`.
  Node inMemory(const Sizes &sizes, const Sizes &strides, cudnnDataType_t type,
                int64_t name);
  /// One with another alignment.
  Node inMemory(const Sizes &sizes, const Sizes &strides, cudnnDataType_t type,
                int64_t name, int64_t otherAlignment);
  /// A number of f32 in memory of the host.
  Node number(int64_t name);
  /// A tensor that only operations of the graph access.
  Node within(const Sizes &sizes, const Sizes &strides, cudnnDataType_t type);
  Node within(const Sizes &sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT);

  /// result[b, h] = left[b, h] * right[b, h], products of matrices.
  void multiply(const Node &left, const Node &right, const Node &result);
  /// A pointwise operation with one or two operands; a second one may have
  /// single elements for all of the first.
  void compute(cudnnPointwiseMode_t mode, const Node &operand,
               const Node *second, const Node &result,
               cudnnDataType_t precision = CUDNN_DATA_FLOAT) {
    addPointwise(mode, precision, /*axis=*/-1, operand, second,
                 /*condition=*/nullptr, result);
  }
  /// The same, with a result that only operations of the graph access.
  Node compute(cudnnPointwiseMode_t mode, const Node &operand,
               const Node *second = nullptr);
  /// The index of each element of `tensor` along an axis.
  Node index(const Node &tensor, int64_t axis);
  /// Elements of `operand` where a condition holds, and else a number.
  Node select(const Node &operand, const Node &number, const Node &condition);
  /// Reduces along the dimensions of which `result` has one element.
  void reduce(cudnnReduceTensorOp_t operation, const Node &operand,
              const Node &result);
  /// An operation that has been finalized.
  void addOperation(CudnnDescriptor operation) {
    operations.push_back(keep(std::move(operation)));
  }
  /// Rows become columns, of elements of this type.
  Node transpose(const Node &matrices, cudnnDataType_t type);

  /// Keeps what operations are made of.
  cudnnBackendDescriptor_t keep(CudnnDescriptor descriptor);
  /// The graph, behind what it is made of; nothing is added after it.
  std::vector<CudnnDescriptor> finish(const CudnnTarget &target);

  static Sizes packedStrides(const Sizes &sizes) {
    return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
  }
  static Sizes transposed(Sizes sizes) {
    std::swap(sizes[2], sizes[3]);
    return sizes;
  }

  /// Of the tensors that only operations of the graph access.
  static constexpr int64_t firstName = 100;

private:
  Node add(const Sizes &sizes, const Sizes &strides, cudnnDataType_t type,
           int64_t name, CudnnTensor::Place place, int64_t alignment);
  /// Attributes without a descriptor are left out.
  void addOperation(cudnnBackendDescriptorType_t type,
                    std::initializer_list<std::pair<cudnnBackendAttributeName_t,
                                                    cudnnBackendDescriptor_t>>
                        attributes);
  /// `axis` below 0: none.
  void addPointwise(cudnnPointwiseMode_t mode, cudnnDataType_t precision,
                    int64_t axis, const Node &operand, const Node *second,
                    const Node *condition, const Node &result);

  CudnnBuilder &builder;
  const int64_t alignment;
  int64_t nextName = firstName;
  std::vector<CudnnDescriptor> parts;
  std::vector<cudnnBackendDescriptor_t> operations;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNGRAPHBUILDER_H
