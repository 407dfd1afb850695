//===- TestProgram.cpp ----------------------------------------------------===//

#include "TestProgram.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace lockstep::runtime::test {

std::vector<std::byte> readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  stream.read(reinterpret_cast<char *>(bytes.data()),
              std::streamsize(bytes.size()));
  EXPECT_TRUE(stream.good()) << path;
  return bytes;
}

static std::unique_ptr<artifact::TensorTypeT> type(ElementType element,
                                                   std::vector<int64_t> shape) {
  auto result = std::make_unique<artifact::TensorTypeT>();
  result->element = element;
  result->shape = std::move(shape);
  return result;
}

/// Whether sessions of these tests run on a GPU, which has kernels of its own.
static bool isOnGpu() {
  const char *device = std::getenv("LOCKSTEP_DEVICE");
  return device && std::string_view(device).starts_with("cuda");
}

TestProgram::TestProgram(uint32_t replicas) {
  artifact::ArtifactT &tables = writer.tables;
  tables.name = "test";
  tables.replicas = replicas;
  tables.locations = {"", "train.py:42", "train.py:43"};
  auto all = std::make_unique<artifact::GroupT>();
  all->name = "all";
  tables.groups.push_back(std::move(all));
  auto owned = std::make_unique<artifact::ProgramT>();
  owned->name = "main";
  owned->role = "worker";
  program = owned.get();
  tables.programs.push_back(std::move(owned));
  addBinary("x86-64", LOCKSTEP_TEST_KERNELS);
  if (isOnGpu())
    addBinary("sm_80", LOCKSTEP_TEST_PTX, "cuda");
  for (const char *symbol :
       {"call", "call_on", "call_tiles", "add_scalar", "add", "add_64",
        "add_half", "descend", "set_by_way_of_nan", "count_tiles",
        "twice_tiles", "nothing"}) {
    auto kernel = std::make_unique<artifact::KernelT>();
    kernel->symbol = symbol;
    kernel->grid = std::string_view(symbol).ends_with("_tiles") ? 64 : 1;
    tables.kernels.push_back(std::move(kernel));
  }
}

void TestProgram::addBinary(const char *target, const char *path,
                            const char *device) {
  auto binary = std::make_unique<artifact::BinaryT>();
  binary->target = target;
  if (device)
    binary->device = device;
  binary->segment = writer.addSegment(readFile(path));
  writer.tables.binaries.push_back(std::move(binary));
}

uint32_t TestProgram::role(const std::string &name, uint32_t ranks) {
  artifact::ArtifactT &tables = writer.tables;
  auto add = [&](const std::string &role, uint32_t first, uint32_t count) {
    auto owned = std::make_unique<artifact::RoleT>();
    owned->name = role;
    owned->first_rank = first;
    owned->ranks = count;
    tables.roles.push_back(std::move(owned));
  };
  if (tables.roles.empty()) {
    add("worker", 0, tables.replicas);
    std::swap(tables.roles[0]->variable_size, tables.variable_size);
    std::swap(tables.roles[0]->replica_variable_size,
              tables.replica_variable_size);
  }
  uint32_t first = tables.roles.back()->first_rank + tables.roles.back()->ranks;
  add(name, first, ranks);
  auto owned = std::make_unique<artifact::ProgramT>();
  owned->name = program->name;
  owned->role = name;
  program = owned.get();
  tables.programs.push_back(std::move(owned));
  return first;
}

void TestProgram::in(const std::string &role) {
  for (const auto &candidate : writer.tables.programs)
    if (candidate->role == role)
      program = candidate.get();
}

uint32_t TestProgram::roleIndex() const {
  for (uint32_t i = 0; i < writer.tables.roles.size(); ++i)
    if (writer.tables.roles[i]->name == program->role)
      return i;
  return 0;
}

