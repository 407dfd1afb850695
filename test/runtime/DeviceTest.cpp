//===- DeviceTest.cpp - the interface, and devices by their names ---------===//

#include "Devices.h"
#include "TestProgram.h"

#include "runtime/device/DeviceQueues.h"
#include "runtime/device/HostCopy.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <array>
#include <atomic>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

using Numbers = std::array<int32_t, 4>;

std::byte *bytesAt(Numbers &numbers) {
  return reinterpret_cast<std::byte *>(numbers.data());
}

/// No session has a device with such a seed: devices are shared by seed, and
/// one with a session that another test has abandoned delays nothing.
std::string simulated(unsigned seed) {
  return "simulated:" + std::to_string(1000 + seed);
}

/// A device with two queues and a block of four numbers.
struct TwoQueues {
  explicit TwoQueues(const std::string &name)
      : device(*openDevice(name)),
        memory(*device->allocate(1, sizeof(Numbers))),
        first(*device->createQueue()), second(*device->createQueue()) {}

  Numbers read() {
    Numbers result{};
    EXPECT_TRUE(transfer(*device, [&](Queue &queue) {
                  queue.download(bytesAt(result), memory->block(0),
                                 sizeof(Numbers));
                }).ok());
    return result;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Queue> first, second;
};

class Devices : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(WithQueues, Devices,
                         testing::ValuesIn(devicesWithQueues(1001, 5)));

// The commands of a queue are executed in order.
TEST_P(Devices, queuesAreInOrder) {
  TwoQueues s(GetParam());
  Numbers last{};
  for (int32_t i = 0; i < 100; ++i) {
    last.fill(i);
    s.first->fill(s.memory->block(0), sizeof(Numbers), uint32_t(i));
  }
  std::unique_ptr<Event> end = s.device->createEvent({});
  s.first->record(*end);
  s.second->wait(*end);
  s.second->copy({s.memory->block(0), s.memory->block(0), 1, 4, 4, 4});
  std::unique_ptr<Event> copied = s.device->createEvent({});
  s.second->record(*copied);
  ASSERT_TRUE(
      transfer(*s.device, [&](Queue &queue) { queue.wait(*copied); }).ok());
  EXPECT_EQ(s.read(), last);
  EXPECT_EQ(s.first->enqueued(), 101u);
  EXPECT_EQ(s.first->progress(), 101u);
  EXPECT_TRUE(s.first->status().ok());
}

// A wait is for the latest record before it, not for later ones.
TEST_P(Devices, waitsAreForTheLastRecordBeforeThem) {
  TwoQueues s(GetParam());
  std::unique_ptr<Event> event = s.device->createEvent({});
  EXPECT_TRUE(event->isComplete());
  std::unique_ptr<Event> never = s.device->createEvent({});
  s.second->wait(*never);
  Numbers given{1, 2, 3, 4}, other{5, 6, 7, 8};
  s.first->upload(s.memory->block(0), bytesAt(given), sizeof(Numbers));
  s.first->record(*event);
  s.second->wait(*event);
  s.second->upload(s.memory->block(0), bytesAt(other), sizeof(Numbers));
  s.second->record(*never);
  s.first->wait(*never);
  std::unique_ptr<Event> end = s.device->createEvent({});
  s.first->record(*end);
  ASSERT_TRUE(
      transfer(*s.device, [&](Queue &queue) { queue.wait(*end); }).ok());
  EXPECT_TRUE(event->isComplete());
  EXPECT_EQ(s.read(), other);
}

// Without a wait, some seed executes the second queue first.
TEST(DeviceOrder, queuesOvertakeEachOther) {
  bool isFirst = false, isSecond = false;
  for (unsigned seed = 1; seed < 200 && !(isFirst && isSecond); ++seed) {
    TwoQueues s(simulated(seed));
    std::atomic<int> ends{0};
    int firstEnd = 0, secondEnd = 0;
    std::unique_ptr<Event> first = s.device->createEvent(
                               [&] { firstEnd = ++ends; }),
                           second = s.device->createEvent(
                               [&] { secondEnd = ++ends; });
    for (uint32_t i = 1; i <= 20; ++i)
      s.first->fill(s.memory->block(0), sizeof(Numbers), i);
    s.first->record(*first);
    s.second->record(*second);
    ASSERT_TRUE(transfer(*s.device, [&](Queue &queue) {
                  queue.wait(*first);
                  queue.wait(*second);
                }).ok());
    // A destroyed queue calls no callback.
    s.first.reset();
    s.second.reset();
    isFirst |= firstEnd < secondEnd;
    isSecond |= secondEnd < firstEnd;
  }
  EXPECT_TRUE(isFirst);
  EXPECT_TRUE(isSecond);
}

// Host memory of an upload is read when the command is executed: it must not be
// changed until then.
TEST(DeviceOrder, uploadsAreLate) {
  bool isLate = false;
  for (unsigned seed = 1; seed < 50 && !isLate; ++seed) {
    TwoQueues s(simulated(seed));
    Numbers given{1, 1, 1, 1};
    s.first->upload(s.memory->block(0), bytesAt(given), sizeof(Numbers));
    std::unique_ptr<Event> end = s.device->createEvent({});
    s.first->record(*end);
    // Nothing but the seed decides whether it has been executed.
    if (end->isComplete())
      continue;
    given.fill(2);
    ASSERT_TRUE(
        transfer(*s.device, [&](Queue &queue) { queue.wait(*end); }).ok());
    isLate = s.read() == Numbers{2, 2, 2, 2};
  }
  EXPECT_TRUE(isLate);
}

// The host faults when it touches memory of the device.
TEST(DeviceDeathTest, theHostCannotTouchItsMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        TwoQueues s(devicesWithQueues(1001, 5).back());
        *s.memory->block(0) = std::byte(1);
      },
      "");
}

