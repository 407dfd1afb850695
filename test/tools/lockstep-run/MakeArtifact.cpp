//===- MakeArtifact.cpp - an artifact for tests of lockstep-run -----------===//
//
// MakeArtifact REPLICAS FILE [hang|loop]: a linear regression with the programs
// "step" and "evaluate", assembled by hand. With "hang", the step ends in a
// kernel that does not return, with "loop", in an infinite loop.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

constexpr int64_t rows = 4, features = 3;

struct Variables {
  uint32_t w, b;
};

Variables addStep(TestProgram &test, uint32_t replicas, std::string_view end) {
  test.program->name = "step";
  Variables variables = {
      test.variable("params/w", ElementType::f32, {features}),
      test.variable("params/b", ElementType::f32, {})};
  uint32_t tally =
      test.variable("tally", ElementType::f32, {}, /*perReplica=*/true);
  uint32_t rate = test.scalar("lr", ElementType::f32);
  uint32_t step = test.scalar("step", ElementType::i32);
  uint32_t seed = test.scalar("seed", ElementType::u32);
  uint32_t x = test.input("x", ElementType::f32, {rows, features});
  uint32_t y = test.input("y", ElementType::f32, {rows});
  uint32_t partial =
      test.buffer(Space::replica, ElementType::f32, {features + 2});
  uint32_t total = test.buffer(Space::shared, ElementType::f32, {features + 2});
  uint32_t loss = test.buffer(Space::shared, ElementType::f32, {});
  uint32_t seen = test.buffer(Space::shared, ElementType::i32, {2});
  test.output("loss", loss);
  test.output("seen", seen);

  uint32_t examples = test.reg();
  test.launch("gradients", {x, y, variables.w, variables.b, tally},
              {partial, tally});
  uint32_t sum = test.channel();
  test.start(CollectiveKind::all_reduce, Reduction::sum, sum, {partial},
             {total});
  test.wait(sum);
  test.setRegister(examples, int64_t(replicas) * rows);
  test.once(test.channel());
  test.launch("update", {total, rate, step, seed, variables.w, variables.b},
              {variables.w, variables.b, loss, seen}, {examples});
  test.endOnce();
  if (end == "hang")
    test.launch("hang", {partial}, {partial});
  if (end == "loop")
    test.jump(test.here());
  test.ret();
  return variables;
}

void addEvaluate(TestProgram &test, const Variables &variables) {
  const artifact::ProgramT &step = *test.program;
  auto owned = std::make_unique<artifact::ProgramT>();
  test.program = owned.get();
  test.writer.tables.programs.push_back(std::move(owned));
  test.program->name = "evaluate";
  test.program->role = step.role;
  // The variables of the artifact, as buffers of this program.
  auto same = [&](uint32_t buffer) {
    test.program->buffers.push_back(
        std::make_unique<artifact::BufferT>(*step.buffers[buffer]));
    return uint32_t(test.program->buffers.size() - 1);
  };
  uint32_t w = same(variables.w), b = same(variables.b);
  uint32_t mask = test.input("mask", ElementType::f32, {rows});
  uint32_t x = test.input("x", ElementType::f32, {rows, features});
  uint32_t y = test.input("y", ElementType::f32, {rows});
  uint32_t sum = test.buffer(Space::replica, ElementType::f32, {});
  uint32_t count = test.buffer(Space::replica, ElementType::f32, {});
  test.output("error", sum);
  test.output("error", count);
  test.program->outputs[0]->kind = artifact::OutputKind::sum;
  test.program->outputs[1]->kind = artifact::OutputKind::count;
  test.launch("errors", {mask, x, y, w, b}, {sum, count});
  test.ret();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s REPLICAS FILE [hang|loop]\n", argv[0]);
    return 2;
  }
  auto replicas = uint32_t(std::atoi(argv[1]));
  TestProgram test(replicas);
  artifact::ArtifactT &tables = test.writer.tables;
  tables.name = "regression";
  tables.binaries.front()->segment =
      test.writer.addSegment(readFile(LOCKSTEP_TRAIN_KERNELS));
  tables.kernels.clear();
  for (const char *symbol : {"gradients", "update", "errors", "hang"}) {
    auto kernel = std::make_unique<artifact::KernelT>();
    kernel->symbol = symbol;
    tables.kernels.push_back(std::move(kernel));
  }
  addEvaluate(test, addStep(test, replicas, argc > 3 ? argv[3] : ""));
  Status status = test.writer.writeFile(argv[2]);
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return !status.ok();
}
