//===- Compile.cpp - runs lockstep-compile --------------------------------===//

#include "tools/support/Compile.h"

#include "runtime/data/MappedFile.h"
#include "tools/support/Process.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unistd.h>
#include <vector>

namespace lockstep::tools {

namespace fs = std::filesystem;
using runtime::Expected;
using runtime::MappedFile;
using runtime::Status;
using runtime::systemError;

namespace {

constexpr const char *compilerName = "lockstep-compile";

Expected<std::string> findCompiler() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error)
    return systemError("cannot find the own executable: " + error.message());
  fs::path compiler = self.parent_path() / compilerName;
  if (!fs::exists(compiler, error))
    return systemError(fmt::format("expected {} beside this executable to "
                                   "compile an .mlir, found none at '{}'",
                                   compilerName, compiler.string()));
  return compiler.string();
}

Expected<std::string> cacheFolder() {
  fs::path folder;
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return value && *value ? value : nullptr;
  };
  if (const char *own = variable("LOCKSTEP_CACHE"))
    folder = own;
  else if (const char *cache = variable("XDG_CACHE_HOME"))
    folder = fs::path(cache) / "lockstep";
  else if (const char *home = variable("HOME"))
    folder = fs::path(home) / ".cache" / "lockstep";
  else
    return systemError("expected LOCKSTEP_CACHE or HOME in the environment, to "
                       "keep the compiled artifact in");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return systemError(fmt::format("'{}': cannot create: {}", folder.string(),
                                   error.message()));
  return folder.string();
}

/// SHA-256 over the lengths and bytes of all parts, in hexadecimal.
std::string digestOf(const std::vector<std::span<const std::byte>> &parts) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  for (std::span<const std::byte> part : parts) {
    uint64_t size = part.size();
    EVP_DigestUpdate(context.get(), &size, sizeof(size));
    EVP_DigestUpdate(context.get(), part.data(), part.size());
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  std::string text;
  for (unsigned i = 0; i < length; ++i)
    text += fmt::format("{:02x}", digest[i]);
  return text;
}

} // namespace

bool needsCompilation(const std::string &path) {
  return fs::path(path).extension() == ".mlir";
}

Expected<std::string> compileModel(const std::string &model,
                                   const std::vector<std::string> &flags,
                                   const std::vector<std::string> &more) {
  Expected<MappedFile> program = MappedFile::open(model);
  if (!program)
    return program.status();
  Expected<std::string> compiler = findCompiler();
  if (!compiler)
    return compiler.status();
  Expected<MappedFile> compilerFile = MappedFile::open(*compiler);
  if (!compilerFile)
    return compilerFile.status();
  Expected<std::string> folder = cacheFolder();
  if (!folder)
    return folder.status();

  // Without explicit locations, the artifact contains positions in the file, so
  // the digest includes its path.
  std::vector<std::span<const std::byte>> parts = {
      program->bytes(), compilerFile->bytes(), std::as_bytes(std::span(model))};
  for (const std::string &flag : flags)
    parts.push_back(std::as_bytes(std::span(flag)));
  // Half of the digest is enough to distinguish programs.
  std::string name =
      fmt::format("{}-{}.lockstep", fs::path(model).stem().string(),
                  digestOf(parts).substr(0, 32));
  std::string artifact = fs::path(*folder) / name;
  std::error_code error;
  if (fs::exists(artifact, error))
    return artifact;

  // Renamed when complete: entries of the cache are complete, even with
  // concurrent runs.
  std::string temporary = fmt::format("{}.{}.tmp", artifact, getpid());
  std::vector<std::string> arguments = {*compiler, model};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(), {"-o", temporary});
  Status status = runProgram(arguments);
  if (status.ok()) {
    fs::rename(temporary, artifact, error);
    if (error)
      status = systemError(
          fmt::format("'{}': cannot rename: {}", temporary, error.message()));
  }
  if (!status.ok()) {
    fs::remove(temporary, error);
    return status;
  }
  return artifact;
}

} // namespace lockstep::tools
