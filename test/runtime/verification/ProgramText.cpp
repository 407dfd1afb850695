//===- ProgramText.cpp - small programs as text ---------------------------===//

#include "ProgramText.h"

#include "ProgramDeclarations.h"

#include <fstream>
#include <map>
#include <stdexcept>

namespace lockstep::runtime::verification::test {
namespace {

class Assembler : ProgramDeclarations {
public:
  std::vector<uint8_t> assemble(const std::string &text) {
    read(text);
    tables.locations.push_back("");
    for (size_t i = 0; i < lines.size(); ++i)
      tables.locations.push_back("line:" + std::to_string(i + 1));
    while (at < lines.size())
      if (!lines[at].empty() && lines[at][0] == "program")
        program(lines[at].at(1));
      else
        declaration();
    for (auto &program : tables.programs)
      program->channels = uint32_t(channels.size());
    tables.format_version = 1;
    flatbuffers::FlatBufferBuilder builder;
    artifact::FinishArtifactBuffer(builder,
                                   artifact::CreateArtifact(builder, &tables));
    return {builder.GetBufferPointer(),
            builder.GetBufferPointer() + builder.GetSize()};
  }

private:
  void program(const std::string &role) {
    auto owned = std::make_unique<artifact::ProgramT>();
    current = owned.get();
    owned->name = "step";
    owned->role = role;
    buffers.clear();
    registers.clear();
    ++at;
    block();
    add(artifact::ReturnT{});
    current->registers = uint32_t(registers.size());
    tables.programs.push_back(std::move(owned));
  }

  /// Statements up to the line that begins with "}", which is consumed; returns
  /// that line.
  Words block() {
    while (at < lines.size()) {
      Words words = lines[at];
      if (words.empty()) {
        ++at;
        continue;
      }
      if (words[0] == "}") {
        ++at;
        return words;
      }
      statement(words);
    }
    fail("expected }");
  }

  uint32_t here() const { return uint32_t(current->commands.size()); }

  template <typename T> T *add(T body) {
    auto command = std::make_unique<artifact::CommandT>();
    command->body.Set(std::move(body));
    command->location = uint32_t(at + 1);
    current->commands.push_back(std::move(command));
    return static_cast<T *>(current->commands.back()->body.value);
  }

  uint32_t buffer(const std::string &name) {
    auto found = buffers.find(name);
    if (found != buffers.end())
      return found->second;
    auto known = memories.find(name);
    if (known == memories.end()) {
      Memory memory;
      place(memory);
      known = memories.emplace(name, memory).first;
    }
    const Memory &memory = known->second;
    auto table = std::make_unique<artifact::BufferT>();
    table->space = memory.space;
    table->offset = memory.offset;
    table->size = memory.size;
    table->type = std::make_unique<artifact::TensorTypeT>();
    table->type->element = memory.element;
    if (memory.isWide)
      table->type->shape = {int64_t(memory.size)};
    uint32_t index = uint32_t(current->buffers.size());
    current->buffers.push_back(std::move(table));
    return buffers[name] = index;
  }

  uint32_t reg(const std::string &name) {
    if (name[0] != '%')
      fail("expected a register, found '" + name + "'");
    return registers.emplace(name, uint32_t(registers.size())).first->second;
  }

  uint32_t temporary() { return reg("%." + std::to_string(temporaries++)); }

  uint32_t channel(const std::string &name) {
    return channels.emplace(name, uint32_t(channels.size())).first->second;
  }

  uint32_t group(const std::string &name) {
    if (!groups.count(name))
      fail("unknown group '" + name + "'");
    return groups[name];
  }

  /// A register that holds a number, a buffer's element or another register's
  /// value.
  uint32_t operand(const std::string &word) {
    if (word[0] == '%')
      return reg(word);
    uint32_t index = temporary();
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      auto *set = add(artifact::SetRegisterT{});
      set->register_ = index;
      set->value = std::stoll(word);
    } else {
      auto *load = add(artifact::LoadRegisterT{});
      load->buffer = buffer(word);
      load->register_ = index;
    }
    return index;
  }

  void statement(const Words &words) {
    const std::string &verb = words[0];
    if (verb == "if")
      return conditional(words);
    if (verb == "while" || verb == "repeat")
      return loop(words);
    if (verb == "once") {
      uint32_t begin = here();
      add(artifact::OnceT{})->channel = channel(words.at(1));
      ++at;
      block();
      current->commands[begin]->body.AsOnce()->end = here();
      add(artifact::EndOnceT{});
      return;
    }
    simple(words);
    ++at;
  }

