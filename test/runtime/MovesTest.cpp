//===- MovesTest.cpp - copies between members -----------------------------===//

#include "TestProgram.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// One collective with the operand "a", of which element i of replica r is
/// 1000 * r + i, and the output "r". Before it, all elements of the result are
/// -1.
struct Moved {
  Moved(uint32_t replicas, CollectiveKind kind, std::vector<int64_t> shape,
        int32_t axis = 0, std::vector<uint32_t> group = {}, int32_t root = -1,
        std::vector<int32_t> sources = {})
      : p(replicas) {
    uint32_t a = p.variable("a", ElementType::i32, shape, true),
             r = p.variable("r", ElementType::i32, shape, true);
    p.output("r", r);
    uint32_t channel = p.channel();
    uint32_t members = group.empty() ? 0 : p.group(group);
    p.start(kind, Reduction::none, channel, {a}, {r}, members, axis, root,
            std::move(sources));
    p.wait(channel);
    p.ret();
    session = p.session();
    for (uint32_t i = 0; i < replicas; ++i) {
      std::span<int32_t> given = elements(session->variable("a", i)),
                         got = elements(session->variable("r", i));
      std::fill(got.begin(), got.end(), -1);
      for (size_t j = 0; j < given.size(); ++j)
        given[j] = int32_t(1000 * i + j);
    }
    Status status = session->run("main");
    EXPECT_TRUE(status.ok()) << status.message();
  }

  static std::span<int32_t> elements(std::span<std::byte> bytes) {
    return {reinterpret_cast<int32_t *>(bytes.data()), bytes.size() / 4};
  }
  std::vector<int32_t> result(uint32_t replica) {
    std::span<int32_t> found = elements(session->variable("r", replica));
    return {found.begin(), found.end()};
  }
  /// The operand of `replica`.
  static std::vector<int32_t> whole(uint32_t replica, int size) {
    std::vector<int32_t> values;
    for (int i = 0; i < size; ++i)
      values.push_back(int32_t(1000 * replica) + i);
    return values;
  }

  TestProgram p;
  std::unique_ptr<Session> session;
};

class Moves : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Replicas, Moves, testing::Values(1, 2, 3, 4, 7));

// Part j of replica i becomes part i of replica j, along either axis.
TEST_P(Moves, allToAllTransposesParts) {
  uint32_t n = GetParam();
  int64_t rows = 2 * n, columns = 3 * n;
  for (int32_t axis : {0, 1}) {
    Moved moved(n, CollectiveKind::all_to_all, {rows, columns}, axis);
    for (uint32_t j = 0; j < n; ++j) {
      std::vector<int32_t> expected;
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < columns; ++x) {
          int64_t part = axis ? 3 : 2, along = axis ? x : y;
          int64_t source = along / part;
          int64_t from = j * part + along % part;
          expected.push_back(int32_t(
              1000 * source + (axis ? y : from) * columns + (axis ? from : x)));
        }
      EXPECT_EQ(moved.result(j), expected) << "axis " << axis << ", " << j;
    }
  }
}

TEST_P(Moves, permuteGoesRound) {
  uint32_t n = GetParam();
  std::vector<int32_t> sources;
  for (uint32_t i = 0; i < n; ++i)
    sources.push_back(int32_t((i + n - 1) % n));
  Moved moved(n, CollectiveKind::permute, {5}, 0, {}, -1, sources);
  for (uint32_t i = 0; i < n; ++i)
    EXPECT_EQ(moved.result(i), Moved::whole((i + n - 1) % n, 5));
}

// The first replica has no source, and the last is no source.
TEST_P(Moves, permuteWithoutASourceGivesZeros) {
  uint32_t n = GetParam();
  std::vector<int32_t> sources;
  for (uint32_t i = 0; i < n; ++i)
    sources.push_back(int32_t(i) - 1);
  Moved moved(n, CollectiveKind::permute, {4}, 0, {}, -1, sources);
  EXPECT_EQ(moved.result(0), std::vector<int32_t>(4, 0));
  for (uint32_t i = 1; i < n; ++i)
    EXPECT_EQ(moved.result(i), Moved::whole(i - 1, 4));
}

TEST(MovesInGroups, permuteNamesRanks) {
  Moved moved(5, CollectiveKind::permute, {3}, 0, {1, 2, 4}, -1, {4, 1, 2});
  std::vector<int32_t> untouched(3, -1);
  EXPECT_EQ(moved.result(0), untouched);
  EXPECT_EQ(moved.result(1), Moved::whole(4, 3));
  EXPECT_EQ(moved.result(2), Moved::whole(1, 3));
  EXPECT_EQ(moved.result(3), untouched);
  EXPECT_EQ(moved.result(4), Moved::whole(2, 3));
}

// The other member of a pair receives from the root; with a recv, the root
// receives.
TEST(MovesInGroups, sendAndRecvHaveOneDirection) {
  for (CollectiveKind kind : {CollectiveKind::send, CollectiveKind::recv})
    for (int32_t root : {-1, 1, 3}) {
      Moved moved(4, kind, {6}, 0, {1, 3}, root);
      uint32_t first = root == 3 ? 3 : 1, second = 4 - first;
      uint32_t target = kind == CollectiveKind::send ? second : first;
      for (uint32_t i = 0; i < 4; ++i)
        EXPECT_EQ(moved.result(i), i == target ? Moved::whole(4 - target, 6)
                                               : std::vector<int32_t>(6, -1));
    }
}

TEST(MovesInGroups, nothingIsMovedToo) {
  Moved moved(3, CollectiveKind::all_to_all, {0, 2});
  EXPECT_TRUE(moved.result(2).empty());
}

} // namespace
