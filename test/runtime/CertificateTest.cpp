//===- CertificateTest.cpp - what is proven is loaded ---------------------===//

#include "TestProgram.h"

#include "runtime/verification/Certificate.h"

#include <gtest/gtest.h>

namespace lockstep::runtime::test {
namespace {

/// Workers and a server meet at two barriers.
struct TwoBarriers {
  explicit TwoBarriers(TestProgram &p, bool inOrder = true) {
    p.role("server");
    uint32_t group = p.group({0, 1, 2});
    first = p.channel(), second = p.channel();
    p.barrier(inOrder ? first : second, group);
    p.barrier(inOrder ? second : first, group);
    p.ret();
    p.in("worker");
    p.barrier(p.channel(first), group);
    p.barrier(p.channel(second), group);
    p.ret();
  }
  uint32_t first, second;
};

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Certificate, ofSeveralRolesIsEnough) {
  TestProgram p(2);
  TwoBarriers b(p);
  EXPECT_EQ(p.error(), "");
  auto artifact = p.artifact({});
  ASSERT_TRUE(artifact);
  const artifact::Certificate *certificate =
      verification::findCertificate(artifact->tables(), "main");
  ASSERT_TRUE(certificate);
  EXPECT_EQ(certificate->verdict(), artifact::Verdict::proven);
  EXPECT_EQ(certificate->method()->str(), "all states");
}

TEST(Certificate, isMissing) {
  TestProgram p(2);
  TwoBarriers b(p);
  p.certifies = false;
  EXPECT_TRUE(
      contains(
          p.error(),
          "program 'main': the programs of roles server, worker meet each "
          "other: expected a certificate that its ranks "
          "do not wait for each other for ever, found none [E_NOT_PROVABLE]") ||
      contains(
          p.error(),
          "program 'main': the programs of roles worker, server meet each "
          "other: expected a certificate that its ranks "
          "do not wait for each other for ever, found none [E_NOT_PROVABLE]"))
      << p.error();
  EXPECT_EQ(p.error({.allowUnproven = true}), "");
}

TEST(Certificate, isAboutOtherCommands) {
  TestProgram p(2);
  TwoBarriers b(p);
  (void)p.file();
  p.certifies = false;
  EXPECT_EQ(p.error(), "");
  std::swap(p.program->commands[0], p.program->commands[1]);
  EXPECT_TRUE(contains(
      p.error(), "program 'main': its certificate is about other commands, "
                 "buffers, groups or roles than these [E_NOT_PROVABLE]"))
      << p.error();
}

TEST(Certificate, saysThatRanksBlock) {
  TestProgram p(2);
  TwoBarriers b(p, /*inOrder=*/false);
  EXPECT_TRUE(contains(
      p.error(), "program 'main': its ranks may wait for each other for ever: "
                 "the verdict of its certificate is wrong [E_DEADLOCK]"))
      << p.error();
  EXPECT_EQ(p.error({.allowUnproven = true}), "");
}

// The ways of one role are looked at on every load: no certificate is needed,
// and none helps a program that it is not about.
TEST(Certificate, ofOneRoleIsNotNeeded) {
  TestProgram p(2);
  p.barrier(p.channel());
  p.ret();
  p.certifies = false;
  EXPECT_EQ(p.error(), "");
}

TEST(Certificate, ofOneRoleWithTwoWays) {
  TestProgram p(2);
  uint32_t flag = p.buffer(Space::replica, ElementType::i1, {});
  uint32_t branch = p.branchUnless(flag);
  p.barrier(p.channel());
  p.patch(branch);
  p.ret();
  p.certifies = false;
  EXPECT_TRUE(
      contains(p.error(), "may differ between ranks: expected a certificate"))
      << p.error();
  p.certifies = true;
  EXPECT_TRUE(contains(p.error(),
                       "the verdict of its certificate is wrong [E_DEADLOCK]"))
      << p.error();
}

} // namespace
} // namespace lockstep::runtime::test
