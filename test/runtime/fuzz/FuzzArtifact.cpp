//===- FuzzArtifact.cpp - any bytes as an artifact ------------------------===//
//
// The digest and the signature are repaired before each load: otherwise the
// code after these checks would not be reached. Accepted artifacts are also
// decoded, as far as possible without kernels.
//
// `lockstep-fuzz-corpus FOLDER` writes artifacts to start from.
//
//===----------------------------------------------------------------------===//

#include "TestKeys.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/executor/Program.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/verification/Verification.h"

#include <cstring>
#include <vector>

using namespace lockstep;
using namespace lockstep::runtime;

/// Corrects the size and digest of the artifact.
static void repairContent(std::vector<std::byte> &file) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(file.data()),
                                 file.size(), 16);
  if (file.size() < 64 || !artifact::ArtifactBufferHasIdentifier(file.data()) ||
      !artifact::VerifyArtifactBuffer(verifier))
    return;
  const artifact::Artifact *root = artifact::GetArtifact(file.data());
  if (!root->digest())
    return;
  auto *table = reinterpret_cast<const flatbuffers::Table *>(root);
  if (const uint8_t *size =
          table->GetAddressOf(artifact::Artifact::VT_FILE_SIZE)) {
    uint64_t value = file.size();
    std::memcpy(const_cast<uint8_t *>(size), &value, sizeof(value));
  }
  auto *digest = reinterpret_cast<std::byte *>(
      const_cast<artifact::Digest *>(root->digest()));
  auto hash = artifactDigest(file, size_t(digest - file.data()));
  std::memcpy(digest, hash.data(), hash.size());
}

static const test::TestKey key(1);
static const std::optional trusted = std::vector{key.publicKey()};

/// Repairs the content, and renews a signature.
static void repair(std::vector<std::byte> &file) {
  SplitFile parts = splitSignature(file);
  bool isSigned = parts.signature.has_value();
  file.resize(parts.content.size());
  repairContent(file);
  static const SigningKey signingKey = key.signingKey();
  if (isSigned && !signArtifact(file, signingKey).ok())
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *begin = reinterpret_cast<const std::byte *>(data);
  std::vector<std::byte> file(begin, begin + size);
  (void)Artifact::fromMemory(file).ok();
  // Artifacts accepted under a key were signed by it.
  auto isAccepted = [&] {
    return Artifact::fromMemory(file,
                                {.allowUnproven = true, .trustedKeys = trusted})
        .ok();
  };
  if (isAccepted() && file != test::signedBy(key, file))
    std::abort();
  repair(file);
  (void)isAccepted();
  // Unproven programs are decoded as well, and proven here.
  (void)Artifact::fromMemory(file).ok();
  auto artifact = Artifact::fromMemory(file, {.allowUnproven = true});
  if (!artifact || !(*artifact)->tables().programs() ||
      (*artifact)->tables().replicas() > 1024)
    return 0;
  for (const artifact::Program *program : *(*artifact)->tables().programs())
    for (const RoleInfo &role : rolesOf((*artifact)->tables()))
      if (role.name == program->role()->string_view())
        (void)Program::decode(**artifact, *program, role.ranks, CpuBinary(), {})
            .ok();
  for (const RoleInfo &role : rolesOf((*artifact)->tables()))
    if (role.ranks.end() > 1024)
      return 0;
  for (const std::string &name :
       verification::programNames((*artifact)->tables()))
    (void)verification::prove((*artifact)->tables(), name).ok();
  return 0;
}
