//===- ExchangeTest.cpp - collectives across executors --------------------===//

#include "Executors.h"
#include "FakeClock.h"

#include <array>
#include <numeric>
#include <random>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace std::chrono_literals;

namespace {

//===----------------------------------------------------------------------===//
// Every kind gives the bits of one executor
//===----------------------------------------------------------------------===//

/// A collective of all replicas, or of some; its operands are variables that are drawn at random.
struct Case {
  const char *name;
  std::function<void(TestProgram &, uint32_t replicas)> build;
};
std::ostream &operator<<(std::ostream &stream, const Case &test) { return stream << test.name; }

/// A collective of one operand, `factor` times as large as its result, or smaller by it.
void oneOperand(TestProgram &p, CollectiveKind kind, Reduction reduction, ElementType element, std::vector<int64_t> operandShape,
                std::vector<int64_t> resultShape, Space result = Space::replica, int32_t root = -1, int32_t axis = 0,
                ElementType resultElement = ElementType::i1, uint32_t group = 0) {
  uint32_t a = p.variable("a", element, operandShape, true);
  uint32_t r = p.buffer(result, resultElement == ElementType::i1 ? element : resultElement, resultShape);
  p.output("r", r);
  uint32_t channel = p.channel();
  p.start(kind, reduction, channel, {a}, {r}, group, axis, root);
  p.wait(channel);
}

/// The variable "rows" says how many rows of "data" a replica gives; a gather at the root, or at all.
void ragged(TestProgram &p, CollectiveKind kind, uint32_t replicas, int32_t axis, int32_t root) {
  uint32_t size = p.reg(), all = p.reg();
  p.loadRegister(size, p.variable("rows", ElementType::i64, {}, true));
  p.loadRegister(all, p.variable("total", ElementType::i64, {}, true));
  std::vector<int64_t> shape = axis ? std::vector<int64_t>{3, -1} : std::vector<int64_t>{-1, 3};
  auto registers = [&](uint32_t index) {
    return axis ? std::vector<int32_t>{-1, int32_t(index)} : std::vector<int32_t>{int32_t(index), -1};
  };
  uint32_t data = p.variable("data", ElementType::i32, {3 * int64_t(replicas)}, true);
  p.program->buffers[data]->type->shape = shape;
  p.program->buffers[data]->size_registers = registers(size);
  uint32_t result = p.dynamicBuffer(Space::replica, ElementType::i32, shape, registers(all), uint64_t(12) * replicas * replicas);
  p.output("r", result);
  uint32_t channel = p.channel();
  p.start(kind, Reduction::none, channel, {data}, {result}, 0, axis, root);
  p.wait(channel);
}

/// The root has "data", and in "counts" how many rows of it each of the others gets.
void scatter(TestProgram &p, uint32_t replicas, int32_t root) {
  uint32_t data = p.variable("data", ElementType::i32, {3 * int64_t(replicas), 3}, true);
  uint32_t counts = p.variable("counts", ElementType::i64, {int64_t(replicas) - 1}, true);
  uint32_t n = p.reg();
  p.loadRegister(n, p.variable("rows", ElementType::i64, {}, true));
  uint32_t result = p.dynamicBuffer(Space::replica, ElementType::i32, {-1, 3}, {int32_t(n), -1}, 12 * uint64_t(replicas));
  p.output("r", result);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::scatter, Reduction::none, channel, {data, counts}, {result}, 0, 0, root);
  p.wait(channel);
}

