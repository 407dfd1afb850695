//===- AgreementTest.cpp - executors that differ are named ----------------===//

#include "Executors.h"
#include "FakeClock.h"

#include "runtime/executor/Agreement.h"

#include <atomic>
#include <nlohmann/json.hpp>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

std::string factsError(std::vector<Facts> all) {
  std::vector<Post> posts;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < all.size(); ++i, rank += 2)
    posts.push_back({i, {rank, i == 2 ? 1u : 2u}, toText(all[i])});
  return compareFacts(posts).message();
}

// The minority is listed first; an executor without the fact differs, too.
TEST(Agreement, namesWhoDiffers) {
  EXPECT_EQ(factsError({{{"seed", "1"}}, {{"seed", "1"}}, {{"seed", "1"}}}),
            "");
  EXPECT_EQ(factsError({{{"a", "x"}, {"seed", "1"}},
                        {{"a", "x"}, {"seed", "2"}},
                        {{"a", "x"}, {"seed", "1"}}}),
            "executors must have the same seed: found '2' in executor 1 (ranks "
            "2-3), '1' in executor 0 (ranks 0-1) and executor 2 (rank 4)");
  EXPECT_EQ(factsError({{{"seed", "1"}}, {}}),
            "executors must have the same seed: found none in executor 1 "
            "(ranks 2-3), '1' in executor 0 "
            "(ranks 0-1)");
  Facts facts = {{"a", ""}, {"b", "c d"}};
  EXPECT_EQ(factsOf(toText(facts)), facts);
  EXPECT_TRUE(factsOf("cut").empty());
}

TEST(Agreement, copies) {
  auto error = [](std::vector<std::string> held) {
    std::vector<Post> posts;
    for (uint32_t i = 0; i < held.size(); ++i) {
      std::string text;
      for (char c : held[i]) {
        Fingerprint fingerprint = fingerprintOf(bytesOf(c));
        text.append(fingerprint.data(), fingerprint.size());
      }
      posts.push_back({i, {i, 1}, text});
    }
    std::string names[] = {"v", "w"};
    return compareCopies(posts, names, "after run 7").message();
  };
  EXPECT_EQ(error({"ab", "ab"}), "");
  EXPECT_EQ(error({"ab", "ac", "ab"}),
            "after run 7, the copies of the mirrored variable 'w' differ: "
            "executor 1 (rank 1) has not what executor "
            "0 (rank 0) and executor 2 (rank 2) have");
  EXPECT_EQ(error({"ab", "cb"}),
            "after run 7, the copies of the mirrored variable 'v' differ: "
            "executor 1 (rank 1) has not what executor 0 "
            "(rank 0) has (there is no majority)");
}

/// w = w + sum of all ranks.
void buildAddition(TestProgram &p, int64_t more = 0) {
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t v = p.variable("v", ElementType::f32, {100});
  uint32_t mine = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t all = p.buffer(Space::shared, ElementType::i64, {});
  uint32_t one = p.reg(), channel = p.channel();
  (void)v;
  p.setRegister(one, 1 + more);
  p.launch("add_scalar", {w}, {mine}, {one});
  p.start(CollectiveKind::all_reduce, Reduction::max, channel, {mine}, {all});
  p.wait(channel);
  p.once(p.channel());
  p.copy(all, w);
  p.endOnce();
  p.ret();
}

SessionOptions optionsFor(std::span<const std::shared_ptr<Network>> network,
                          uint32_t i) {
  RankRange ranks = network[i]->ownRanks();
  return {.firstRank = ranks.first,
          .rankCount = ranks.count,
          .network = network[i],
          .workers = 1};
}

/// Runs two sessions concurrently and returns their statuses.
std::array<Status, 2> runBoth(Session &first, Session &second) {
  std::array<Status, 2> statuses;
  std::thread other([&] { statuses[1] = second.run("main"); });
  statuses[0] = first.run("main");
  other.join();
  return statuses;
}

// Two artifacts that would hang or compute wrong results together: an error in
// both executors, before the first command.
TEST(PostedFacts, artifactsDiffer) {
  TestProgram p(4), q(4);
  buildAddition(p);
  buildAddition(q, 1);
  auto network = *LocalNetwork::create({{0, 2}, {2, 2}});
  auto first = *Session::create(p.artifact(), optionsFor(network, 0)),
       second = *Session::create(q.artifact(), optionsFor(network, 1));
  for (const Status &status : runBoth(*first, *second)) {
    EXPECT_EQ(status.code(), StatusCode::invalidArgument);
    EXPECT_NE(
        status.message().find(
            "executors must have the same artifact (SHA-256): found '" +
            second->artifact().digestHex() + "' in executor 1 (ranks 2-3), '" +
            first->artifact().digestHex() + "' in executor 0 (ranks 0-1)"),
        std::string::npos)
        << status.message();
  }
  EXPECT_EQ(first->variable("w")[0], std::byte(0));
}

