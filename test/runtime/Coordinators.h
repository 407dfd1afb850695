//===- Coordinators.h - shared by tests of coordinators ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_COORDINATORS_H
#define LOCKSTEP_TEST_RUNTIME_COORDINATORS_H

#include "TestProgram.h"

#include "runtime/executor/Coordinator.h"

#include <array>
#include <atomic>
#include <thread>

namespace lockstep::runtime::test {

inline constexpr int64_t elements = 64;
using Values = std::array<int64_t, elements>;

struct alignas(64) Batch {
  explicit Batch(int64_t value) { x.fill(value); }
  Values x;
};

/// For each server a step receives a variable, then sends "x", which the server
/// adds to it.
inline void build(TestProgram &p, unsigned servers = 2) {
  std::vector<uint32_t> groups;
  for (uint32_t s = 0; s < servers; ++s) {
    uint32_t rank = p.role("server" + std::to_string(s));
    groups.push_back(p.group({0, rank}));
    uint32_t variable =
        p.variable("v" + std::to_string(s), ElementType::i64, {elements});
    uint32_t value = p.buffer(Space::replica, ElementType::i64, {elements});
    uint32_t given = p.buffer(Space::replica, ElementType::i64, {elements});
    uint32_t pull = p.channel(2 * s), push = p.channel(2 * s + 1);
    p.copy(variable, value);
    p.start(CollectiveKind::broadcast, Reduction::none, pull, {value}, {},
            groups[s], 0, int32_t(rank));
    p.wait(pull);
    p.start(CollectiveKind::broadcast, Reduction::none, push, {}, {given},
            groups[s], 0, 0);
    p.wait(push);
    p.launch("add_64", {variable, given}, {variable});
    p.ret();
  }
  p.in("worker");
  uint32_t x = p.input("x", ElementType::i64, {elements});
  for (uint32_t s = 0; s < servers; ++s) {
    uint32_t pulled = p.buffer(Space::replica, ElementType::i64, {elements});
    p.output("v" + std::to_string(s), pulled);
    uint32_t pull = p.channel(2 * s), push = p.channel(2 * s + 1);
    p.start(CollectiveKind::broadcast, Reduction::none, pull, {}, {pulled},
            groups[s], 0, int32_t(s + 1));
    p.wait(pull);
    p.start(CollectiveKind::broadcast, Reduction::none, push, {x}, {},
            groups[s], 0, 0);
    p.wait(push);
  }
  p.ret();
}

inline std::unique_ptr<Coordinator> coordinatorOf(TestProgram &p,
                                                  CoordinatorOptions options) {
  Expected<std::unique_ptr<Coordinator>> created =
      Coordinator::create(p.artifact(), std::move(options));
  EXPECT_TRUE(created.ok()) << created.status().message();
  return created ? std::move(*created) : nullptr;
}

inline std::string errorOf(TestProgram &p, CoordinatorOptions options = {}) {
  return Coordinator::create(p.artifact(), std::move(options))
      .status()
      .message();
}

inline Values valuesOf(std::span<const std::byte> bytes) {
  Values values{};
  EXPECT_EQ(bytes.size(), sizeof(values));
  std::memcpy(values.data(), bytes.data(),
              std::min(bytes.size(), sizeof(values)));
  return values;
}

/// The elements of a variable, which must be equal; fails the test if they are
/// not.
inline int64_t wholeValue(std::span<const std::byte> bytes) {
  Values values = valuesOf(bytes);
  EXPECT_EQ(std::ranges::count(values, values[0]), elements);
  return values[0];
}

inline Status step(Cluster &lane, int64_t x) {
  Batch batch(x);
  LOCKSTEP_RETURN_IF_ERROR(
      lane.bindInput(0, 0, reinterpret_cast<const std::byte *>(&batch)));
  return lane.run("main");
}

inline Coordinator::Function adds(int64_t x) {
  return [x](Cluster &lane, unsigned) { return step(lane, x); };
}

inline Coordinator::Function fails(std::string message) {
  return [message](Cluster &, unsigned) { return invalidArgument(message); };
}

/// A step that needs memory for "rows", with a bound of 10; then it sends 1 to
/// the server.
inline void buildBounded(TestProgram &p) {
  uint32_t rank = p.role("server");
  uint32_t group = p.group({0, rank});
  uint32_t variable = p.variable("v", ElementType::i64, {});
  uint32_t given = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t push = p.channel();
  p.start(CollectiveKind::broadcast, Reduction::none, push, {}, {given}, group,
          0, 0);
  p.wait(push);
  p.copy(given, variable);
  p.ret();
  p.in("worker");
  uint32_t x = p.input("rows", ElementType::i64, {});
  uint32_t rows = p.reg();
  uint32_t bounded = p.dynamicBuffer(Space::replica, ElementType::i64, {-1},
                                     {int32_t(rows)}, 80);
  p.loadRegister(rows, x);
  p.launch("nothing", {bounded}, {});
  p.start(CollectiveKind::broadcast, Reduction::none, p.channel(push), {x}, {},
          group, 0, 0);
  p.wait(push);
  p.ret();
}

/// A function that signals its beginning and waits until it may end.
struct Gate {
  std::atomic<bool> begun{false}, mayEnd{false};
  Coordinator::Function then(Coordinator::Function next) {
    return [this, next](Cluster &lane, unsigned worker) {
      begun = true;
      while (!mayEnd)
        std::this_thread::yield();
      return next(lane, worker);
    };
  }
  void awaitBegin() const {
    while (!begun)
      std::this_thread::yield();
  }
};

class CoordinatorOf
    : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {
protected:
  CoordinatorOptions options() const {
    return {.workers = std::get<0>(GetParam()),
            .session = {.workers = std::get<1>(GetParam())}};
  }
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_COORDINATORS_H
