//===- ExecutorBenchmark.cpp - cost of commands and all_reduce ------------===//
//
// Prints the best of several repetitions. Not a test: figures depend on the
// machine.
//
//===----------------------------------------------------------------------===//

#include "Executors.h"

#include "runtime/verification/Verification.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

static double bestSeconds(Session &session, int repetitions, int runs) {
  double best = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    auto begin = std::chrono::steady_clock::now();
    for (int run = 0; run < runs; ++run)
      if (!session.run(0u).ok())
        std::abort();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / runs);
  }
  return best;
}

static std::unique_ptr<Session> makeSession(TestProgram &p, unsigned workers) {
  auto session =
      Session::create(*Artifact::fromMemory(p.file()), {.workers = workers});
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
  std::printf("empty run, %2u replicas, %u workers: %8.1f ns\n", replicas,
              workers, bestSeconds(*session, 20, 2000) * 1e9);
}

static void launches(uint32_t replicas, unsigned workers) {
  constexpr int count = 10000;
  TestProgram p(replicas);
  std::vector<uint32_t> buffers;
  for (int i = 0; i < 16; ++i)
    buffers.push_back(p.buffer(Space::replica, ElementType::f32, {16}));
  for (uint32_t i = 0; i < count; ++i)
    p.launch("nothing",
             {buffers[i % 16], buffers[(i + 3) % 16], buffers[(i + 5) % 16]},
             {buffers[(i + 7) % 16]});
  p.ret();
  auto session = makeSession(p, workers);
  std::printf(
      "launch of 4 buffers, %2u replicas, %u workers: %6.1f ns a command\n",
      replicas, workers, bestSeconds(*session, 10, 5) * 1e9 / count / replicas);
}

static void allReduce(uint32_t replicas, unsigned workers, int64_t elements,
                      bool shared) {
  constexpr int count = 20;
  TestProgram p(replicas);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {elements});
  uint32_t r = p.buffer(shared ? Space::shared : Space::replica,
                        ElementType::f32, {elements});
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
  std::printf("all_reduce, %2u replicas, %u workers, %8.0f bytes, %s: %10.2f "
              "us, %6.1f GB/s of "
              "traffic\n",
              replicas, workers, operandBytes, shared ? "shared " : "private",
              seconds * 1e6, traffic / seconds * 1e-9);
}

/// The same with the replicas in several executors of one worker each, which
/// run in threads of their own.
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
  Executors cluster(p.artifact(), parts,
                    [](uint32_t) { return SessionOptions{.workers = 1}; });
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto begin = std::chrono::steady_clock::now();
    for (const Status &status : cluster.run())
      if (!status.ok())
        std::abort();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / count);
  }
  std::printf(
      "all_reduce, %2u replicas, %u executors, %8.0f bytes: %10.2f us\n",
      replicas, executors, double(elements) * 4, best * 1e6);
}

/// Processor time of this thread: others may be busy on the machine.
static double threadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Opens a file with a collective in each 20 commands, and, if asked for, a
/// loop around each 1,000 of them. The parts are repeated one by one.
static void load(uint32_t commands, bool loops) {
  TestProgram p(4);
  uint32_t a = p.buffer(Space::replica, ElementType::f32, {16}),
           b = p.buffer(Space::replica, ElementType::f32, {16});
  uint32_t iterations = p.scalar("iterations", ElementType::i32, {1, 0, 0, 0});
  uint32_t count = p.reg(), iteration = p.reg(), one = p.reg();
  p.loadRegister(count, iterations);
  p.setRegister(one, 1);
  while (p.here() + 1 < commands) {
    uint32_t head = 0, exit = 0, end = std::min(p.here() + 1000, commands);
    if (loops) {
      p.setRegister(iteration, 0);
      head = p.here();
      exit = p.branchGreaterEqual(iteration, count);
    }
    while (p.here() + 1 < end) {
      for (int i = 0; i < 18; ++i)
        p.launch("nothing", {a}, {b});
      uint32_t channel = p.channel();
      p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {b}, {a});
      p.wait(channel);
    }
    if (loops) {
      p.addRegister(iteration, one);
      p.jump(head);
      p.patch(exit);
    }
  }
  p.ret();
  // The code declares that it accepts any launch; the file is checked like one
  // of the compiler.
  std::shared_ptr<const Artifact> executed = p.artifact();
  auto arguments = std::make_unique<lockstep::artifact::ArgumentsT>();
  arguments->bytes = {64, 64};
  arguments->reads = 1;
  for (auto &kernel : p.writer.tables.kernels)
    if (kernel->symbol == "nothing")
      kernel->arguments = std::move(arguments);
  TemporaryFile saved("load.lockstep");
  const std::string &path = saved.path;
  std::vector<std::byte> file = p.file();
  if (!p.writer.writeFile(path).ok())
    std::abort();
  enum Part { opening, hash, structure, proof, session, parts };
  double best[parts];
  std::fill_n(best, size_t(parts), 1e9);
  for (int i = 0; i < 20; ++i) {
    auto measure = [&](Part part, auto work) {
      double begin = threadSeconds();
      auto result = work();
      best[part] = std::min(best[part], threadSeconds() - begin);
      return result;
    };
    auto artifact = measure(opening, [&] { return *Artifact::open(path); });
    measure(hash, [&] { return artifactDigest(file, 0); });
    measure(structure, [&] {
      flatbuffers::Verifier verifier(
          reinterpret_cast<const uint8_t *>(file.data()), file.size(), 16,
          100'000'000);
      return lockstep::artifact::VerifyArtifactBuffer(verifier);
    });
    measure(proof, [&] {
      return verification::checkProven(artifact->tables(), "main").ok();
    });
    measure(session,
            [&] { return *Session::create(executed, {.workers = 1}); });
  }
  std::printf("load of %6u commands%s, %8zu bytes: %6.2f ms, of that hash "
              "%5.2f, structure %5.2f, proof %5.2f; a session %6.2f ms\n",
              p.here(), loops ? " with loops" : "", file.size(),
              best[opening] * 1e3, best[hash] * 1e3, best[structure] * 1e3,
              best[proof] * 1e3, best[session] * 1e3);
}

int main() {
  for (uint32_t commands : {1'000, 10'000, 100'000})
    for (bool loops : {false, true})
      load(commands, loops);
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
