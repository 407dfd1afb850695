//===- Certificate.cpp - proofs that are kept -----------------------------===//

#include "runtime/verification/Certificate.h"

#include "runtime/artifact/Tables.h"
#include "runtime/support/Sha256.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace lockstep::runtime::verification {
namespace {

using artifact::CommandBody;
using artifact::count;

/// Numbers, hashed in blocks.
class Hash {
public:
  void add(uint64_t number) {
    numbers.push_back(number);
    if (numbers.size() == blockSize)
      flush();
  }
  void add(std::string_view text) {
    add(text.size());
    flush();
    hash.add(text.data(), text.size());
  }
  template <typename Number>
  void addAll(const flatbuffers::Vector<Number> *list) {
    add(count(list));
    for (uint32_t i = 0; i < count(list); ++i)
      add(uint64_t(list->Get(i)));
  }

  std::array<uint8_t, 32> finish() {
    flush();
    return hash.finish();
  }

private:
  static constexpr size_t blockSize = 1024;

  void flush() {
    hash.add(numbers.data(), numbers.size() * sizeof(uint64_t));
    numbers.clear();
  }

  Sha256 hash;
  std::vector<uint64_t> numbers;
};

void addCommand(Hash &hash, const artifact::Command &command) {
  hash.add(uint64_t(command.body_type()));
  switch (command.body_type()) {
  case CommandBody::Launch: {
    const artifact::Launch *launch = command.body_as_Launch();
    hash.add(launch->kernel());
    hash.addAll(launch->buffers());
    hash.add(launch->reads());
    hash.add(launch->writes());
    return hash.addAll(launch->registers());
  }
  case CommandBody::Start: {
    const artifact::Start *start = command.body_as_Start();
    for (uint64_t number :
         {uint64_t(start->kind()), uint64_t(start->reduction()),
          uint64_t(start->channel()), uint64_t(start->group()),
          uint64_t(start->axis()), uint64_t(start->root())})
      hash.add(number);
    hash.addAll(start->operands());
    return hash.addAll(start->results());
  }
  case CommandBody::Wait:
    return hash.add(command.body_as_Wait()->channel());
  case CommandBody::Barrier:
    hash.add(command.body_as_Barrier()->channel());
    return hash.add(command.body_as_Barrier()->group());
  case CommandBody::Once:
    hash.add(command.body_as_Once()->end());
    return hash.add(command.body_as_Once()->channel());
  case CommandBody::Jump:
    return hash.add(command.body_as_Jump()->target());
  case CommandBody::BranchUnless:
    hash.add(command.body_as_BranchUnless()->condition());
    return hash.add(command.body_as_BranchUnless()->target());
  case CommandBody::BranchGreaterEqual:
    hash.add(command.body_as_BranchGreaterEqual()->lhs());
    hash.add(command.body_as_BranchGreaterEqual()->rhs());
    return hash.add(command.body_as_BranchGreaterEqual()->target());
  case CommandBody::SetRegister:
    hash.add(command.body_as_SetRegister()->register_());
    return hash.add(uint64_t(command.body_as_SetRegister()->value()));
  case CommandBody::AddRegister:
    hash.add(command.body_as_AddRegister()->register_());
    return hash.add(command.body_as_AddRegister()->source());
  case CommandBody::LoadRegister:
    hash.add(command.body_as_LoadRegister()->register_());
    return hash.add(command.body_as_LoadRegister()->buffer());
  case CommandBody::Copy:
    hash.add(command.body_as_Copy()->source());
    return hash.add(command.body_as_Copy()->destination());
  case CommandBody::EndOnce:
  case CommandBody::Return:
  case CommandBody::Next:
  case CommandBody::NONE:
    return;
  }
}

void addProgram(Hash &hash, const artifact::Program &program) {
  hash.add(program.role()->string_view());
  hash.add(program.registers());
  hash.add(program.channels());
  hash.add(count(program.buffers()));
  for (uint32_t i = 0; i < count(program.buffers()); ++i) {
    const artifact::Buffer *buffer = program.buffers()->Get(i);
    hash.add(uint64_t(buffer->space()));
    hash.add(buffer->offset());
    hash.add(buffer->size());
    hash.addAll(buffer->size_registers());
    hash.add(buffer->type() != nullptr);
    if (buffer->type()) {
      hash.add(uint64_t(buffer->type()->element()));
      hash.addAll(buffer->type()->shape());
    }
  }
  hash.add(count(program.commands()));
  for (uint32_t i = 0; i < count(program.commands()); ++i)
    addCommand(hash, *program.commands()->Get(i));
}

void addFormulas(Hash &hash, const artifact::Artifact &artifact) {
  hash.add(count(artifact.operations()));
  for (uint32_t i = 0; i < count(artifact.operations()); ++i)
    hash.add(artifact.operations()->Get(i)->string_view());
  hash.add(count(artifact.kernels()));
  for (uint32_t i = 0; i < count(artifact.kernels()); ++i) {
    const auto *formulas = artifact.kernels()->Get(i)->formulas();
    hash.add(count(formulas));
    for (uint32_t j = 0; j < count(formulas); ++j) {
      const artifact::Formula *formula = formulas->Get(j);
      for (uint32_t number : {formula->result(), formula->arguments(),
                              formula->value(), count(formula->steps())})
        hash.add(number);
      for (uint32_t k = 0; k < count(formula->steps()); ++k) {
        const artifact::FormulaStep *step = formula->steps()->Get(k);
        hash.add(step->operation());
        hash.add(uint64_t(step->value()));
        hash.addAll(step->operands());
      }
    }
  }
}

std::unique_ptr<artifact::CertificateT>
makeCertificate(const artifact::Artifact &artifact, const std::string &name,
                const Proof &proof) {
  auto certificate = std::make_unique<artifact::CertificateT>();
  certificate->program = name;
  certificate->verdict = proof.verdict;
  certificate->method = proof.method;
  certificate->states = proof.states;
  certificate->steps = proof.steps;
  std::array<uint8_t, 32> digest = proofDigest(artifact, name);
  certificate->digest = std::make_unique<artifact::Digest>(
      flatbuffers::span<const uint8_t, 32>(digest.data(), digest.size()));
  for (const DynamicBranch &branch : proof.dynamic) {
    auto table = std::make_unique<artifact::DynamicBranchT>();
    table->role = branch.role;
    table->command = branch.command;
    table->differs = branch.differs;
    certificate->dynamic.push_back(std::move(table));
  }
  return certificate;
}

} // namespace

