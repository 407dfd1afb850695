//===- CostModel.cpp ------------------------------------------------------===//

#include "runtime/model/CostModel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace lockstep::runtime {

using artifact::CollectiveKind;

double kernelSeconds(const ComputeRates &rates, uint64_t flops,
                     uint64_t bytes) {
  return rates.launchSeconds + std::max(double(flops) / rates.flopsPerSecond,
                                        double(bytes) / rates.bytesPerSecond);
}

/// How a collective may be carried out on one level. `inParts` decides with
/// `direct`.
static std::vector<Traffic> choicesOn(ExchangeAlgorithm algorithm,
                                      CollectiveKind kind, uint64_t members,
                                      uint64_t bytes, bool inParts) {
  if (members < 2)
    return {Traffic()};
  if (algorithm == ExchangeAlgorithm::direct)
    return {trafficOf(kind, members, bytes, inParts)};
  const CollectiveProperties &properties = CollectiveProperties::of(kind);
  Traffic least = leastTrafficOf(kind, members, bytes);
  // A ring carries the fewest bytes, with a message for each neighbor.
  uint64_t phases = properties.leastWire == Volume::otherPartsTwice ? 2 : 1;
  Traffic ring = {properties.hasOnePeer() ? 1 : phases * (members - 1),
                  least.bytes};
  if (!properties.isReduction && properties.resultsDiffer)
    return {ring};
  // A tree has the fewest messages, with all bytes on each link.
  Traffic tree = {phases * uint64_t(std::bit_width(members - 1)),
                  std::max(phases * bytes, least.bytes)};
  return {ring, tree};
}

namespace {

/// What a level carries, by one of several algorithms.
struct LevelTraffic {
  Link link;
  std::vector<Traffic> choices;
};

} // namespace

/// Seconds if each level has to end before the next one begins.
static double oneByOneSeconds(std::span<const LevelTraffic> levels) {
  double seconds = 0;
  for (const auto &[link, choices] : levels) {
    double least = std::numeric_limits<double>::infinity();
    for (const Traffic &traffic : choices)
      least = std::min(least, traffic.seconds(link));
    seconds += least;
  }
  return seconds;
}

/// Seconds if pieces of the operands pass through all levels at the same time:
/// the latencies of all of them, and the bytes of the slowest one.
static double pipelinedSeconds(std::span<const LevelTraffic> levels) {
  double best = std::numeric_limits<double>::infinity();
  // One of the choices is the one with the slowest bytes.
  for (const LevelTraffic &slowest : levels)
    for (const Traffic &limiting : slowest.choices) {
      double bytes = double(limiting.bytes) * slowest.link.secondsPerByte;
      double seconds = bytes;
      for (const auto &[link, choices] : levels) {
        double latency = std::numeric_limits<double>::infinity();
        for (const Traffic &traffic : choices)
          if (double(traffic.bytes) * link.secondsPerByte <= bytes)
            latency =
                std::min(latency, double(traffic.messages) * link.latency);
        seconds += latency;
      }
      best = std::min(best, seconds);
    }
  return best;
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
  std::vector<LevelTraffic> levels;
  bool isDirect = topology.algorithm == ExchangeAlgorithm::direct,
       inParts = isReducedInParts(kind, bytes);
  std::span<const TopologyLevel> used = topology.levels;
  uint64_t perHost = used.front().size;
  if (isDirect && used.size() > 1 && members > perHost &&
      (!isExchangedByHost(kind) || members % perHost != 0))
    used = used.last(1);
  uint64_t remaining = members;
  for (const TopologyLevel &level : used) {
    // The last level connects all that there are, also more than its size.
    bool isUnbounded = level.size == 0 || &level == &used.back();
    uint64_t here = isUnbounded ? remaining : std::min(level.size, remaining);
    remaining = (remaining + here - 1) / here;
    bool isLast = remaining == 1;
    // Farther groups exchange first: each member gathers from the members at
    // its position in the other groups, and then passes all of that on to its
    // neighbors.
    uint64_t carried =
        properties.concatenates() && !isLast ? bytes * remaining : bytes;
    levels.push_back({level.link, choicesOn(topology.algorithm, kind, here,
                                            carried, inParts)});
    if (isLast)
      break;
    // Each member reduces a part, which is all that the next level carries.
    if (properties.isReduction &&
        (properties.shape == ShapeRule::slice ||
         (properties.isSameForAll() && (!isDirect || inParts))))
      bytes /= here;
  }
  return topology.algorithm == ExchangeAlgorithm::ringOrTree
             ? pipelinedSeconds(levels)
             : oneByOneSeconds(levels);
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
