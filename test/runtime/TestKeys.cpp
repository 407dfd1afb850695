//===- TestKeys.cpp - keys for tests --------------------------------------===//

#include "TestKeys.h"

#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/pem.h>

namespace lockstep::runtime::test {

static std::string takeText(BIO *bio) {
  char *data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

static std::array<uint8_t, 32> filledWith(uint8_t byte) {
  std::array<uint8_t, 32> bytes;
  bytes.fill(byte);
  return bytes;
}

TestKey::TestKey(uint8_t seed) : TestKey(filledWith(seed)) {}

TestKey::TestKey(const std::array<uint8_t, 32> &secret) {
  EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                               secret.data(), secret.size());
  BIO *privateText = BIO_new(BIO_s_mem()), *publicText = BIO_new(BIO_s_mem());
  if (PEM_write_bio_PrivateKey(privateText, key, nullptr, nullptr, 0, nullptr,
                               nullptr) != 1 ||
      PEM_write_bio_PUBKEY(publicText, key) != 1)
    std::abort();
  privatePem = takeText(privateText);
  publicPem = takeText(publicText);
  EVP_PKEY_free(key);
}

SigningKey TestKey::signingKey() const {
  return *SigningKey::read(TextFile(privatePem).path());
}

std::vector<std::byte> signedBy(const TestKey &key,
                                std::vector<std::byte> file) {
  if (!signArtifact(file, key.signingKey()).ok())
    std::abort();
  return file;
}

} // namespace lockstep::runtime::test
