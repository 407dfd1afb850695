//===- Shards.h - rows of a sharded variable --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_MODEL_SHARDS_H
#define LOCKSTEP_RUNTIME_MODEL_SHARDS_H

#include "runtime/support/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// Consecutive rows of a variable, shard by shard.
class Shards {
public:
  /// Divided as evenly as possible, the larger shards first: 13 rows on 5
  /// shards are 0-2, 3-5, 6-8, 9-10, 11-12.
  static Shards divided(uint64_t rows, uint64_t shards);
  /// Shards of these rows.
  static Shards ofSizes(std::span<const uint64_t> sizes);

  uint64_t count() const { return offsets.size() - 1; }
  uint64_t rows() const { return offsets.back(); }
  /// The first row of a shard; of `count()`, the number of rows.
  uint64_t offset(uint64_t shard) const { return offsets[shard]; }
  uint64_t size(uint64_t shard) const {
    return offsets[shard + 1] - offsets[shard];
  }
  /// Whether the sizes are those of `divided`.
  bool isDivided() const;

  struct Place {
    uint64_t shard = 0;
    uint64_t row = 0;

    bool operator==(const Place &) const = default;
  };
  /// Shard of a row, and its index in the shard; `row` is below `rows()`.
  Place locate(uint64_t row) const;

  /// The part of a list of ids in one shard: the rows of the shard that the ids
  /// name, and the positions of these ids in the list. Duplicate ids are kept.
  struct Route {
    std::vector<uint64_t> rows;
    std::vector<uint64_t> positions;
  };
  /// A route for each shard, empty if no id is in it, so that only shards with
  /// needed rows are queried. `idsShape` is the shape of the ids. Errors: it
  /// does not have one axis [E_RANK_MISMATCH], sizes that are not `divided`,
  /// the only ones from which all sides can compute a place
  /// [E_NOT_DIV_SHARDED], an id that is not a row [E_INDEX].
  Expected<std::vector<Route>> route(std::span<const int64_t> ids,
                                     std::span<const int64_t> idsShape) const;

  /// Checks that a value of these rows can be assigned, shard by shard. Error:
  /// not `rows()` rows [E_SHAPE_MISMATCH].
  Status checkAssigned(uint64_t valueRows) const;

private:
  /// 0, then the end of each shard.
  std::vector<uint64_t> offsets = {0};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_SHARDS_H