// Rows may be strided, and a reduction follows one tree and may be in place.
TEST_P(Devices, copyAndReduce) {
  TwoQueues s(GetParam());
  std::unique_ptr<DeviceMemory> rows = *s.device->allocate(3, sizeof(Numbers));
  Numbers one{1, 2, 3, 4}, two{10, 20, 30, 40}, three{100, 200, 300, 400};
  std::array<const std::byte *, 3> operands{rows->block(0), rows->block(1),
                                            rows->block(2)};
  std::array<std::byte *, 2> results{rows->block(1), s.memory->block(0)};
  s.first->upload(rows->block(0), bytesAt(one), sizeof(Numbers));
  s.first->upload(rows->block(1), bytesAt(two), sizeof(Numbers));
  s.first->upload(rows->block(2), bytesAt(three), sizeof(Numbers));
  DeviceReduction reduction;
  reduction.element = ElementType::i32;
  reduction.reduction = Reduction::sum;
  reduction.elements = 4;
  reduction.operands = operands;
  reduction.results = results;
  s.first->reduce(reduction);
  operands.fill(nullptr);
  // The first of each pair of numbers in the second result takes that of the
  // first operand.
  s.first->copy({s.memory->block(0), rows->block(0), 2, 4, 8, 8});
  std::unique_ptr<Event> end = s.device->createEvent({});
  s.first->record(*end);
  ASSERT_TRUE(
      transfer(*s.device, [&](Queue &queue) { queue.wait(*end); }).ok());
  EXPECT_EQ(s.read(), (Numbers{1, 222, 3, 444}));
}

// Threads that wait for an event are notified.
TEST_P(Devices, eventsCallBack) {
  TwoQueues s(GetParam());
  std::atomic<int> calls{0};
  std::unique_ptr<Event> event = s.device->createEvent([&] { ++calls; });
  for (int i = 1; i <= 3; ++i) {
    s.first->fill(s.memory->block(0), sizeof(Numbers), uint32_t(i));
    s.first->record(*event);
    while (calls < i)
      std::this_thread::yield();
    EXPECT_TRUE(event->isComplete());
  }
}

// Times are those at which the device executes, on all queues.
TEST_P(Devices, timestampsAreOfTheDevice) {
  TwoQueues s(GetParam());
  std::vector<std::unique_ptr<Timestamp>> times;
  for (int i = 0; i < 3; ++i)
    times.push_back(*s.device->createTimestamp());
  EXPECT_FALSE(times[1]->secondsSince(*times[0]).ok()) << "nothing is recorded";
  std::unique_ptr<Event> event = s.device->createEvent({});
  s.first->record(*times[0]);
  s.first->fill(s.memory->block(0), sizeof(Numbers), 7);
  s.first->record(*event);
  s.second->wait(*event);
  s.second->record(*times[1]);
  ASSERT_TRUE(s.second->finish().ok());
  double seconds = *times[1]->secondsSince(*times[0]);
  EXPECT_GE(seconds, 0);
  EXPECT_LT(seconds, 60);
  // A later record replaces an earlier one.
  s.first->record(*times[2]);
  s.first->record(*times[0]);
  ASSERT_TRUE(s.first->finish().ok());
  EXPECT_GE(*times[0]->secondsSince(*times[2]), 0);
  EXPECT_GE(*times[0]->secondsSince(*times[1]), 0);
}

