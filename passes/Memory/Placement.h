//===- Placement.h - Choose the offsets of storages -------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_PLACEMENT_H
#define LOCKSTEP_PASSES_MEMORY_PLACEMENT_H

#include "passes/Memory/Storage.h"

namespace lockstep {

/// Sizes of the memory of one step in bytes, and their lower bounds for any
/// placement: the most bytes that are live at one time.
struct PlacementResult {
  int64_t replicaSize = 0, replicaBound = 0;
  int64_t sharedSize = 0, sharedBound = 0;
};

/// Chooses the offsets of all storages that are not fixed. Without `reuse` no
/// two of them share bytes.
PlacementResult placeStorages(StoragePlan &plan, bool reuse);

} // namespace lockstep

#endif
