//===- CudnnGraphs.h - descriptors of the stand-in for cuDNN ----*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNGRAPHS_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNGRAPHS_H

#include "LibraryCalls.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

// Names of its functions have the visibility of the driver's.
#pragma GCC visibility push(default)
#include "runtime/device/cuda/Cudnn.h"
#pragma GCC visibility pop

namespace lockstep::standin {

struct Attribute {
  cudnnBackendAttributeType_t type{};
  int64_t count = 0;
  std::vector<std::byte> bytes;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type{};
  bool isFinal = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;
  /// Of configurations that heuristics have filled, and their engines.
  size_t engine = 0;
  const Descriptor *graph = nullptr;
};

/// The descriptors that have not been destroyed. Used under its mutex.
struct Descriptors {
  std::mutex mutex;
  std::set<const void *> all;

  static Descriptors &get() {
    static Descriptors descriptors;
    return descriptors;
  }
  bool contains(const void *descriptor) const {
    return all.count(descriptor) > 0;
  }
};

/// The values of an attribute; none if it has not been set, or with another
/// type.
template <typename Value>
std::vector<Value> read(const Descriptor &descriptor,
                        cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type) {
  auto found = descriptor.attributes.find(name);
  if (found == descriptor.attributes.end() || found->second.type != type)
    return {};
  std::vector<Value> values(size_t(found->second.count));
  std::memcpy(values.data(), found->second.bytes.data(),
              values.size() * sizeof(Value));
  return values;
}

template <typename Value>
std::optional<Value> readOne(const Descriptor &descriptor,
                             cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type) {
  std::vector<Value> values = read<Value>(descriptor, name, type);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

/// A final descriptor of this type; null for others.
inline const Descriptor *readDescriptor(const Descriptor &descriptor,
                                        cudnnBackendAttributeName_t name,
                                        cudnnBackendDescriptorType_t type) {
  auto value =
      readOne<Descriptor *>(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  return value && Descriptors::get().contains(*value) &&
                 (*value)->type == type && (*value)->isFinal
             ? *value
             : nullptr;
}

struct Tensor {
  /// Within graphs, there are also indices and conditions, which are then
  /// floats of 32 bits.
  enum class Content { Number, Index, Condition };
  enum class Place { InMemory, Virtual, ByValue };

  Float type = Float::F32;
  Content content = Content::Number;
  Place place = Place::InMemory;
  std::array<int64_t, 4> sizes{}, strides{};
  int64_t name = 0, alignment = 0;

  bool operator==(const Tensor &) const = default;

  int64_t at(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3];
  }
  uint64_t bytes() const {
    return (uint64_t(
                at(sizes[0] - 1, sizes[1] - 1, sizes[2] - 1, sizes[3] - 1)) +
            1) *
           sizeOf(type);
  }
};

struct Convolution {
  bool isGradient = false;
  Tensor image, filter, result;
  std::array<int64_t, 2> strides{}, dilations{};
  /// One element for each channel, which is added.
  std::optional<Tensor> bias;
  bool isRelu = false;

  bool isValid() const {
    for (size_t i = 0; i < 2; ++i) {
      int64_t window = (filter.sizes[2 + i] - 1) * dilations[i] + 1,
              rest = image.sizes[2 + i] - window;
      if (strides[i] < 1 || dilations[i] < 1 || rest < 0 ||
          rest / strides[i] + 1 != result.sizes[2 + i])
        return false;
    }
    return image.sizes[0] == result.sizes[0] &&
           image.sizes[1] == filter.sizes[1] &&
           filter.sizes[0] == result.sizes[1];
  }

  /// Computes the result or the gradient at one of these addresses of the host:
  /// of the image, the filter, the result and, if there is one, the bias.
  /// `rounds`: factors to tf32.
  void execute(const std::array<std::byte *, 4> &places, bool rounds) const;
};

/// None if an attribute is missing or wrong.
std::optional<Tensor> readTensor(const Descriptor *descriptor);

/// The convolution of an operation whose attributes are set; none if one is
/// missing or wrong.
std::optional<Convolution> readConvolution(const Descriptor &operation);

/// That of a graph that is final.
std::optional<Convolution> convolutionOf(const Descriptor &graph);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNGRAPHS_H
