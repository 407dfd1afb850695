//===- ServersTest.cpp - workers and servers ------------------------------===//

#include "Executors.h"

#include <numeric>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// Two servers have half of a variable each; the workers pull it, and push
/// gradients, which the servers sum and subtract.
void buildPushPull(TestProgram &p, uint32_t workers) {
  std::vector<uint32_t> ranks(workers + 1), bias, group;
  for (int s = 0; s < 2; ++s) {
    bias.push_back(
        p.variable("bias" + std::to_string(s), ElementType::f32, {6}, true));
    std::iota(ranks.begin(), ranks.end(), 0u);
    ranks.back() = workers + uint32_t(s);
    group.push_back(p.group(ranks));
  }
  for (uint32_t s = 0; s < 2; ++s) {
    auto root = int32_t(p.role("server" + std::to_string(s)));
    uint32_t shard =
        p.variable("shard" + std::to_string(s), ElementType::f32, {6});
    uint32_t sum = p.buffer(Space::replica, ElementType::f32, {6});
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(2 * s),
            {shard}, {}, group[s], 0, root);
    p.wait(2 * s);
    p.start(CollectiveKind::reduce, Reduction::sum, p.channel(2 * s + 1), {},
            {sum}, group[s], 0, root);
    p.wait(2 * s + 1);
    p.launch("descend", {sum}, {shard});
    p.ret();
  }
  p.in("worker");
  std::vector<uint32_t> pulled, gradient;
  for (uint32_t s = 0; s < 2; ++s) {
    pulled.push_back(p.buffer(Space::shared, ElementType::f32, {6}));
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(2 * s), {},
            {pulled[s]}, group[s], 0, int32_t(workers + s));
  }
  for (uint32_t s = 0; s < 2; ++s) {
    p.wait(2 * s);
    gradient.push_back(p.buffer(Space::replica, ElementType::f32, {6}));
    p.launch("add_half", {pulled[s], bias[s]}, {gradient[s]});
    p.start(CollectiveKind::reduce, Reduction::sum, p.channel(2 * s + 1),
            {gradient[s]}, {}, group[s], 0, int32_t(workers + s));
  }
  for (uint32_t s = 0; s < 2; ++s)
    p.wait(2 * s + 1);
  p.ret();
}

float sumOf(std::span<const float> values) {
  if (values.size() == 1)
    return values[0];
  size_t half = std::bit_floor(values.size() - 1);
  return sumOf(values.first(half)) + sumOf(values.subspan(half));
}

// A hundred steps on workers in one to three executors, against the same
// arithmetic in a loop.
TEST(Servers, pullPushAndUpdate) {
  constexpr int steps = 100;
  for (uint32_t workers : {1, 3, 4})
    for (uint32_t executors : {1, 2, 3})
      for (unsigned threads : {1, 2}) {
        TestProgram p(workers);
        buildPushPull(p, workers);
        std::vector<Executors::Part> parts;
        for (RankRange ranks : split(0, workers, executors))
          parts.push_back({"worker", ranks});
        parts.push_back({"server0", {workers, 1}});
        parts.push_back({"server1", {workers + 1, 1}});
        Executors cluster(p.artifact(), parts, [&](uint32_t) {
          return SessionOptions{.workers = threads};
        });
        std::vector<std::vector<float>> bias(workers, std::vector<float>(12));
        for (uint32_t rank = 0; rank < workers; ++rank) {
          for (int i = 0; i < 12; ++i)
            bias[rank][size_t(i)] = 1.0f / float(rank + 3 * i + 1);
          auto [session, replica] = cluster.find(rank);
          std::memcpy(session->variable("bias0", replica).data(),
                      bias[rank].data(), 24);
          std::memcpy(session->variable("bias1", replica).data(),
                      bias[rank].data() + 6, 24);
        }
        for (const Status &status : cluster.run("main", steps))
          ASSERT_TRUE(status.ok()) << status.message();
        std::vector<float> w(12, 0);
        for (int step = 0; step < steps; ++step)
          for (size_t i = 0; i < 12; ++i) {
            std::vector<float> gradients;
            for (uint32_t rank = 0; rank < workers; ++rank)
              gradients.push_back(w[i] * 0.5f + bias[rank][i]);
            w[i] -= 0.125f * sumOf(gradients);
          }
        for (uint32_t s = 0; s < 2; ++s) {
          std::span<std::byte> shard =
              cluster.find(workers + s)
                  .first->variable("shard" + std::to_string(s));
          ASSERT_EQ(shard.size(), 24u);
          EXPECT_EQ(std::memcmp(shard.data(), w.data() + 6 * s, 24), 0)
              << workers << " workers on " << executors;
        }
      }
}

// A session has the variables and the program of its role alone.
TEST(Servers, sessionsOfARole) {
  TestProgram p(3);
  buildPushPull(p, 3);
  auto artifact = p.artifact();
  auto network = *LocalNetwork::create({{0, 3}, {3, 1}, {4, 1}});
  auto server =
      Session::create(artifact, {.role = "server1", .network = network[2]});
  ASSERT_TRUE(server.ok()) << server.status().message();
  EXPECT_EQ((*server)->replicas(), 1u);
  ASSERT_EQ((*server)->variables().size(), 1u);
  EXPECT_EQ((*server)->variables()[0].name, "shard1");
  ASSERT_EQ((*server)->programs().size(), 1u);
  EXPECT_EQ((*server)->programs()[0].role, "server1");
}

TEST(Servers, refusesRanks) {
  TestProgram p(3);
  buildPushPull(p, 3);
  auto artifact = p.artifact();
  auto network = *LocalNetwork::create({{0, 3}, {3, 1}});
  auto error = [&](SessionOptions options) {
    return Session::create(artifact, std::move(options)).status().message();
  };
  EXPECT_EQ(error({.role = "evaluator"}),
            "the artifact has no role 'evaluator'");
  EXPECT_EQ(error({.firstRank = 2, .rankCount = 2}),
            "role 'worker' has 3 ranks from 0, found 2 from 2");
  EXPECT_EQ(
      error({.firstRank = 0, .rankCount = 2, .network = network[0]}),
      "the network's executor 0 has 3 ranks from 0, the session 2 from 0");
  EXPECT_EQ(error({}),
            "train.py:42: program 'main': start broadcast channel 0: it has "
            "ranks outside of this session (3 from 0 of role "
            "'worker'), which has no network");
  auto session = Session::create(artifact, {.network = network[0]});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->run("main").message(),
            "train.py:42: program 'main': start broadcast channel 2: no "
            "executor of the network has rank 4");
}

} // namespace
