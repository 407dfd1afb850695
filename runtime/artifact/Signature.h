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
// The artifact itself, its `file_size` and its digest included, is the same
// with and without one. A file is signed if the 104 bytes at its end begin with
// the magic: to find the signature, nothing of the artifact has to be read.
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

/// A file, and who claims to have signed it. Refers to the memory of the file.
struct SplitFile {
  /// All bytes but the trailer: what is signed, and what is used.
  std::span<const std::byte> content;
  std::optional<Signature> signature;
};

SplitFile splitSignature(std::span<const std::byte> file);

/// Checks that the signature, if there is one, is of these contents. With
/// `trustedKeys`, there has to be one, by one of these keys. Errors:
/// `untrusted` without a signature by them, `corrupted` if it is of other
/// contents.
Status checkSignature(const SplitFile &file,
                      const std::optional<std::vector<PublicKey>> &trustedKeys);

/// Signs the artifact `file`; replaces the signature that it has, if any.
Status signArtifact(std::vector<std::byte> &file, const SigningKey &key);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_SIGNATURE_H