const Case cases[] = {
    {"allReduceSmall",
     [](TestProgram &p, uint32_t) { oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32, {100}, {100}); }},
    {"allReduceLarge",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32, {40001}, {40001}, Space::shared);
     }},
    {"allReduceLargePrivate",
     [](TestProgram &p, uint32_t) { oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f64, {20001}, {20001}); }},
    {"allReduceSixteenBits",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::bf16, {40001}, {40001}, Space::shared);
     }},
    {"allReduceUnrounded",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f16, {40001}, {40001}, Space::shared, -1, 0,
                  ElementType::f32);
     }},
    {"allReduceOfNothing",
     [](TestProgram &p, uint32_t) { oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32, {0}, {0}); }},
    {"allReduceSeveral",
     [](TestProgram &p, uint32_t) {
       uint32_t channel = p.channel();
       std::vector<uint32_t> operands, results;
       for (int i = 0; i < 5; ++i) {
         operands.push_back(
             p.variable(std::string("a") + char('0' + i), i == 3 ? ElementType::i32 : ElementType::f32, {7000 * i + 1}, true));
         results.push_back(p.buffer(Space::replica, i == 3 ? ElementType::i32 : ElementType::f32, {7000 * i + 1}));
         p.output(std::string("r") + char('0' + i), results.back());
       }
       p.start(CollectiveKind::all_reduce, Reduction::sum, channel, operands, results);
       p.wait(channel);
     }},
    {"allReduceInPlace",
     [](TestProgram &p, uint32_t) {
       uint32_t a = p.variable("a", ElementType::i32, {30000}, true), channel = p.channel();
       p.output("a", a);
       p.start(CollectiveKind::all_reduce, Reduction::max, channel, {a}, {a});
       p.wait(channel);
     }},
    {"allReduceOfSome",
     [](TestProgram &p, uint32_t replicas) {
       std::vector<uint32_t> some;
       for (uint32_t i = 0; i < replicas; i += 2)
         some.push_back(i);
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32, {1000}, {1000}, Space::replica, -1, 0, ElementType::i1,
                  p.group(some));
     }},
    {"reduceScatter",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::reduce_scatter, Reduction::sum, ElementType::f32, {5003 * int64_t(replicas)}, {5003});
     }},
    {"reduceScatterSixteenBits",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::reduce_scatter, Reduction::sum, ElementType::bf16, {77 * int64_t(replicas)}, {77});
     }},
    {"reduce",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::reduce, Reduction::sum, ElementType::f32, {20000}, {20000}, Space::replica, int32_t(replicas / 2));
     }},
    {"allGather",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::all_gather, Reduction::none, ElementType::i32, {3, 40}, {3 * int64_t(replicas), 40}, Space::shared);
     }},
    {"allGatherColumns",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::all_gather, Reduction::none, ElementType::i32, {3, 40}, {3, 40 * int64_t(replicas)}, Space::shared, -1,
                  1);
     }},
    {"allGatherRagged", [](TestProgram &p, uint32_t replicas) { ragged(p, CollectiveKind::all_gather, replicas, 0, -1); }},
    {"allGatherRaggedColumns", [](TestProgram &p, uint32_t replicas) { ragged(p, CollectiveKind::all_gather, replicas, 1, -1); }},
    {"gatherRagged", [](TestProgram &p, uint32_t replicas) { ragged(p, CollectiveKind::gather, replicas, 0, int32_t(replicas) - 1); }},
    {"gatherAtTheFirst", [](TestProgram &p, uint32_t replicas) { ragged(p, CollectiveKind::gather, replicas, 0, -1); }},
    {"broadcast",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::broadcast, Reduction::none, ElementType::f32, {5000}, {5000}, Space::shared);
     }},
    {"broadcastFromTheLast",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::broadcast, Reduction::none, ElementType::f32, {5000}, {5000}, Space::replica, int32_t(replicas) - 1);
     }},
    {"scatter", [](TestProgram &p, uint32_t replicas) { scatter(p, replicas, int32_t(replicas / 2)); }},
    {"barrier", [](TestProgram &p, uint32_t) { p.barrier(p.channel()); }},
};

/// Draws the variables of a replica; the same for the same rank.
void fill(Session &session, unsigned replica, uint32_t rank, uint32_t replicas) {
  std::mt19937 random(rank + 1);
  for (const VariableInfo &info : session.variables()) {
    std::span<std::byte> bytes = session.variable(info.name, replica);
    auto set = [&](auto value, size_t index) { std::memcpy(bytes.data() + index * sizeof(value), &value, sizeof(value)); };
    for (size_t i = 0; i < bytes.size() / elementSize(info.type.element); ++i) {
      float real = std::uniform_real_distribution<float>(-2, 2)(random);
      switch (info.type.element) {
      case ElementType::f32:
        set(real, i);
        break;
      case ElementType::f64:
        set(double(real), i);
        break;
      case ElementType::f16:
        set(_Float16(real), i);
        break;
      case ElementType::bf16:
        set(uint16_t(std::bit_cast<uint32_t>(real) >> 16), i);
        break;
      case ElementType::i64:
        // Replica r has r rows.
        set(info.name == "total"    ? int64_t(replicas) * (replicas - 1) / 2
            : info.name == "counts" ? int64_t(i >= replicas / 2 ? i + 1 : i)
                                    : int64_t(rank),
            i);
        break;
      default:
        set(int32_t(random() % 1000), i);
      }
    }
  }
}

