//===- Keys.h - keys that sign artifacts ------------------------*- C++ -*-===//
//
// Ed25519 keys (RFC 8032), read from PEM files as `openssl genpkey -algorithm
// ed25519` and `openssl pkey -pubout` write them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_KEYS_H
#define LOCKSTEP_RUNTIME_ARTIFACT_KEYS_H

#include "runtime/support/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <openssl/types.h>

namespace lockstep::runtime {

/// An Ed25519 signature.
using SignatureBytes = std::array<uint8_t, 64>;

/// An Ed25519 public key. Any 32 bytes are accepted; without a private key for
/// them, no signature verifies.
struct PublicKey {
  std::array<uint8_t, 32> bytes{};

  /// SHA-256 of the key in DER (a SubjectPublicKeyInfo, RFC 8410), in
  /// hexadecimal: `openssl pkey -pubin -in FILE -outform DER | sha256sum`
  /// prints the same.
  std::string fingerprint() const;
  /// Whether `signature` is one of `message` by this key.
  bool verifies(std::span<const std::byte> message,
                const SignatureBytes &signature) const;

  bool operator==(const PublicKey &) const = default;
};

/// All public keys of a PEM file, at least one. Errors name the file: not
/// readable, no keys, damaged, or with PEM blocks other than Ed25519 public
/// keys.
Expected<std::vector<PublicKey>> readPublicKeys(const std::string &path);

/// The trusted keys: those in the file `given`; without it, in the file named
/// by the environment variable LOCKSTEP_TRUST; without both, none, and every
/// artifact is executed. Errors begin with `option`, the name of the option for
/// `given`, or with the name of the variable; an empty file name is an error.
Expected<std::optional<std::vector<PublicKey>>>
findTrustedKeys(const std::optional<std::string> &given,
                const std::string &option);

/// An Ed25519 private key.
class SigningKey {
public:
  /// Reads the first block of a PEM file. Errors name the file: not readable,
  /// no private key, damaged, protected by a passphrase, or of another kind.
  static Expected<SigningKey> read(const std::string &path);

  PublicKey publicKey() const;
  /// Signs a message; the result is deterministic.
  Expected<SignatureBytes> sign(std::span<const std::byte> message) const;

private:
  explicit SigningKey(EVP_PKEY *key);

  std::shared_ptr<EVP_PKEY> key;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_KEYS_H
