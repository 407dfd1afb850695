//===- ConcurrencyTest.cpp - replicas of one session run side by side -----===//

#include "TestProgram.h"

#include <gmock/gmock.h>

#include <barrier>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

constexpr uint32_t kReplicas = 2;

/// The rendezvous of the kernels of all replicas in the current test.
std::barrier<> *kernelsOfAll;

/// A kernel that ends when all replicas execute it.
void callForAll(TestProgram &p) {
  p.call([](void *) { kernelsOfAll->arrive_and_wait(); });
}

// Before and after a rendezvous of the program, such as a merge_call's, no
// replica waits until another one has executed its kernels: if one did, the
// kernels here would never end. [2.3-threads]
TEST(Concurrency, kernelsOfAllReplicasExecuteAtTheSameTime) {
  std::barrier<> barrier(kReplicas);
  kernelsOfAll = &barrier;
  TestProgram p(kReplicas);
  callForAll(p);
  p.barrier(p.channel());
  callForAll(p);
  p.ret();
  auto session = p.session({.workers = kReplicas});
  for (int run = 0; run < 10; ++run)
    ASSERT_TRUE(session->run("main").ok());
}

} // namespace
