//===- Turns.h - In which order replicas run --------------------*- C++ -*-===//
//
// A schedule by chance: after every operation the replica whose turn it is may
// have to wait while another runs, for as long as the seed says. Some are slow
// for a whole run, so that a replica may be at its end while another has not
// begun. The same seed gives the same order.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_TURNS_H
#define LOCKSTEP_DIALECT_REFERENCE_TURNS_H

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace lockstep::interpret {

class Turns {
public:
  Turns(uint64_t seed, int64_t replicas) : random(seed), weights(replicas) {
    static constexpr int kWeights[] = {1, 1, 4, 16, 64};
    for (int &weight : weights)
      weight = kWeights[random() % 5];
  }

  /// Whose turn it is; -1 if nobody runs.
  int64_t current() const { return turn; }

  /// True if the one whose turn it is has to let others go first.
  bool isOver() { return random() % 4 == 0; }

  /// Gives the turn to one of those that run.
  void next(const std::function<bool(int64_t)> &runs) {
    int64_t total = 0;
    for (size_t replica = 0; replica < weights.size(); ++replica)
      total += runs(replica) ? weights[replica] : 0;
    turn = -1;
    if (total == 0)
      return;
    int64_t drawn = static_cast<int64_t>(random() % total);
    for (size_t replica = 0; turn < 0; ++replica)
      if (runs(replica) && (drawn -= weights[replica]) < 0)
        turn = static_cast<int64_t>(replica);
  }

private:
  // Not a distribution of the standard library, whose results no standard
  // fixes.
  std::mt19937_64 random;
  std::vector<int> weights;
  int64_t turn = -1;
};

} // namespace lockstep::interpret

#endif
