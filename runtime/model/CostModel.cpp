//===- CostModel.cpp ------------------------------------------------------===//

#include "runtime/model/CostModel.h"

#include <algorithm>
#include <bit>
#include <cmath>

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
  if (members < 2)
    return 0;
  uint64_t read = kind.gives == Holders::all ? members * bytes : bytes,
           written = kind.concatenates() ? members * bytes : bytes;
  return memory.latency + memory.secondsPerByte * double(read + written);
}

double collectiveSeconds(const Topology &topology, CollectiveKind kind,
                         uint64_t members, uint64_t bytes) {
  const CollectiveProperties &properties = CollectiveProperties::of(kind);
  if (topology.reducesOnCompute)
    return memorySeconds(properties, members, bytes,
                         topology.levels.front().link);
  double seconds = 0;
  uint64_t remaining = members;
  for (const TopologyLevel &level : topology.levels) {
    uint64_t here = level.size ? std::min(level.size, remaining) : remaining;
    remaining = (remaining + here - 1) / here;
    bool isLast = remaining == 1;
    // The next level first: each member then has the parts of all others in
    // its position.
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

TransferTime transferTime(const Topology &topology, CollectiveKind kind,
                          uint64_t members) {
  constexpr int firstLog = 10, lastLog = 40;
  std::vector<TransferTime::Piece> pieces;
  auto secondsOf = [&](uint64_t bytes) {
    return collectiveSeconds(topology, kind, members, bytes);
  };
  uint64_t begin = 0;
  for (int log = firstLog; log <= lastLog; ++log) {
    // Algorithms change at powers of two: a piece ends right before.
    uint64_t end = uint64_t(1) << log;
    double atBegin = secondsOf(begin), atEnd = secondsOf(end - 1);
    double perByte = std::max(0.0, (atEnd - atBegin) / double(end - 1 - begin));
    TransferTime::Piece piece = {begin, atBegin - perByte * double(begin),
                                 perByte};
    // Integer bytes of parts make the slopes of one line differ slightly.
    bool continues = !pieces.empty() &&
                     std::abs(pieces.back().seconds +
                              pieces.back().secondsPerByte * double(end - 1) -
                              atEnd) <= 1e-4 * atEnd &&
                     std::abs(pieces.back().seconds +
                              pieces.back().secondsPerByte * double(begin) -
                              atBegin) <= 1e-4 * atBegin;
    if (!continues)
      pieces.push_back(piece);
    begin = end;
  }
  return TransferTime(std::move(pieces));
}

} // namespace lockstep::runtime