class Exchange : public testing::TestWithParam<std::tuple<Case, uint32_t, unsigned>> {};

INSTANTIATE_TEST_SUITE_P(All, Exchange, testing::Combine(testing::ValuesIn(cases), testing::Values(1, 2, 3), testing::Values(1, 2)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "On" + std::to_string(std::get<1>(info.param)) + "With" +
                                  std::to_string(std::get<2>(info.param));
                         });

// Three times, so that an instance follows another on the same channel; outputs of all replicas are compared byte by byte.
TEST_P(Exchange, hasTheBitsOfOneExecutor) {
  auto [test, executors, workers] = GetParam();
  for (uint32_t replicas = 2; replicas <= 8; ++replicas) {
    TestProgram p(replicas);
    test.build(p, replicas);
    p.ret();
    auto artifact = p.artifact();
    ASSERT_TRUE(artifact);
    auto reference = Session::create(artifact, {.workers = 1});
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    std::vector<Executors::Part> parts;
    for (RankRange ranks : split(0, replicas, executors))
      parts.push_back({"worker", ranks});
    Executors found(artifact, parts, [&](uint32_t) { return SessionOptions{.workers = workers}; });
    for (uint32_t rank = 0; rank < replicas; ++rank) {
      fill(**reference, rank, rank, replicas);
      auto [session, replica] = found.find(rank);
      fill(*session, replica, rank, replicas);
    }
    for (int i = 0; i < 3; ++i) {
      Status status = (*reference)->run("main");
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (const Status &status : found.run("main", 3))
      ASSERT_TRUE(status.ok()) << status.message();
    for (uint32_t rank = 0; rank < replicas; ++rank)
      for (unsigned output = 0; output < (*reference)->programs()[0].outputs.size(); ++output) {
        auto [session, replica] = found.find(rank);
        std::span<const std::byte> expected = (*reference)->output(0, output, rank), bytes = session->output(0, output, replica);
        ASSERT_EQ(bytes.size(), expected.size());
        ASSERT_TRUE(bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0)
            << "output " << output << " of rank " << rank << " of " << replicas;
      }
  }
}

// In one executor, what a root gets is what all would get; the others get nothing.
TEST(Roots, giveAndGetInOneExecutor) {
  constexpr uint32_t replicas = 5;
  for (uint32_t root = 0; root < replicas; ++root)
    for (unsigned workers : {1, 2}) {
      TestProgram p(replicas);
      uint32_t a = p.variable("a", ElementType::f32, {3000}, true);
      uint32_t counts = p.variable("counts", ElementType::i64, {replicas - 1}, true);
      auto result = [&](const char *name, int64_t size) {
        uint32_t r = p.buffer(Space::replica, ElementType::f32, {size});
        p.output(name, r);
        return r;
      };
      auto exchange = [&](CollectiveKind kind, std::vector<uint32_t> operands, uint32_t r, bool hasRoot) {
        uint32_t channel = p.channel();
        bool reduces = kind == CollectiveKind::reduce || kind == CollectiveKind::all_reduce;
        p.start(kind, reduces ? Reduction::sum : Reduction::none, channel, std::move(operands), {r}, 0, 0, hasRoot ? int32_t(root) : -1);
        p.wait(channel);
      };
      exchange(CollectiveKind::reduce, {a}, result("reduce", 3000), true);
      exchange(CollectiveKind::all_reduce, {a}, result("all_reduce", 3000), false);
      exchange(CollectiveKind::gather, {a}, result("gather", 3000 * replicas), true);
      exchange(CollectiveKind::all_gather, {a}, result("all_gather", 3000 * replicas), false);
      exchange(CollectiveKind::broadcast, {a}, result("broadcast", 3000), true);
      exchange(CollectiveKind::scatter, {a, counts}, result("scatter", 700), true);
      p.ret();
      auto session = p.session({.workers = workers});
      for (uint32_t rank = 0; rank < replicas; ++rank) {
        fill(*session, rank, rank, replicas);
        for (size_t i = 0; i < replicas - 1; ++i)
          reinterpret_cast<int64_t *>(session->variable("counts", rank).data())[i] = 700;
      }
      Status status = session->run("main");
      ASSERT_TRUE(status.ok()) << status.message();
      auto floats = [](std::span<const std::byte> bytes) {
        return std::span(reinterpret_cast<const float *>(bytes.data()), bytes.size() / sizeof(float));
      };
      auto output = [&](const char *name, uint32_t rank) { return floats(session->output(0, name, rank)); };
      for (uint32_t rank = 0; rank < replicas; ++rank) {
        for (auto [rooted, all] : {std::pair("reduce", "all_reduce"), std::pair("gather", "all_gather")}) {
          if (rank == root)
            EXPECT_TRUE(std::ranges::equal(output(rooted, rank), output(all, rank)));
          else
            EXPECT_TRUE(std::ranges::all_of(output(rooted, rank), [](float value) { return value == 0; }));
        }
        EXPECT_TRUE(std::ranges::equal(output("broadcast", rank), floats(session->variable("a", root))));
        if (rank != root)
          EXPECT_TRUE(
              std::ranges::equal(output("scatter", rank), floats(session->variable("a", root)).subspan(700 * (rank - (rank > root)), 700)));
      }
    }
}

//===----------------------------------------------------------------------===//
// Workers and servers
//===----------------------------------------------------------------------===//

void addHalf(void *const *buffers, const int64_t *, int64_t) {
  auto *w = static_cast<const float *>(buffers[0]), *bias = static_cast<const float *>(buffers[1]);
  auto *out = static_cast<float *>(buffers[2]);
  for (int i = 0; i < 6; ++i)
    out[i] = w[i] * 0.5f + bias[i];
}
void descend(void *const *buffers, const int64_t *, int64_t) {
  auto *w = static_cast<float *>(buffers[1]);
  for (int i = 0; i < 6; ++i)
    w[i] -= 0.125f * static_cast<const float *>(buffers[0])[i];
}

/// Two servers have half of a variable each; the workers pull it, and push what the servers then add up and subtract.
void buildPushPull(TestProgram &p, uint32_t workers) {
  std::vector<uint32_t> ranks(workers + 1), bias, group;
  for (int s = 0; s < 2; ++s) {
    bias.push_back(p.variable("bias" + std::to_string(s), ElementType::f32, {6}, true));
    std::iota(ranks.begin(), ranks.end(), 0u);
    ranks.back() = workers + uint32_t(s);
    group.push_back(p.group(ranks));
  }
  for (uint32_t s = 0; s < 2; ++s) {
    auto root = int32_t(p.role("server" + std::to_string(s)));
    uint32_t shard = p.variable("shard" + std::to_string(s), ElementType::f32, {6});
    uint32_t sum = p.buffer(Space::replica, ElementType::f32, {6});
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(2 * s), {shard}, {}, group[s], 0, root);
    p.wait(2 * s);
    p.start(CollectiveKind::reduce, Reduction::sum, p.channel(2 * s + 1), {}, {sum}, group[s], 0, root);
    p.wait(2 * s + 1);
    p.call(descend, {sum}, {shard});
    p.ret();
  }
  p.in("worker");
  std::vector<uint32_t> pulled, gradient;
  for (uint32_t s = 0; s < 2; ++s) {
    pulled.push_back(p.buffer(Space::shared, ElementType::f32, {6}));
    p.start(CollectiveKind::broadcast, Reduction::none, p.channel(2 * s), {}, {pulled[s]}, group[s], 0, int32_t(workers + s));
  }
  for (uint32_t s = 0; s < 2; ++s) {
    p.wait(2 * s);
    gradient.push_back(p.buffer(Space::replica, ElementType::f32, {6}));
    p.call(addHalf, {pulled[s], bias[s]}, {gradient[s]});
    p.start(CollectiveKind::reduce, Reduction::sum, p.channel(2 * s + 1), {gradient[s]}, {}, group[s], 0, int32_t(workers + s));
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

// A hundred steps on workers in one to three executors, against the same arithmetic in a loop.
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
        Executors cluster(p.artifact(), parts, [&](uint32_t) { return SessionOptions{.workers = threads}; });
        std::vector<std::vector<float>> bias(workers, std::vector<float>(12));
        for (uint32_t rank = 0; rank < workers; ++rank) {
          for (int i = 0; i < 12; ++i)
            bias[rank][size_t(i)] = 1.0f / float(rank + 3 * i + 1);
          auto [session, replica] = cluster.find(rank);
          std::memcpy(session->variable("bias0", replica).data(), bias[rank].data(), 24);
          std::memcpy(session->variable("bias1", replica).data(), bias[rank].data() + 6, 24);
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
          std::span<std::byte> shard = cluster.find(workers + s).first->variable("shard" + std::to_string(s));
          ASSERT_EQ(shard.size(), 24u);
          EXPECT_EQ(std::memcmp(shard.data(), w.data() + 6 * s, 24), 0) << workers << " workers on " << executors;
        }
      }
}

