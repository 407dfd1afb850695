//===- TestKeys.h - keys for tests ------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_TESTKEYS_H
#define LOCKSTEP_TEST_RUNTIME_TESTKEYS_H

#include "runtime/artifact/Signature.h"
#include "test/runtime/fuzz/MemoryFile.h"

#include <string>
#include <vector>

namespace lockstep::runtime::test {

/// A key pair as OpenSSL writes it, deterministic in the seed.
struct TestKey {
  explicit TestKey(uint8_t seed);
  /// The pair whose private key is these 32 bytes.
  explicit TestKey(const std::array<uint8_t, 32> &secret);

  SigningKey signingKey() const;
  PublicKey publicKey() const { return signingKey().publicKey(); }

  std::string privatePem, publicPem;
};

/// A file in memory with this text.
struct TextFile : MemoryFile {
  explicit TextFile(const std::string &text)
      : MemoryFile(reinterpret_cast<const uint8_t *>(text.data()),
                   text.size()) {}
};

/// The artifact, signed.
std::vector<std::byte> signedBy(const TestKey &key,
                                std::vector<std::byte> file);

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_TESTKEYS_H
