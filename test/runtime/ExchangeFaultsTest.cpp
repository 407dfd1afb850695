//===- ExchangeFaultsTest.cpp - failures end all executors ----------------===//

#include "Collectives.h"
#include "Executors.h"
#include "FakeClock.h"

#include <array>
#include <thread>

#include <fmt/format.h>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

/// Advances the clock of one executor, once all are idle, until all runs have
/// returned.
std::vector<Status> runWithTime(Executors &executors, FakeClock &clock) {
  return executors.run("main", 1, [&] {
    while (!executors.isIdle())
      std::this_thread::yield();
    std::thread poker([&] {
      while (executors.running > 0)
        std::this_thread::yield();
      clock.poke();
    });
    while (executors.running > 0)
      clock.advance(10s, [&] { return executors.running == 0; });
    poker.join();
  });
}

// Whichever executor's deadline passes, all executors end with a report that
// names the collective and the replica that has not arrived.
TEST(Faults, aPausedReplicaEndsAllExecutors) {
  for (uint32_t watching : {0, 1})
    for (unsigned workers : {1, 2}) {
      TestProgram p(4);
      oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                 ElementType::f32, {100}, {100});
      p.ret();
      FakeClock clock;
      Executors executors(
          p.artifact(), {{"worker", {0, 2}}, {"worker", {2, 2}}},
          [&](uint32_t i) {
            return SessionOptions{.workers = workers,
                                  .deadline = 60s,
                                  .clock = i == watching ? &clock : nullptr,
                                  .injections = {"pause:replica=2,channel=0"}};
          });
      std::vector<Status> statuses = runWithTime(executors, clock);
      std::string report = statuses[watching].message();
      EXPECT_TRUE(report.starts_with(
          "no replica of program 'main' has made progress for 60 s\n"
          "waiting for channel 0 (all_reduce sum, 400 bytes, train.py:42)\n"))
          << report;
      // Of another executor's ranks it is not known which one is missing.
      EXPECT_NE(
          report.find(watching == 1
                          ? "arrived: replicas 0-1, 3\n  missing: replica 2\n"
                          : "arrived: replicas 0-1\n  missing: replicas 2-3\n"),
          std::string::npos)
          << report;
      EXPECT_EQ(statuses[1 - watching].message(),
                (watching ? "executor 1 (ranks 2-3) has aborted the run: "
                          : "executor 0 (ranks 0-1) has aborted the run: ") +
                    report);
      for (uint32_t i : {0, 1}) {
        EXPECT_EQ(statuses[i].code(), StatusCode::deadline);
        EXPECT_TRUE(executors.sessions[i]->poisoned());
        EXPECT_EQ(executors.sessions[i]->run("main").code(),
                  StatusCode::poisoned);
      }
    }
}

// Executors that exchange on their hosts know some others only from the
// messages of third ones.
TEST(Faults, aPausedReplicaOfAHostEndsAllExecutors) {
  struct View {
    CollectiveKind kind;
    uint32_t watching;
    const char *members;
  };
  using enum CollectiveKind;
  for (View view :
       {View{all_reduce, 0,
             "arrived: replicas 0-1\n  missing: none\n"
             "  not known: replicas 2-3\n"},
        View{all_reduce, 2,
             "arrived: replicas 0-2\n  missing: replica 3\nreplica 2"},
        View{all_gather, 0,
             "arrived: replicas 0, 2\n  missing: none\n"
             "  not known: replicas 1, 3\n"},
        View{all_gather, 1,
             "arrived: replicas 0-2\n  missing: replica 3\nreplica 1"}}) {
    TestProgram p(4);
    bool reduces = view.kind == all_reduce;
    oneOperand(p, view.kind, reduces ? Reduction::sum : Reduction::none,
               ElementType::f32, {100}, {reduces ? 100 : 400});
    p.ret();
    FakeClock clock;
    std::vector<Executors::Part> parts;
    for (uint32_t rank = 0; rank < 4; ++rank)
      parts.push_back({"worker", {rank, 1}});
    Executors executors(p.artifact(), parts,
                        [&](uint32_t i) {
                          return SessionOptions{
                              .workers = 1,
                              .deadline = 60s,
                              .clock = i == view.watching ? &clock : nullptr,
                              .injections = {"pause:replica=3,channel=0"}};
                        },
                        /*hosts=*/{0, 0, 1, 1});
    std::string report = runWithTime(executors, clock)[view.watching].message();
    EXPECT_NE(report.find(view.members), std::string::npos) << report;
  }
}

