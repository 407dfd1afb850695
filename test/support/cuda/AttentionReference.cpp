//===- AttentionReference.cpp - attention in f64 --------------------------===//

#include "AttentionReference.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace lockstep::runtime::test {

using artifact::ElementType;

/// Calls `visit` with the bytes from the beginning of the buffer of each
/// element.
template <typename Visit>
static void forEachElement(const GpuTensor &tensor, Visit visit) {
  auto [as, bs, cs, ds] = tensor.sizes;
  auto [a, b, c, d] = tensor.strides;
  for (uint64_t i = 0; i < as; ++i)
    for (uint64_t j = 0; j < bs; ++j)
      for (uint64_t k = 0; k < cs; ++k)
        for (uint64_t l = 0; l < ds; ++l)
          visit(tensor.offset + elementSize(tensor.type()) *
                                    (i * uint64_t(a) + j * uint64_t(b) +
                                     k * uint64_t(c) + l * uint64_t(d)));
}

Elements loadTensor(const GpuTensor &tensor, const Buffers &buffers) {
  const std::vector<std::byte> &buffer = buffers[tensor.buffer];
  Elements elements;
  auto read = [&](uint64_t at, auto value) {
    std::memcpy(&value, &buffer.at(at), sizeof(value));
    return value;
  };
  forEachElement(tensor, [&](uint64_t at) {
    if (tensor.type() == ElementType::f16)
      elements.push_back(double(read(at, _Float16())));
    else if (tensor.type() == ElementType::bf16)
      elements.push_back(
          std::bit_cast<float>(uint32_t(read(at, uint16_t())) << 16));
    else
      elements.push_back(read(at, float()));
  });
  return elements;
}

void storeTensor(const GpuTensor &tensor, const Elements &elements,
                 Buffers &buffers) {
  std::vector<std::byte> &buffer = buffers[tensor.buffer];
  size_t next = 0;
  auto write = [&](uint64_t at, auto value) {
    std::memcpy(&buffer.at(at), &value, sizeof(value));
  };
  forEachElement(tensor, [&](uint64_t at) {
    auto value = float(elements[next++]);
    if (tensor.type() == ElementType::f16)
      write(at, _Float16(value));
    else if (tensor.type() == ElementType::bf16)
      write(at, uint16_t((std::bit_cast<uint32_t>(value) + 0x8000) >> 16));
    else
      write(at, value);
  });
}

namespace {
/// The elements of a tensor by its dimensions.
struct Values {
  std::array<uint64_t, 4> sizes;
  Elements elements;

  explicit Values(const GpuTensor &tensor)
      : sizes(tensor.sizes),
        elements(sizes[0] * sizes[1] * sizes[2] * sizes[3]) {}
  Values(const GpuTensor &tensor, const Buffers &buffers)
      : sizes(tensor.sizes), elements(loadTensor(tensor, buffers)) {}

  /// A row of a head.
  double *at(uint64_t example, uint64_t head, uint64_t position) {
    return elements.data() +
           ((example * sizes[1] + head) * sizes[2] + position) * sizes[3];
  }
};
} // namespace

AttentionResults computeAttention(const GpuAttention &attention,
                                  const Buffers &buffers) {
  Values query(attention.query, buffers), key(attention.key, buffers),
      value(attention.value, buffers), cotangent(attention.cotangent, buffers),
      output(attention.output), statistics(attention.statistics),
      ofQuery(attention.query), ofKey(attention.key), ofValue(attention.value);
  auto [examples, heads, queries, size] = attention.query.sizes;
  uint64_t keys = attention.key.sizes[2];
  double scale = attention.scale();
  auto dot = [size = size](const double *a, const double *b) {
    double sum = 0;
    for (uint64_t i = 0; i < size; ++i)
      sum += a[i] * b[i];
    return sum;
  };
  auto add = [size = size](double *to, double factor, const double *from) {
    for (uint64_t i = 0; i < size; ++i)
      to[i] += factor * from[i];
  };
  for (uint64_t b = 0; b < examples; ++b)
    for (uint64_t h = 0; h < heads; ++h)
      for (uint64_t t = 0; t < queries; ++t) {
        uint64_t seen = attention.isCausal ? std::min(keys, t + 1) : keys;
        Elements weights(seen);
        double sum = 0;
        for (uint64_t s = 0; s < seen; ++s)
          sum += weights[s] =
              std::exp(scale * dot(query.at(b, h, t), key.at(b, h, s)));
        *statistics.at(b, h, t) = std::log(sum);
        for (uint64_t s = 0; s < seen; ++s)
          add(output.at(b, h, t), weights[s] /= sum, value.at(b, h, s));
        double common = dot(cotangent.at(b, h, t), output.at(b, h, t));
        for (uint64_t s = 0; s < seen; ++s) {
          add(ofValue.at(b, h, s), weights[s], cotangent.at(b, h, t));
          double ofScore = dot(cotangent.at(b, h, t), value.at(b, h, s)),
                 factor = scale * weights[s] * (ofScore - common);
          add(ofQuery.at(b, h, t), factor, key.at(b, h, s));
          add(ofKey.at(b, h, s), factor, query.at(b, h, t));
        }
      }
  return {output.elements, statistics.elements, ofQuery.elements,
          ofKey.elements, ofValue.elements};
}

} // namespace lockstep::runtime::test
