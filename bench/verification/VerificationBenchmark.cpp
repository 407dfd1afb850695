//===- VerificationBenchmark.cpp - cost of the proof ----------------------===//
//
// Programs of 1,000 to 100,000 commands, a collective in each 20, as one role
// (straight, and with a loop every 1,000 commands whose trip count is a host
// scalar) and as workers and a server. Prints the minimum time of several runs
// for each command, and the peak memory that the proof allocates. With
// `--json`, for plots.
//
//===----------------------------------------------------------------------===//

#include "runtime/verification/Verification.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <malloc.h>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace lockstep;
using namespace lockstep::runtime::verification;

//===----------------------------------------------------------------------===//
// Memory: bytes currently allocated, and their maximum
//===----------------------------------------------------------------------===//

static size_t allocated = 0, mostAllocated = 0;

static void *allocate(size_t size) {
  void *memory = std::malloc(size);
  if (!memory)
    throw std::bad_alloc();
  allocated += malloc_usable_size(memory);
  mostAllocated = std::max(mostAllocated, allocated);
  return memory;
}

static void release(void *memory) {
  allocated -= malloc_usable_size(memory);
  std::free(memory);
}

void *operator new(size_t size) { return allocate(size); }
void *operator new[](size_t size) { return allocate(size); }
void operator delete(void *memory) noexcept { release(memory); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete[](void *memory, size_t) noexcept { release(memory); }

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

enum class Shape : uint8_t { straight, loops, server };

constexpr uint32_t commandsOfCollective = 20, commandsOfLoop = 1000;

class Writer {
public:
  Writer(artifact::ProgramT &program, bool isServer, Shape shape, uint32_t size)
      : program(program) {
    program.name = "step";
    program.role = isServer ? "server" : "worker";
    program.replica_size = 1024;
    for (artifact::Space space :
         {artifact::Space::replica, artifact::Space::replica,
          artifact::Space::scalar}) {
      auto buffer = std::make_unique<artifact::BufferT>();
      buffer->space = space;
      buffer->offset =
          space == artifact::Space::scalar ? 0 : program.buffers.size() * 512;
      buffer->size = 4;
      buffer->type = std::make_unique<artifact::TensorTypeT>();
      buffer->type->element = artifact::ElementType::i32;
      program.buffers.push_back(std::move(buffer));
    }
    // Trip count, counter and step.
    program.registers = 3;
    add(artifact::LoadRegisterT())->buffer = 2;
    setRegister(2, 1);
    uint32_t end = 0;
    while (program.commands.size() + 2 * commandsOfCollective < size) {
      bool loops = shape != Shape::straight && program.commands.size() >= end;
      if (loops)
        beginLoop();
      end = uint32_t(program.commands.size()) + commandsOfLoop;
      do
        block();
      while (loops
                 ? program.commands.size() < end &&
                       program.commands.size() + 2 * commandsOfCollective < size
                 : program.commands.size() + 2 * commandsOfCollective < size);
      if (loops)
        endLoop();
    }
    add(artifact::ReturnT());
    program.channels = channel;
  }

private:
  template <typename Table> Table *add(Table table) {
    auto command = std::make_unique<artifact::CommandT>();
    command->body.Set(std::move(table));
    program.commands.push_back(std::move(command));
    return static_cast<Table *>(program.commands.back()->body.value);
  }

  void block() {
    uint32_t launches = commandsOfCollective - 2;
    for (uint32_t i = 0; i < launches; ++i) {
      artifact::LaunchT launch;
      launch.buffers = {0, 1};
      launch.reads = launch.writes = 1;
      add(std::move(launch));
    }
    artifact::StartT start;
    start.kind = artifact::CollectiveKind::all_reduce;
    start.reduction = artifact::Reduction::sum;
    start.channel = channel;
    start.operands = {1};
    start.results = {0};
    add(std::move(start));
    add(artifact::WaitT())->channel = channel++;
  }

  void setRegister(uint32_t index, int64_t value) {
    auto *set = add(artifact::SetRegisterT());
    set->register_ = index;
    set->value = value;
  }

  void beginLoop() {
    setRegister(1, 0);
    head = uint32_t(program.commands.size());
    exit = add(artifact::BranchGreaterEqualT());
    exit->lhs = 1;
  }

  void endLoop() {
    auto *next = add(artifact::AddRegisterT());
    next->register_ = 1;
    next->source = 2;
    add(artifact::JumpT())->target = head;
    exit->target = uint32_t(program.commands.size());
  }

  artifact::ProgramT &program;
  uint32_t channel = 0, head = 0;
  artifact::BranchGreaterEqualT *exit = nullptr;
};

artifact::ArtifactT makeTables(Shape shape, uint32_t size) {
  artifact::ArtifactT tables;
  tables.replicas = 4;
  tables.scalar_size = 64;
  auto kernel = std::make_unique<artifact::KernelT>();
  kernel->symbol = "kernel";
  tables.kernels.push_back(std::move(kernel));
  auto group = std::make_unique<artifact::GroupT>();
  group->name = "all";
  uint32_t roles = shape == Shape::server ? 2 : 1;
  if (roles == 2) {
    group->ranks = {0, 1, 2, 3, 4};
    for (uint32_t i = 0; i < roles; ++i) {
      auto role = std::make_unique<artifact::RoleT>();
      role->name = i ? "server" : "worker";
      role->first_rank = i ? 4 : 0;
      role->ranks = i ? 1 : 4;
      tables.roles.push_back(std::move(role));
    }
  }
  tables.groups.push_back(std::move(group));
  for (uint32_t i = 0; i < roles; ++i) {
    tables.programs.push_back(std::make_unique<artifact::ProgramT>());
    Writer(*tables.programs.back(), i == 1, shape, size / roles);
  }
  return tables;
}

struct Measured {
  double seconds = 0;
  size_t bytes = 0;
};

/// Processor time of this thread: others may be running.
double processorTime() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

Measured measure(const std::function<bool()> &run) {
  Measured best;
  for (int round = 0; round < 7; ++round) {
    size_t before = mostAllocated = allocated;
    double begin = processorTime();
    if (!run()) {
      fmt::print(stderr,
                 "lockstep-verification-benchmark: error: expected a proof\n");
      std::exit(1);
    }
    double seconds = processorTime() - begin;
    best = {round ? std::min(best.seconds, seconds) : seconds,
            mostAllocated - before};
  }
  return best;
}

} // namespace

