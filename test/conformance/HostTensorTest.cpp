//===- HostTensorTest.cpp - arrays of the host as data --------------------===//

#include "test/conformance/HostTensor.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace lockstep::runtime;
using lockstep::artifact::ElementType;

namespace {

using Sizes = std::vector<uint64_t>;

HostTensor tensor(std::vector<int64_t> shape,
                  const std::vector<int64_t> &values) {
  HostTensor result{ElementType::i64, std::move(shape), {}};
  result.bytes.resize(values.size() * sizeof(int64_t));
  if (!values.empty())
    std::memcpy(result.bytes.data(), values.data(), result.bytes.size());
  return result;
}

Nest leaf(HostTensor value) { return {.leaf = std::move(value)}; }

} // namespace

// Two arrays of six in a list are two rows of six. [4-numpy]
TEST(HostTensor, StacksLists) {
  Nest list{Nest::Kind::list,
            {},
            {leaf(tensor({6}, {5, 4, 3, 2, 1, 0})),
             leaf(tensor({6}, {50, 40, 30, 20, 10, 0}))}};
  Expected<Nest> rows = stackLists(list);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->leaf,
            tensor({2, 6}, {5, 4, 3, 2, 1, 0, 50, 40, 30, 20, 10, 0}));
  EXPECT_EQ(lockstep::runtime::rowsOf(*rows), 2u);
  EXPECT_EQ(*takeRows(rows->leaf, Sizes{1}),
            tensor({1, 6}, {50, 40, 30, 20, 10, 0}));
  EXPECT_EQ(*takeRows(rows->leaf, {}), tensor({0, 6}, {}));
}

// Tuples and dictionaries stay, and lists in them are stacked. [4-numpy]
TEST(HostTensor, KeepsTuplesAndDictionaries) {
  Nest list{
      Nest::Kind::list, {}, {leaf(tensor({}, {7})), leaf(tensor({}, {8}))}};
  Nest tuple{
      Nest::Kind::tuple, {}, {leaf(tensor({2, 2}, {1, 2, 6, 12})), list}};
  Expected<Nest> rows =
      stackLists({Nest::Kind::dictionary, {}, {tuple}, {"a"}});
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->kind, Nest::Kind::dictionary);
  EXPECT_EQ(rows->members[0].kind, Nest::Kind::tuple);
  EXPECT_EQ(rows->members[0].members[1].leaf, tensor({2}, {7, 8}));
}

TEST(HostTensor, Errors) {
  Nest two = leaf(tensor({2}, {1, 2})), three = leaf(tensor({3}, {1, 2, 3}));
  EXPECT_EQ(stackLists({Nest::Kind::list, {}, {two, three}}).status().message(),
            "expected a list of arrays of 2xi64, found 3xi64 in it "
            "[E_SHAPE_MISMATCH]");
  EXPECT_EQ(
      stackLists({Nest::Kind::tuple, {}, {two, three}}).status().message(),
      "expected 2 rows as in the first array, found 3 [E_SHAPE_MISMATCH]");
  EXPECT_EQ(stackLists(leaf(tensor({}, {1}))).status().message(),
            "expected arrays of rows, found a scalar [E_SHAPE_MISMATCH]");
  EXPECT_EQ(
      stackLists({Nest::Kind::tuple, {}, {}}).status().message(),
      "expected arrays, found an empty list, tuple or dictionary [E_ARG_TYPE]");
  EXPECT_EQ(takeRows(two.leaf, Sizes{2}).status().message(),
            "expected a row below 2, found 2");
}
