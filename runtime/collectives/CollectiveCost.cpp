//===- CollectiveCost.cpp -------------------------------------------------===//

#include "runtime/collectives/CollectiveCost.h"

#include "runtime/schema/artifact_generated.h"

#include <bit>

namespace lockstep::runtime {

using artifact::CollectiveKind;

static uint64_t bytesOf(Volume volume, uint64_t members, uint64_t bytes) {
  switch (volume) {
  case Volume::none:
    return 0;
  case Volume::once:
    return members > 1 ? bytes : 0;
  case Volume::otherParts:
    return bytes - bytes / members;
  case Volume::otherPartsTwice:
    return 2 * bytes - 2 * bytes / members;
  case Volume::eachOther:
    return (members - 1) * bytes;
  }
  return 0;
}

bool isReducedInParts(CollectiveKind kind, uint64_t bytes) {
  constexpr uint64_t largeReduction = 64 * 1024;
  return kind == CollectiveKind::all_reduce && bytes >= largeReduction;
}

bool isExchangedByHost(CollectiveKind kind) {
  const CollectiveProperties &properties = CollectiveProperties::of(kind);
  return kind == CollectiveKind::barrier ||
         (properties.operandHolders == Holders::all &&
          properties.resultHolders == Holders::all &&
          (properties.isReduction || properties.concatenates()));
}

Traffic trafficOf(CollectiveKind kind, uint64_t members, uint64_t bytes) {
  return trafficOf(kind, members, bytes, isReducedInParts(kind, bytes));
}

Traffic trafficOf(CollectiveKind kind, uint64_t members, uint64_t bytes,
                  bool inParts) {
  const CollectiveProperties &properties = CollectiveProperties::of(kind);
  uint64_t others = members - 1;
  if (inParts)
    return {2 * others, bytesOf(Volume::otherPartsTwice, members, bytes)};
  return {properties.hasOnePeer() && members > 1 ? 1 : others,
          bytesOf(properties.wire, members, bytes)};
}

Traffic leastTrafficOf(CollectiveKind kind, uint64_t members, uint64_t bytes) {
  const CollectiveProperties &properties = CollectiveProperties::of(kind);
  // Each message at most doubles the number of members that have some data.
  uint64_t rounds = uint64_t(std::bit_width(members - 1));
  return {properties.hasOnePeer() && members > 1 ? 1 : rounds,
          bytesOf(properties.leastWire, members, bytes)};
}

} // namespace lockstep::runtime