uint64_t &TestProgram::spaceSize(Space space) {
  static uint64_t none;
  bool hasRoles = !writer.tables.roles.empty();
  switch (space) {
  case Space::replica:
    return program->replica_size;
  case Space::shared:
    return program->shared_size;
  case Space::variable:
    return hasRoles ? writer.tables.roles[roleIndex()]->variable_size
                    : writer.tables.variable_size;
  case Space::replica_variable:
    return hasRoles ? writer.tables.roles[roleIndex()]->replica_variable_size
                    : writer.tables.replica_variable_size;
  case Space::input:
    return program->input_size;
  case Space::scalar:
    return writer.tables.scalar_size;
  case Space::constant:
  case Space::rank:
    break;
  }
  return none;
}

uint32_t TestProgram::buffer(Space space, ElementType element,
                             std::vector<int64_t> shape) {
  uint64_t bytes = staticBytes(element, shape).value();
  return dynamicBuffer(space, element, std::move(shape), {}, bytes);
}

uint32_t TestProgram::dynamicBuffer(Space space, ElementType element,
                                    std::vector<int64_t> shape,
                                    std::vector<int32_t> registers,
                                    uint64_t bytes) {
  auto buffer = std::make_unique<artifact::BufferT>();
  buffer->space = space;
  buffer->offset = spaceSize(space) = alignUp(spaceSize(space), 64);
  buffer->size = bytes;
  buffer->type = type(element, std::move(shape));
  buffer->size_registers = std::move(registers);
  spaceSize(space) += bytes;
  program->buffers.push_back(std::move(buffer));
  return uint32_t(program->buffers.size() - 1);
}

uint32_t TestProgram::variable(const std::string &name, ElementType element,
                               std::vector<int64_t> shape, bool perReplica) {
  Space space = perReplica ? Space::replica_variable : Space::variable;
  uint32_t index = buffer(space, element, shape);
  auto variable = std::make_unique<artifact::VariableT>();
  variable->name = name;
  variable->type = type(element, std::move(shape));
  variable->space = space;
  variable->offset = program->buffers[index]->offset;
  variable->role = roleIndex();
  writer.tables.variables.push_back(std::move(variable));
  return index;
}

uint32_t TestProgram::scalar(const std::string &name, ElementType element,
                             std::vector<uint8_t> defaultValue) {
  uint32_t index = buffer(Space::scalar, element, {});
  auto scalar = std::make_unique<artifact::ScalarT>();
  scalar->name = name;
  scalar->type = type(element, {});
  scalar->offset = program->buffers[index]->offset;
  scalar->default_value = std::move(defaultValue);
  writer.tables.scalars.push_back(std::move(scalar));
  return index;
}

uint32_t TestProgram::input(const std::string &name, ElementType element,
                            std::vector<int64_t> shape) {
  uint32_t index = buffer(Space::input, element, shape);
  auto binding = std::make_unique<artifact::BindingT>();
  binding->name = name;
  binding->type = type(element, std::move(shape));
  binding->offset = program->buffers[index]->offset;
  program->inputs.push_back(std::move(binding));
  return index;
}

void TestProgram::output(const std::string &name, uint32_t buffer) {
  auto output = std::make_unique<artifact::OutputT>();
  output->name = name;
  output->buffer = buffer;
  program->outputs.push_back(std::move(output));
}

void TestProgram::constantOutput(const std::string &program,
                                 const std::string &name,
                                 const std::string &value) {
  auto output = std::make_unique<artifact::ConstantOutputT>();
  output->program = program;
  output->name = name;
  output->value = value;
  writer.tables.constant_outputs.push_back(std::move(output));
}

uint32_t TestProgram::group(std::vector<uint32_t> ranks) {
  auto group = std::make_unique<artifact::GroupT>();
  group->name = "part";
  group->ranks = std::move(ranks);
  writer.tables.groups.push_back(std::move(group));
  return uint32_t(writer.tables.groups.size() - 1);
}

template <typename T> uint32_t TestProgram::add(T body) {
  auto command = std::make_unique<artifact::CommandT>();
  command->body.Set(std::move(body));
  command->location = 1;
  program->commands.push_back(std::move(command));
  return uint32_t(program->commands.size() - 1);
}