// Of an executor that exchanges in another manner, say: from one that sends
// nothing to the receiver, or one more than the receiver waits for.
TEST(Faults, aMessageThatIsNotExpectedEndsTheRun) {
  for (uint32_t sender : {1, 3}) {
    TestProgram p(4);
    oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32,
               {100}, {100});
    p.ret();
    std::array<std::byte, 448> bytes{};
    MessagePiece piece{bytes.data(), bytes.size()};
    Message message;
    message.tag.epoch = 1;
    message.pieces = {&piece, 1};
    std::vector<Executors::Part> parts;
    for (uint32_t rank = 0; rank < 4; ++rank)
      parts.push_back({"worker", {rank, 1}});
    Executors executors(p.artifact(), parts,
                        [](uint32_t) { return SessionOptions{.workers = 1}; },
                        /*hosts=*/{0, 0, 1, 1});
    executors.network[sender]->send(message);
    // Others may have ended their runs before.
    Status status = executors.run()[0];
    EXPECT_EQ(status.code(), StatusCode::corrupted);
    EXPECT_NE(status.message().find(fmt::format(
                  "program 'main': start all_reduce sum channel 0: executor {} "
                  "has sent a message that is not expected of it",
                  sender)),
              std::string::npos)
        << status.message();
  }
}

// An error of one executor ends the others, even one that does not wait.
TEST(Faults, aBrokenBoundEndsAllExecutors) {
  for (unsigned workers : {1, 2}) {
    TestProgram p(3);
    ragged(p, CollectiveKind::gather, 3, 0, 0);
    uint32_t loop = p.jump(0);
    p.program->commands[loop]->body.AsJump()->target = loop;
    Executors executors(
        p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 2}}},
        [&](uint32_t) { return SessionOptions{.workers = workers}; });
    int64_t tooMany = 4;
    std::memcpy(executors.sessions[1]->variable("rows", 1).data(), &tooMany,
                sizeof(tooMany));
    std::vector<Status> statuses = executors.run();
    EXPECT_EQ(statuses[1].code(), StatusCode::outOfRange);
    EXPECT_NE(statuses[1].message().find(
                  "train.py:42: in command 2 of program 'main', replica "),
              std::string::npos)
        << statuses[1].message();
    EXPECT_EQ(statuses[0].code(), StatusCode::outOfRange);
    EXPECT_EQ(statuses[0].message(),
              "executor 1 (ranks 1-2) has aborted the run: " +
                  statuses[1].message());
  }
}

// An executor that cannot even begin does not leave the others waiting.
TEST(Faults, anExecutorThatIsNotReady) {
  TestProgram p(2);
  oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32,
             {100}, {100});
  p.input("x", ElementType::f32, {4});
  p.ret();
  Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 1}}},
                      [&](uint32_t) { return SessionOptions{.workers = 1}; });
  alignas(64) std::array<float, 4> batch{};
  ASSERT_TRUE(
      executors.sessions[0]
          ->bindInput(0, 0, reinterpret_cast<const std::byte *>(batch.data()))
          .ok());
  std::vector<Status> statuses = executors.run();
  EXPECT_EQ(statuses[1].message(),
            "program 'main': replica 1 has no input bound");
  EXPECT_EQ(statuses[0].message(), "executor 1 (rank 1) has aborted the run: " +
                                       statuses[1].message());
}

// The rows that have arrived do not fit the result: nothing is written.
TEST(Faults, moreRowsThanTheResultHasRoomFor) {
  TestProgram p(2);
  ragged(p, CollectiveKind::gather, 2, 0, 0);
  p.ret();
  p.program->buffers.back()->size = 36;
  Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 1}}},
                      [&](uint32_t) { return SessionOptions{.workers = 1}; });
  int64_t rows = 2;
  for (uint32_t i : {0, 1})
    std::memcpy(executors.sessions[i]->variable("rows").data(), &rows,
                sizeof(rows));
  std::vector<Status> statuses = executors.run();
  EXPECT_EQ(statuses[0].code(), StatusCode::outOfRange);
  EXPECT_NE(statuses[0].message().find(
                "the operands have 48 bytes, the bound of the result is 36"),
            std::string::npos)
      << statuses[0].message();
  EXPECT_EQ(statuses[1].code(), StatusCode::outOfRange);
}

// Counts of a scatter that the rows do not have.
TEST(Faults, moreRowsThanTheRootHas) {
  TestProgram p(2);
  scatter(p, 2, 0);
  p.ret();
  for (int64_t count : {int64_t(-1), int64_t(7), int64_t(1) << 62}) {
    Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 1}}},
                        [&](uint32_t) { return SessionOptions{.workers = 1}; });
    std::memcpy(executors.sessions[0]->variable("counts").data(), &count,
                sizeof(count));
    for (const Status &status : executors.run()) {
      EXPECT_EQ(status.code(), StatusCode::outOfRange);
      EXPECT_NE(status.message().find("rows"), std::string::npos)
          << status.message();
    }
  }
}

} // namespace
