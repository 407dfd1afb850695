//===- RecordingTest.cpp - runs that a device has recorded ----------------===//

#include "Collectives.h"
#include "Devices.h"
#include "HangingKernel.h"

#include "runtime/device/DeviceQueues.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/executor/Decisions.h"

#include <array>

#include <fmt/format.h>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

using Numbers = std::array<int32_t, 4>;

class Recording : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    device = *openDevice(GetParam());
    memory = *device->allocate(2, sizeof(Numbers));
    for (std::unique_ptr<Queue> &queue : queues)
      queue = *device->createQueue();
  }

  Numbers read(uint32_t block) {
    Numbers result{};
    EXPECT_TRUE(transfer(*device, [&](Queue &queue) {
                  queue.download(reinterpret_cast<std::byte *>(result.data()),
                                 memory->block(block), sizeof(Numbers));
                }).ok());
    return result;
  }

  void begin() {
    std::array<Queue *, 1> others{queues[1].get()};
    ASSERT_TRUE(queues[0]->beginRecording(others).ok());
  }

  /// Waits until the first queue has executed everything.
  void finish() {
    std::unique_ptr<Event> end = device->createEvent({});
    queues[0]->record(*end);
    EXPECT_TRUE(
        transfer(*device, [&](Queue &queue) { queue.wait(*end); }).ok());
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Queue> queues[2];
};
INSTANTIATE_TEST_SUITE_P(OnDevices, Recording,
                         testing::ValuesIn(devicesWithQueues(2001, 2)));

// block 1 = block 0; block 0 = 5: on two queues, ordered by events.
TEST_P(Recording, isExecutedOnDemand) {
  std::unique_ptr<Event> copied = device->createEvent({});
  queues[0]->fill(memory->block(0), sizeof(Numbers), 3);
  finish();
  uint64_t before[2] = {queues[0]->enqueued(), queues[1]->enqueued()};
  begin();
  queues[1]->copy(
      {memory->block(1), memory->block(0), 1, sizeof(Numbers), 0, 0});
  queues[1]->record(*copied);
  queues[0]->wait(*copied);
  queues[0]->fill(memory->block(0), sizeof(Numbers), 5);
  std::unique_ptr<CommandGraph> graph = *queues[0]->endRecording();
  EXPECT_EQ(queues[0]->enqueued(), before[0]) << "nothing is enqueued yet";
  EXPECT_EQ(queues[1]->enqueued(), before[1]);
  EXPECT_EQ(read(1), (Numbers{0, 0, 0, 0}));

  queues[0]->execute(*graph);
  finish();
  EXPECT_EQ(read(0), (Numbers{5, 5, 5, 5}));
  EXPECT_EQ(read(1), (Numbers{3, 3, 3, 3}));
  // Each queue counts what it has in the graph, and has executed it.
  for (int i = 0; i < 2; ++i) {
    EXPECT_GE(queues[i]->enqueued(), before[i] + 2);
    EXPECT_EQ(queues[i]->progress(), queues[i]->enqueued());
  }
  queues[0]->fill(memory->block(0), sizeof(Numbers), 7);
  queues[0]->execute(*graph);
  finish();
  EXPECT_EQ(read(0), (Numbers{5, 5, 5, 5}));
  EXPECT_EQ(read(1), (Numbers{7, 7, 7, 7}));
  EXPECT_TRUE(queues[0]->status().ok());
}

// Memory of `allocateHost` is read at each execution.
TEST_P(Recording, transfersFromAllocatedMemory) {
  std::unique_ptr<HostMemory> given = *device->allocateHost(sizeof(Numbers));
  begin();
  queues[1]->upload(memory->block(0), given->data(), sizeof(Numbers));
  std::unique_ptr<CommandGraph> graph = *queues[0]->endRecording();
  for (int32_t i : {4, 6}) {
    Numbers numbers;
    numbers.fill(i);
    std::memcpy(given->data(), numbers.data(), sizeof(Numbers));
    queues[0]->execute(*graph);
    finish();
    EXPECT_EQ(read(0), numbers);
  }
}

// Other memory of the host may be another one when commands are executed again.
TEST_P(Recording, refusesTransfers) {
  Numbers numbers{};
  begin();
  queues[1]->upload(memory->block(0),
                    reinterpret_cast<std::byte *>(numbers.data()),
                    sizeof(Numbers));
  EXPECT_FALSE(queues[0]->endRecording().status().ok());
}

TEST_P(Recording, refusesTransfersToTheHost) {
  Numbers numbers{};
  begin();
  queues[1]->download(reinterpret_cast<std::byte *>(numbers.data()),
                      memory->block(0), sizeof(Numbers));
  EXPECT_FALSE(queues[0]->endRecording().status().ok());
}