uint32_t TestProgram::launch(const std::string &symbol,
                             std::vector<uint32_t> reads,
                             std::vector<uint32_t> writes,
                             std::vector<uint32_t> registers) {
  artifact::LaunchT body;
  for (uint32_t i = 0; i < writer.tables.kernels.size(); ++i)
    if (writer.tables.kernels[i]->symbol == symbol)
      body.kernel = i;
  body.reads = uint32_t(reads.size());
  body.writes = uint32_t(writes.size());
  body.buffers = std::move(reads);
  body.buffers.insert(body.buffers.end(), writes.begin(), writes.end());
  body.registers = std::move(registers);
  return add(std::move(body));
}

uint32_t TestProgram::call(HostFunction function, std::vector<uint32_t> reads,
                           std::vector<uint32_t> writes, bool tiles) {
  // Kernels that call the host are in an image of their own, since no GPU loads
  // it: only the driver's stand-in does.
  for (auto &binary : writer.tables.binaries)
    if (binary->device == "cuda" && !std::exchange(callsHost, true))
      binary->segment = writer.addSegment(readFile(LOCKSTEP_TEST_HOST_PTX));
  bool hasBuffer = !reads.empty() || !writes.empty();
  const char *symbol = tiles ? "call_tiles" : hasBuffer ? "call_on" : "call";
  // The address is a constant of the artifact: it is loaded by the process that
  // has built it.
  auto address = std::make_unique<artifact::BufferT>();
  address->space = Space::constant;
  address->offset = constants.size();
  address->size = sizeof(function);
  address->type = type(ElementType::i64, {});
  std::span<const std::byte> bytes = bytesOf(function);
  constants.insert(constants.end(), bytes.begin(), bytes.end());
  program->buffers.push_back(std::move(address));
  reads.insert(reads.begin(), uint32_t(program->buffers.size() - 1));
  return launch(symbol, std::move(reads), std::move(writes));
}

uint32_t TestProgram::start(CollectiveKind kind, Reduction reduction,
                            uint32_t channel, std::vector<uint32_t> operands,
                            std::vector<uint32_t> results, uint32_t group,
                            int32_t axis, int32_t root,
                            std::vector<int32_t> sources) {
  artifact::StartT body;
  body.kind = kind;
  body.reduction = reduction;
  body.channel = channel;
  body.group = group;
  body.operands = std::move(operands);
  body.results = std::move(results);
  body.axis = axis;
  body.root = root;
  body.sources = std::move(sources);
  return add(std::move(body));
}

uint32_t TestProgram::wait(uint32_t channel) {
  artifact::WaitT body;
  body.channel = channel;
  return add(body);
}

uint32_t TestProgram::barrier(uint32_t channel, uint32_t group) {
  artifact::BarrierT body;
  body.channel = channel;
  body.group = group;
  return add(body);
}

uint32_t TestProgram::once(uint32_t channel) {
  artifact::OnceT body;
  body.channel = channel;
  return openOnce = add(body);
}

uint32_t TestProgram::endOnce() {
  program->commands[openOnce]->body.AsOnce()->end = here();
  return add(artifact::EndOnceT());
}

uint32_t TestProgram::jump(uint32_t target) {
  artifact::JumpT body;
  body.target = target;
  return add(body);
}

uint32_t TestProgram::branchUnless(uint32_t condition, uint32_t target) {
  artifact::BranchUnlessT body;
  body.condition = condition;
  body.target = target;
  return add(body);
}

uint32_t TestProgram::branchGreaterEqual(uint32_t lhs, uint32_t rhs,
                                         uint32_t target) {
  artifact::BranchGreaterEqualT body;
  body.lhs = lhs;
  body.rhs = rhs;
  body.target = target;
  return add(body);
}

uint32_t TestProgram::setRegister(uint32_t index, int64_t value) {
  artifact::SetRegisterT body;
  body.register_ = index;
  body.value = value;
  return add(body);
}

