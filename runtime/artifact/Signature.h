//===- Signature.h - signed artifacts ---------------------------*- C++ -*-===//
//
// A signed artifact is an artifact followed by a trailer of 104 bytes:
//
//   offset  bytes
//   0       8      "LKSTSIG1"
//   8       32     Ed25519 public key
//   40      64     its signature (RFC 8032, Ed25519 without prehash) of all
//                  bytes before the trailer
//
// The artifact, including its `file_size` and digest, does not depend on the
// trailer. A file is signed if its last 104 bytes begin with the magic, so the
// signature is found without reading the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_SIGNATURE_H
#define LOCKSTEP_RUNTIME_ARTIFACT_SIGNATURE_H

#include "runtime/artifact/Keys.h"

namespace lockstep::runtime {

inline constexpr size_t signatureTrailerSize = 104;

struct Signature {
  PublicKey key;
  SignatureBytes bytes{};
};

/// A file without its trailer, and its unverified signature. Refers to the
/// memory of the file.
struct SplitFile {
  /// All bytes except the trailer, which are those that are signed.
  std::span<const std::byte> content;
  std::optional<Signature> signature;
};

SplitFile splitSignature(std::span<const std::byte> file);

/// Verifies the signature of the contents, if there is one. With `trustedKeys`,
/// one by one of these keys is required. Errors: `untrusted` without it,
/// `corrupted` if the signature is of other contents.
Status checkSignature(const SplitFile &file,
                      const std::optional<std::vector<PublicKey>> &trustedKeys);

/// Signs the artifact `file`; replaces an existing signature.
Status signArtifact(std::vector<std::byte> &file, const SigningKey &key);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_SIGNATURE_H
