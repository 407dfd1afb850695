//===- KeysTest.cpp - keys from files, and trust --------------------------===//

#include "TestKeys.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/pem.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

template <size_t size>
std::array<uint8_t, size> bytesOfHex(const std::string &hex) {
  std::array<uint8_t, size> bytes{};
  for (size_t i = 0; i < size; ++i)
    bytes[i] =
        static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

/// The message of an error of a file with this text, without the file's name.
template <typename Read>
std::string errorOf(Read read, const std::string &text) {
  TextFile file(text);
  std::string message = read(file.path()).status().message();
  std::string name = "'" + file.path() + "': ";
  EXPECT_EQ(message.substr(0, name.size()), name);
  return message.substr(std::min(name.size(), message.size()));
}
std::string publicError(const std::string &text) {
  return errorOf(readPublicKeys, text);
}
std::string privateError(const std::string &text) {
  return errorOf(SigningKey::read, text);
}

/// A private key on a curve that is not Ed25519, protected by a passphrase if
/// there is one, and its public key.
TestKey otherKind(const char *passphrase = nullptr) {
  TestKey result(1);
  EVP_PKEY *key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  auto write = [&](auto writeTo) {
    BIO *bio = BIO_new(BIO_s_mem());
    EXPECT_EQ(writeTo(bio), 1);
    char *data = nullptr;
    long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<size_t>(size));
    BIO_free(bio);
    return text;
  };
  result.privatePem = write([&](BIO *bio) {
    return PEM_write_bio_PKCS8PrivateKey(
        bio, key, passphrase ? EVP_aes_128_cbc() : nullptr, passphrase,
        passphrase ? 4 : 0, nullptr, nullptr);
  });
  result.publicPem =
      write([&](BIO *bio) { return PEM_write_bio_PUBKEY(bio, key); });
  EVP_PKEY_free(key);
  return result;
}

/// LOCKSTEP_TRUST in the environment, as long as this object.
class TrustVariable {
public:
  explicit TrustVariable(const std::string &value) {
    ::setenv("LOCKSTEP_TRUST", value.c_str(), 1);
  }
  ~TrustVariable() { ::unsetenv("LOCKSTEP_TRUST"); }
};

// RFC 8032, section 7.1, test 2.
TEST(Keys, signAsTheStandardSays) {
  TestKey key(bytesOfHex<32>(
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  auto publicBytes = bytesOfHex<32>(
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  auto signature = bytesOfHex<64>(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  std::array<std::byte, 1> message = {std::byte(0x72)},
                           other = {std::byte(0x73)};
  EXPECT_EQ(key.publicKey().bytes, publicBytes);
  EXPECT_EQ(*key.signingKey().sign(message), signature);
  EXPECT_TRUE(key.publicKey().verifies(message, signature));
  EXPECT_FALSE(key.publicKey().verifies(other, signature));
  EXPECT_FALSE(TestKey(1).publicKey().verifies(message, signature));
  // Of `openssl pkey -pubin -outform DER | sha256sum`.
  EXPECT_EQ(key.publicKey().fingerprint(),
            "deb2ded39dc26fce0e6085b6fc34bf6b5941913bbfe2ea614113cff9e004c170");
}

TEST(Keys, severalInOneFile) {
  TestKey first(1), second(2);
  TextFile file("keys of ours\n" + first.publicPem + "and of others\n" +
                second.publicPem);
  auto keys = readPublicKeys(file.path());
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  EXPECT_EQ(*keys,
            (std::vector<PublicKey>{first.publicKey(), second.publicKey()}));
}

// PEM blocks other than Ed25519 public keys are never ignored, since they were
// put there intentionally.
TEST(Keys, errorsOfPublicKeys) {
  TestKey key(1), other = otherKind();
  EXPECT_EQ(readPublicKeys("/none").status().message(),
            "'/none': cannot open: No such file or directory");
  EXPECT_EQ(readPublicKeys("/").status().message(),
            "'/': cannot read: Is a directory");
  EXPECT_EQ(publicError(""), "expected public keys in PEM, found none");
  EXPECT_EQ(publicError("ssh-ed25519 AAAA"),
            "expected public keys in PEM, found none");
  EXPECT_EQ(publicError(key.publicPem + key.privatePem),
            "PEM block 2: expected 'PUBLIC KEY', found 'PRIVATE KEY'");
  EXPECT_EQ(publicError(other.publicPem),
            "PEM block 1: expected an Ed25519 key, found one of type 'EC'");
  // Damaged keys are reported with OpenSSL's reason.
  EXPECT_EQ(publicError(key.publicPem.substr(0, 60)).substr(0, 22),
            "PEM block 1: damaged: ");
  EXPECT_EQ(publicError(
                "-----BEGIN PUBLIC KEY-----\nMCo=\n-----END PUBLIC KEY-----\n")
                .substr(0, 22),
            "PEM block 1: damaged: ");
  EXPECT_EQ(publicError(std::string((1 << 20) + 1, ' ')),
            "expected a PEM file of at most 1048576 bytes, found a larger one");
}

TEST(Keys, errorsOfPrivateKeys) {
  TestKey key(1);
  EXPECT_EQ(SigningKey::read("/none").status().message(),
            "'/none': cannot open: No such file or directory");
  EXPECT_EQ(privateError(""), "expected a private key in PEM, found none");
  EXPECT_EQ(privateError(key.publicPem),
            "expected 'PRIVATE KEY', found 'PUBLIC KEY'");
  EXPECT_EQ(privateError(otherKind().privatePem),
            "expected an Ed25519 key, found one of type 'EC'");
  EXPECT_EQ(privateError(otherKind("pass").privatePem),
            "expected a private key without a passphrase, found one that is "
            "protected by it");
  EXPECT_EQ(privateError(key.privatePem.substr(0, 60)).substr(0, 9),
            "damaged: ");
}

TEST(Keys, trustByOptionAndEnvironment) {
  TestKey first(1), second(2);
  TextFile one(first.publicPem), two(second.publicPem);
  ::unsetenv("LOCKSTEP_TRUST");
  EXPECT_FALSE(findTrustedKeys(std::nullopt, "--trust")->has_value());
  EXPECT_EQ((*findTrustedKeys(one.path(), "--trust"))->front(),
            first.publicKey());
  TrustVariable variable(two.path());
  EXPECT_EQ((*findTrustedKeys(std::nullopt, "--trust"))->front(),
            second.publicKey());
  // The option wins.
  EXPECT_EQ((*findTrustedKeys(one.path(), "--trust"))->front(),
            first.publicKey());
  EXPECT_EQ((*findTrustedKeys(one.path(), "--trust"))->size(), 1u);
}

// An empty name does not mean to trust all keys.
TEST(Keys, errorsSayWhereTheNameIsFrom) {
  EXPECT_EQ(findTrustedKeys("", "--trust").status().message(),
            "--trust: expected a file with public keys, found an empty name");
  EXPECT_EQ(findTrustedKeys("/none", "--trust").status().message(),
            "--trust: '/none': cannot open: No such file or directory");
  {
    TrustVariable variable("");
    EXPECT_EQ(findTrustedKeys(std::nullopt, "--trust").status().message(),
              "LOCKSTEP_TRUST: expected a file with public keys, found an "
              "empty name");
    EXPECT_EQ(findTrustedKeys("", "--trust").status().message(),
              "--trust: expected a file with public keys, found an empty name");
  }
  TrustVariable variable("/none");
  EXPECT_EQ(findTrustedKeys(std::nullopt, "--trust").status().message(),
            "LOCKSTEP_TRUST: '/none': cannot open: No such file or directory");
}

} // namespace
