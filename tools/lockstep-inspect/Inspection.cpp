//===- Inspection.cpp - tables of the whole artifact ----------------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include "runtime/schema/Types.h"
#include "tools/support/ProofText.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::inspect {

namespace {

template <typename T> T read(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// The value of a scalar's default; elements without a C++ type are shown as
/// their bytes.
std::string valueText(artifact::ElementType element,
                      const flatbuffers::Vector<uint8_t> &bytes) {
  using artifact::ElementType;
  const uint8_t *data = bytes.data();
  switch (element) {
  case ElementType::i1:
    return data[0] ? "true" : "false";
  case ElementType::i8:
    return fmt::format("{}", read<int8_t>(data));
  case ElementType::i16:
    return fmt::format("{}", read<int16_t>(data));
  case ElementType::i32:
    return fmt::format("{}", read<int32_t>(data));
  case ElementType::i64:
    return fmt::format("{}", read<int64_t>(data));
  case ElementType::u8:
    return fmt::format("{}", read<uint8_t>(data));
  case ElementType::u16:
    return fmt::format("{}", read<uint16_t>(data));
  case ElementType::u32:
    return fmt::format("{}", read<uint32_t>(data));
  case ElementType::u64:
    return fmt::format("{}", read<uint64_t>(data));
  case ElementType::f32:
    return fmt::format("{}", read<float>(data));
  case ElementType::f64:
    return fmt::format("{}", read<double>(data));
  case ElementType::f16:
  case ElementType::bf16:
    break;
  }
  return fmt::format("0x{:04x}", read<uint16_t>(data));
}

uint64_t typeBytes(const artifact::TensorType *type) {
  return type->shape()
             ? runtime::staticBytes(type->element(), *type->shape()).value_or(0)
             : runtime::elementSize(type->element());
}

/// Applies `f` to each element of a vector that may be absent.
template <typename Vector, typename Function>
void forEach(const Vector *vector, Function f) {
  if (vector)
    for (const auto *element : *vector)
      f(*element);
}

ProofInfo inspectProof(const runtime::Artifact &artifact,
                       const std::string &program) {
  const artifact::Artifact &tables = artifact.tables();
  ProofInfo info;
  info.program = program;
  auto proof = runtime::verification::prove(tables, program);
  // An open artifact is consistent.
  if (!proof)
    return info;
  info.verdict = tools::verdictText(*proof);
  info.method = proof->method;
  for (const auto &branch : proof->dynamic) {
    OpenConditionInfo open{branch.role, "", branch.command};
    forEach(tables.programs(), [&](const artifact::Program &of) {
      if (of.name()->string_view() == program &&
          of.role()->string_view() == open.role && of.commands() &&
          open.command < of.commands()->size())
        open.line =
            artifact.location(of.commands()->Get(open.command)->location());
    });
    info.open.push_back(std::move(open));
  }
  return info;
}

} // namespace

std::string typeText(const artifact::TensorType *type) {
  if (!type)
    return "";
  std::vector<int64_t> shape;
  if (type->shape())
    shape.assign(type->shape()->begin(), type->shape()->end());
  return runtime::typeName(type->element(), shape);
}

std::vector<RoleInfo> rolesOf(const artifact::Artifact &tables) {
  std::vector<RoleInfo> roles;
  forEach(tables.roles(), [&](const artifact::Role &role) {
    roles.push_back({role.name()->str(),
                     role.first_rank(),
                     role.ranks(),
                     role.variable_size(),
                     role.replica_variable_size(),
                     {}});
  });
  if (roles.empty())
    roles.push_back({"worker",
                     0,
                     tables.replicas(),
                     tables.variable_size(),
                     tables.replica_variable_size(),
                     {}});
  for (RoleInfo &role : roles)
    forEach(tables.programs(), [&](const artifact::Program &program) {
      if (program.role()->string_view() == role.name)
        role.programs.push_back(program.name()->str());
    });
  return roles;
}

const RoleInfo &roleOfRank(const std::vector<RoleInfo> &roles, uint32_t rank) {
  for (const RoleInfo &role : roles)
    if (rank >= role.firstRank && rank - role.firstRank < role.ranks)
      return role;
  return roles.front();
}

Inspection inspect(const runtime::Artifact &artifact, const std::string &file) {
  const artifact::Artifact &tables = artifact.tables();
  Inspection result;
  result.file = file;
  result.name = tables.name() ? tables.name()->str() : "";
  result.digest = artifact.digestHex();
  result.signer = artifact.signer() ? artifact.signer()->fingerprint() : "";
  result.formatVersion = tables.format_version();
  result.replicas = tables.replicas();
  result.fileSize = tables.file_size();
  result.roles = rolesOf(tables);
  result.variableSize = result.roles.front().variableSize;
  result.replicaVariableSize = result.roles.front().replicaVariableSize;
  result.scalarSize = tables.scalar_size();
  if (tables.constants() >= 0)
    result.constantSize = artifact.segment(tables.constants()).size();

  forEach(tables.binaries(), [&](const artifact::Binary &binary) {
    BinaryInfo info{binary.target()->str(),
                    artifact.segment(binary.segment()).size(), std::nullopt};
    if (binary.cubin() >= 0)
      info.cubinBytes = artifact.segment(uint32_t(binary.cubin())).size();
    result.binaries.push_back(std::move(info));
  });
  forEach(tables.groups(), [&](const artifact::Group &group) {
    GroupInfo info{group.name()->str(), {}};
    if (group.ranks())
      info.ranks.assign(group.ranks()->begin(), group.ranks()->end());
    result.groups.push_back(std::move(info));
  });
  forEach(tables.variables(), [&](const artifact::Variable &variable) {
    VariableInfo info{
        variable.name()->str(),
        typeText(variable.type()),
        artifact::EnumNameSpace(variable.space()),
        artifact::EnumNameSynchronization(variable.synchronization()),
        artifact::EnumNameAggregation(variable.aggregation()),
        result.roles[variable.role()].name,
        std::nullopt,
        std::nullopt,
        variable.offset(),
        typeBytes(variable.type()),
        variable.initial() >= 0};
    if (const artifact::Shard *shard = variable.shard()) {
      const auto &shape = variable.whole_shape() ? *variable.whole_shape()
                                                 : *variable.type()->shape();
      info.shard = {shard->of()->str(), shard->first_row(),
                    static_cast<uint64_t>(shape.Get(0))};
    }
    if (variable.whole_shape())
      info.wholeType =
          fmt::format("{}x{}", fmt::join(*variable.whole_shape(), "x"),
                      runtime::elementName(variable.type()->element()));
    result.variables.push_back(std::move(info));
  });
  forEach(tables.scalars(), [&](const artifact::Scalar &scalar) {
    ScalarInfo info{scalar.name()->str(), typeText(scalar.type()),
                    std::nullopt};
    if (scalar.default_value() && scalar.default_value()->size() > 0)
      info.defaultValue =
          valueText(scalar.type()->element(), *scalar.default_value());
    result.scalars.push_back(std::move(info));
  });
  forEach(tables.kernels(), [&](const artifact::Kernel &kernel) {
    result.kernels.push_back({kernel.symbol()->str(),
                              std::string(artifact.location(kernel.location())),
                              kernel.grid(), kernel.flops(), kernel.bytes(),
                              0});
  });
  forEach(tables.programs(), [&](const artifact::Program &program) {
    result.programs.push_back(inspectProgram(artifact, program));
    for (const CommandInfo &command : result.programs.back().commands)
      if (command.kernel)
        ++result.kernels[*command.kernel].launches;
  });
  for (const std::string &name : runtime::verification::programNames(tables))
    result.proofs.push_back(inspectProof(artifact, name));
  auto text = [](const flatbuffers::String *string) {
    return string ? string->str() : std::string();
  };
  forEach(tables.remarks(), [&](const artifact::Remark &remark) {
    result.remarks.push_back({text(remark.stage()), text(remark.kind()),
                              text(remark.message()),
                              std::string(artifact.location(remark.location())),
                              text(remark.program())});
  });
  for (ProgramInfo &program : result.programs) {
    findUpdates(program);
    findRemarks(program, result.remarks);
    simulateProgram(artifact, program);
  }
  return result;
}

} // namespace lockstep::inspect
