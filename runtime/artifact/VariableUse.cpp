//===- VariableUse.cpp - variables that a program needs -------------------===//

#include "runtime/artifact/VariableUse.h"

#include "runtime/schema/Types.h"

#include <map>
#include <vector>

namespace lockstep::runtime {

namespace {

using artifact::Buffer;
using artifact::CommandBody;
using artifact::Space;

std::string wholeName(const artifact::Variable &variable) {
  return variable.shard() ? variable.shard()->of()->str()
                          : variable.name()->str();
}

/// Variables have static shapes.
uint64_t sizeOf(const artifact::Variable &variable) {
  const artifact::TensorType &type = *variable.type();
  return type.shape() ? *staticBytes(type.element(), *type.shape())
                      : elementSize(type.element());
}

/// A set of variables, by index.
using Variables = std::vector<bool>;

void intersect(Variables &with, const Variables &other) {
  for (size_t i = 0; i < with.size(); ++i)
    with[i] = with[i] && other[i];
}

/// Follows the commands of one role's part of a program, in order: what has
/// been written on all paths to a command. Nothing that is written is unwritten
/// later, so that jumps back change nothing.
class Scan {
public:
  Scan(const artifact::Artifact &artifact, const artifact::Program &program)
      : artifact(artifact), program(program),
        accessed(program.buffers()->size()),
        written(artifact.variables()->size()), everything(written.size(), true),
        atEnd(everything) {
    for (uint32_t i = 0; i < accessed.size(); ++i)
      findVariables(i);
  }

  void scan(VariableUse &use) {
    const auto &commands = *program.commands();
    for (uint32_t at = 0; at < commands.size(); ++at) {
      if (auto joined = joins.find(at); joined != joins.end()) {
        intersect(written, joined->second);
        joins.erase(joined);
      }
      visit(at, *commands.Get(at), use);
    }
    // A variable may be an output where it is, without a command.
    written = atEnd;
    if (program.outputs())
      for (const artifact::Output *output : *program.outputs())
        read(output->buffer(), use);
  }
  bool writes(uint32_t variable) const { return atEnd[variable]; }

private:
  void visit(uint32_t at, const artifact::Command &command, VariableUse &use) {
    switch (command.body_type()) {
    case CommandBody::Launch: {
      const artifact::Launch &launch = *command.body_as_Launch();
      for (uint32_t i = 0; i < launch.reads(); ++i)
        read(launch.buffers()->Get(i), use);
      for (uint32_t i = 0; i < launch.writes(); ++i)
        write(launch.buffers()->Get(launch.reads() + i));
      return;
    }
    case CommandBody::Start: {
      const artifact::Start &start = *command.body_as_Start();
      if (start.operands())
        for (uint32_t buffer : *start.operands())
          read(buffer, use);
      if (start.results())
        for (uint32_t buffer : *start.results())
          write(buffer);
      return;
    }
    case CommandBody::Copy:
      read(command.body_as_Copy()->source(), use);
      return write(command.body_as_Copy()->destination());
    case CommandBody::LoadRegister:
      return read(command.body_as_LoadRegister()->buffer(), use);
    case CommandBody::BranchUnless:
      read(command.body_as_BranchUnless()->condition(), use);
      return branch(at, command.body_as_BranchUnless()->target());
    case CommandBody::BranchGreaterEqual:
      return branch(at, command.body_as_BranchGreaterEqual()->target());
    case CommandBody::Jump:
      branch(at, command.body_as_Jump()->target());
      written = everything;
      return;
    case CommandBody::Return:
      intersect(atEnd, written);
      written = everything;
      return;
    default:
      return;
    }
  }

  void branch(uint32_t at, uint32_t target) {
    if (target > at)
      intersect(joins.try_emplace(target, everything).first->second, written);
  }

  void read(uint32_t buffer, VariableUse &use) {
    for (auto [variable, isWhole] : accessed[buffer])
      if (!written[variable])
        use.read.insert(wholeName(*artifact.variables()->Get(variable)));
  }

  void write(uint32_t buffer) {
    for (auto [variable, isWhole] : accessed[buffer])
      if (isWhole)
        written[variable] = true;
  }

  /// Finds the variables with bytes in a buffer.
  void findVariables(uint32_t index) {
    const Buffer &buffer = *program.buffers()->Get(index);
    if (buffer.space() != Space::variable &&
        buffer.space() != Space::replica_variable)
      return;
    for (uint32_t i = 0; i < written.size(); ++i) {
      const artifact::Variable &variable = *artifact.variables()->Get(i);
      uint64_t begin = variable.offset(), end = begin + sizeOf(variable),
               bufferEnd = buffer.offset() + buffer.size();
      if (variable.space() == buffer.space() && isOfRole(variable) &&
          begin < bufferEnd && buffer.offset() < end)
        accessed[index].push_back(
            {i, buffer.offset() <= begin && end <= bufferEnd});
    }
  }

  bool isOfRole(const artifact::Variable &variable) const {
    if (!artifact.roles())
      return true;
    const artifact::Role *role = artifact.roles()->Get(variable.role());
    return role->name()->string_view() == program.role()->string_view();
  }

  struct Access {
    uint32_t variable;
    /// All of it.
    bool isWhole;
  };

  const artifact::Artifact &artifact;
  const artifact::Program &program;
  /// By buffer.
  std::vector<std::vector<Access>> accessed;
  /// Up to the current command; everything behind one that none follows.
  Variables written;
  const Variables everything;
  Variables atEnd;
  /// For later commands, what has been written on the paths that jump there.
  std::map<uint32_t, Variables> joins;
};

} // namespace

VariableUse variableUse(const artifact::Artifact &artifact,
                        std::string_view name) {
  VariableUse use;
  if (!artifact.variables())
    return use;
  std::vector<bool> isWritten(artifact.variables()->size());
  for (const artifact::Program *program : *artifact.programs()) {
    if (program->name()->string_view() != name || !program->buffers())
      continue;
    Scan scan(artifact, *program);
    scan.scan(use);
    for (uint32_t i = 0; i < isWritten.size(); ++i)
      isWritten[i] = isWritten[i] || scan.writes(i);
  }
  // A variable is written if all of its shards are.
  std::set<std::string> incomplete;
  for (uint32_t i = 0; i < isWritten.size(); ++i)
    (isWritten[i] ? use.written : incomplete)
        .insert(wholeName(*artifact.variables()->Get(i)));
  for (const std::string &variable : incomplete)
    use.written.erase(variable);
  return use;
}

} // namespace lockstep::runtime
