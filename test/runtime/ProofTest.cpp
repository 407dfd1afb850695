//===- ProofTest.cpp - only proven programs are loaded --------------------===//

#include "TestProgram.h"

#include <gtest/gtest.h>

namespace lockstep::runtime::test {
namespace {

/// Workers and a server have two barriers.
struct TwoBarriers {
  explicit TwoBarriers(TestProgram &p, bool inOrder = true) {
    p.role("server");
    uint32_t group = p.group({0, 1, 2});
    uint32_t first = p.channel(), second = p.channel();
    p.barrier(inOrder ? first : second, group);
    p.barrier(inOrder ? second : first, group);
    p.ret();
    p.in("worker");
    p.barrier(p.channel(first), group);
    p.barrier(p.channel(second), group);
    p.ret();
  }
};

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Proof, ofSeveralRolesIsMadeOnEachLoad) {
  TestProgram p(2);
  TwoBarriers b(p);
  EXPECT_EQ(p.error(), "");
}

TEST(Proof, isMissingIfRolesHaveDifferentOrders) {
  TestProgram p(2);
  TwoBarriers b(p, /*inOrder=*/false);
  EXPECT_TRUE(contains(
      p.error(),
      "program 'main': could not prove that its ranks do not wait for each "
      "other forever: roles start exchanges in different orders: role "))
      << p.error();
  EXPECT_TRUE(contains(p.error(), "[E_NOT_PROVABLE]")) << p.error();
  EXPECT_EQ(p.error({.allowUnproven = true}), "");
}

TEST(Proof, ofOneRoleWithoutBranches) {
  TestProgram p(2);
  p.barrier(p.channel());
  p.ret();
  EXPECT_EQ(p.error(), "");
}

TEST(Proof, ofOneRoleWithTwoPaths) {
  TestProgram p(2);
  uint32_t flag = p.buffer(Space::replica, ElementType::i1, {});
  uint32_t branch = p.branchUnless(flag);
  p.barrier(p.channel());
  p.patch(branch);
  p.ret();
  EXPECT_TRUE(contains(p.error(), "may differ between ranks [E_NOT_PROVABLE]"))
      << p.error();
  EXPECT_EQ(p.error({.allowUnproven = true}), "");
}

} // namespace
} // namespace lockstep::runtime::test
