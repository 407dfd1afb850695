//===- CudnnGraphBuilder.cpp - graphs of operations for cuDNN -------------===//

#include "runtime/device/cuda/CudnnGraphBuilder.h"

namespace lockstep::runtime {

using Node = CudnnGraphBuilder::Node;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

cudnnBackendDescriptor_t CudnnGraphBuilder::keep(CudnnDescriptor descriptor) {
  parts.push_back(std::move(descriptor));
  return parts.back().get();
}

Node CudnnGraphBuilder::add(const Sizes &sizes, const Sizes &strides,
                            cudnnDataType_t type, int64_t name,
                            CudnnTensor::Place place, int64_t alignment) {
  CudnnTensor tensor;
  tensor.type = type;
  tensor.sizes = sizes;
  tensor.strides = strides;
  tensor.name = name;
  tensor.alignment = alignment;
  tensor.place = place;
  return {keep(builder.create(tensor)), sizes, strides};
}

Node CudnnGraphBuilder::inMemory(const Sizes &sizes, const Sizes &strides,
                                 cudnnDataType_t type, int64_t name) {
  return inMemory(sizes, strides, type, name, alignment);
}

Node CudnnGraphBuilder::inMemory(const Sizes &sizes, const Sizes &strides,
                                 cudnnDataType_t type, int64_t name,
                                 int64_t otherAlignment) {
  return add(sizes, strides, type, name, CudnnTensor::InMemory, otherAlignment);
}

Node CudnnGraphBuilder::number(int64_t name) {
  constexpr Sizes single = {1, 1, 1, 1};
  return add(single, single, CUDNN_DATA_FLOAT, name, CudnnTensor::ByValue,
             alignment);
}

Node CudnnGraphBuilder::within(const Sizes &sizes, const Sizes &strides,
                               cudnnDataType_t type) {
  return add(sizes, strides, type, nextName++, CudnnTensor::Virtual, alignment);
}

Node CudnnGraphBuilder::within(const Sizes &sizes, cudnnDataType_t type) {
  return within(sizes, packedStrides(sizes), type);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void CudnnGraphBuilder::addOperation(
    cudnnBackendDescriptorType_t type,
    std::initializer_list<
        std::pair<cudnnBackendAttributeName_t, cudnnBackendDescriptor_t>>
        attributes) {
  CudnnDescriptor operation = builder.create(type);
  for (auto [name, descriptor] : attributes)
    if (descriptor)
      builder.set(operation, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, descriptor);
  builder.finalize(operation);
  addOperation(std::move(operation));
}

void CudnnGraphBuilder::multiply(const Node &left, const Node &right,
                                 const Node &result) {
  CudnnDescriptor product = builder.create(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  builder.set(product, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
              CUDNN_DATA_FLOAT);
  builder.finalize(product);
  addOperation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
               {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, left.descriptor},
                {CUDNN_ATTR_OPERATION_MATMUL_BDESC, right.descriptor},
                {CUDNN_ATTR_OPERATION_MATMUL_CDESC, result.descriptor},
                {CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(product))}});
}

void CudnnGraphBuilder::addPointwise(cudnnPointwiseMode_t mode,
                                     cudnnDataType_t precision, int64_t axis,
                                     const Node &operand, const Node *second,
                                     const Node *condition,
                                     const Node &result) {
  CudnnDescriptor pointwise =
      builder.create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  builder.set(pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
              mode);
  builder.set(pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
              precision);
  if (axis >= 0)
    builder.set(pointwise, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  builder.finalize(pointwise);
  addOperation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
               {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                 keep(std::move(pointwise))},
                {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, operand.descriptor},
                {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result.descriptor},
                {CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                 second ? second->descriptor : nullptr},
                {CUDNN_ATTR_OPERATION_POINTWISE_TDESC,
                 condition ? condition->descriptor : nullptr}});
}

Node CudnnGraphBuilder::compute(cudnnPointwiseMode_t mode, const Node &operand,
                                const Node *second) {
  Node result = within(operand.sizes);
  compute(mode, operand, second, result);
  return result;
}

Node CudnnGraphBuilder::index(const Node &tensor, int64_t axis) {
  Node result = within(tensor.sizes, CUDNN_DATA_INT32);
  addPointwise(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, axis, tensor,
               nullptr, nullptr, result);
  return result;
}

Node CudnnGraphBuilder::select(const Node &operand, const Node &number,
                               const Node &condition) {
  Node result = within(operand.sizes);
  addPointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, /*axis=*/-1,
               operand, &number, &condition, result);
  return result;
}

void CudnnGraphBuilder::reduce(cudnnReduceTensorOp_t operation,
                               const Node &operand, const Node &result) {
  CudnnDescriptor reduction =
      builder.create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  builder.set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
              CUDNN_DATA_FLOAT);
  builder.set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR,
              CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, operation);
  builder.finalize(reduction);
  addOperation(
      CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, operand.descriptor},
       {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result.descriptor},
       {CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(reduction))}});
}

Node CudnnGraphBuilder::transpose(const Node &matrices, cudnnDataType_t type) {
  // The same elements in the order of other dimensions.
  Node result =
      within(transposed(matrices.sizes), transposed(matrices.strides), type);
  addOperation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
               {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, matrices.descriptor},
                {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result.descriptor}});
  return result;
}

std::vector<CudnnDescriptor>
CudnnGraphBuilder::finish(const CudnnTarget &target) {
  addGraph(builder, target, operations, parts);
  return std::move(parts);
}

} // namespace lockstep::runtime
