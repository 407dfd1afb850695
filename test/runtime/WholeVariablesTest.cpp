//===- WholeVariablesTest.cpp - variables that replicas divide ------------===//

#include "TestProgram.h"

#include "runtime/executor/Cluster.h"

#include <numeric>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

constexpr int64_t replicas = 5;

class WholeVariables : public testing::TestWithParam<unsigned> {
protected:
  std::unique_ptr<Cluster> create(TestProgram &p) {
    Expected<std::unique_ptr<Cluster>> cluster =
        Cluster::create(p.artifact(), {.executors = GetParam()});
    EXPECT_TRUE(cluster.ok()) << cluster.status().message();
    return cluster ? std::move(*cluster) : nullptr;
  }

  /// Expects one variable "w" of i64, and writes the numbers from 1 on to it.
  static std::vector<int64_t> write(Cluster &cluster,
                                    const std::vector<int64_t> &shape) {
    int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                    std::multiplies<>());
    EXPECT_EQ(cluster.variables().size(), 1u);
    const VariableInfo &info = cluster.variables()[0];
    EXPECT_EQ(info.name, "w");
    EXPECT_FALSE(info.perReplica);
    EXPECT_EQ(info.type.shape, shape);
    EXPECT_EQ(info.type.bytes, uint64_t(count) * 8);
    std::vector<int64_t> values(size_t(count), 0);
    std::iota(values.begin(), values.end(), 1);
    cluster.variable("w")->write(std::as_bytes(std::span(values)));
    return values;
  }

  static void expectToRead(Cluster &cluster,
                           const std::vector<int64_t> &values) {
    std::vector<std::byte> found = cluster.variable("w")->read();
    EXPECT_TRUE(std::ranges::equal(found, std::as_bytes(std::span(values))));
  }
};
INSTANTIATE_TEST_SUITE_P(Executors, WholeVariables,
                         testing::Values(1, 2, 3, 5));

// The elements are one value, whichever executors have them. Where the replicas
// do not divide them, the last one stores padding, which is not a part of the
// value and remains zero.
TEST_P(WholeVariables, areDivided) {
  for (int64_t count : {2 * replicas, 2 * replicas - 1}) {
    TestProgram p(replicas);
    uint32_t part = p.variable("w", ElementType::i64, {2}, /*perReplica=*/true);
    p.writer.tables.variables[0]->whole_shape = {1, count};
    uint32_t out = p.buffer(Space::replica, ElementType::i64, {2});
    p.copy(part, out);
    p.output("part", out);
    p.ret();
    auto cluster = create(p);
    std::vector<int64_t> values = write(*cluster, {1, count});
    ASSERT_TRUE(cluster->run("main").ok());
    values.resize(2 * replicas, 0);
    for (int64_t r = 0; r < replicas; ++r)
      EXPECT_TRUE(std::ranges::equal(
          cluster->output(0, 0, unsigned(r)),
          std::as_bytes(std::span(values).subspan(size_t(2 * r), 2))));
    values.resize(size_t(count));
    expectToRead(*cluster, values);
  }
}

// So are they in two pieces of rows, each of which is divided by itself.
TEST_P(WholeVariables, areDividedPieces) {
  constexpr int64_t rows = 3, columns = 7;
  TestProgram p(replicas);
  for (int64_t first : {0, 1}) {
    int64_t own = first == 0 ? 1 : rows - 1;
    int64_t size = (own * columns + replicas - 1) / replicas;
    p.variable("w" + std::to_string(first), ElementType::i64, {size},
               /*perReplica=*/true);
    artifact::VariableT &variable = *p.writer.tables.variables.back();
    variable.whole_shape = {own, columns};
    variable.shard = std::make_unique<artifact::ShardT>();
    variable.shard->of = "w";
    variable.shard->first_row = uint64_t(first);
    variable.shard->rows = rows;
  }
  p.ret();
  auto cluster = create(p);
  expectToRead(*cluster, write(*cluster, {rows, columns}));
}

} // namespace
