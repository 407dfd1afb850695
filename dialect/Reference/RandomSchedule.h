//===- RandomSchedule.h - A random schedule of replicas ---------*- C++ -*-===//
//
// A random schedule: after every operation the replica that runs may be
// suspended while others run. Weights make some replicas slow for a whole run,
// so that one may have ended before another begins. The same seed results in
// the same interleaving.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_RANDOMSCHEDULE_H
#define LOCKSTEP_DIALECT_REFERENCE_RANDOMSCHEDULE_H

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace lockstep::interpret {

class RandomSchedule {
public:
  RandomSchedule(uint64_t seed, int64_t replicas)
      : random(seed), weights(replicas) {
    static constexpr int kWeights[] = {1, 1, 4, 16, 64};
    for (int &weight : weights)
      weight = kWeights[random() % 5];
  }

  /// The replica that is scheduled; -1 if none can run.
  int64_t current() const { return scheduled; }

  /// Draws whether the scheduled replica is suspended now.
  bool isOver() { return random() % 4 == 0; }

  /// Schedules one of the replicas for which `runs` is true.
  void next(const std::function<bool(int64_t)> &runs) {
    int64_t total = 0;
    for (size_t replica = 0; replica < weights.size(); ++replica)
      total += runs(replica) ? weights[replica] : 0;
    scheduled = -1;
    if (total == 0)
      return;
    int64_t drawn = static_cast<int64_t>(random() % total);
    for (size_t replica = 0; scheduled < 0; ++replica)
      if (runs(replica) && (drawn -= weights[replica]) < 0)
        scheduled = static_cast<int64_t>(replica);
  }

private:
  // Used without the distributions of the standard library, whose results are
  // implementation-defined.
  std::mt19937_64 random;
  std::vector<int> weights;
  int64_t scheduled = -1;
};

} // namespace lockstep::interpret

#endif
