//===- Shards.h - where the rows of a sharded variable are ------*- C++ -*-===//

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
  /// Divided as evenly as it goes, the larger shards first: 13 rows on 5 shards
  /// are 0-2, 3-5, 6-8, 9-10, 11-12.
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
  /// Shard of a row, and its row in there; `row` is below `rows()`.
  Place locate(uint64_t row) const;

  /// What one shard has to do with a list of ids: the rows in it that they
  /// name, and their positions in the list, in which order the values of the
  /// ids stand. Nothing is merged: an id that is there twice is there twice.
  struct Route {
    std::vector<uint64_t> rows;
    std::vector<uint64_t> positions;
  };
  /// A route for each shard; those without an id are empty, so only shards with
  /// rows that are needed are asked. `idsShape` is the shape of the ids.
  /// Errors: it has not one axis [E_RANK_MISMATCH], sizes that are not
  /// `divided`, by which alone all sides can compute a place
  /// [E_NOT_DIV_SHARDED], an id that is no row [E_INDEX].
  Expected<std::vector<Route>> route(std::span<const int64_t> ids,
                                     std::span<const int64_t> idsShape) const;

  /// Checks that a value of these rows can be assigned, shard by shard. Error:
  /// other rows than `rows()` [E_SHAPE_MISMATCH].
  Status checkAssigned(uint64_t valueRows) const;

private:
  /// 0, then the end of each shard.
  std::vector<uint64_t> offsets = {0};
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_SHARDS_H
