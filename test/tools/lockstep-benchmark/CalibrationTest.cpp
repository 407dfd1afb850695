//===- CalibrationTest.cpp ------------------------------------------------===//

#include "tools/lockstep-benchmark/Calibration.h"

#include "runtime/simulator/Simulator.h"

#include "TestProgram.h"

#include <nlohmann/json.hpp>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using namespace lockstep::tools;

namespace {

/// No test reads a time.
constexpr double effort = 0.02;

/// The path of an artifact, until it goes out of scope.
TemporaryFile save(TestProgram &program) {
  TemporaryFile file("step.lockstep");
  EXPECT_TRUE(program.writer.writeFile(file.path).ok());
  return file;
}

/// A step of two replicas with a kernel, an input, a variable, a scalar and an
/// all_reduce. Kernels say what they cost.
TestProgram makeStep(bool hasCosts = true) {
  // 64 tiles of 256.
  constexpr int64_t elements = 16384;
  TestProgram program(2);
  program.program->name = "step";
  if (hasCosts)
    for (auto &kernel : program.writer.tables.kernels)
      kernel->flops = kernel->bytes = 256;
  uint32_t input = program.input("x", ElementType::f32, {elements}),
           variable = program.variable("w", ElementType::f32, {64}),
           rate = program.scalar("lr", ElementType::f32),
           operand =
               program.buffer(Space::replica, ElementType::f32, {elements}),
           result = program.buffer(Space::shared, ElementType::f32, {elements});
  program.launch("nothing", {input, variable, rate}, {operand});
  program.launch("twice_tiles", {input}, {operand});
  uint32_t channel = program.channel();
  program.start(CollectiveKind::all_reduce, Reduction::sum, channel, {operand},
                {result});
  program.wait(channel);
  program.ret();
  return program;
}

std::string errorOf(const std::string &path) {
  Expected<Calibration> found = Calibration::measure(
      {.artifacts = {path}, .replicas = {2}, .effort = effort});
  std::string message = found.status().message();
  size_t at = message.find(path);
  return at == std::string::npos ? message
                                 : message.replace(at, path.size(), "FILE");
}

TEST(Calibration, IsATopology) {
  TestProgram program = makeStep();
  TemporaryFile file = save(program);
  Expected<Calibration> found = Calibration::measure({.name = "mine",
                                                      .artifacts = {file.path},
                                                      .replicas = {2, 3},
                                                      .effort = effort});
  ASSERT_TRUE(found) << found.status().message();
  Expected<Topology> topology = Topology::parse(found->toJson());
  ASSERT_TRUE(topology) << topology.status().message();
  EXPECT_EQ(topology->name, "mine");
  EXPECT_EQ(topology->toJson(), found->topology.toJson());
  EXPECT_TRUE(topology->reducesOnCompute);
  EXPECT_EQ(topology->cores, found->machine.cores);
  EXPECT_GT(topology->cacheBytes, 1024U);
  EXPECT_GT(topology->memoryBytesPerSecond, 1e8);
  EXPECT_EQ(found->collectives.size() % 2, 0U);
  for (const CollectiveTime &time : found->collectives)
    EXPECT_GE(time.seconds, 0);
  ASSERT_EQ(found->artifacts.size(), 1U);
  EXPECT_GT(found->artifacts[0].stepSeconds, 0);
  EXPECT_EQ(found->artifacts[0].kernels.replicas, 2U);
}

// The file differs between two measurements in nothing but numbers, and has no
// date.
TEST(Calibration, SaysWhereItComesFrom) {
  TestProgram program = makeStep();
  TemporaryFile file = save(program);
  Expected<Calibration> found = Calibration::measure(
      {.artifacts = {file.path}, .replicas = {2}, .effort = effort});
  ASSERT_TRUE(found) << found.status().message();
  auto json = nlohmann::ordered_json::parse(found->toJson());
  EXPECT_EQ(
      json["sources"],
      nlohmann::ordered_json({"measured by lockstep-benchmark --calibrate on " +
                              Machine::of(**openDevice("cpu")).name}));
  std::vector<std::string> keys;
  for (const auto &[key, value] : json.items())
    if (key != "rendezvous_seconds")
      keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{
                "name", "compute", "reduces_on_compute", "cores", "cache_bytes",
                "cache_bytes_per_second", "memory_bytes_per_second",
                "step_seconds", "algorithm", "levels", "sources"}));
  std::string text = found->toText();
  for (const char *title : {"\nsteps\n", "\ncollectives\n", "launch"})
    EXPECT_NE(text.find(title), std::string::npos) << title;
  EXPECT_NE(text.find(file.path), std::string::npos);
}