uint32_t TestProgram::addRegister(uint32_t index, uint32_t source) {
  artifact::AddRegisterT body;
  body.register_ = index;
  body.source = source;
  return add(body);
}

uint32_t TestProgram::next() { return add(artifact::NextT()); }

uint32_t TestProgram::loadRegister(uint32_t index, uint32_t buffer) {
  artifact::LoadRegisterT body;
  body.register_ = index;
  body.buffer = buffer;
  return add(body);
}

uint32_t TestProgram::copy(uint32_t source, uint32_t destination) {
  artifact::CopyT body;
  body.source = source;
  body.destination = destination;
  return add(body);
}

uint32_t TestProgram::ret() { return add(artifact::ReturnT()); }

artifact::KernelT &TestProgram::kernel(std::string_view symbol) {
  for (const auto &kernel : writer.tables.kernels)
    if (kernel->symbol == symbol)
      return *kernel;
  ADD_FAILURE() << "there is no kernel '" << symbol << "'";
  return *writer.tables.kernels.front();
}

void TestProgram::patch(uint32_t branch) {
  artifact::CommandBodyUnion &body = program->commands[branch]->body;
  if (auto *jump = body.AsJump())
    jump->target = here();
  else if (auto *unless = body.AsBranchUnless())
    unless->target = here();
  else
    body.AsBranchGreaterEqual()->target = here();
}

std::vector<std::byte> TestProgram::file() {
  if (!constants.empty() && writer.tables.constants == -1)
    writer.tables.constants = int32_t(writer.addSegment(constants));
  Expected<std::vector<std::byte>> file = writer.finish();
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(*file);
}

std::shared_ptr<const Artifact>
TestProgram::artifact(const VerifyOptions &options) {
  Expected<std::shared_ptr<const Artifact>> result =
      Artifact::fromMemory(file(), options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result ? *result : nullptr;
}

std::string TestProgram::error(const VerifyOptions &options) {
  return Artifact::fromMemory(file(), options).status().message();
}

std::unique_ptr<Session> TestProgram::session(SessionOptions options,
                                              const VerifyOptions &verify) {
  Expected<std::unique_ptr<Session>> result =
      Session::create(artifact(verify), std::move(options));
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result ? std::move(*result) : nullptr;
}

bool isOnHostDevice() {
  Expected<std::shared_ptr<Device>> device = openDevice("");
  return device && (*device)->isHost();
}

std::string runningText(unsigned replica, std::string_view command) {
  return isOnHostDevice()
             ? fmt::format("replica {}: running command {}", replica, command)
             : fmt::format("its device: running command {}", command);
}

std::string withoutDevices(std::string report) {
  for (size_t at; (at = report.find("\n  its device: ")) != std::string::npos;)
    report.erase(at, report.find('\n', at + 1) - at);
  return report;
}

std::vector<std::byte> smallFile() {
  TestProgram p(2);
  p.writer = ArtifactWriter();
  auto owned = std::make_unique<artifact::ProgramT>();
  owned->name = "main";
  owned->role = "worker";
  p.program = owned.get();
  p.writer.tables.replicas = 2;
  p.writer.tables.locations = {"", "train.py:42"};
  p.writer.tables.programs.push_back(std::move(owned));
  p.group({0, 1});
  std::vector<std::byte> constants = {std::byte(1), std::byte(2), std::byte(3),
                                      std::byte(4)};
  p.writer.tables.constants = int32_t(p.writer.addSegment(constants));
  uint32_t a = p.variable("a", ElementType::f32, {4}, true);
  uint32_t r = p.buffer(Space::shared, ElementType::f32, {4});
  p.scalar("lr", ElementType::f32, {0, 0, 0, 0});
  p.input("x", ElementType::f32, {4});
  p.output("r", r);
  uint32_t channel = p.channel();
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {r});
  p.wait(channel);
  p.ret();
  return p.file();
}

} // namespace lockstep::runtime::test
