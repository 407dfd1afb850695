//===- ExchangeTest.cpp - collectives across executors --------------------===//

#include "Collectives.h"
#include "Executors.h"
#include "NearFloats.h"
#include "RandomValues.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// A collective of all replicas, or of some; its operands are variables that
/// are drawn at random.
struct Case {
  const char *name;
  std::function<void(TestProgram &, uint32_t replicas)> build;
};
std::ostream &operator<<(std::ostream &stream, const Case &test) {
  return stream << test.name;
}

const Case cases[] = {
    {"allReduceSmall",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::f32, {100}, {100});
     }},
    {"allReduceLarge",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::f32, {40001}, {40001}, Space::shared);
     }},
    {"allReduceLargePrivate",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::f64, {20001}, {20001});
     }},
    {"allReduceSixteenBits",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::bf16, {40001}, {40001}, Space::shared);
     }},
    {"allReduceUnrounded",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::f16, {40001}, {40001}, Space::shared, -1, 0,
                  ElementType::f32);
     }},
    {"allReduceOfNothing",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::f32, {0}, {0});
     }},
    {"allReduceSeveral",
     [](TestProgram &p, uint32_t) {
       uint32_t channel = p.channel();
       std::vector<uint32_t> operands, results;
       for (int i = 0; i < 5; ++i) {
         operands.push_back(
             p.variable(std::string("a") + char('0' + i),
                        i == 3 ? ElementType::i32 : ElementType::f32,
                        {7000 * i + 1}, true));
         results.push_back(p.buffer(
             Space::replica, i == 3 ? ElementType::i32 : ElementType::f32,
             {7000 * i + 1}));
         p.output(std::string("r") + char('0' + i), results.back());
       }
       p.start(CollectiveKind::all_reduce, Reduction::sum, channel, operands,
               results);
       p.wait(channel);
     }},
    {"allReduceInPlace",
     [](TestProgram &p, uint32_t) {
       uint32_t a = p.variable("a", ElementType::i32, {30000}, true),
                channel = p.channel();
       p.output("a", a);
       p.start(CollectiveKind::all_reduce, Reduction::max, channel, {a}, {a});
       p.wait(channel);
     }},
    // All members of an executor have one operand.
    {"allReduceOfShared",
     [](TestProgram &p, uint32_t) {
       uint32_t a = p.variable("a", ElementType::f32, {3000}),
                r = p.buffer(Space::replica, ElementType::f32, {3000}),
                channel = p.channel();
       p.output("r", r);
       p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r});
       p.wait(channel);
     }},
    // Two collectives read an operand at the same time.
    {"allReduceTwice",
     [](TestProgram &p, uint32_t) {
       std::array<uint32_t, 2> channels = {p.channel(), p.channel()};
       for (bool isShared : {false, true}) {
         std::string name = isShared ? "shared" : "own";
         uint32_t a = p.variable(name, ElementType::f32, {3000}, !isShared);
         for (uint32_t channel : channels) {
           uint32_t r = p.buffer(Space::replica, ElementType::f32, {3000});
           p.output(name + char('0' + channel), r);
           p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a},
                   {r});
         }
         for (uint32_t channel : channels)
           p.wait(channel);
         channels = {p.channel(), p.channel()};
       }
     }},
    {"allReduceOfSome",
     [](TestProgram &p, uint32_t replicas) {
       std::vector<uint32_t> some;
       for (uint32_t i = 0; i < replicas; i += 2)
         some.push_back(i);
       oneOperand(p, CollectiveKind::all_reduce, Reduction::sum,
                  ElementType::f32, {1000}, {1000}, Space::replica, -1, 0,
                  ElementType::i1, p.group(some));
     }},
    // A replica that reads its result must not keep one that the other group
    // waits for from starting.
    {"scalarsOfTwoGroups",
     [](TestProgram &p, uint32_t replicas) {
       uint32_t a = p.variable("a", ElementType::i64, {}, true);
       std::vector<std::vector<uint32_t>> groups{{0, replicas - 1}, {}};
       for (uint32_t i = 1; i + 1 < replicas; ++i)
         groups[1].push_back(i);
       for (size_t i = 0; i < groups.size() && !groups[i].empty(); ++i) {
         std::string name = std::string("r") + char('0' + i);
         uint32_t r = p.variable(name, ElementType::i64, {}, true),
                  channel = p.channel();
         p.output(name, r);
         p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r},
                 p.group(groups[i]));
         p.wait(channel);
         p.loadRegister(p.reg(), r);
       }
     }},
    {"reduceScatter",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::reduce_scatter, Reduction::sum,
                  ElementType::f32, {5003 * int64_t(replicas)}, {5003});
     }},
    {"reduceScatterSixteenBits",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::reduce_scatter, Reduction::sum,
                  ElementType::bf16, {77 * int64_t(replicas)}, {77});
     }},
    {"reduce",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::reduce, Reduction::sum, ElementType::f32,
                  {20000}, {20000}, Space::replica, int32_t(replicas / 2));
     }},
    {"allGather",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::all_gather, Reduction::none,
                  ElementType::i32, {3, 40}, {3 * int64_t(replicas), 40},
                  Space::shared);
     }},
    {"allGatherColumns",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::all_gather, Reduction::none,
                  ElementType::i32, {3, 40}, {3, 40 * int64_t(replicas)},
                  Space::shared, -1, 1);
     }},
    {"allGatherRagged",
     [](TestProgram &p, uint32_t replicas) {
       ragged(p, CollectiveKind::all_gather, replicas, 0, -1);
     }},
    {"allGatherRaggedColumns",
     [](TestProgram &p, uint32_t replicas) {
       ragged(p, CollectiveKind::all_gather, replicas, 1, -1);
     }},
    {"gatherRagged",
     [](TestProgram &p, uint32_t replicas) {
       ragged(p, CollectiveKind::gather, replicas, 0, int32_t(replicas) - 1);
     }},
    {"gatherAtTheFirst",
     [](TestProgram &p, uint32_t replicas) {
       ragged(p, CollectiveKind::gather, replicas, 0, -1);
     }},
    {"broadcast",
     [](TestProgram &p, uint32_t) {
       oneOperand(p, CollectiveKind::broadcast, Reduction::none,
                  ElementType::f32, {5000}, {5000}, Space::shared);
     }},
    {"broadcastFromTheLast",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::broadcast, Reduction::none,
                  ElementType::f32, {5000}, {5000}, Space::replica,
                  int32_t(replicas) - 1);
     }},
    {"scatter",
     [](TestProgram &p, uint32_t replicas) {
       scatter(p, replicas, int32_t(replicas / 2));
     }},
    {"allToAll",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::all_to_all, Reduction::none,
                  ElementType::i32, {7 * int64_t(replicas), 300},
                  {7 * int64_t(replicas), 300});
     }},
    {"allToAllColumns",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::all_to_all, Reduction::none,
                  ElementType::i32, {9, 5 * int64_t(replicas)},
                  {9, 5 * int64_t(replicas)}, Space::replica, -1, 1);
     }},
    {"permute",
     [](TestProgram &p, uint32_t replicas) {
       permute(p, replicas, /*isRound=*/true);
     }},
    {"permuteOpen",
     [](TestProgram &p, uint32_t replicas) {
       permute(p, replicas, /*isRound=*/false);
     }},
    {"send",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::send, Reduction::none, ElementType::i32,
                  {3000}, {3000}, Space::replica, int32_t(replicas) - 1, 0,
                  ElementType::i1, p.group({0, replicas - 1}));
     }},
    {"recv",
     [](TestProgram &p, uint32_t replicas) {
       oneOperand(p, CollectiveKind::recv, Reduction::none, ElementType::i32,
                  {3000}, {3000}, Space::replica, int32_t(replicas) - 1, 0,
                  ElementType::i1, p.group({0, replicas - 1}));
     }},
    {"barrier", [](TestProgram &p, uint32_t) { p.barrier(p.channel()); }},
};