TEST_P(Recording, refusesWaitsForWhatWasBefore) {
  std::unique_ptr<Event> event = device->createEvent({});
  queues[1]->record(*event);
  begin();
  queues[0]->wait(*event);
  EXPECT_FALSE(queues[0]->endRecording().status().ok());
}

TEST_P(Recording, refusesCallbacks) {
  std::unique_ptr<Event> event = device->createEvent([] {});
  begin();
  queues[0]->record(*event);
  EXPECT_FALSE(queues[0]->endRecording().status().ok());
}

TEST(RecordingOnCpu, isNotPossible) {
  EXPECT_FALSE(makeCpuDevice()->canRecord());
}

/// In each of three iterations, replicas add their `own` variable to `total`,
/// all of them together, and a section doubles `total`.
TestProgram program(uint32_t replicas) {
  TestProgram p(replicas);
  uint32_t own = p.variable("own", ElementType::i64, {}, true);
  uint32_t total = p.variable("total", ElementType::i64, {});
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  uint32_t reduced = p.channel(), section = p.channel(), barrier = p.channel();
  uint32_t i = p.reg(), one = p.reg(), three = p.reg();
  p.setRegister(i, 0);
  p.setRegister(one, 1);
  p.setRegister(three, 3);
  uint32_t loop = p.branchGreaterEqual(i, three);
  p.start(CollectiveKind::all_reduce, Reduction::sum, reduced, {own}, {sum});
  p.wait(reduced);
  p.once(section);
  p.launch("add", {total, sum}, {total});
  p.launch("add", {total, total}, {total});
  p.endOnce();
  p.barrier(barrier);
  p.addRegister(i, one);
  p.jump(loop);
  p.patch(loop);
  p.ret();
  p.output("total", total);
  return p;
}

std::vector<int64_t> totals(TestProgram &p, const SessionOptions &options,
                            int runs, bool isRecorded) {
  auto session = p.session(options);
  std::vector<int64_t> result;
  for (int run = 1; run <= runs; ++run) {
    // Inputs of a run are those at its beginning.
    for (uint32_t r = 0; r < session->replicas(); ++r) {
      int64_t value = 10 * run + r;
      std::ranges::copy(bytesOf(value), session->variable("own", r).begin());
    }
    Status status = session->run("main");
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(session->recording(0).isRecorded, isRecorded && run >= 2);
    EXPECT_EQ(session->recording(0).obstacle, "");
    int64_t total = 0;
    std::memcpy(&total, session->output(0, 0).data(), sizeof(total));
    result.push_back(total);
  }
  return result;
}

// Runs that are executed as recorded have the results of others.
TEST_P(Recording, runsOfAProgram) {
  for (uint32_t replicas : {1, 3})
    for (unsigned workers : {1, 2}) {
      TestProgram p = program(replicas);
      SessionOptions options{.workers = workers, .device = GetParam()};
      std::vector<int64_t> recorded = totals(p, options, 5, true);
      options.recordRuns = false;
      EXPECT_EQ(totals(p, options, 5, false), recorded);
      EXPECT_EQ(recorded[4], totals(p, {.device = "cpu"}, 5, false)[4]);
    }
}

// Small outputs are transferred by what is recorded, others when they are read;
// several may be one buffer.
TEST_P(Recording, outputsOfAnySize) {
  constexpr int64_t elements = 64 * 256;
  TestProgram p(2);
  uint32_t large = p.variable("large", ElementType::f32, {elements}, true);
  uint32_t own = p.variable("own", ElementType::i64, {}, true);
  uint32_t twiceLarge = p.buffer(Space::replica, ElementType::f32, {elements});
  uint32_t twiceOwn = p.buffer(Space::replica, ElementType::i64, {});
  p.launch("twice_tiles", {large}, {twiceLarge});
  p.launch("add", {own, own}, {twiceOwn});
  p.output("large", twiceLarge);
  p.output("own", twiceOwn);
  p.output("again", twiceOwn);
  p.ret();
  auto session = p.session({.device = GetParam()});
  for (int run = 0; run < 5; ++run) {
    for (uint32_t r = 0; r < 2; ++r) {
      int64_t value = 10 * run + r;
      auto last = float(value);
      std::ranges::copy(bytesOf(value), session->variable("own", r).begin());
      std::ranges::copy(bytesOf(last),
                        session->variable("large", r).last(4).begin());
    }
    ASSERT_TRUE(session->run("main").ok());
    for (uint32_t r = 0; r < 2; ++r) {
      for (unsigned output : {1, 2}) {
        int64_t found = 0;
        std::memcpy(&found, session->output(0, output, r).data(), 8);
        EXPECT_EQ(found, 2 * (10 * run + r));
      }
      float last = 0;
      std::memcpy(&last, session->output(0, 0, r).last(4).data(), 4);
      EXPECT_EQ(last, 2.0f * float(10 * run + r));
    }
  }
}

