//===- CostModel.cpp ------------------------------------------------------===//

#include "runtime/model/CostModel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace lockstep::runtime {

using artifact::CollectiveKind;

double kernelSeconds(const ComputeRates &rates, uint64_t flops,
                     uint64_t bytes) {
  return rates.launchSeconds + std::max(double(flops) / rates.flopsPerSecond,
                                        double(bytes) / rates.bytesPerSecond);
}

/// Seconds of a collective on one level.
static double levelSeconds(ExchangeAlgorithm algorithm, CollectiveKind kind,
                           uint64_t members, uint64_t bytes, const Link &link) {
  if (members < 2)
    return 0;
  switch (algorithm) {
  case ExchangeAlgorithm::direct:
    return trafficOf(kind, members, bytes).seconds(link);
  case ExchangeAlgorithm::ringOrTree: {
    const CollectiveProperties &properties = CollectiveProperties::of(kind);
    Traffic least = leastTrafficOf(kind, members, bytes);
    // A ring carries the fewest bytes, with a message for each neighbor.
    uint64_t phases = properties.leastWire == Volume::otherPartsTwice ? 2 : 1;
    Traffic ring = {properties.hasOnePeer() ? 1 : phases * (members - 1),
                    least.bytes};
    if (!properties.isReduction && properties.resultsDiffer)
      return ring.seconds(link);
    // A tree has the fewest messages, with all bytes on each link.
    Traffic tree = {phases * uint64_t(std::bit_width(members - 1)),
                    std::max(phases * bytes, least.bytes)};
    return std::min(ring.seconds(link), tree.seconds(link));
  }
  }
  return 0;
}

/// Seconds of a collective among replicas of one process: each operand is read
/// once, and what all replicas get is written once.
static double memorySeconds(const CollectiveProperties &kind, uint64_t members,
                            uint64_t bytes, const Link &memory) {
  uint64_t read = kind.operandHolders == Holders::all ? members * bytes : bytes,
           written = kind.concatenates() ? members * bytes : bytes;
  return memory.latency + memory.secondsPerByte * double(read + written);
}

double collectiveSeconds(const Topology &topology, CollectiveKind kind,
                         uint64_t members, uint64_t bytes) {
  const CollectiveProperties &properties = CollectiveProperties::of(kind);
  if (topology.reducesOnCompute)
    return members < 2 ? 0
                       : memorySeconds(properties, members, bytes,
                                       topology.levels.front().link) +
                             double(members) * topology.rendezvousSeconds;
  double seconds = 0;
  uint64_t remaining = members;
  for (const TopologyLevel &level : topology.levels) {
    // The last level connects all that there are, also more than its size.
    bool isUnbounded = level.size == 0 || &level == &topology.levels.back();
    uint64_t here = isUnbounded ? remaining : std::min(level.size, remaining);
    remaining = (remaining + here - 1) / here;
    bool isLast = remaining == 1;
    // Farther groups exchange first: each member gathers from the members at
    // its position in the other groups, and then passes all of that on to its
    // neighbors.
    uint64_t carried =
        properties.concatenates() && !isLast ? bytes * remaining : bytes;
    seconds +=
        levelSeconds(topology.algorithm, kind, here, carried, level.link);
    if (isLast)
      break;
    // Each member reduces a part, which is all that the next level carries.
    if (properties.isReduction &&
        (properties.shape == ShapeRule::slice || properties.isSameForAll()))
      bytes /= here;
  }
  return seconds;
}

namespace {

/// Approximates the seconds of a collective over its bytes by lines.
class LineFitter {
public:
  explicit LineFitter(std::function<double(uint64_t)> secondsOf)
      : secondsOf(std::move(secondsOf)) {}

  /// Adds lines for [begin, end), as many as the tolerance asks for.
  void fit(uint64_t begin, uint64_t end) {
    double atBegin = secondsOf(begin), atEnd = secondsOf(end - 1);
    double perByte =
        end - begin > 1
            ? std::max(0.0, (atEnd - atBegin) / double(end - 1 - begin))
            : 0;
    auto isNear = [&](uint64_t bytes, double fixed, double slope) {
      double exact = secondsOf(bytes);
      return std::abs(fixed + slope * double(bytes) - exact) <=
             tolerance * exact;
    };
    // The previous line may cover this interval, too.
    uint64_t middle = begin + (end - begin) / 2;
    auto covers = [&](double fixed, double slope) {
      return isNear(begin, fixed, slope) && isNear(middle, fixed, slope) &&
             isNear(end - 1, fixed, slope);
    };
    if (!pieces.empty() &&
        covers(pieces.back().seconds, pieces.back().secondsPerByte))
      return;
    double fixed = atBegin - perByte * double(begin);
    // Where the algorithm changes, the time jumps.
    if (end - begin > 64 && (end - begin) * 64 > end &&
        !covers(fixed, perByte)) {
      fit(begin, middle);
      fit(middle, end);
      return;
    }
    pieces.push_back({begin, fixed, perByte});
  }

  TransferTime take() { return TransferTime(std::move(pieces)); }

private:
  static constexpr double tolerance = 0.005;

  std::function<double(uint64_t)> secondsOf;
  std::vector<TransferTime::Piece> pieces;
};

} // namespace

TransferTime transferTime(const Topology &topology, CollectiveKind kind,
                          uint64_t members) {
  constexpr int firstLog = 10, lastLog = 40;
  LineFitter fitter([&](uint64_t bytes) {
    return collectiveSeconds(topology, kind, members, bytes);
  });
  uint64_t begin = 0;
  for (int log = firstLog; log <= lastLog; ++log) {
    uint64_t end = uint64_t(1) << log;
    fitter.fit(begin, end);
    begin = end;
  }
  return fitter.take();
}

} // namespace lockstep::runtime