int main(int argc, char **argv) {
  bool json = argc > 1 && !std::strcmp(argv[1], "--json");
  if (!json)
    fmt::print("{:<9} {:>9} {:>12} {:>10} {:>12} {:>12}\n", "programs",
               "commands", "collectives", "time ms", "ns/command", "B/command");
  for (auto [shape, name] :
       {std::pair(Shape::straight, "straight"),
        std::pair(Shape::loops, "loops"), std::pair(Shape::server, "server")})
    for (uint32_t size : {1'000u, 3'000u, 10'000u, 30'000u, 100'000u}) {
      artifact::ArtifactT object = makeTables(shape, size);
      flatbuffers::FlatBufferBuilder builder;
      builder.Finish(artifact::CreateArtifact(builder, &object));
      const auto &tables =
          *flatbuffers::GetRoot<artifact::Artifact>(builder.GetBufferPointer());
      // As in a load.
      Measured found =
          measure([&] { return checkProven(tables, "step").ok(); });
      uint32_t collectives = size / commandsOfCollective;
      if (json)
        fmt::print("{{\"programs\": \"{}\", \"commands\": {}, \"collectives\": "
                   "{}, \"seconds\": {:.9f}, \"bytes\": {}}}\n",
                   name, size, collectives, found.seconds, found.bytes);
      else
        fmt::print("{:<9} {:>9} {:>12} {:>10.3f} {:>12.1f} {:>12.1f}\n", name,
                   size, collectives, found.seconds * 1e3,
                   found.seconds * 1e9 / size, double(found.bytes) / size);
    }
}
