//===- SignatureTest.cpp - signed artifacts, and damaged ones -------------===//

#include "TestKeys.h"
#include "TestProgram.h"

#include <algorithm>
#include <cstring>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

const TestKey ours(1), theirs(2), strangers(3);

VerifyOptions trusting(const std::vector<TestKey> &keys) {
  VerifyOptions options;
  options.trustedKeys.emplace();
  for (const TestKey &key : keys)
    options.trustedKeys->push_back(key.publicKey());
  return options;
}

Status load(std::span<const std::byte> file,
            const VerifyOptions &options = {}) {
  return Artifact::fromMemory(file, options).status();
}

std::vector<std::byte> flipped(std::vector<std::byte> file, size_t position,
                               int bit = 0) {
  file[position] ^= std::byte(1 << bit);
  return file;
}

// Readers that do not ask for trust read signed artifacts like others, and the
// artifact itself is the same.
TEST(Signature, isBehindTheArtifact) {
  std::vector<std::byte> plain = smallFile(), file = signedBy(ours, plain);
  ASSERT_EQ(file.size(), plain.size() + signatureTrailerSize);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), file.begin()));
  EXPECT_EQ(std::memcmp(&file[plain.size()], "LKSTSIG1", 8), 0);
  auto loaded = Artifact::fromMemory(file),
       unsignedOne = Artifact::fromMemory(plain);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->signer(), ours.publicKey());
  EXPECT_EQ((*loaded)->content().size(), plain.size());
  EXPECT_EQ((*loaded)->digestHex(), (*unsignedOne)->digestHex());
  EXPECT_EQ((*unsignedOne)->signer(), std::nullopt);
}

TEST(Signature, sameKeySameBytes) {
  EXPECT_EQ(signedBy(ours, smallFile()), signedBy(ours, smallFile()));
  // Signing again replaces the signature.
  EXPECT_EQ(signedBy(ours, signedBy(theirs, smallFile())),
            signedBy(ours, smallFile()));
}

TEST(Signature, anyTrustedKeyWillDo) {
  std::vector<std::byte> plain = smallFile();
  EXPECT_TRUE(load(signedBy(ours, plain), trusting({ours})).ok());
  EXPECT_TRUE(load(signedBy(ours, plain), trusting({theirs, ours})).ok());
  EXPECT_TRUE(load(signedBy(theirs, plain), trusting({theirs, ours})).ok());
}

TEST(Signature, whoIsNotTrustedIsRefused) {
  std::vector<std::byte> plain = smallFile();
  Status none = load(plain, trusting({ours}));
  EXPECT_EQ(none.code(), StatusCode::untrusted);
  EXPECT_EQ(none.message(), "artifact: not signed: expected a signature by a "
                            "trusted key, found none");
  Status other = load(signedBy(strangers, plain), trusting({ours, theirs}));
  EXPECT_EQ(other.code(), StatusCode::untrusted);
  EXPECT_EQ(other.message(),
            "artifact: signed by a key that is not trusted: expected " +
                ours.publicKey().fingerprint() + " or " +
                theirs.publicKey().fingerprint() + ", found " +
                strangers.publicKey().fingerprint());
  // An empty list of keys trusts none, not all.
  EXPECT_EQ(load(signedBy(ours, plain), trusting({})).code(),
            StatusCode::untrusted);
}

// A signature is of one artifact, and under the name of one key.
TEST(Signature, isNotMovedOrRenamed) {
  std::vector<std::byte> file = signedBy(ours, smallFile()),
                         other = signedBy(strangers, smallFile());
  TestProgram p(2);
  p.ret();
  std::vector<std::byte> moved = p.file();
  moved.insert(moved.end(), file.end() - signatureTrailerSize, file.end());
  EXPECT_EQ(load(moved, trusting({ours})).message(),
            "artifact: altered: its bytes are not those that key " +
                ours.publicKey().fingerprint() + " has signed");
  EXPECT_EQ(load(moved).code(), StatusCode::corrupted);
  // A signature of another key under the name of a trusted one.
  std::copy_n(file.end() - signatureTrailerSize, 40,
              other.end() - signatureTrailerSize);
  EXPECT_EQ(load(other, trusting({ours})).code(), StatusCode::corrupted);
  EXPECT_EQ(load(other).code(), StatusCode::corrupted);
}