template <typename T> void drawElements(std::span<std::byte> bytes, auto draw) {
  auto *elements = reinterpret_cast<T *>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i)
    elements[i] = T(draw(i));
}

/// Draws the variables of a replica; the same for the same rank, or for all
/// ranks if they share the variable.
void fill(Session &session, unsigned replica, uint32_t rank,
          uint32_t replicas) {
  std::mt19937 own(rank + 1), shared(0);
  for (const VariableInfo &info : session.variables()) {
    std::mt19937 &random = info.perReplica ? own : shared;
    std::span<std::byte> bytes = session.variable(info.name, replica);
    auto drawReal = [&](size_t) { return randomReal(random); };
    switch (info.type.element) {
    case ElementType::f32:
      drawElements<float>(bytes, drawReal);
      break;
    case ElementType::f64:
      drawElements<double>(bytes, drawReal);
      break;
    case ElementType::f16:
      drawElements<_Float16>(bytes, drawReal);
      break;
    case ElementType::bf16:
      drawElements<uint16_t>(bytes, [&](size_t) {
        return std::bit_cast<uint32_t>(randomReal(random)) >> 16;
      });
      break;
    case ElementType::i64:
      // Replica r has r rows.
      drawElements<int64_t>(bytes, [&](size_t i) -> uint64_t {
        return info.name == "total"    ? replicas * (replicas - 1) / 2
               : info.name == "counts" ? (i >= replicas / 2 ? i + 1 : i)
                                       : rank;
      });
      break;
    default:
      drawElements<int32_t>(bytes, [&](size_t) { return random() % 1000; });
    }
  }
}

