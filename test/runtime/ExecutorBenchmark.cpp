//===- ExecutorBenchmark.cpp - what a command and an all_reduce cost ------===//
//
// Prints the best of several repetitions. Not a test: figures depend on the machine.
//
//===----------------------------------------------------------------------===//

#include "Executors.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

static double bestSeconds(Session &session, int repetitions, int runs) {
  double best = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    auto begin = std::chrono::steady_clock::now();
    for (int run = 0; run < runs; ++run)
      if (!session.run(0u).ok())
        std::abort();
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / runs);
  }
  return best;
}

static std::unique_ptr<Session> makeSession(TestProgram &p, unsigned workers) {
  auto session = Session::create(*Artifact::fromMemory(p.file()), {.workers = workers});
  if (!session) {
    std::fprintf(stderr, "%s\n", session.status().message().c_str());
    std::exit(1);
  }
  return std::move(*session);
}

static void emptyRun(uint32_t replicas, unsigned workers) {
  TestProgram p(replicas);
  p.ret();
  auto session = makeSession(p, workers);
  std::printf("empty run, %2u replicas, %u workers: %8.1f ns\n", replicas, workers,
              bestSeconds(*session, 20, 2000) * 1e9);
}

static void launches(uint32_t replicas, unsigned workers) {
  constexpr int count = 10000;
  TestProgram p(replicas);
  std::vector<uint32_t> buffers;
  for (int i = 0; i < 16; ++i)
    buffers.push_back(p.buffer(Space::replica, ElementType::f32, {16}));
  for (uint32_t i = 0; i < count; ++i)
    p.launch("nothing", {buffers[i % 16], buffers[(i + 3) % 16], buffers[(i + 5) % 16]},
             {buffers[(i + 7) % 16]});
  p.ret();
  auto session = makeSession(p, workers);
  std::printf("launch of 4 buffers, %2u replicas, %u workers: %6.1f ns a command\n", replicas,
              workers, bestSeconds(*session, 10, 5) * 1e9 / count / replicas);
}

static void allReduce(uint32_t replicas, unsigned workers, int64_t elements, bool shared) {
  constexpr int count = 20;
  TestProgram p(replicas);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {elements});
  uint32_t r = p.buffer(shared ? Space::shared : Space::replica, ElementType::f32, {elements});
  for (int i = 0; i < count; ++i) {
    uint32_t channel = p.channel();
    p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r});
    p.wait(channel);
  }
  p.ret();
  auto session = makeSession(p, workers);
  double seconds = bestSeconds(*session, 10, 3) / count;
  double operandBytes = double(elements) * 4;
  double traffic = operandBytes * (shared ? replicas + 1 : 2 * replicas);
  std::printf("all_reduce, %2u replicas, %u workers, %8.0f bytes, %s: %10.2f us, %6.1f GB/s of "
              "traffic\n",
              replicas, workers, operandBytes, shared ? "shared " : "private", seconds * 1e6,
              traffic / seconds * 1e-9);
}

/// The same with the replicas in several executors of one worker each, which run in threads of their own.
static void exchange(uint32_t replicas, uint32_t executors, int64_t elements) {
  constexpr int count = 200;
  TestProgram p(replicas);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {elements});
  uint32_t r = p.buffer(Space::shared, ElementType::f32, {elements});
  for (int i = 0; i < count; ++i) {
    uint32_t channel = p.channel();
    p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r});
    p.wait(channel);
  }
  p.ret();
  std::vector<Executors::Part> parts;
  for (RankRange ranks : split(0, replicas, executors))
    parts.push_back({"worker", ranks});
  Executors cluster(p.artifact(), parts, [](uint32_t) { return SessionOptions{.workers = 1}; });
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    for (const Status &status : cluster.run())
      if (!status.ok())
        std::abort();
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / count);
  }
  std::printf("all_reduce, %2u replicas, %u executors, %8.0f bytes: %10.2f us\n", replicas, executors, double(elements) * 4, best * 1e6);
}

static void load(uint32_t commands) {
  TestProgram p(4);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {16});
  for (uint32_t i = 0; i < commands; ++i)
    p.launch("nothing", {a}, {a});
  p.ret();
  std::vector<std::byte> file = p.file();
  double best = 1e9, create = 1e9;
  for (int i = 0; i < 10; ++i) {
    auto begin = std::chrono::steady_clock::now();
    auto artifact = *Artifact::fromMemory(file);
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
    begin = std::chrono::steady_clock::now();
    auto session = *Session::create(artifact, {.workers = 1});
    time = std::chrono::steady_clock::now() - begin;
    create = std::min(create, time.count());
  }
  std::printf("load of %u commands, %zu bytes: verify %.2f ms, session %.2f ms\n", commands,
              file.size(), best * 1e3, create * 1e3);
}

int main() {
  load(10000);
  emptyRun(1, 1);
  emptyRun(1, 2);
  emptyRun(2, 2);
  emptyRun(64, 1);
  for (uint32_t replicas : {1, 4, 64})
    launches(replicas, 1);
  launches(4, 2);
  for (bool shared : {true, false})
    for (int64_t elements : {256, 16 * 1024, 1024 * 1024})
      for (uint32_t replicas : {2, 4, 8})
        for (unsigned workers : {1, 2})
          allReduce(replicas, workers, elements, shared);
  allReduce(64, 2, 16 * 1024, true);
  for (int64_t elements : {256, 16 * 1024, 1024 * 1024})
    for (uint32_t executors : {2, 4})
      exchange(8, executors, elements);
  return 0;
}