// Where the host decides by data, the commands after each decision are recorded
// when they occur for the second time.
TEST_P(Recording, dataDecides) {
  TestProgram p(1);
  uint32_t doubles = p.variable("doubles", ElementType::i1, {});
  uint32_t total = p.variable("total", ElementType::i64, {});
  p.output("total", total);
  uint32_t branch = p.branchUnless(doubles);
  p.launch("add", {total, total}, {total});
  p.patch(branch);
  p.ret();
  auto session = p.session({.device = GetParam()});
  int64_t value = 1, run = 0;
  std::ranges::copy(bytesOf(value), session->variable("total").begin());
  for (bool isDouble : {false, true, false, true, true, false}) {
    session->variable("doubles")[0] = std::byte(isDouble);
    ASSERT_TRUE(session->run("main").ok());
    EXPECT_EQ(session->recording(0).isRecorded, ++run >= 2);
    value = isDouble ? 2 * value : value;
    int64_t found = 0;
    std::memcpy(&found, session->output(0, 0).data(), sizeof(found));
    EXPECT_EQ(found, value);
  }
  EXPECT_EQ(session->recording(0).obstacle, "");
  EXPECT_EQ(session->recording(0).omission, "");
}

// Sequences of commands that rarely occur again are interpreted.
TEST_P(Recording, keepsNoMoreThanItsLimit) {
  TestProgram p(1);
  uint32_t count = p.variable("count", ElementType::i64, {});
  uint32_t total = p.variable("total", ElementType::i64, {});
  uint32_t i = p.reg(), one = p.reg(), limit = p.reg();
  p.setRegister(i, 0);
  p.setRegister(one, 1);
  p.loadRegister(limit, count);
  uint32_t loop = p.branchGreaterEqual(i, limit);
  p.launch("add", {total, count}, {total});
  p.addRegister(i, one);
  p.jump(loop);
  p.patch(loop);
  p.output("total", total);
  p.ret();
  auto session = p.session({.device = GetParam()});
  int64_t expected = 0;
  auto run = [&](int64_t iterations) {
    std::ranges::copy(bytesOf(iterations), session->variable("count").begin());
    ASSERT_TRUE(session->run("main").ok());
    expected += iterations * std::max<int64_t>(iterations, 0);
    int64_t found = 0;
    std::memcpy(&found, session->output(0, 0).data(), sizeof(found));
    EXPECT_EQ(found, expected);
  };
  for (int64_t iterations : {3, 3, 3, 4, 4, 4, 3})
    run(iterations);
  EXPECT_EQ(session->recording(0).omission, "");
  for (int i = 0; i < 2; ++i)
    run(20000);
  EXPECT_EQ(session->recording(0).omission, "");
  for (int i = 0; i < 2; ++i)
    run(15000);
  EXPECT_EQ(session->recording(0).omission, "there are too many commands");
  for (int64_t distinct = 0; distinct < 1100; ++distinct)
    run(-distinct);
  run(3);
  EXPECT_EQ(session->recording(0).omission,
            "what the host reads differs: 1024 sequences of commands have been "
            "executed");
  EXPECT_EQ(session->recording(0).obstacle, "");
}

// Why the device gets commands one by one.
TEST_P(Recording, tooManyCommands) {
  TestProgram p(1);
  uint32_t v = p.variable("v", ElementType::i64, {});
  uint32_t i = p.reg(), one = p.reg(), limit = p.reg();
  p.setRegister(i, 0);
  p.setRegister(one, 1);
  p.setRegister(limit, 40000);
  uint32_t loop = p.branchGreaterEqual(i, limit);
  p.launch("add", {v, v}, {v});
  p.addRegister(i, one);
  p.jump(loop);
  p.patch(loop);
  p.ret();
  auto session = p.session({.device = GetParam()});
  for (int run = 0; run < 2; ++run)
    ASSERT_TRUE(session->run("main").ok());
  EXPECT_FALSE(session->recording(0).isRecorded);
  EXPECT_EQ(session->recording(0).obstacle, "there are too many commands");
}

TEST_P(Recording, sizesThatAreComputed) {
  TestProgram p(2);
  ragged(p, CollectiveKind::all_gather, /*replicas=*/2, /*axis=*/0,
         /*root=*/-1);
  p.ret();
  auto session = p.session({.device = GetParam()});
  ASSERT_TRUE(session->run("main").ok());
  EXPECT_EQ(session->recording(0).obstacle,
            "train.py:42: program 'main': start all_gather channel 0: sizes "
            "are computed in the step");
}

