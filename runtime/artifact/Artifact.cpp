//===- Artifact.cpp - mapping, integrity, structure -----------------------===//

#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/Types.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace lockstep::runtime {

std::array<uint8_t, 32> artifactDigest(std::span<const std::byte> file, size_t digestOffset) {
  std::array<uint8_t, 32> result{};
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
  EVP_DigestUpdate(context, file.data(), digestOffset);
  size_t rest = digestOffset + result.size();
  EVP_DigestUpdate(context, file.data() + rest, file.size() - rest);
  unsigned length = 0;
  EVP_DigestFinal_ex(context, result.data(), &length);
  EVP_MD_CTX_free(context);
  return result;
}

std::string typeName(artifact::ElementType element, const std::vector<int64_t> &shape) {
  std::string name;
  for (int64_t dimension : shape)
    name += dimension < 0 ? "?x" : fmt::format("{}x", dimension);
  return name + elementName(element);
}

Artifact::~Artifact() {
  if (mapping)
    ::munmap(mapping, mappingSize);
}

Expected<std::shared_ptr<const Artifact>> Artifact::open(const std::string &path, const VerifyOptions &options) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError(fmt::format("cannot open artifact '{}': {}", path, std::strerror(errno)));
  struct stat info;
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    return systemError(fmt::format("cannot open artifact '{}': not a regular file", path));
  }
  std::shared_ptr<Artifact> result(new Artifact);
  size_t size = static_cast<size_t>(info.st_size);
  if (size > 0) {
    void *mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) {
      int error = errno;
      ::close(file);
      return systemError(fmt::format("cannot map artifact '{}': {}", path, std::strerror(error)));
    }
    result->mapping = mapping;
    result->mappingSize = size;
    result->bytes = {static_cast<const std::byte *>(mapping), size};
  }
  ::close(file);
  if (Status status = result->verify(options); !status.ok())
    return status.withContext(fmt::format("artifact '{}'", path));
  return std::shared_ptr<const Artifact>(std::move(result));
}

Expected<std::shared_ptr<const Artifact>> Artifact::fromMemory(std::span<const std::byte> bytes, const VerifyOptions &options) {
  std::shared_ptr<Artifact> result(new Artifact);
  if (!bytes.empty()) {
    // An anonymous mapping is page-aligned, as the constants have to be.
    void *copy = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
      return systemError(fmt::format("cannot allocate {} bytes for an artifact", bytes.size()));
    std::memcpy(copy, bytes.data(), bytes.size());
    result->mapping = copy;
    result->mappingSize = bytes.size();
    result->bytes = {static_cast<const std::byte *>(copy), bytes.size()};
  }
  if (Status status = result->verify(options); !status.ok())
    return status.withContext("artifact");
  return std::shared_ptr<const Artifact>(std::move(result));
}

/// The first verification (structure, integrity, version), then the second (meaning). The order
/// matters: nothing is read from tables before FlatBuffers' verifier has accepted them.
Status Artifact::verify(const VerifyOptions &options) {
  constexpr size_t smallestFile = 64;
  if (bytes.size() < smallestFile)
    return corrupted(fmt::format("truncated: expected at least {} bytes, found {}", smallestFile, bytes.size()));
  if (!artifact::ArtifactBufferHasIdentifier(bytes.data())) {
    std::string found;
    for (size_t i = 4; i < 8; ++i) {
      char c = static_cast<char>(bytes[i]);
      found += c >= 32 && c < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", uint8_t(c));
    }
    return corrupted(fmt::format("not a Lockstep artifact: expected identifier '{}', found '{}'", artifact::ArtifactIdentifier(), found));
  }
  // FlatBuffers addresses 2 GiB; the segments behind the tables may lie beyond.
  size_t tableBytes = std::min<size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), tableBytes,
                                 /*max_depth=*/16, /*max_tables=*/100'000'000);
  if (!artifact::VerifyArtifactBuffer(verifier))
    return corrupted(fmt::format("truncated or corrupted: the tables are malformed ({} bytes found)", bytes.size()));
  root = artifact::GetArtifact(bytes.data());

  if (root->format_version() > artifactFormatVersion)
    return unsupported(
        fmt::format("format version {} is too new: this runtime reads up to {}", root->format_version(), artifactFormatVersion));
  if (root->file_size() > bytes.size())
    return corrupted(fmt::format("truncated: expected {} bytes, found {}", root->file_size(), bytes.size()));
  if (root->file_size() < bytes.size())
    return corrupted(fmt::format("corrupted: expected {} bytes, found {}", root->file_size(), bytes.size()));
  if (!root->digest())
    return corrupted("corrupted: it has no digest");
  const auto *digestBytes = reinterpret_cast<const std::byte *>(root->digest());
  std::array<uint8_t, 32> actual = artifactDigest(bytes, static_cast<size_t>(digestBytes - bytes.data()));
  if (std::memcmp(actual.data(), digestBytes, actual.size()) != 0)
    return corrupted("corrupted: its bytes do not have the SHA-256 digest it names");
  if (root->format_version() == 0)
    return corrupted("corrupted: expected a format version, found 0");
  return verifyArtifact(*root, bytes.size(), options);
}

std::span<const std::byte> Artifact::segment(uint32_t index) const {
  const artifact::Segment *segment = root->segments()->Get(index);
  return bytes.subspan(segment->offset(), segment->size());
}

std::string_view Artifact::location(uint32_t index) const {
  const auto *locations = root->locations();
  if (!locations || index >= locations->size())
    return {};
  return locations->Get(index)->string_view();
}

std::span<const uint8_t, 32> Artifact::digest() const {
  return std::span<const uint8_t, 32>(reinterpret_cast<const uint8_t *>(root->digest()), 32);
}

std::string Artifact::digestHex() const {
  std::string hex;
  for (uint8_t byte : digest())
    hex += fmt::format("{:02x}", byte);
  return hex;
}

} // namespace lockstep::runtime