// A session has the variables and the program of its role alone.
TEST(Servers, sessionsOfARole) {
  TestProgram p(3);
  buildPushPull(p, 3);
  auto artifact = p.artifact();
  auto network = *LocalNetwork::create({{0, 3}, {3, 1}, {4, 1}});
  auto server = Session::create(artifact, {.role = "server1", .network = network[2]});
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
  auto error = [&](SessionOptions options) { return Session::create(artifact, std::move(options)).status().message(); };
  EXPECT_EQ(error({.role = "evaluator"}), "the artifact has no role 'evaluator'");
  EXPECT_EQ(error({.firstRank = 2, .rankCount = 2}), "role 'worker' has 3 ranks from 0, found 2 from 2");
  EXPECT_EQ(error({.firstRank = 0, .rankCount = 2, .network = network[0]}),
            "the network's executor 0 has 3 ranks from 0, the session 2 from 0");
  EXPECT_EQ(error({}), "train.py:42: program 'main': start broadcast channel 0: it has ranks outside of this session (3 from 0 of role "
                       "'worker'), which has no network");
  auto session = Session::create(artifact, {.network = network[0]});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ((*session)->run("main").message(),
            "train.py:42: program 'main': start broadcast channel 2: no executor of the network has rank 4");
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// Lets time pass for one executor, once nobody has anything left to do, until all runs have returned.
std::vector<Status> runWithTime(Executors &executors, FakeClock &clock) {
  return executors.run("main", 1, [&] {
    while (!executors.isQuiet())
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

// Whoever's deadline it is: all executors end with a report that names the collective and the replica that has not arrived.
TEST(Faults, aPausedReplicaEndsAllExecutors) {
  for (uint32_t watching : {0, 1})
    for (unsigned workers : {1, 2}) {
      TestProgram p(4);
      oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32, {100}, {100});
      p.ret();
      FakeClock clock;
      Executors executors(p.artifact(), {{"worker", {0, 2}}, {"worker", {2, 2}}}, [&](uint32_t i) {
        return SessionOptions{
            .workers = workers, .deadline = 60s, .clock = i == watching ? &clock : nullptr, .injections = {"pause:replica=2,channel=0"}};
      });
      std::vector<Status> statuses = runWithTime(executors, clock);
      std::string report = statuses[watching].message();
      EXPECT_TRUE(report.starts_with("no replica of program 'main' has made progress for 60 s\n"
                                     "waiting for channel 0 (all_reduce sum, 400 bytes, train.py:42)\n"))
          << report;
      // Of another executor's ranks it is not known which one is missing.
      EXPECT_NE(report.find(watching == 1 ? "arrived: replicas 0-1, 3\n  missing: replica 2\n"
                                          : "arrived: replicas 0-1\n  missing: replicas 2-3\n"),
                std::string::npos)
          << report;
      EXPECT_EQ(statuses[1 - watching].message(),
                (watching ? "executor 1 (ranks 2-3) has given up: " : "executor 0 (ranks 0-1) has given up: ") + report);
      for (uint32_t i : {0, 1}) {
        EXPECT_EQ(statuses[i].code(), StatusCode::deadline);
        EXPECT_TRUE(executors.sessions[i]->poisoned());
        EXPECT_EQ(executors.sessions[i]->run("main").code(), StatusCode::poisoned);
      }
    }
}

// What one executor refuses ends the others, even one that waits for nobody.
TEST(Faults, aBrokenBoundEndsAllExecutors) {
  for (unsigned workers : {1, 2}) {
    TestProgram p(3);
    ragged(p, CollectiveKind::gather, 3, 0, 0);
    uint32_t loop = p.jump(0);
    p.program->commands[loop]->body.AsJump()->target = loop;
    Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 2}}},
                        [&](uint32_t) { return SessionOptions{.workers = workers}; });
    int64_t tooMany = 4;
    std::memcpy(executors.sessions[1]->variable("rows", 1).data(), &tooMany, sizeof(tooMany));
    std::vector<Status> statuses = executors.run();
    EXPECT_EQ(statuses[1].code(), StatusCode::outOfRange);
    EXPECT_NE(statuses[1].message().find("train.py:42: in command 2 of program 'main', replica "), std::string::npos)
        << statuses[1].message();
    EXPECT_EQ(statuses[0].code(), StatusCode::outOfRange);
    EXPECT_EQ(statuses[0].message(), "executor 1 (ranks 1-2) has given up: " + statuses[1].message());
  }
}

