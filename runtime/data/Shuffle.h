//===- Shuffle.h - the order of the examples in an epoch --------*- C++ -*-===//
//
// The order is a function of (seed, epoch, number of examples) only. All
// arithmetic is on unsigned 64-bit numbers, modulo 2^64; G =
// 0x9e3779b97f4a7c15.
//
//   mix(z):  z = (z xor (z >> 30)) * 0xbf58476d1ce4e5b9
//            z = (z xor (z >> 27)) * 0x94d049bb133111eb
//            z xor (z >> 31)
//
// mix is the output function of SplitMix64 (Steele, Lea, Flood: "Fast
// splittable pseudorandom number generators", OOPSLA 2014, figure 17 with the
// constants of Java's SplittableRandom variant by Vigna). The stream of an
// epoch is counter-based, so word i costs the same for all i:
//
//   key     = mix(mix(seed + G) + (epoch + 1) * G)
//   word(i) = mix(key + (i + 1) * G)                    i = 0, 1, 2, ...
//
// A draw below n takes the next word w and splits the 128-bit product w * n
// into high and low halves. If low < 2^64 mod n, the draw is repeated with the
// next word, else it is high, which is then exactly uniform (Lemire: "Fast
// random integer generation in an interval", ACM TOMACS 29, 2019, algorithm 5).
//
// The order is the Fisher-Yates shuffle (Knuth, TAOCP volume 2, algorithm P) of
// 0, ..., n - 1:
//
//   for i = n - 1, n - 2, ..., 1:
//     exchange order[i] and order[draw below i + 1]
//
// python-bindings/lockstep/shuffle.py is the same in NumPy; tests compare both
// with the same values.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DATA_SHUFFLE_H
#define LOCKSTEP_RUNTIME_DATA_SHUFFLE_H

#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// The words of one epoch, as defined above.
class ShuffleStream {
public:
  ShuffleStream(uint64_t seed, uint64_t epoch);

  uint64_t next();
  /// Uniform in [0, bound); `bound` is not 0.
  uint64_t nextBelow(uint64_t bound);

private:
  uint64_t state;
};

/// The order of `examples` examples in an epoch: a permutation of 0, ...,
/// examples - 1.
std::vector<uint64_t> shuffledOrder(uint64_t seed, uint64_t epoch,
                                    uint64_t examples);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_SHUFFLE_H
