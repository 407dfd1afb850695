//===- CudnnDescriptor.cpp - how cuDNN is told what to compute ------------===//

#include "runtime/device/cuda/CudnnDescriptor.h"

namespace lockstep::runtime {

using artifact::ElementType;

cudnnDataType_t cudnnType(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return CUDNN_DATA_HALF;
  case ElementType::bf16:
    return CUDNN_DATA_BFLOAT16;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

CudnnDescriptor CudnnBuilder::create(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  if (status.ok())
    note("cudnnBackendCreateDescriptor",
         api.cudnnBackendCreateDescriptor(type, &descriptor));
  return {api, descriptor};
}

CudnnDescriptor CudnnBuilder::create(const CudnnTensor &tensor) {
  CudnnDescriptor created = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(created, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  set<int64_t>(created, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
               std::span(tensor.sizes));
  set<int64_t>(created, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
               std::span(tensor.strides));
  set(created, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, tensor.name);
  set(created, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
      tensor.alignment);
  if (tensor.place == CudnnTensor::Virtual)
    set(created, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  if (tensor.place == CudnnTensor::ByValue)
    set(created, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  finalize(created);
  return created;
}

size_t CudnnBuilder::fill(const CudnnDescriptor &descriptor,
                          cudnnBackendAttributeName_t name,
                          std::span<CudnnDescriptor> filled) {
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const CudnnDescriptor &each : filled)
    pointers.push_back(each.get());
  int64_t count = 0;
  if (status.ok())
    note("cudnnBackendGetAttribute",
         api.cudnnBackendGetAttribute(
             descriptor.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             int64_t(pointers.size()), &count, pointers.data()));
  return status.ok() ? std::min(size_t(count), filled.size()) : 0;
}

void CudnnBuilder::finalize(const CudnnDescriptor &descriptor) {
  if (status.ok())
    note("cudnnBackendFinalize", api.cudnnBackendFinalize(descriptor.get()));
}

void CudnnBuilder::note(const char *call, cudnnStatus_t found) {
  if (found == CUDNN_STATUS_SUCCESS || !status.ok())
    return;
  status = api.error(call, found);
  failed = found;
}

} // namespace lockstep::runtime