std::array<uint8_t, 32> proofDigest(const artifact::Artifact &artifact,
                                    std::string_view name) {
  Hash hash;
  hash.add(name);
  hash.add(artifact.replicas());
  hash.add(count(artifact.roles()));
  for (uint32_t i = 0; i < count(artifact.roles()); ++i) {
    const artifact::Role *role = artifact.roles()->Get(i);
    hash.add(role->name()->string_view());
    hash.add(role->first_rank());
    hash.add(role->ranks());
  }
  hash.add(count(artifact.groups()));
  for (uint32_t i = 0; i < count(artifact.groups()); ++i)
    hash.addAll(artifact.groups()->Get(i)->ranks());
  addFormulas(hash, artifact);
  for (uint32_t i = 0; i < count(artifact.programs()); ++i)
    if (const artifact::Program *program = artifact.programs()->Get(i);
        program->name()->string_view() == name)
      addProgram(hash, *program);
  return hash.finish();
}

Expected<std::vector<NamedProof>> certify(artifact::ArtifactT &tables,
                                          const Options &options) {
  tables.certificates.clear();
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.Finish(artifact::CreateArtifact(builder, &tables));
  const auto &artifact =
      *flatbuffers::GetRoot<artifact::Artifact>(builder.GetBufferPointer());
  std::vector<NamedProof> proofs;
  for (const std::string &name : programNames(artifact)) {
    Expected<Proof> proof = prove(artifact, name, options);
    if (!proof)
      return proof.status().withContext(fmt::format("program '{}'", name));
    tables.certificates.push_back(makeCertificate(artifact, name, *proof));
    proofs.push_back({name, std::move(*proof)});
  }
  return proofs;
}

const artifact::Certificate *findCertificate(const artifact::Artifact &artifact,
                                             std::string_view name) {
  for (uint32_t i = 0; i < count(artifact.certificates()); ++i)
    if (artifact.certificates()->Get(i)->program()->string_view() == name)
      return artifact.certificates()->Get(i);
  return nullptr;
}

CertificateState certificateState(const artifact::Artifact &artifact,
                                  std::string_view name) {
  const artifact::Certificate *certificate = findCertificate(artifact, name);
  if (!certificate)
    return CertificateState::absent;
  std::array<uint8_t, 32> digest = proofDigest(artifact, name);
  bool same =
      certificate->digest() &&
      std::memcmp(certificate->digest(), digest.data(), digest.size()) == 0;
  return same ? CertificateState::matches : CertificateState::otherCommands;
}

Status checkProven(const artifact::Artifact &artifact, std::string_view name) {
  std::vector<std::string_view> roles;
  for (uint32_t i = 0; i < count(artifact.programs()); ++i)
    if (artifact.programs()->Get(i)->name()->string_view() == name)
      roles.push_back(artifact.programs()->Get(i)->role()->string_view());
  std::string why = fmt::format("the programs of roles {} meet each other",
                                fmt::join(roles, ", "));
  if (roles.size() == 1) {
    Expected<Proof> proof = proveOneOrder(artifact, name);
    if (!proof || proof->verdict == Verdict::proven)
      return proof.status();
    why = std::move(proof->reason);
  }
  const artifact::Certificate *certificate = findCertificate(artifact, name);
  if (!certificate)
    return unsupported(
        fmt::format("{}: expected a certificate that its ranks do not wait for "
                    "each other for ever, found none [E_NOT_PROVABLE]",
                    why));
  if (certificate->verdict() != Verdict::proven)
    return unsupported(fmt::format(
        "its ranks may wait for each other for ever: the verdict of its "
        "certificate is {} [{}]",
        certificate->verdict() == Verdict::wrong ? "wrong" : "not provable",
        certificate->verdict() == Verdict::wrong ? "E_DEADLOCK"
                                                 : "E_NOT_PROVABLE"));
  if (certificateState(artifact, name) != CertificateState::matches)
    return corrupted("its certificate is about other commands, buffers, groups "
                     "or roles than these [E_NOT_PROVABLE]");
  return Status::success();
}

} // namespace lockstep::runtime::verification