  void simple(const Words &words) {
    const std::string &verb = words[0];
    if (verb == "start") {
      start(words);
    } else if (verb == "wait") {
      add(artifact::WaitT{})->channel = channel(words.at(1));
    } else if (verb == "barrier") {
      auto *barrier = add(artifact::BarrierT{});
      barrier->channel = channel(words.at(1));
      barrier->group = group(words.at(2));
    } else if (verb == "set") {
      auto *set = add(artifact::SetRegisterT{});
      set->register_ = reg(words.at(1));
      set->value = std::stoll(words.at(2));
    } else if (verb == "add") {
      uint32_t source = operand(words.at(2));
      auto *sum = add(artifact::AddRegisterT{});
      sum->register_ = reg(words.at(1));
      sum->source = source;
    } else if (verb == "load") {
      auto *load = add(artifact::LoadRegisterT{});
      load->register_ = reg(words.at(1));
      load->buffer = buffer(words.at(2));
    } else if (verb == "launch") {
      launch(words);
    } else if (verb == "copy") {
      auto *copy = add(artifact::CopyT{});
      copy->source = buffer(words.at(1));
      copy->destination = buffer(words.at(3));
    } else if (verb == "next") {
      add(artifact::NextT{});
    } else if (verb == "return") {
      add(artifact::ReturnT{});
    } else if (verb == "break") {
      if (breaks.empty())
        fail("break outside of a loop");
      breaks.back().push_back(here());
      add(artifact::JumpT{});
    } else {
      fail("unknown word '" + verb + "'");
    }
  }

  void start(const Words &words) {
    artifact::StartT start;
    start.channel = channel(words.at(1));
    for (artifact::CollectiveKind kind : artifact::EnumValuesCollectiveKind())
      if (words.at(2) == artifact::EnumNameCollectiveKind(kind))
        start.kind = kind;
    if (words[2] == "all_reduce" || words[2] == "reduce" ||
        words[2] == "reduce_scatter")
      start.reduction = artifact::Reduction::max;
    start.group = group(words.at(3));
    size_t i = 4;
    if (i < words.size() && words[i] == "root") {
      start.root = std::stoi(words.at(i + 1));
      i += 2;
    }
    for (bool results = false; i < words.size(); ++i)
      if (words[i] == "->")
        results = true;
      else
        (results ? start.results : start.operands).push_back(buffer(words[i]));
    add(std::move(start));
  }

  void launch(const Words &words) {
    artifact::LaunchT launch;
    launch.kernel = kernelNumber(words.at(1));
    bool results = false;
    for (size_t i = 2; i < words.size(); ++i) {
      if (words[i] == "->") {
        results = true;
      } else if (words[i][0] == '%') {
        launch.registers.push_back(reg(words[i]));
      } else {
        launch.buffers.push_back(buffer(words[i]));
        ++(results ? launch.writes : launch.reads);
      }
    }
    add(std::move(launch));
  }

  /// A branch that is taken unless the condition holds; its target is set
  /// later.
  uint32_t branchUnless(const Words &condition) {
    if (condition.size() == 1) {
      uint32_t tested = buffer(condition[0]);
      add(artifact::BranchUnlessT{})->condition = tested;
    } else {
      uint32_t left = operand(condition.at(0)),
               right = operand(condition.at(2));
      auto *branch = add(artifact::BranchGreaterEqualT{});
      branch->lhs = left;
      branch->rhs = right;
    }
    return here() - 1;
  }

  void setTarget(uint32_t command, uint32_t target) {
    auto &body = current->commands[command]->body;
    if (auto *branch = body.AsBranchUnless())
      branch->target = target;
    else if (auto *compare = body.AsBranchGreaterEqual())
      compare->target = target;
    else
      body.AsJump()->target = target;
  }

  static Words inner(const Words &words) {
    return {words.begin() + 1, words.end() - 1};
  }

  void conditional(const Words &words) {
    uint32_t branch = branchUnless(inner(words));
    ++at;
    Words end = block();
    if (end.size() == 1)
      return setTarget(branch, here());
    uint32_t jump = here();
    add(artifact::JumpT{});
    setTarget(branch, here());
    block();
    setTarget(jump, here());
  }

  void loop(const Words &words) {
    uint32_t head, branch, counter = 0, one = 0;
    bool counts = words[0] == "repeat";
    if (counts) {
      counter = operand("0");
      one = operand("1");
      uint32_t count = operand(words.at(1));
      head = here();
      auto *compare = add(artifact::BranchGreaterEqualT{});
      compare->lhs = counter;
      compare->rhs = count;
      branch = head;
    } else {
      head = here();
      branch = branchUnless(inner(words));
    }
    breaks.emplace_back();
    ++at;
    block();
    if (counts) {
      auto *sum = add(artifact::AddRegisterT{});
      sum->register_ = counter;
      sum->source = one;
    }
    add(artifact::JumpT{})->target = head;
    setTarget(branch, here());
    for (uint32_t jump : breaks.back())
      setTarget(jump, here());
    breaks.pop_back();
  }

  artifact::ProgramT *current = nullptr;
  uint32_t temporaries = 0;
  std::map<std::string, uint32_t> channels, buffers, registers;
  std::vector<std::vector<uint32_t>> breaks;
};

} // namespace

std::vector<uint8_t> assemble(const std::string &text) {
  return Assembler().assemble(text);
}

std::vector<Case> readCases(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      std::string verdict = line.substr(3, line.find(':') - 3);
      Case::Verdict expected =
          verdict == "proven"     ? Case::Verdict::proven
          : verdict == "blocks"   ? Case::Verdict::blocks
          : verdict == "mismatch" ? Case::Verdict::mismatch
          : verdict == "not provable"
              ? Case::Verdict::unknown
              : throw std::runtime_error("unknown verdict: " + line);
      cases.push_back({{line.substr(line.find(':') + 2), ""}, expected});
    } else if (!cases.empty()) {
      cases.back().text += line + "\n";
    }
  }
  return cases;
}

} // namespace lockstep::runtime::verification::test
