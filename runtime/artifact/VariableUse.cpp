//===- VariableUse.cpp - variables that a program needs -------------------===//

#include "runtime/artifact/VariableUse.h"

#include "runtime/schema/Types.h"

#include <vector>

namespace lockstep::runtime {

namespace {

using artifact::Buffer;
using artifact::CommandBody;
using Indices = flatbuffers::Vector<uint32_t>;

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

/// Follows the commands of one role's part of a program, in order.
class Scan {
public:
  Scan(const artifact::Artifact &artifact, const artifact::Program &program)
      : artifact(artifact), program(program),
        isWritten(artifact.variables()->size()) {}

  void scan(VariableUse &use) {
    for (const artifact::Command *command : *program.commands())
      visit(*command, use);
  }
  bool writes(uint32_t variable) const { return isWritten[variable]; }

private:
  void visit(const artifact::Command &command, VariableUse &use) {
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
      isCertain = false;
      return;
    case CommandBody::BranchGreaterEqual:
    case CommandBody::Jump:
      isCertain = false;
      return;
    default:
      return;
    }
  }

  /// The variables with bytes in a buffer.
  template <typename Visit> void forEach(uint32_t index, Visit visit) {
    const Buffer &buffer = *program.buffers()->Get(index);
    for (uint32_t i = 0; i < isWritten.size(); ++i) {
      const artifact::Variable &variable = *artifact.variables()->Get(i);
      if (variable.space() != buffer.space() || !isOfRole(variable))
        continue;
      uint64_t end = variable.offset() + sizeOf(variable);
      if (variable.offset() < buffer.offset() + buffer.size() &&
          buffer.offset() < end)
        visit(i, variable,
              buffer.offset() <= variable.offset() &&
                  buffer.offset() + buffer.size() >= end);
    }
  }

  void read(uint32_t buffer, VariableUse &use) {
    forEach(buffer, [&](uint32_t i, const artifact::Variable &variable, bool) {
      if (!isWritten[i])
        use.read.insert(wholeName(variable));
    });
  }

  void write(uint32_t buffer) {
    forEach(buffer, [&](uint32_t i, const artifact::Variable &, bool isWhole) {
      if (isWhole && isCertain)
        isWritten[i] = true;
    });
  }

  bool isOfRole(const artifact::Variable &variable) const {
    if (!artifact.roles())
      return true;
    const artifact::Role *role = artifact.roles()->Get(variable.role());
    return role->name()->string_view() == program.role()->string_view();
  }

  const artifact::Artifact &artifact;
  const artifact::Program &program;
  /// For each variable of the artifact, whether a command has written all of
  /// it.
  std::vector<bool> isWritten;
  /// Whether each command up to here is executed.
  bool isCertain = true;
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
