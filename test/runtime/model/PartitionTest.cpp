//===- PartitionTest.cpp - shards of variables ----------------------------===//

#include "runtime/model/Partition.h"
#include "runtime/model/Shards.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

namespace {

using List = std::vector<int64_t>;
using Sizes = std::vector<uint64_t>;

List fixedShards(int64_t shards, List shape) {
  return Partitioner::fixedShards(shards)->partitions(shape, 4);
}
List minSize(int64_t bytes, int64_t most, List shape, uint64_t element = 4) {
  return Partitioner::minSize(bytes, most)->partitions(shape, element);
}
List maxSize(int64_t bytes, std::optional<int64_t> most, List shape) {
  return Partitioner::maxSize(bytes, most)->partitions(shape, 4);
}
constexpr int64_t quarter = Partitioner::defaultMinShardBytes;

Sizes offsetsOf(const Shards &shards) {
  Sizes offsets;
  for (uint64_t shard = 0; shard <= shards.count(); ++shard)
    offsets.push_back(shards.offset(shard));
  return offsets;
}

} // namespace

// 8: fixed, min(num_shards, dim). [8-partitioners]
TEST(Partition, FixedShards) {
  EXPECT_EQ(fixedShards(1, {7, 3}), (List{1, 1}));
  EXPECT_EQ(fixedShards(3, {7, 3}), (List{3, 1}));
  EXPECT_EQ(fixedShards(10, {7, 3}), (List{7, 1}));
  EXPECT_EQ(fixedShards(3, {0, 3}), (List{1, 1}));
  EXPECT_EQ(fixedShards(3, {}), List{});
}

// 8: max(1, min(dim, max_shards, ceil(bytes / min_shard_bytes))): 24 bytes in
// shards of 16 are two.
TEST(Partition, MinSize) {
  EXPECT_EQ(minSize(4, 2, {6, 1}), (List{2, 1}));
  EXPECT_EQ(minSize(4, 10, {6, 1}), (List{6, 1}));
  EXPECT_EQ(minSize(8, 10, {6, 1}), (List{3, 1}));
  EXPECT_EQ(minSize(16, 10, {6, 1}), (List{2, 1}));
  EXPECT_EQ(minSize(24, 10, {6, 1}), (List{1, 1}));
  EXPECT_EQ(minSize(25, 10, {6, 1}), (List{1, 1}));
  EXPECT_EQ(minSize(quarter, 4, {65536}), (List{1}));
  EXPECT_EQ(minSize(quarter, 4, {65537}), (List{2}));
  EXPECT_EQ(minSize(quarter, 64, {1024, 1024}, 8), (List{32, 1}));
  EXPECT_EQ(minSize(quarter, 64, {1024, 1024}, 2), (List{8, 1}));
  EXPECT_EQ(minSize(16, 4, {6}, /*a string*/ 16), (List{4}));
  EXPECT_EQ(Partitioner::minSize()->partitions(List{1024, 1024}, 4),
            (List{1, 1}));
}

// 8: rows = max(1, floor(max_shard_bytes / row)), shards = ceil(dim / rows).
TEST(Partition, MaxSize) { // [8-partitioners]
  EXPECT_EQ(maxSize(4, {}, {6, 1}), (List{6, 1}));
  EXPECT_EQ(maxSize(4, 2, {6, 1}), (List{2, 1}));
  EXPECT_EQ(maxSize(9, {}, {6, 1}), (List{3, 1}));
  EXPECT_EQ(maxSize(1024, {}, {6, 1}), (List{1, 1}));
  EXPECT_EQ(maxSize(1, {}, {6, 1}), (List{6, 1}));
  EXPECT_EQ(maxSize(100, {}, {13, 8}), (List{5, 1}));
  EXPECT_EQ(maxSize(31, {}, {13, 8}), (List{13, 1}));
  EXPECT_EQ(maxSize(64, 3, {13, 8}), (List{3, 1}));
}

