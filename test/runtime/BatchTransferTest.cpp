//===- BatchTransferTest.cpp - batches that are sent ahead ----------------===//

#include "Devices.h"
#include "TestProgram.h"

#include "runtime/executor/BatchTransfer.h"

#include <cstring>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

struct Input {
  alignas(64) int64_t x = 0;
  const std::byte *bytes() const {
    return reinterpret_cast<const std::byte *>(&x);
  }
};

/// sum = x + rate, on each replica; `total` is the sum of all.
TestProgram makeProgram(uint32_t replicas) {
  TestProgram p(replicas);
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t rate = p.scalar("rate", ElementType::i64);
  uint32_t sum = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t total = p.buffer(Space::shared, ElementType::i64, {});
  uint32_t channel = p.channel();
  p.launch("add", {x, rate}, {sum});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {sum}, {total});
  p.wait(channel);
  p.ret();
  p.output("sum", sum);
  p.output("total", total);
  return p;
}

class BatchTransfers
    : public testing::TestWithParam<std::tuple<std::string, uint32_t, bool>> {
protected:
  void SetUp() override {
    auto [device, replicas, isRecorded] = GetParam();
    program = makeProgram(replicas);
    session = program->session({.device = device, .recordRuns = isRecorded});
    for (std::vector<Input> *batches : {&first, &second})
      batches->resize(replicas);
  }
  void TearDown() override { session.reset(); }

  /// Values of a batch: `from`, `from` + 1, ...
  static void fill(std::vector<Input> &batches, int64_t from) {
    for (Input &batch : batches)
      batch.x = from++;
  }
  void bind(const std::vector<Input> &batches) {
    for (uint32_t i = 0; i < batches.size(); ++i)
      ASSERT_TRUE(session->bindInput(0, i, batches[i].bytes()).ok());
  }
  void announce(const std::vector<Input> &batches, uint32_t replicas) {
    for (uint32_t i = 0; i < replicas; ++i)
      ASSERT_TRUE(session->announceInput(0, i, batches[i].bytes()).ok());
  }
  /// Runs the program, whose first replica is expected to have read `x`.
  void expectRun(int64_t x) {
    ++rate;
    ASSERT_TRUE(session->setScalar("rate", bytesOf(rate)).ok());
    Status status = session->run("main");
    ASSERT_TRUE(status.ok()) << status.message();
    int64_t expected = 0;
    for (uint32_t i = 0; i < session->replicas(); ++i) {
      EXPECT_EQ(value("sum", i), x + i + rate);
      expected += x + i + rate;
    }
    for (uint32_t i = 0; i < session->replicas(); ++i)
      EXPECT_EQ(value("total", i), expected);
  }
  int64_t value(std::string_view output, uint32_t replica) const {
    int64_t result = 0;
    std::span<const std::byte> bytes = session->output(0, output, replica);
    EXPECT_EQ(bytes.size(), sizeof(result));
    std::memcpy(&result, bytes.data(), std::min(bytes.size(), sizeof(result)));
    return result;
  }

  std::optional<TestProgram> program;
  std::unique_ptr<Session> session;
  std::vector<Input> first, second;
  int64_t rate = 1000;
};
INSTANTIATE_TEST_SUITE_P(
    OnDevices, BatchTransfers,
    testing::Combine(testing::ValuesIn(devicesWithQueues(3001, 2)),
                     testing::Values(1, 3), testing::Bool()));

// As a ring of two batches is used, of which one is filled during each run.
TEST_P(BatchTransfers, areThoseThatAreBound) {
  fill(first, 0);
  for (int64_t run = 0; run < 8; ++run) {
    bind(first);
    fill(second, 10 * (run + 1));
    announce(second, session->replicas());
    expectRun(10 * run);
    // Nothing reads the batch of a run that has ended.
    fill(first, -1);
    std::swap(first, second);
  }
}

// What is announced is read in the run before.
TEST_P(BatchTransfers, areSentAhead) {
  fill(first, 0);
  fill(second, 50);
  bind(first);
  expectRun(0);
  for (int64_t run = 1; run < 5; ++run) {
    bind(first);
    announce(second, session->replicas());
    expectRun(0);
    fill(second, -1);
    bind(second);
    expectRun(50);
    fill(second, 50);
  }
}

// Another batch than the announced one may be bound.
TEST_P(BatchTransfers, areReplaced) {
  fill(first, 0);
  fill(second, 50);
  for (int64_t run = 0; run < 6; ++run) {
    bind(first);
    announce(second, session->replicas());
    expectRun(0);
  }
  // A batch that stays bound is transferred for each run.
  fill(first, 7);
  expectRun(7);
  expectRun(7);
}

// A part of the replicas has no effect.
TEST_P(BatchTransfers, areAnnouncedForAllReplicas) {
  fill(first, 0);
  fill(second, 50);
  for (int64_t run = 0; run < 3; ++run) {
    bind(first);
    announce(second, session->replicas() - 1);
    expectRun(0);
    fill(second, 60);
    bind(second);
    expectRun(60);
  }
}

// The device has no queue for them, as if there were no memory: each run
// transfers its batch itself.
TEST(AnnouncedBatches, withoutMemory) {
  std::shared_ptr<Device> device = *openDevice("cpu");
  std::unique_ptr<BatchTransfer> transfer =
      *BatchTransfer::create(*device, 1, sizeof(Input));
  Input batch;
  EXPECT_EQ(transfer->obstacle(), "");
  transfer->announce(0, batch.bytes());
  EXPECT_EQ(transfer->obstacle(), "device 'cpu' has no queues");
  transfer->sendAhead();
  EXPECT_FALSE(transfer->isBusy());
  EXPECT_TRUE(transfer->status().ok());
}

TEST(AnnouncedBatches, ofNoReplica) {
  TestProgram p = makeProgram(2);
  auto session = p.session();
  Input batch;
  EXPECT_TRUE(session->announceInput(0, 1, batch.bytes()).ok());
  EXPECT_EQ(session->announceInput(0, 2, batch.bytes()).message(),
            "program 0 or replica 2 does not exist");
}

} // namespace
