//===- Shards.cpp - rows of a sharded variable ----------------------------===//

#include "runtime/model/Shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockstep::runtime {

Shards Shards::divided(uint64_t rows, uint64_t shards) {
  Shards result;
  for (uint64_t shard = 0; shard < shards; ++shard)
    result.offsets.push_back(result.rows() + rows / shards +
                             (shard < rows % shards));
  return result;
}

Shards Shards::ofSizes(std::span<const uint64_t> sizes) {
  Shards result;
  for (uint64_t size : sizes)
    result.offsets.push_back(result.rows() + size);
  return result;
}

bool Shards::isDivided() const {
  return offsets == divided(rows(), count()).offsets;
}

Shards::Place Shards::locate(uint64_t row) const {
  // The last shard that begins at the row or before it; shards without rows
  // begin where the next one does.
  auto next = std::upper_bound(offsets.begin(), offsets.end(), row);
  uint64_t shard = static_cast<uint64_t>(next - offsets.begin()) - 1;
  return {shard, row - offsets[shard]};
}

Expected<std::vector<Shards::Route>>
Shards::route(std::span<const int64_t> ids,
              std::span<const int64_t> idsShape) const {
  if (idsShape.size() != 1)
    return invalidArgument(fmt::format(
        "expected ids of one axis, found the shape [{}] [E_RANK_MISMATCH]",
        fmt::join(idsShape, ", ")));
  if (!isDivided()) {
    std::vector<uint64_t> sizes;
    for (uint64_t shard = 0; shard < count(); ++shard)
      sizes.push_back(size(shard));
    return unsupported(
        fmt::format("expected {} rows divided evenly over {} shards, found "
                    "shards of {} [E_NOT_DIV_SHARDED]",
                    rows(), count(), fmt::join(sizes, ", ")));
  }
  std::vector<Route> routes(count());
  for (size_t position = 0; position < ids.size(); ++position) {
    if (ids[position] < 0 || static_cast<uint64_t>(ids[position]) >= rows())
      return Status(StatusCode::outOfRange,
                    fmt::format("expected ids from 0 to {}, found {} [E_INDEX]",
                                rows() - 1, ids[position]));
    Place place = locate(static_cast<uint64_t>(ids[position]));
    routes[place.shard].rows.push_back(place.row);
    routes[place.shard].positions.push_back(position);
  }
  return routes;
}

Status Shards::checkAssigned(uint64_t valueRows) const {
  if (valueRows == rows())
    return Status::success();
  return invalidArgument(
      fmt::format("expected a value of {} rows, found {} [E_SHAPE_MISMATCH]",
                  rows(), valueRows));
}

} // namespace lockstep::runtime