/// Whether the transport reduces as it likes.
bool hasOrderOfItsOwn() {
  const char *transport = std::getenv("LOCKSTEP_TRANSPORT");
  return transport && std::string_view(transport).ends_with("reduce");
}

/// The bits of a collective in several executors, and in one.
/// Three times, so that an instance follows another on the same channel;
/// outputs of all replicas are compared byte by byte.
void compareWithOneExecutor(const Case &test, uint32_t executors,
                            unsigned workers,
                            std::span<const uint32_t> replicaCounts,
                            std::vector<uint32_t> hosts = {}) {
  for (uint32_t replicas : replicaCounts) {
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
    Executors found(
        artifact, parts,
        [&](uint32_t) { return SessionOptions{.workers = workers}; }, hosts);
    for (uint32_t rank = 0; rank < replicas; ++rank) {
      fill(**reference, rank, rank, replicas);
      auto [session, replica] = found.find(rank);
      for (const VariableInfo &info : session->variables()) {
        std::span<const std::byte> drawn =
            (*reference)->variable(info.name, rank);
        if (!drawn.empty())
          std::memcpy(session->variable(info.name, replica).data(),
                      drawn.data(), drawn.size());
      }
    }
    for (int i = 0; i < 3; ++i) {
      Status status = (*reference)->run("main");
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (const Status &status : found.run("main", 3))
      ASSERT_TRUE(status.ok()) << status.message();
    for (uint32_t rank = 0; rank < replicas; ++rank)
      for (unsigned output = 0;
           output < (*reference)->programs()[0].outputs.size(); ++output) {
        auto [session, replica] = found.find(rank);
        std::span<const std::byte> expected =
                                       (*reference)->output(0, output, rank),
                                   bytes = session->output(0, output, replica);
        ASSERT_EQ(bytes.size(), expected.size());
        ElementType element =
            (*reference)->programs()[0].outputs[output].type.element;
        if (hasOrderOfItsOwn() && isFloat(element)) {
          expectNear(bytes, expected, element);
          continue;
        }
        ASSERT_TRUE(bytes.empty() || std::memcmp(bytes.data(), expected.data(),
                                                 bytes.size()) == 0)
            << "output " << output << " of rank " << rank << " of " << replicas;
      }
  }
}

class Exchange
    : public testing::TestWithParam<std::tuple<Case, uint32_t, unsigned>> {};

INSTANTIATE_TEST_SUITE_P(All, Exchange,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values(1, 2, 3),
                                          testing::Values(1, 2)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  "On" +
                                  std::to_string(std::get<1>(info.param)) +
                                  "With" +
                                  std::to_string(std::get<2>(info.param));
                         });

// [1.3-several-processes]
TEST_P(Exchange, hasTheBitsOfOneExecutor) {
  auto [test, executors, workers] = GetParam();
  compareWithOneExecutor(test, executors, workers,
                         std::array<uint32_t, 7>{2, 3, 4, 5, 6, 7, 8});
}