// So are kernels for different CPUs, and options that matter.
TEST(PostedFacts, targetsAndOptionsDiffer) {
  TestProgram p(4);
  buildAddition(p);
  auto &binaries = p.writer.tables.binaries;
  auto other = std::make_unique<artifact::BinaryT>(*binaries.front());
  other->target = "x86-64-v2";
  binaries.push_back(std::move(other));
  struct Case {
    std::function<void(SessionOptions &)> change;
    const char *expected;
  };
  for (const Case &c :
       {Case{[](SessionOptions &o) { o.target = "x86-64"; },
             "same kernel target: found 'x86-64' in executor 1"},
        Case{[](SessionOptions &o) { o.checkMirrored = 5; },
             "same number of runs between comparisons of mirrored variables: "
             "found '5' in executor 1"},
        Case{[](SessionOptions &o) { o.agreement = {{"seed", "3"}}; },
             "same seed: found '3' in executor 1"}}) {
    auto network = *LocalNetwork::create({{0, 2}, {2, 2}});
    SessionOptions own = optionsFor(network, 0),
                   changed = optionsFor(network, 1);
    own.device = changed.device = "cpu";
    own.target = changed.target = "x86-64-v2";
    c.change(changed);
    auto first = Session::create(p.artifact(), own),
         second = Session::create(p.artifact(), changed);
    ASSERT_TRUE(first.ok() && second.ok())
        << first.status().message() << second.status().message();
    for (const Status &status : runBoth(**first, **second))
      EXPECT_NE(status.message().find(c.expected), std::string::npos)
          << status.message();
  }
}

// On a device that records runs, all executors do, or none.
TEST(PostedFacts, recordingDiffers) {
  TestProgram p(4);
  buildAddition(p);
  auto network = *LocalNetwork::create({{0, 2}, {2, 2}});
  SessionOptions records = optionsFor(network, 0),
                 refuses = optionsFor(network, 1);
  records.device = refuses.device = "simulated:2003";
  refuses.recordRuns = false;
  auto first = *Session::create(p.artifact(), records),
       second = *Session::create(p.artifact(), refuses);
  for (const Status &status : runBoth(*first, *second))
    EXPECT_NE(status.message().find(
                  "same recording of runs (none with a trace, a check, an "
                  "injected fault or --no-recording): found 'off' in executor "
                  "1"),
              std::string::npos)
        << status.message();
}

// An executor that never posts is reported like a replica that does not arrive.
TEST(PostedFacts, isWaitedForUnderTheDeadline) {
  TestProgram p(4);
  buildAddition(p);
  FakeClock clock;
  auto network = *LocalNetwork::create({{0, 2}, {2, 2}});
  SessionOptions options = optionsFor(network, 0);
  options.clock = &clock;
  auto session = *Session::create(p.artifact(), options);
  Status status = runWithTime(*session, clock, 30s, 1);
  EXPECT_EQ(status.code(), StatusCode::deadline);
  EXPECT_EQ(status.message(),
            "no executor has made progress for 60 s\nwaiting for executors to "
            "report their configuration\n  missing: the executor of ranks 2-3");
  nlohmann::json json = nlohmann::json::parse(session->deadlineReport().json);
  EXPECT_EQ(json["waits"][0]["missing"], nlohmann::json::array({2, 3}));
}

Executors threeExecutors(TestProgram &p, uint64_t every) {
  return {p.artifact(),
          {{"worker", {0, 2}}, {"worker", {2, 2}}, {"worker", {4, 1}}},
          [=](uint32_t) {
            return SessionOptions{.workers = 1, .checkMirrored = every};
          }};
}

// Copies that are the same are no error, however often they are compared.
TEST(Mirrored, noFalseAlarm) {
  TestProgram p(5);
  buildAddition(p);
  Executors executors = threeExecutors(p, 1);
  for (const Status &status : executors.run("main", 20))
    EXPECT_TRUE(status.ok()) << status.message();
}

// A byte of one copy changes: all executors report the variable, the executor
// and the run.
TEST(Mirrored, whoDiffersIsNamed) {
  TestProgram p(5);
  buildAddition(p);
  Executors executors = threeExecutors(p, 3);
  for (const Status &status : executors.run("main", 3))
    ASSERT_TRUE(status.ok()) << status.message();
  executors.sessions[1]->variable("v")[17] ^= std::byte(1);
  for (const Status &status : executors.run("main", 2))
    EXPECT_TRUE(status.ok()) << status.message();
  bool isFirst = false;
  for (const Status &status : executors.run("main", 1)) {
    EXPECT_EQ(status.code(), StatusCode::diverged);
    std::string text =
        "after run 6 of program 'main', the copies of the mirrored variable "
        "'v' differ: executor 1 (ranks 2-3) has not what "
        "executor 0 (ranks 0-1) and executor 2 (rank 4) have";
    EXPECT_TRUE(status.message().ends_with(text)) << status.message();
    isFirst |= status.message() == text;
  }
  EXPECT_TRUE(isFirst);
  EXPECT_TRUE(executors.sessions[0]->poisoned());
}

// Posts are kept for two rounds, by topic and executor.
TEST(Posts, areKeptForTwoRounds) {
  auto network = *LocalNetwork::create({{0, 1}, {1, 1}});
  EXPECT_FALSE(network[1]->posted(0, "a", 0).has_value());
  for (uint64_t round = 0; round < 4; ++round)
    network[0]->post("a", round, std::to_string(round));
  network[1]->post("b", 0, "");
  EXPECT_EQ(network[1]->posted(0, "a", 3), "3");
  EXPECT_EQ(network[1]->posted(0, "a", 2), "2");
  EXPECT_FALSE(network[1]->posted(0, "a", 1).has_value());
  EXPECT_FALSE(network[0]->posted(1, "a", 3).has_value());
  EXPECT_EQ(network[0]->posted(1, "b", 0), "");
}

} // namespace