/// A step of one replica.
TestProgram makeLonelyStep() {
  TestProgram alone(1);
  alone.program->name = "step";
  for (auto &kernel : alone.writer.tables.kernels)
    kernel->flops = kernel->bytes = 256;
  uint32_t input = alone.input("x", ElementType::f32, {16384});
  alone.launch("twice_tiles", {input},
               {alone.buffer(Space::replica, ElementType::f32, {16384})});
  alone.ret();
  return alone;
}

// A device with queues is one core for all replicas.
TEST(Calibration, OfADevice) {
  TestProgram program = makeLonelyStep();
  TemporaryFile file = save(program);
  Expected<Calibration> found =
      Calibration::measure({.artifacts = {file.path},
                            .replicas = {2},
                            .placement = {.device = "simulated:7"},
                            .effort = effort});
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_EQ(found->topology.cores, 1U);
  EXPECT_TRUE(found->topology.reducesOnCompute);
  EXPECT_GT(found->topology.memoryBytesPerSecond, 1e6);
  EXPECT_TRUE(Topology::parse(found->toJson()));
  EXPECT_NE(found->toJson().find("--calibrate on simulated\""),
            std::string::npos);
  std::string text = found->toText();
  EXPECT_TRUE(text.starts_with("simulated, 1.00 MiB of cache\n")) << text;
  EXPECT_NE(text.find("GB/s copied\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("core"), std::string::npos) << text;
}

// Replicas with executors of their own are connected by a link.
TEST(Calibration, OfSeparateExecutors) {
  TestProgram program = makeStep();
  TemporaryFile two = save(program);
  Placement separate{.device = "cpu", .isSeparate = true};
  EXPECT_EQ(
      Calibration::measure(
          {.artifacts = {two.path}, .placement = separate, .effort = effort})
          .status()
          .message(),
      two.path + ": expected an artifact of one replica, whose kernels have a "
                 "device for themselves, found 2 replicas");
  TestProgram alone = makeLonelyStep();
  TemporaryFile one = save(alone);
  Expected<Calibration> found = Calibration::measure({.artifacts = {one.path},
                                                      .replicas = {2},
                                                      .placement = separate,
                                                      .effort = effort});
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_FALSE(found->topology.reducesOnCompute);
  ASSERT_EQ(found->topology.levels.size(), 1U);
  EXPECT_EQ(found->topology.levels[0].name, "executors");
  EXPECT_TRUE(Topology::parse(found->toJson()));
  EXPECT_NE(found->toText().find("\n  message "), std::string::npos);
  // The step, by what the file says.
  Expected<Topology> written = Topology::parse(found->toJson());
  Expected<SimulationResult> simulated =
      simulate(*found->artifacts[0].artifact, *written, {});
  ASSERT_TRUE(simulated) << simulated.status().message();
  double kernel = *found->artifacts[0].kernels.seconds[0];
  for (std::optional<double> seconds : found->artifacts[0].kernels.seconds)
    kernel = seconds.value_or(kernel);
  EXPECT_NEAR(simulated->seconds, kernel, 0.1 * kernel);
}

TEST(Calibration, Errors) {
  Expected<Calibration> noDevice = Calibration::measure(
      {.artifacts = {"no/such/file"}, .placement = {.device = "abacus"}});
  EXPECT_NE(noDevice.status().message().find("abacus"), std::string::npos)
      << noDevice.status().message();
  EXPECT_EQ(errorOf("no/such/file"),
            "cannot open artifact 'FILE': No such file or directory");
  TestProgram unknown = makeStep(/*hasCosts=*/false);
  EXPECT_EQ(errorOf(save(unknown).path),
            "FILE: expected kernels with numbers of operations and bytes, "
            "found none");
  TestProgram loads = makeStep();
  loads.program->commands.pop_back();
  loads.next();
  loads.ret();
  EXPECT_EQ(errorOf(save(loads).path),
            "FILE: program 'step': expected a step of one batch, found one "
            "that loads its batches");
  TestProgram withServer = makeStep();
  withServer.role("server");
  withServer.ret();
  withServer.in("worker");
  EXPECT_EQ(errorOf(save(withServer).path),
            "FILE: expected an artifact of one role");
  TestProgram none(1);
  none.writer.tables.kernels.clear();
  none.ret();
  EXPECT_EQ(errorOf(save(none).path),
            "FILE: expected kernels with numbers of operations and bytes, "
            "found none");
}

} // namespace
