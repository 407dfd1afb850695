//===- KernelProfileTest.cpp ----------------------------------------------===//

#include "runtime/simulator/Simulator.h"

#include "TestProgram.h"

#include <fmt/format.h>

#include <fstream>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// Kernels of 1 flop/s.
Topology counting(bool isOneProcess) {
  Topology topology;
  topology.compute = {
      .flopsPerSecond = 1, .bytesPerSecond = 1e18, .launchSeconds = 0};
  topology.levels = {{"wire", 0, {1, 1}}};
  topology.reducesOnCompute = isOneProcess;
  topology.cores = 2;
  return topology;
}

/// Two replicas launch "nothing" of 7 flops, and then, in a `once` section, one
/// of them "twice_tiles", whose 64 tiles are shared.
std::shared_ptr<const Artifact> twoKernels() {
  TestProgram program(2);
  for (auto &kernel : program.writer.tables.kernels)
    if (kernel->symbol == "nothing")
      kernel->flops = 7;
  uint32_t operand = program.buffer(Space::replica, ElementType::f32, {64}),
           result = program.buffer(Space::shared, ElementType::f32, {64});
  program.launch("nothing", {}, {});
  program.once(program.channel());
  program.launch("twice_tiles", {operand}, {result});
  program.endOnce();
  program.ret();
  return program.artifact({.allowUnproven = true});
}

/// One line of a trace; times in seconds.
std::string event(int replica, std::string_view category,
                  std::string_view symbol, double seconds) {
  return fmt::format("{{\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":0,"
                     "\"dur\":{},\"name\":\"{}\",\"cat\":\"{}\"}}",
                     replica, seconds * 1e6, symbol, category);
}

class Trace {
public:
  explicit Trace(const std::vector<std::string> &events) : file("trace.json") {
    write(fmt::format("{{\"traceEvents\":[\n{}\n]}}\n",
                      fmt::join(events, ",\n")));
  }
  static Trace ofText(const std::string &text) {
    Trace trace(std::vector<std::string>{});
    trace.write(text);
    return trace;
  }

  Expected<KernelProfile> read(const Artifact &artifact) const {
    return KernelProfile::read(file.path, artifact);
  }
  std::string error(const Artifact &artifact) const {
    std::string message = read(artifact).status().message();
    size_t at = message.find(file.path);
    return at == std::string::npos
               ? message
               : message.replace(at, file.path.size(), "FILE");
  }

private:
  void write(const std::string &text) const {
    std::ofstream(file.path, std::ios::binary) << text;
  }

  TemporaryFile file;
};

double simulated(const Artifact &artifact, const KernelProfile *profile,
                 uint64_t replicas, bool isOneProcess) {
  Expected<SimulationResult> result =
      simulate(artifact, counting(isOneProcess),
               {.replicas = replicas, .profile = profile});
  EXPECT_TRUE(result) << result.status().message();
  return result ? result->seconds : -1;
}

constexpr double tolerance = 1e-6;

TEST(KernelProfile, ReplacesTheModel) {
  std::shared_ptr<const Artifact> artifact = twoKernels();
  Trace trace({event(0, "kernel", "nothing", 3),
               event(1, "kernel", "nothing", 3),
               event(0, "kernel", "twice_tiles", 10),
               event(1, "wait", "wait channel 0", 10)});
  Expected<KernelProfile> profile = trace.read(*artifact);
  ASSERT_TRUE(profile) << profile.status().message();
  EXPECT_EQ(profile->replicas, 2u);
  // Each replica on a device of its own executes the section, too.
  EXPECT_NEAR(simulated(*artifact, &*profile, 2, false), 3 + 10, tolerance);
  // Two cores have executed the tiles of the section in the trace, and do
  // again: 1 s is the rendezvous.
  EXPECT_NEAR(simulated(*artifact, &*profile, 2, true), 3 + 1 + 10, tolerance);
  EXPECT_NEAR(simulated(*artifact, &*profile, 8, true), 4 * 3 + 1 + 10,
              tolerance);
}

// With one replica, both cores have executed its tiles.
TEST(KernelProfile, KnowsOnHowManyCoresKernelsWere) {
  std::shared_ptr<const Artifact> artifact = twoKernels();
  Trace trace({event(0, "kernel", "nothing", 3),
               event(0, "kernel", "twice_tiles", 10)});
  Expected<KernelProfile> profile = trace.read(*artifact);
  ASSERT_TRUE(profile) << profile.status().message();
  EXPECT_EQ(profile->replicas, 1u);
  EXPECT_NEAR(simulated(*artifact, &*profile, 4, true), 2 * 3 + 1 + 10,
              tolerance);
}

TEST(KernelProfile, LeavesOtherKernelsToTheModel) {
  std::shared_ptr<const Artifact> artifact = twoKernels();
  Trace trace({event(0, "kernel", "twice_tiles", 10),
               event(0, "kernel", "of_another_program", 10)});
  Expected<KernelProfile> profile = trace.read(*artifact);
  ASSERT_TRUE(profile) << profile.status().message();
  EXPECT_NEAR(simulated(*artifact, &*profile, 2, false), 7 + 10, tolerance);
}

// Some launches were interrupted.
TEST(KernelProfile, TakesTheMeanOfUsualLaunches) {
  std::shared_ptr<const Artifact> artifact = twoKernels();
  std::vector<std::string> events;
  for (int i = 0; i < 20; ++i)
    events.push_back(event(i % 2, "kernel", "nothing",
                           i < 9    ? 1000 + i
                           : i < 15 ? 5
                                    : 4));
  Expected<KernelProfile> profile = Trace(events).read(*artifact);
  ASSERT_TRUE(profile) << profile.status().message();
  EXPECT_NEAR(simulated(*artifact, &*profile, 2, false), (6 * 5 + 5 * 4) / 11.0,
              tolerance);
}

TEST(KernelProfile, Errors) {
  std::shared_ptr<const Artifact> artifact = twoKernels();
  EXPECT_EQ(KernelProfile::read("no/such/trace", *artifact).status().message(),
            "cannot read trace 'no/such/trace': No such file or directory");
  EXPECT_EQ(KernelProfile::read("/", *artifact).status().message(),
            "cannot read trace '/': Is a directory");
  for (const char *text :
       {"", "{", "[]", "{}", "null",
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\"}]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,"
        "\"tid\":0,\"dur\":-1}]}"})
    EXPECT_EQ(Trace::ofText(text).error(*artifact),
              "'FILE': expected a trace of lockstep-run --trace")
        << text;
  EXPECT_EQ(Trace(std::vector<std::string>()).error(*artifact),
            "'FILE': expected a trace with kernels of this artifact, found no "
            "kernels");
  EXPECT_EQ(
      Trace(std::vector{event(0, "kernel", "train_3", 1)}).error(*artifact),
      "'FILE': expected a trace with kernels of this artifact, found "
      "others, such as 'train_3'");
  KernelProfile other;
  EXPECT_EQ(simulate(*artifact, counting(false), {.profile = &other})
                .status()
                .message(),
            "expected a profile of this artifact's kernels");
}

} // namespace
