//===- FuzzArtifact.cpp - any bytes as an artifact ------------------------===//
//
// The digest is repaired before each load: otherwise nothing behind it would ever be reached. What
// is accepted is decoded too, as far as that needs no kernels.
//
// `lockstep-fuzz-corpus FOLDER` writes artifacts to start from.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Roles.h"
#include "runtime/executor/Program.h"
#include "runtime/verification/Verification.h"

#include <cstring>
#include <vector>

using namespace lockstep;
using namespace lockstep::runtime;

static void repair(std::vector<std::byte> &file) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(file.data()), file.size(), 16);
  if (file.size() < 64 || !artifact::ArtifactBufferHasIdentifier(file.data()) || !artifact::VerifyArtifactBuffer(verifier))
    return;
  const artifact::Artifact *root = artifact::GetArtifact(file.data());
  if (!root->digest())
    return;
  auto *table = reinterpret_cast<const flatbuffers::Table *>(root);
  if (const uint8_t *size = table->GetAddressOf(artifact::Artifact::VT_FILE_SIZE)) {
    uint64_t value = file.size();
    std::memcpy(const_cast<uint8_t *>(size), &value, sizeof(value));
  }
  auto *digest = reinterpret_cast<std::byte *>(const_cast<artifact::Digest *>(root->digest()));
  auto hash = artifactDigest(file, size_t(digest - file.data()));
  std::memcpy(digest, hash.data(), hash.size());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *begin = reinterpret_cast<const std::byte *>(data);
  std::vector<std::byte> file(begin, begin + size);
  repair(file);
  // What nobody has proven is decoded all the same, and proven here.
  (void)Artifact::fromMemory(file).ok();
  auto artifact = Artifact::fromMemory(file, {.allowUnproven = true});
  if (!artifact || !(*artifact)->tables().programs() || (*artifact)->tables().replicas() > 1024)
    return 0;
  for (const artifact::Program *program : *(*artifact)->tables().programs())
    for (const RoleInfo &role : rolesOf((*artifact)->tables()))
      if (role.name == program->role()->string_view())
        (void)Program::decode(**artifact, *program, role.ranks, CpuBinary(), {}).ok();
  for (const RoleInfo &role : rolesOf((*artifact)->tables()))
    if (role.ranks.end() > 1024)
      return 0;
  for (const std::string &name : verification::programNames((*artifact)->tables()))
    (void)verification::prove((*artifact)->tables(), name, {.maxSteps = 10'000}).ok();
  return 0;
}
