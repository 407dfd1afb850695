//===- Placement.cpp - Choose the offsets of storages ---------------------===//
//
// Largest first, each at the lowest offset where it overlaps no storage with an
// intersecting live range (greedy by size, as in Pisarchyk and Lee, "Efficient
// memory management for deep neural net inference", 2020, section 5.2).
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Placement.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace lockstep;

namespace {

/// A unit of placement: a storage, or the members of a bucket.
struct Item {
  int64_t size = 0;
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = -1;
  std::vector<StorageId> members;
  int64_t offset = 0;

  bool overlaps(const Item &other) const {
    return begin <= other.end && other.begin <= end;
  }
};

std::vector<Item> collectItems(const StoragePlan &plan, device::Space space) {
  std::vector<Item> items;
  std::vector<int64_t> itemOfBucket(plan.buckets.size(), -1);
  for (StorageId id = 0; id < plan.storages.size(); ++id) {
    const Storage &storage = plan.storages[id];
    if (storage.fixed || storage.space != space)
      continue;
    int64_t index = storage.bucket < 0 ? -1 : itemOfBucket[storage.bucket];
    if (index < 0) {
      index = items.size();
      items.emplace_back();
      if (storage.bucket >= 0)
        itemOfBucket[storage.bucket] = index;
    }
    Item &item = items[index];
    item.size = storage.bucket < 0 ? llvm::alignTo(storage.size, kAlignment)
                                   : plan.buckets[storage.bucket].size;
    item.begin = std::min(item.begin, storage.begin);
    item.end = std::max(item.end, storage.end);
    item.members.push_back(id);
  }
  return items;
}

/// The most bytes that items need at one time.
int64_t computeBound(const std::vector<Item> &items) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Item &item : items) {
    changes.push_back({item.begin, item.size});
    if (item.end < std::numeric_limits<int64_t>::max())
      changes.push_back({item.end + 1, -item.size});
  }
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, most = 0;
  for (auto [position, change] : changes)
    most = std::max(most, now += change);
  return most;
}

int64_t placeItems(std::vector<Item> &items, bool reuse) {
  std::vector<Item *> order;
  for (Item &item : items)
    order.push_back(&item);
  if (reuse)
    std::sort(order.begin(), order.end(), [](Item *a, Item *b) {
      return a->size != b->size ? a->size > b->size
                                : a->members.front() < b->members.front();
    });
  int64_t total = 0;
  std::vector<Item *> placed;
  for (Item *item : order) {
    int64_t offset = reuse ? 0 : total;
    if (reuse) {
      // `placed` is sorted by offset: take the first gap.
      for (Item *other : placed) {
        if (!item->overlaps(*other))
          continue;
        if (other->offset >= offset + item->size)
          break;
        offset = std::max(offset, other->offset + other->size);
      }
    }
    item->offset = offset;
    total = std::max(total, offset + item->size);
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), item,
                      [](Item *a, Item *b) { return a->offset < b->offset; }),
                  item);
  }
  return total;
}

int64_t placeSpace(StoragePlan &plan, device::Space space, bool reuse,
                   int64_t &bound) {
  std::vector<Item> items = collectItems(plan, space);
  bound = computeBound(items);
  int64_t size = placeItems(items, reuse);
  for (const Item &item : items)
    for (StorageId id : item.members)
      plan.storages[id].offset = item.offset + plan.storages[id].bucketOffset;
  return size;
}

} // namespace

PlacementResult lockstep::placeStorages(StoragePlan &plan, bool reuse) {
  PlacementResult result;
  result.replicaSize =
      placeSpace(plan, device::Space::Replica, reuse, result.replicaBound);
  result.sharedSize =
      placeSpace(plan, device::Space::Shared, reuse, result.sharedBound);
  return result;
}
