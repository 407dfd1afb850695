//===- main.cpp - lockstep-sign: signs artifacts --------------------------===//

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Signature.h"
#include "runtime/checkpoint/AtomicFile.h"
#include "tools/support/Numbers.h"
#include "tools/support/OutOfMemory.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

using namespace lockstep::runtime;

namespace {

/// As in lockstep-run.
enum ExitStatus : int { exitSuccess = 0, exitError = 1, exitUsage = 2 };

int fail(const std::string &message, ExitStatus status = exitError) {
  fmt::print(stderr, "lockstep-sign: error: {}\n", message);
  return status;
}

Status sign(const std::string &input, const std::string &keyFile,
            const std::string &output) {
  Expected<SigningKey> key = SigningKey::read(keyFile);
  if (!key)
    return key.status().withContext("--key");
  // Damaged artifacts are not signed.
  auto artifact = Artifact::open(input, {.allowUnproven = true});
  if (!artifact)
    return artifact.status();
  std::span<const std::byte> content = (*artifact)->content();
  std::vector<std::byte> file(content.begin(), content.end());
  LOCKSTEP_RETURN_IF_ERROR(signArtifact(file, *key));
  Expected<AtomicFile> written = AtomicFile::create(output);
  if (!written)
    return written.status();
  LOCKSTEP_RETURN_IF_ERROR(written->write(file));
  return written->commit();
}

} // namespace

int main(int argc, char **argv) {
  lockstep::tools::endWhenOutOfMemory("lockstep-sign");
  std::string file, key, output;
  CLI::App app("Signs an artifact; a signature that it has is replaced.",
               "lockstep-sign");
  app.add_option("artifact", file, "artifact (.lockstep)")->required();
  app.add_option("--key", key, "Ed25519 private key (PEM)")
      ->type_name("FILE")
      ->required();
  app.add_option("-o", output,
                 "file to write (default: in place of the artifact)")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return app.exit(error);
    return fail(lockstep::tools::describeUsageError(error.what()), exitUsage);
  }
  Status status = sign(file, key, output.empty() ? file : output);
  return status.ok() ? exitSuccess : fail(status.message());
}
