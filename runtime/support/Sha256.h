//===- Sha256.h - digests of bytes ------------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_SHA256_H
#define LOCKSTEP_RUNTIME_SUPPORT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace lockstep::runtime {

/// Incremental SHA-256.
class Sha256 {
public:
  using Digest = std::array<uint8_t, 32>;

  Sha256() { EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr); }

  void add(const void *bytes, size_t size) {
    EVP_DigestUpdate(context.get(), bytes, size);
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.data(), bytes.size());
  }

  /// Called once.
  Digest finish() {
    Digest digest{};
    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
    return digest;
  }

  static Digest of(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish();
  }

private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{
      EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

/// 64 digits, in lower case.
inline std::string toHex(std::span<const uint8_t, 32> digest) {
  std::string text;
  for (uint8_t byte : digest)
    text += fmt::format("{:02x}", byte);
  return text;
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_SHA256_H