TEST(Signature, everyFlippedBitIsRefused) {
  std::vector<std::byte> file = signedBy(ours, smallFile());
  size_t content = file.size() - signatureTrailerSize, key = content + 8,
         signature = key + 32;
  VerifyOptions options = trusting({ours, theirs});
  for (size_t i = 0; i < file.size(); ++i)
    // Each bit of the trailer; one bit in each byte of the content, of which
    // one bit is like another to a signature.
    for (int bit = i < content ? int(i % 8) : 0; bit < 8;
         bit += i < content ? 8 : 1) {
      std::vector<std::byte> damaged = flipped(file, i, bit);
      ASSERT_FALSE(load(damaged).ok()) << "byte " << i << ", bit " << bit;
      bool looksUnsigned = i >= content && i < key,
           looksForeign = i >= key && i < signature,
           isIdentifier = i >= 4 && i < 8;
      std::string expected =
          looksUnsigned  ? "artifact: not signed"
          : looksForeign ? "artifact: signed by a key that is not trusted"
          : isIdentifier ? "artifact: not a Lockstep artifact"
                         : "artifact: altered";
      std::string message = load(damaged, options).message();
      ASSERT_EQ(message.substr(0, expected.size()), expected)
          << "byte " << i << ", bit " << bit;
    }
  EXPECT_TRUE(load(file, options).ok());
}

TEST(Signature, everyTruncationIsRefused) {
  std::vector<std::byte> file = signedBy(ours, smallFile());
  size_t content = file.size() - signatureTrailerSize;
  for (size_t size = 0; size < file.size(); ++size) {
    std::span<const std::byte> cut(file.data(), size);
    ASSERT_FALSE(load(cut, trusting({ours})).ok()) << size << " bytes";
    // Without its trailer it is an unsigned artifact.
    ASSERT_EQ(load(cut).ok(), size == content) << size << " bytes";
  }
  EXPECT_EQ(load({file.data(), file.size() - 1}, trusting({ours})).message(),
            "artifact: not signed: expected a signature by a trusted key, "
            "found none");
}

TEST(Signature, nothingMayBeBehindIt) {
  std::vector<std::byte> file = signedBy(ours, smallFile());
  size_t size = file.size() - signatureTrailerSize;
  file.push_back(std::byte(0));
  EXPECT_EQ(load(file, trusting({ours})).code(), StatusCode::untrusted);
  EXPECT_EQ(load(file).message(), "artifact: corrupted: expected " +
                                      std::to_string(size) + " bytes, found " +
                                      std::to_string(file.size()));
  // Nor may bytes be between the artifact and the trailer, although they are
  // signed.
  std::vector<std::byte> twice = smallFile();
  twice.push_back(std::byte(0));
  EXPECT_EQ(load(signedBy(ours, twice), trusting({ours})).message(),
            "artifact: corrupted: expected " + std::to_string(size) +
                " bytes, found " + std::to_string(size + 1));
}

// A signature identifies the signer; it does not show correctness.
TEST(Signature, doesNotReplaceVerification) {
  std::vector<std::byte> damaged = flipped(smallFile(), smallFile().size() - 1);
  EXPECT_EQ(
      load(signedBy(ours, damaged), trusting({ours})).message(),
      "artifact: corrupted: its bytes do not have the SHA-256 digest it names");
}

// An artifact whose end looks like a signature is not written.
TEST(Signature, artifactsDoNotEndLikeOne) {
  std::vector<std::byte> constants = signedBy(ours, smallFile());
  TestProgram p(1);
  p.ret();
  p.writer.addSegment(constants);
  auto file = p.writer.finish();
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(
      file.status().message(),
      "an artifact must not end in bytes that look like a signature of it");
}

} // namespace
