//===- Keys.cpp - keys that sign artifacts --------------------------------===//

#include "runtime/artifact/Keys.h"

#include "runtime/support/Sha256.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace lockstep::runtime {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

/// The text of a PEM file, which may be a secret.
struct PemText {
  explicit PemText(size_t size) : text(size) {}
  PemText(PemText &&) = default;
  ~PemText() { OPENSSL_cleanse(text.data(), text.size()); }

  Bio open() const {
    return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
            BIO_free};
  }

  std::vector<char> text;
};

Expected<PemText> readPem(const std::string &path) {
  std::unique_ptr<std::FILE, decltype(&std::fclose)> file(
      std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file)
    return systemError(fmt::format("cannot open: {}", std::strerror(errno)));
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  // Large enough for any realistic number of trusted keys.
  constexpr size_t largest = 1 << 20;
  PemText pem(largest + 1);
  size_t size = std::fread(pem.text.data(), 1, pem.text.size(), file.get());
  if (std::ferror(file.get()))
    return systemError(fmt::format("cannot read: {}", std::strerror(errno)));
  if (size > largest)
    return invalidArgument(fmt::format(
        "expected a PEM file of at most {} bytes, found a larger one",
        largest));
  pem.text.resize(size);
  return pem;
}

/// OpenSSL's reason for the last failure.
std::string lastError() {
  const char *reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason ? reason : "unknown reason";
}

bool isEndOfPem() {
  unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM &&
         ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

/// A PEM block: the label of its first line, and its bytes.
struct PemBlock {
  std::string name;
  std::vector<unsigned char> bytes;
};

/// The next PEM block; none at the end.
Expected<std::optional<PemBlock>> readBlock(BIO *bio) {
  char *name = nullptr, *header = nullptr;
  unsigned char *data = nullptr;
  long size = 0;
  ERR_clear_error();
  if (PEM_read_bio(bio, &name, &header, &data, &size) != 1) {
    if (!isEndOfPem())
      return invalidArgument(fmt::format("damaged: {}", lastError()));
    ERR_clear_error();
    return std::optional<PemBlock>();
  }
  PemBlock block{name, {data, data + size}};
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_clear_free(data, static_cast<size_t>(size));
  return std::optional(std::move(block));
}

/// Decodes a block with this label to an Ed25519 key by `decode`, a function of
/// OpenSSL.
Expected<Key> decodeKey(const PemBlock &block, const char *name,
                        EVP_PKEY *(*decode)(EVP_PKEY **, const unsigned char **,
                                            long)) {
  if (block.name != name)
    return invalidArgument(
        fmt::format("expected '{}', found '{}'", name, block.name));
  const unsigned char *position = block.bytes.data(),
                      *end = position + block.bytes.size();
  Key key(decode(nullptr, &position, end - position), EVP_PKEY_free);
  if (!key || position != end)
    return invalidArgument(fmt::format("damaged: {}", lastError()));
  if (EVP_PKEY_is_a(key.get(), "ED25519"))
    return key;
  const char *kind = EVP_PKEY_get0_type_name(key.get());
  return invalidArgument(
      fmt::format("expected an Ed25519 key, found one of type '{}'",
                  kind ? kind : "unknown"));
}

PublicKey toPublicKey(const EVP_PKEY *key) {
  PublicKey result;
  size_t size = result.bytes.size();
  EVP_PKEY_get_raw_public_key(key, result.bytes.data(), &size);
  return result;
}

Key openPublicKey(const PublicKey &key) {
  return {EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr,
                                      key.bytes.data(), key.bytes.size()),
          EVP_PKEY_free};
}

const unsigned char *toBytes(std::span<const std::byte> message) {
  return reinterpret_cast<const unsigned char *>(message.data());
}

} // namespace

std::string PublicKey::fingerprint() const {
  Key key = openPublicKey(*this);
  unsigned char *encoded = nullptr;
  int size = i2d_PUBKEY(key.get(), &encoded);
  Sha256::Digest digest =
      Sha256::of(std::as_bytes(std::span(encoded, static_cast<size_t>(size))));
  OPENSSL_free(encoded);
  return toHex(digest);
}

bool PublicKey::verifies(std::span<const std::byte> message,
                         const SignatureBytes &signature) const {
  Key key = openPublicKey(*this);
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  // Ed25519 includes its digest.
  bool holds =
      key && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr,
                           key.get()) == 1 &&
      EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                       toBytes(message), message.size()) == 1;
  ERR_clear_error();
  return holds;
}

Expected<std::vector<PublicKey>> readPublicKeys(const std::string &path) {
  std::string name = fmt::format("'{}'", path);
  Expected<PemText> text = readPem(path);
  if (!text)
    return text.status().withContext(name);
  Bio bio = text->open();
  std::vector<PublicKey> keys;
  for (;;) {
    std::string place = fmt::format("{}: PEM block {}", name, keys.size() + 1);
    Expected<std::optional<PemBlock>> block = readBlock(bio.get());
    if (!block)
      return block.status().withContext(place);
    if (!*block)
      break;
    Expected<Key> key = decodeKey(**block, PEM_STRING_PUBLIC, d2i_PUBKEY);
    if (!key)
      return key.status().withContext(place);
    keys.push_back(toPublicKey(key->get()));
  }
  if (keys.empty())
    return invalidArgument(
        fmt::format("{}: expected public keys in PEM, found none", name));
  return keys;
}

Expected<std::optional<std::vector<PublicKey>>>
findTrustedKeys(const std::optional<std::string> &given,
                const std::string &option) {
  constexpr const char *variable = "LOCKSTEP_TRUST";
  const char *preset = std::getenv(variable);
  if (!given && !preset)
    return std::optional<std::vector<PublicKey>>();
  std::string source = given ? option : variable,
              path = given ? *given : preset;
  // An empty file name must not disable the check of signatures.
  if (path.empty())
    return invalidArgument(fmt::format(
        "{}: expected a file with public keys, found an empty name", source));
  Expected<std::vector<PublicKey>> keys = readPublicKeys(path);
  if (!keys)
    return keys.status().withContext(source);
  return std::optional(std::move(*keys));
}

SigningKey::SigningKey(EVP_PKEY *key) : key(key, EVP_PKEY_free) {}

Expected<SigningKey> SigningKey::read(const std::string &path) {
  std::string name = fmt::format("'{}'", path);
  Expected<PemText> text = readPem(path);
  if (!text)
    return text.status().withContext(name);
  Expected<std::optional<PemBlock>> block = readBlock(text->open().get());
  if (!block)
    return block.status().withContext(name);
  if (!*block)
    return invalidArgument(
        fmt::format("{}: expected a private key in PEM, found none", name));
  if ((*block)->name == PEM_STRING_PKCS8)
    return invalidArgument(
        fmt::format("{}: expected a private key without a passphrase, found "
                    "one that is protected by it",
                    name));
  Expected<Key> key =
      decodeKey(**block, PEM_STRING_PKCS8INF, d2i_AutoPrivateKey);
  OPENSSL_cleanse((*block)->bytes.data(), (*block)->bytes.size());
  if (!key)
    return key.status().withContext(name);
  return SigningKey(key->release());
}

PublicKey SigningKey::publicKey() const { return toPublicKey(key.get()); }

Expected<SignatureBytes>
SigningKey::sign(std::span<const std::byte> message) const {
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  SignatureBytes signature{};
  size_t size = signature.size();
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) !=
          1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, toBytes(message),
                     message.size()) != 1)
    return systemError(fmt::format("cannot sign: {}", lastError()));
  return signature;
}

} // namespace lockstep::runtime