TEST(Partition, Errors) { // [8-partition-axis]
  EXPECT_EQ(Partitioner::fixedShards(0).status().message(),
            "expected a positive 'num_shards', found 0 [E_OPTION_VALUE]");
  EXPECT_EQ(Partitioner::minSize(0).status().message(),
            "expected a positive 'min_shard_bytes', found 0 [E_OPTION_VALUE]");
  EXPECT_EQ(Partitioner::minSize(1, -1).status().message(),
            "expected a positive 'max_shards', found -1 [E_OPTION_VALUE]");
  EXPECT_EQ(Partitioner::maxSize(0).status().message(),
            "expected a positive 'max_shard_bytes', found 0 [E_OPTION_VALUE]");
  EXPECT_EQ(Partitioner::maxSize(1, 0).status().message(),
            "expected a positive 'max_shards', found 0 [E_OPTION_VALUE]");
  EXPECT_EQ(*shardsOfPartitions(List{3, 1, 1}, 3), 3);
  for (const List &wrong : {List{1, 2}, List{0, 1}, List{2}, List{}})
    EXPECT_TRUE(shardsOfPartitions(wrong, 2).status().message().ends_with(
        "[E_PARTITION_AXIS]"));
  EXPECT_EQ(shardsOfPartitions(List{1, 2}, 2).status().message(),
            "expected partitions [k, 1, ...] with a positive k for each of 2 "
            "axes, found [1, 2] [E_PARTITION_AXIS]");
}

// 8: variables and shards alike take the next server, by one counter.
TEST(Partition, RoundRobin) { // [8-round-robin]
  RoundRobin servers(2);
  EXPECT_EQ((std::vector<unsigned>{servers.next(), servers.next(),
                                   servers.next(), servers.next()}),
            (std::vector<unsigned>{0, 1, 0, 1}));
}

// 13 ids on 5 shards: 0-2, 3-5, 6-8, 9-10, 11-12. [8-offsets]
TEST(Shards, Divided) {
  EXPECT_EQ(offsetsOf(Shards::divided(13, 5)), (Sizes{0, 3, 6, 9, 11, 13}));
  EXPECT_EQ(offsetsOf(Shards::divided(2, 3)), (Sizes{0, 1, 2, 2}));
  EXPECT_TRUE(Shards::ofSizes(Sizes{2, 2, 1}).isDivided());
  EXPECT_FALSE(Shards::ofSizes(Sizes{2, 1, 2}).isDivided());
}

TEST(Shards, LocatesEveryRow) {
  for (uint64_t rows = 1; rows < 30; ++rows)
    for (uint64_t count = 1; count < 9; ++count) {
      Shards shards = Shards::divided(rows, count);
      for (uint64_t row = 0; row < rows; ++row) {
        Shards::Place place = shards.locate(row);
        EXPECT_LT(place.row, shards.size(place.shard));
        EXPECT_EQ(shards.offset(place.shard) + place.row, row);
      }
    }
  // Not at the shards without rows.
  EXPECT_EQ(Shards::ofSizes(Sizes{0, 2, 0, 1}).locate(2),
            (Shards::Place{3, 0}));
}

// Each shard gets only its own rows, and the positions of their values.
TEST(Shards, RoutesIds) {
  List ids = {4, 0, 3, 0}, shape = {4};
  Expected<std::vector<Shards::Route>> routes =
      Shards::divided(5, 3).route(ids, shape);
  ASSERT_TRUE(routes.ok());
  EXPECT_EQ((*routes)[0].rows, (Sizes{0, 0}));
  EXPECT_EQ((*routes)[0].positions, (Sizes{1, 3}));
  EXPECT_EQ((*routes)[1].rows, (Sizes{1}));
  EXPECT_EQ((*routes)[2].rows, (Sizes{0}));
  EXPECT_EQ((*routes)[2].positions, (Sizes{0}));
}

TEST(Shards, Errors) { // [8-sharded-errors]
  Shards shards = Shards::divided(5, 3);
  EXPECT_EQ(
      shards.route(List{0, 1}, List{1, 2}).status().message(),
      "expected ids of one axis, found the shape [1, 2] [E_RANK_MISMATCH]");
  EXPECT_EQ(shards.route(List{5}, List{1}).status().message(),
            "expected ids from 0 to 4, found 5 [E_INDEX]");
  EXPECT_EQ(shards.route(List{-1}, List{1}).status().message(),
            "expected ids from 0 to 4, found -1 [E_INDEX]");
  EXPECT_EQ(
      Shards::ofSizes(Sizes{1, 3}).route(List{0}, List{1}).status().message(),
      "expected 4 rows divided evenly over 2 shards, found shards of 1, 3 "
      "[E_NOT_DIV_SHARDED]");
  EXPECT_EQ(shards.checkAssigned(4).message(),
            "expected a value of 5 rows, found 4 [E_SHAPE_MISMATCH]");
  EXPECT_TRUE(shards.checkAssigned(5).ok());
}
