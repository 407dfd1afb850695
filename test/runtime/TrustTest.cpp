//===- TrustTest.cpp - artifacts that the C API opens ---------------------===//

#include "TestKeys.h"
#include "TestProgram.h"

#include "runtime/api/lockstep.h"

#include <cstdlib>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

const TestKey trusted(1), others(2);

class Trust : public testing::Test {
protected:
  Trust()
      : plain(program()), file(toText(signedBy(trusted, plain))),
        unsignedFile(toText(plain)) {
    ::unsetenv("LOCKSTEP_TRUST");
  }
  ~Trust() override { ::unsetenv("LOCKSTEP_TRUST"); }

  static std::vector<std::byte> program() {
    TestProgram p(1);
    p.ret();
    return p.file();
  }
  static std::string toText(const std::vector<std::byte> &bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
  }

  static lockstep_status open(const TextFile &artifact,
                              const char *trustedKeys = nullptr) {
    lockstep_options options;
    lockstep_options_init(&options, sizeof(options));
    EXPECT_EQ(options.trusted_keys, nullptr);
    options.trusted_keys = trustedKeys;
    lockstep_session *session = nullptr;
    lockstep_status status =
        lockstep_session_open(artifact.path().c_str(), &options, &session);
    EXPECT_EQ(session != nullptr, status == LOCKSTEP_OK);
    lockstep_session_close(session);
    return status;
  }

  std::vector<std::byte> plain;
  TextFile file, unsignedFile;
  TextFile ourKey{trusted.publicPem}, theirKey{others.publicPem};
};

TEST_F(Trust, byOption) {
  EXPECT_EQ(open(file), LOCKSTEP_OK);
  EXPECT_EQ(open(unsignedFile), LOCKSTEP_OK);
  EXPECT_EQ(open(file, ourKey.path().c_str()), LOCKSTEP_OK)
      << lockstep_last_error();
  EXPECT_EQ(open(unsignedFile, ourKey.path().c_str()), LOCKSTEP_UNTRUSTED);
  EXPECT_EQ(
      lockstep_last_error(),
      "artifact '" + unsignedFile.path() +
          "': not signed: expected a signature by a trusted key, found none");
  EXPECT_EQ(open(file, theirKey.path().c_str()), LOCKSTEP_UNTRUSTED);
  std::vector<std::byte> bytes = signedBy(trusted, plain);
  bytes[100] ^= std::byte(1);
  TextFile altered(toText(bytes));
  EXPECT_EQ(open(altered, ourKey.path().c_str()), LOCKSTEP_CORRUPTED);
  EXPECT_EQ(open(file, ""), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(
      lockstep_last_error(),
      "trusted_keys: expected a file with public keys, found an empty name");
  EXPECT_EQ(open(file, "/none"), LOCKSTEP_SYSTEM);
  EXPECT_STREQ(lockstep_last_error(),
               "trusted_keys: '/none': cannot open: No such file or directory");
}

TEST_F(Trust, byEnvironment) {
  ::setenv("LOCKSTEP_TRUST", ourKey.path().c_str(), 1);
  EXPECT_EQ(open(file), LOCKSTEP_OK) << lockstep_last_error();
  EXPECT_EQ(open(unsignedFile), LOCKSTEP_UNTRUSTED);
  // Without options at all, too.
  lockstep_session *session = nullptr;
  EXPECT_EQ(
      lockstep_session_open(unsignedFile.path().c_str(), nullptr, &session),
      LOCKSTEP_UNTRUSTED);
  // The option wins.
  EXPECT_EQ(open(file, theirKey.path().c_str()), LOCKSTEP_UNTRUSTED);
  ::setenv("LOCKSTEP_TRUST", "", 1);
  EXPECT_EQ(open(file), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(
      lockstep_last_error(),
      "LOCKSTEP_TRUST: expected a file with public keys, found an empty name");
}

} // namespace
