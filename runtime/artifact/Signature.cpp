//===- Signature.cpp - signed artifacts -----------------------------------===//

#include "runtime/artifact/Signature.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::runtime {

static constexpr std::string_view magic = "LKSTSIG1";
static_assert(magic.size() + sizeof(PublicKey::bytes) +
                  sizeof(SignatureBytes) ==
              signatureTrailerSize);

SplitFile splitSignature(std::span<const std::byte> file) {
  if (file.size() < signatureTrailerSize)
    return {file, std::nullopt};
  std::span<const std::byte> trailer = file.last(signatureTrailerSize);
  if (std::memcmp(trailer.data(), magic.data(), magic.size()) != 0)
    return {file, std::nullopt};
  Signature signature;
  std::memcpy(signature.key.bytes.data(), trailer.data() + magic.size(),
              signature.key.bytes.size());
  std::memcpy(signature.bytes.data(),
              trailer.data() + signatureTrailerSize - signature.bytes.size(),
              signature.bytes.size());
  return {file.first(file.size() - signatureTrailerSize), signature};
}

Status
checkSignature(const SplitFile &file,
               const std::optional<std::vector<PublicKey>> &trustedKeys) {
  const std::optional<Signature> &signature = file.signature;
  if (trustedKeys && !signature)
    return untrusted(
        "not signed: expected a signature by a trusted key, found none");
  if (trustedKeys && std::find(trustedKeys->begin(), trustedKeys->end(),
                               signature->key) == trustedKeys->end()) {
    std::vector<std::string> expected;
    for (const PublicKey &key : *trustedKeys)
      expected.push_back(key.fingerprint());
    return untrusted(fmt::format(
        "signed by a key that is not trusted: expected {}, found {}",
        fmt::join(expected, " or "), signature->key.fingerprint()));
  }
  if (signature && !signature->key.verifies(file.content, signature->bytes))
    return corrupted(
        fmt::format("altered: its bytes are not those that key {} has signed",
                    signature->key.fingerprint()));
  return Status::success();
}

Status signArtifact(std::vector<std::byte> &file, const SigningKey &key) {
  file.resize(splitSignature(file).content.size());
  Expected<SignatureBytes> signature = key.sign(file);
  if (!signature)
    return signature.status();
  auto append = [&](const auto &bytes) {
    std::span<const std::byte> added = std::as_bytes(std::span(bytes));
    file.insert(file.end(), added.begin(), added.end());
  };
  append(magic);
  append(key.publicKey().bytes);
  append(*signature);
  return Status::success();
}

} // namespace lockstep::runtime