TEST_P(Recording, batchesThatAreLoaded) {
  TestProgram p(1);
  p.input("x", ElementType::i64, {});
  p.next();
  p.ret();
  auto session = p.session({.device = GetParam()});
  alignas(Session::inputAlignment) std::array<std::byte, 64> batch{};
  ASSERT_TRUE(session->bindBatches(0, 0, {batch.data()}).ok());
  ASSERT_TRUE(session->run("main").ok());
  EXPECT_EQ(session->recording(0).obstacle,
            "train.py:42: program 'main': next: the host loads a batch");
}

/// Of a program of one of several executors.
std::string obstacleOfExecutor(TestProgram &p) {
  p.ret();
  std::shared_ptr<const Artifact> artifact = p.artifact();
  std::unique_ptr<Device> device = makeCpuDevice();
  std::unique_ptr<Module> module = *device->loadModule(*artifact, "");
  std::unique_ptr<Program> program =
      *Program::decode(*artifact, *artifact->tables().programs()->Get(0),
                       RankRange{0, 1}, *module, {});
  EXPECT_EQ(findObstacle(*program, /*hasOtherExecutors=*/false), "");
  return findObstacle(*program, /*hasOtherExecutors=*/true);
}

// Executors make the same decisions, at the same commands.
TEST(RecordingOfExecutors, sharedDecisions) {
  TestProgram p(2);
  uint32_t branch = p.branchUnless(p.variable("c", ElementType::i1, {}));
  p.patch(branch);
  EXPECT_EQ(obstacleOfExecutor(p), "");
}

TEST(RecordingOfExecutors, decisionsOfReplicas) {
  TestProgram p(2);
  uint32_t branch = p.branchUnless(p.variable("c", ElementType::i1, {}, true));
  p.patch(branch);
  EXPECT_EQ(obstacleOfExecutor(p),
            "train.py:42: program 'main': branch_unless: the host reads a "
            "value that each replica has for itself, so that executors may "
            "continue with different commands");
}

TEST(RecordingOfExecutors, decisionsInSections) {
  TestProgram p(2);
  uint32_t v = p.variable("v", ElementType::i64, {});
  uint32_t c = p.variable("c", ElementType::i1, {});
  p.once(p.channel());
  uint32_t branch = p.branchUnless(c);
  p.launch("add", {v, v}, {v});
  p.patch(branch);
  p.endOnce();
  EXPECT_EQ(obstacleOfExecutor(p),
            "train.py:42: program 'main': branch_unless: the host reads a "
            "value in a section of one replica");
}

/// Runs a program with several parts until they are recorded, and then until
/// its first kernel, or the one after a decision, hangs; returns the report.
std::string hangingRun(bool afterDecision) {
  Hang *mine = hang = new Hang;
  mine->mayReturn = true;
  TestProgram p(2);
  uint32_t v = p.variable("v", ElementType::i64, {}, true);
  uint32_t calls = p.variable("calls", ElementType::i1, {});
  if (!afterDecision)
    callHanging(p, {v});
  for (int i = 0; i < 3; ++i)
    p.launch("add", {v, v}, {v});
  uint32_t branch = p.branchUnless(calls);
  if (afterDecision)
    callHanging(p, {v});
  p.launch("add", {v, v}, {v});
  p.patch(branch);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {v}, {v});
  p.wait(channel);
  p.output("sum", v);
  p.ret();
  auto session = p.session({.workers = 1, .clock = &mine->clock});
  for (bool isTaken : {true, false, true, false, true, false}) {
    session->variable("calls")[0] = std::byte(isTaken);
    EXPECT_TRUE(session->run("main").ok());
  }
  EXPECT_FALSE(session->output(0, "sum").empty());
  EXPECT_TRUE(session->recording(0).isRecorded);
  session->variable("calls")[0] = std::byte(1);
  mine->hangs = mine->mayReturn = false;
  Status status = runWithTimeWhen(*session, mine->clock, 30s,
                                  [&] { return mine->hangs.load(); });
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_FALSE(session->variablesIntact());
  // The device still executes the run.
  EXPECT_TRUE(session->output(0, "sum").empty());
  session.reset();
  mine->mayReturn = true;
  return status.message();
}

// The report of a run that was executed as recorded names the kernel.
TEST(RecordingDeadline, hangs) {
  if (isOnHostDevice())
    GTEST_SKIP() << "needs a device with queues";
  for (bool afterDecision : {false, true}) {
    std::string report = hangingRun(afterDecision);
    std::string command = fmt::format("{} 'launch 'call_on'' (train.py:42)",
                                      afterDecision ? 4 : 0);
    EXPECT_TRUE(report.find(runningText(0, command)) != std::string::npos ||
                report.find(runningText(1, command)) != std::string::npos)
        << report;
  }
}

} // namespace
