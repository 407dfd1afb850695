//===- MakeCorpus.cpp - small artifacts to start fuzzing from -------------===//

#include "TestKeys.h"
#include "TestProgram.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

/// An artifact without native code (which would only make mutations hit the
/// wrong bytes).
static void build(TestProgram &p, int variant) {
  p.writer.tables.kernels.clear();
  p.writer.tables.binaries.clear();
  uint32_t n = p.reg(), one = p.reg(), two = p.reg();
  uint32_t a = p.variable("a", ElementType::f32, {4}, true);
  uint32_t r = p.buffer(Space::shared, ElementType::f32, {4});
  uint32_t flag = p.buffer(Space::replica, ElementType::i1, {});
  p.scalar("lr", ElementType::f32, {0, 0, 0, 0});
  p.input("x", ElementType::f32, {4});
  p.output("r", r);
  uint32_t channel = p.channel();
  p.setRegister(one, 1);
  p.setRegister(two, 2);
  uint32_t head = p.branchGreaterEqual(n, two);
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r},
          variant == 1 ? p.group({0, 1}) : 0);
  p.wait(channel);
  if (variant == 2) {
    uint32_t gathered = p.dynamicBuffer(Space::shared, ElementType::f32, {-1},
                                        {int32_t(n)}, 32);
    uint32_t part = p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                    {int32_t(n)}, 16);
    uint32_t second = p.channel();
    p.start(CollectiveKind::all_gather, Reduction::none, second, {part},
            {gathered});
    p.wait(second);
  }
  p.once(p.channel());
  uint32_t branch = p.branchUnless(flag);
  p.copy(r, p.variable("w", ElementType::f32, {4}));
  p.patch(branch);
  p.endOnce();
  p.barrier(p.channel());
  p.addRegister(n, one);
  p.jump(head);
  p.patch(head);
  p.ret();
}

/// The part of a server: it sends its shard of a variable and receives a sum.
static void buildServer(TestProgram &p) {
  p.program->commands.pop_back();
  uint32_t group = p.group({0, 1, 2});
  uint32_t pull = p.channel(), push = p.channel();
  uint32_t rows = p.buffer(Space::replica, ElementType::f32, {4});
  p.start(CollectiveKind::broadcast, Reduction::none, pull, {}, {rows}, group,
          0, 2);
  p.wait(pull);
  p.start(CollectiveKind::reduce, Reduction::sum, push, {rows}, {}, group, 0,
          2);
  p.wait(push);
  p.ret();
  p.role("server");
  uint32_t shard = p.variable("table/0", ElementType::f32, {4});
  p.writer.tables.variables.back()->shard =
      std::make_unique<lockstep::artifact::ShardT>();
  p.writer.tables.variables.back()->shard->of = "table";
  p.writer.tables.variables.back()->shard->rows = 4;
  uint32_t sum = p.buffer(Space::replica, ElementType::f32, {4});
  p.start(CollectiveKind::broadcast, Reduction::none, p.channel(pull), {shard},
          {}, group, 0, 2);
  p.wait(pull);
  p.start(CollectiveKind::reduce, Reduction::sum, p.channel(push), {}, {sum},
          group, 0, 2);
  p.wait(push);
  p.ret();
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  for (int variant = 0; variant < 4; ++variant) {
    // The writer of a test program holds the native code of the tests; start
    // from an empty one.
    TestProgram p(2);
    auto groups = std::move(p.writer.tables.groups);
    auto locations = p.writer.tables.locations;
    auto programs = std::move(p.writer.tables.programs);
    p.writer = ArtifactWriter();
    p.writer.tables.replicas = 2;
    p.writer.tables.groups = std::move(groups);
    p.writer.tables.locations = locations;
    p.writer.tables.programs = std::move(programs);
    build(p, variant);
    if (variant == 3)
      buildServer(p);
    Status status =
        p.file().empty()
            ? Status()
            : p.writer.writeFile(std::string(argv[1]) + "/small" +
                                 std::to_string(variant) + ".lockstep");
    if (!status.ok() || !p.error().empty()) {
      std::fprintf(stderr, "%s %s\n", status.message().c_str(),
                   p.error().c_str());
      return 1;
    }
    // By the key that the fuzz target trusts.
    std::vector<std::byte> file = signedBy(TestKey(1), p.file());
    std::ofstream(std::string(argv[1]) + "/signed" + std::to_string(variant) +
                      ".lockstep",
                  std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()),
               std::streamsize(file.size()));
  }
  return 0;
}