// An executor that cannot even begin does not leave the others waiting.
TEST(Faults, anExecutorThatIsNotReady) {
  TestProgram p(2);
  oneOperand(p, CollectiveKind::all_reduce, Reduction::sum, ElementType::f32, {100}, {100});
  p.input("x", ElementType::f32, {4});
  p.ret();
  Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 1}}}, [&](uint32_t) { return SessionOptions{.workers = 1}; });
  alignas(64) std::array<float, 4> batch{};
  ASSERT_TRUE(executors.sessions[0]->bindInput(0, 0, reinterpret_cast<const std::byte *>(batch.data())).ok());
  std::vector<Status> statuses = executors.run();
  EXPECT_EQ(statuses[1].message(), "program 'main': replica 1 has no input bound");
  EXPECT_EQ(statuses[0].message(), "executor 1 (rank 1) has given up: " + statuses[1].message());
}

// The rows that have arrived do not fit the result: nothing is written.
TEST(Faults, moreRowsThanTheResultHasRoomFor) {
  TestProgram p(2);
  ragged(p, CollectiveKind::gather, 2, 0, 0);
  p.ret();
  p.program->buffers.back()->size = 36;
  Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 1}}}, [&](uint32_t) { return SessionOptions{.workers = 1}; });
  int64_t rows = 2;
  for (uint32_t i : {0, 1})
    std::memcpy(executors.sessions[i]->variable("rows").data(), &rows, sizeof(rows));
  std::vector<Status> statuses = executors.run();
  EXPECT_EQ(statuses[0].code(), StatusCode::outOfRange);
  EXPECT_NE(statuses[0].message().find("the operands have 48 bytes, the bound of the result is 36"), std::string::npos)
      << statuses[0].message();
  EXPECT_EQ(statuses[1].code(), StatusCode::outOfRange);
}

// Counts of a scatter that the rows do not have.
TEST(Faults, moreRowsThanTheRootHas) {
  TestProgram p(2);
  scatter(p, 2, 0);
  p.ret();
  for (int64_t count : {int64_t(-1), int64_t(7), int64_t(1) << 62}) {
    Executors executors(p.artifact(), {{"worker", {0, 1}}, {"worker", {1, 1}}}, [&](uint32_t) { return SessionOptions{.workers = 1}; });
    std::memcpy(executors.sessions[0]->variable("counts").data(), &count, sizeof(count));
    for (const Status &status : executors.run()) {
      EXPECT_EQ(status.code(), StatusCode::outOfRange);
      EXPECT_NE(status.message().find("rows"), std::string::npos) << status.message();
    }
  }
}

} // namespace
