//===- Shuffle.cpp - the order of the examples in an epoch ----------------===//

#include "runtime/data/Shuffle.h"

#include <numeric>
#include <utility>

namespace lockstep::runtime {

namespace {

constexpr uint64_t golden = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace

ShuffleStream::ShuffleStream(uint64_t seed, uint64_t epoch)
    : state(mix(mix(seed + golden) + (epoch + 1) * golden)) {}

uint64_t ShuffleStream::next() {
  state += golden;
  return mix(state);
}

uint64_t ShuffleStream::nextBelow(uint64_t bound) {
  __extension__ using Product = unsigned __int128;
  Product product = Product(next()) * bound;
  // 2^64 mod bound is less than bound, so most draws need no division.
  if (static_cast<uint64_t>(product) < bound) {
    uint64_t rejected = (0 - bound) % bound;
    while (static_cast<uint64_t>(product) < rejected)
      product = Product(next()) * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

std::vector<uint64_t> shuffledOrder(uint64_t seed, uint64_t epoch,
                                    uint64_t examples) {
  std::vector<uint64_t> order(examples);
  std::iota(order.begin(), order.end(), uint64_t(0));
  ShuffleStream stream(seed, epoch);
  for (uint64_t i = examples; i > 1; --i)
    std::swap(order[i - 1], order[stream.nextBelow(i)]);
  return order;
}

} // namespace lockstep::runtime