// Each side sees the writes of the other one on demand.
TEST_P(Devices, copiesOfTheHostAreUpdatedOnDemand) {
  std::shared_ptr<Device> device = *openDevice(GetParam());
  std::unique_ptr<HostCopy> copy = *HostCopy::create(device, 2, 8);
  EXPECT_NE(copy->host(1).data(), copy->device(1));
  ASSERT_TRUE(copy->edit().ok());
  copy->host(1)[3] = std::byte(7);
  ASSERT_TRUE(copy->flush().ok());
  ASSERT_TRUE(transfer(*device, [&](Queue &queue) {
                queue.copy({copy->device(0), copy->device(1), 1, 8, 8, 8});
              }).ok());
  ASSERT_TRUE(copy->fetch().ok());
  EXPECT_EQ(copy->host(0)[3], std::byte(0)) << "nobody has said so";
  copy->noteProgramWrites();
  ASSERT_TRUE(copy->fetch().ok());
  EXPECT_EQ(copy->host(0)[3], std::byte(7));
}

// A recorded upload has what the host holds when it is executed.
TEST_P(Devices, uploadsOfTheHostAreRecorded) {
  std::shared_ptr<Device> device = *openDevice(GetParam());
  std::unique_ptr<HostCopy> copy = *HostCopy::createRecordable(device, 8);
  std::unique_ptr<Queue> queue = *device->createQueue();
  ASSERT_TRUE(queue->beginRecording({}).ok());
  copy->upload(*queue);
  std::unique_ptr<CommandGraph> graph = *queue->endRecording();
  for (int i = 1; i < 4; ++i) {
    ASSERT_TRUE(copy->edit().ok());
    copy->host()[7] = std::byte(i);
    queue->execute(*graph);
    std::byte found{};
    queue->download(&found, copy->device() + 7, 1);
    ASSERT_TRUE(queue->finish().ok());
    EXPECT_EQ(found, std::byte(i));
  }
}

TEST(HostCopy, isOneMemoryOnAHostDevice) {
  std::shared_ptr<Device> device = *openDevice("cpu");
  std::unique_ptr<HostCopy> copy = *HostCopy::create(device, 2, 8);
  EXPECT_EQ(copy->host(1).data(), copy->device(1));
  copy = *HostCopy::createRecordable(device, 8);
  EXPECT_EQ(copy->host().data(), copy->device());
}

TEST(OpenDevice, namesThatAreNone) {
  auto error = [](std::string_view name) {
    return openDevice(name).status().message();
  };
  EXPECT_EQ(error("cpu:2"), "device 'cpu' has no options, found '2'");
  EXPECT_EQ(error("../x"),
            "expected the name of a device in small letters, found '../x'");
  EXPECT_NE(error("nothing").find("device 'nothing': expected 'cpu' or the "
                                  "name of a plugin, looked for '"),
            std::string::npos)
      << error("nothing");
  EXPECT_EQ(error("simulated:x"), "device 'simulated:x': expected a number as "
                                  "seed, found 'x'");
  EXPECT_EQ(error("simulated:"), "");
}

TEST(OpenDevice, isShared) {
  std::shared_ptr<Device> first = *openDevice("simulated:3"),
                          second = *openDevice("simulated:3"),
                          other = *openDevice("simulated:4");
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  EXPECT_NE(first, *openDevice("simulated:3", /*executor=*/1))
      << "each executor has a device of its own";
  EXPECT_EQ(*openDevice("cpu"), *openDevice("cpu", /*executor=*/1));
  EXPECT_EQ(first->kind(), "simulated");
  EXPECT_FALSE(first->isHost());
  EXPECT_TRUE((*openDevice("cpu"))->isHost());
}

TEST(OpenDevice, cpuHasNoQueues) {
  std::unique_ptr<Device> cpu = makeCpuDevice();
  EXPECT_EQ(cpu->createQueue().status().message(),
            "device 'cpu' has no queues");
  EXPECT_EQ(cpu->createTimestamp().status().message(),
            "device 'cpu' has no queues");
}

// An observer sees the same on a device as on the host.
TEST(SessionOnADevice, chosenByItsOptions) {
  TestProgram p(2);
  uint32_t v = p.variable("v", ElementType::i64, {}, true);
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.output("sum", sum);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {v}, {sum});
  p.wait(channel);
  p.ret();
  std::vector<std::string> devices = devicesWithQueues(1001, 5);
  devices.push_back("cpu");
  for (const std::string &device : devices) {
    auto session = p.session({.device = device});
    session->variable("v", 0)[0] = std::byte(3);
    session->variable("v", 1)[0] = std::byte(4);
    ASSERT_TRUE(session->run("main").ok());
    EXPECT_EQ(session->output(0, 0)[0], std::byte(7)) << device;
  }
}

} // namespace