class HostsExchange : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(All, HostsExchange, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

// Executors of one host reduce and gather among themselves, where the tree and
// the number of executors on each host allow it.
TEST_P(HostsExchange, hasTheBitsOfOneExecutor) {
  // A scatter to more replicas has more rows than its operand.
  bool hasManyRows = GetParam().name == std::string_view("scatter");
  for (uint32_t perHost : {2, 3})
    for (uint32_t executors : {4, 5, 6}) {
      std::vector<uint32_t> hosts;
      for (uint32_t i = 0; i < executors; ++i)
        hosts.push_back(i / perHost);
      for (uint32_t replicas : {6, 7, 8, 12, 13, 16})
        if (replicas <= 8 || !hasManyRows)
          compareWithOneExecutor(GetParam(), executors,
                                 /*workers=*/1 + replicas % 2, {&replicas, 1},
                                 hosts);
    }
}

// What an executor of two hosts with two each sends to its neighbor, and to the
// one at its place on the other host; to the last one, it sends nothing.
TEST(Hosts, sendEachOtherWhatTheyNeed) {
  struct Sent {
    CollectiveKind kind;
    int64_t operand, result;
    uint64_t toNeighbor, toOtherHost;
  };
  constexpr uint64_t large = 40960 * sizeof(float);
  // Accumulators are aligned to 64 bytes; a gather sends a dimension.
  constexpr uint64_t small = 448, rows = sizeof(int64_t) + 1000 * sizeof(float);
  for (const Sent &expected :
       {Sent{CollectiveKind::all_reduce, 40960, 40960, large, large / 2},
        Sent{CollectiveKind::all_reduce, 100, 100, small, small},
        Sent{CollectiveKind::reduce_scatter, 40960, 10240, large / 2,
             large / 4},
        Sent{CollectiveKind::all_gather, 1000, 4000, 2 * rows, rows}}) {
    TestProgram p(4);
    bool reduces = expected.kind != CollectiveKind::all_gather;
    oneOperand(p, expected.kind, reduces ? Reduction::sum : Reduction::none,
               ElementType::f32, {expected.operand}, {expected.result});
    p.ret();
    std::vector<Executors::Part> parts;
    for (uint32_t rank = 0; rank < 4; ++rank)
      parts.push_back({"worker", {rank, 1}});
    Executors executors(p.artifact(), parts,
                        [](uint32_t) { return SessionOptions{.workers = 1}; },
                        /*hosts=*/{0, 0, 1, 1});
    for (const Status &status : executors.run())
      ASSERT_TRUE(status.ok()) << status.message();
    for (uint32_t executor = 0; executor < 4; ++executor) {
      Network &network = *executors.network[executor];
      EXPECT_EQ(network.bytesSentTo(executor ^ 1), expected.toNeighbor);
      EXPECT_EQ(network.bytesSentTo(executor ^ 2), expected.toOtherHost);
      EXPECT_EQ(network.bytesSentTo(executor ^ 3), 0u);
    }
  }
}

// In one executor, the root receives the result that all would receive; the
// others receive none.
TEST(Roots, sendAndReceiveInOneExecutor) {
  constexpr uint32_t replicas = 5;
  for (uint32_t root = 0; root < replicas; ++root)
    for (unsigned workers : {1, 2}) {
      TestProgram p(replicas);
      uint32_t a = p.variable("a", ElementType::f32, {3000}, true);
      uint32_t counts =
          p.variable("counts", ElementType::i64, {replicas - 1}, true);
      auto result = [&](const char *name, int64_t size) {
        uint32_t r = p.buffer(Space::replica, ElementType::f32, {size});
        p.output(name, r);
        return r;
      };
      auto exchange = [&](CollectiveKind kind, std::vector<uint32_t> operands,
                          uint32_t r, bool hasRoot) {
        uint32_t channel = p.channel();
        bool reduces = kind == CollectiveKind::reduce ||
                       kind == CollectiveKind::all_reduce;
        p.start(kind, reduces ? Reduction::sum : Reduction::none, channel,
                std::move(operands), {r}, 0, 0, hasRoot ? int32_t(root) : -1);
        p.wait(channel);
      };
      exchange(CollectiveKind::reduce, {a}, result("reduce", 3000), true);
      exchange(CollectiveKind::all_reduce, {a}, result("all_reduce", 3000),
               false);
      exchange(CollectiveKind::gather, {a}, result("gather", 3000 * replicas),
               true);
      exchange(CollectiveKind::all_gather, {a},
               result("all_gather", 3000 * replicas), false);
      exchange(CollectiveKind::broadcast, {a}, result("broadcast", 3000), true);
      exchange(CollectiveKind::scatter, {a, counts}, result("scatter", 700),
               true);
      p.ret();
      auto session = p.session({.workers = workers});
      for (uint32_t rank = 0; rank < replicas; ++rank) {
        fill(*session, rank, rank, replicas);
        for (size_t i = 0; i < replicas - 1; ++i)
          reinterpret_cast<int64_t *>(
              session->variable("counts", rank).data())[i] = 700;
      }
      Status status = session->run("main");
      ASSERT_TRUE(status.ok()) << status.message();
      auto floats = [](std::span<const std::byte> bytes) {
        return std::span(reinterpret_cast<const float *>(bytes.data()),
                         bytes.size() / sizeof(float));
      };
      auto output = [&](const char *name, uint32_t rank) {
        return floats(session->output(0, name, rank));
      };
      for (uint32_t rank = 0; rank < replicas; ++rank) {
        for (auto [rooted, all] : {std::pair("reduce", "all_reduce"),
                                   std::pair("gather", "all_gather")}) {
          if (rank == root)
            EXPECT_TRUE(
                std::ranges::equal(output(rooted, rank), output(all, rank)));
          else
            EXPECT_TRUE(std::ranges::all_of(
                output(rooted, rank), [](float value) { return value == 0; }));
        }
        EXPECT_TRUE(std::ranges::equal(output("broadcast", rank),
                                       floats(session->variable("a", root))));
        if (rank != root)
          EXPECT_TRUE(std::ranges::equal(
              output("scatter", rank),
              floats(session->variable("a", root))
                  .subspan(700 * (rank - (rank > root)), 700)));
      }
    }
}

} // namespace
