//===- CudnnDescriptor.h - how cuDNN is told what to compute ----*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNDESCRIPTOR_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNDESCRIPTOR_H

#include "runtime/device/cuda/CudnnApi.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lockstep::runtime {

/// A descriptor of cuDNN, of an operand, an operation, a plan and so on.
class CudnnDescriptor {
public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const CudnnApi &api, cudnnBackendDescriptor_t descriptor)
      : api(&api), descriptor(descriptor) {}
  CudnnDescriptor(CudnnDescriptor &&other) noexcept
      : api(other.api), descriptor(std::exchange(other.descriptor, nullptr)) {}
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept {
    std::swap(api, other.api);
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~CudnnDescriptor() {
    if (descriptor)
      api->cudnnBackendDestroyDescriptor(descriptor);
  }

  /// Null: nothing is described.
  cudnnBackendDescriptor_t get() const { return descriptor; }

private:
  const CudnnApi *api = nullptr;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

/// An operand or a result of an operation.
struct CudnnTensor {
  enum Place {
    InMemory,
    /// An engine keeps it where it likes.
    Virtual,
    /// One number in memory of the host.
    ByValue
  };

  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  /// Strides are in elements.
  std::array<int64_t, 4> sizes = {1, 1, 1, 1}, strides = {1, 1, 1, 1};
  /// Different tensors of a graph have different ones.
  int64_t name = 0;
  /// In bytes.
  int64_t alignment = 0;
  Place place = InMemory;
};

/// The library's type for floats of at most 32 bits.
cudnnDataType_t cudnnType(artifact::ElementType type);

/// Creates descriptors, and notes the first error of a call: after it, nothing
/// is called.
class CudnnBuilder {
public:
  explicit CudnnBuilder(const CudnnApi &api) : api(api) {}

  CudnnDescriptor create(cudnnBackendDescriptorType_t type);
  /// A final descriptor.
  CudnnDescriptor create(const CudnnTensor &tensor);

  template <typename Value>
  void set(const CudnnDescriptor &descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, std::span<const Value> values) {
    if (status.ok())
      note("cudnnBackendSetAttribute",
           api.cudnnBackendSetAttribute(descriptor.get(), name, type,
                                        int64_t(values.size()), values.data()));
  }
  template <typename Value>
  void set(const CudnnDescriptor &descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type, const Value &value) {
    set(descriptor, name, type, std::span<const Value>(&value, 1));
  }
  void set(const CudnnDescriptor &descriptor, cudnnBackendAttributeName_t name,
           const CudnnDescriptor &value) {
    set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
  }

  /// The values of an attribute, at most `most`.
  template <typename Value>
  std::vector<Value> get(const CudnnDescriptor &descriptor,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, size_t most) {
    std::vector<Value> values(most);
    int64_t count = 0;
    if (status.ok())
      note("cudnnBackendGetAttribute",
           api.cudnnBackendGetAttribute(descriptor.get(), name, type,
                                        int64_t(most), &count, values.data()));
    values.resize(status.ok() ? std::min(size_t(count), most) : 0);
    return values;
  }

  /// Lets the library fill descriptors that have been created; returns how
  /// many of them it has filled.
  size_t fill(const CudnnDescriptor &descriptor,
              cudnnBackendAttributeName_t name,
              std::span<CudnnDescriptor> filled);

  void finalize(const CudnnDescriptor &descriptor);

  const CudnnApi &api;
  Status status;
  /// That of the library.
  cudnnStatus_t failed = CUDNN_STATUS_SUCCESS;

private:
  void note(const char *call, cudnnStatus_t found);
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDNNDESCRIPTOR_H
