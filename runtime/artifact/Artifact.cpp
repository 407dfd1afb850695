//===- Artifact.cpp - reading, integrity, structure -----------------------===//

#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/Signature.h"
#include "runtime/schema/Types.h"
#include "runtime/support/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lockstep::runtime {

std::array<uint8_t, 32> artifactDigest(std::span<const std::byte> file,
                                       size_t digestOffset) {
  Sha256 hash;
  hash.add(file.first(digestOffset));
  hash.add(file.subspan(digestOffset + sizeof(Sha256::Digest)));
  return hash.finish();
}

std::string typeName(artifact::ElementType element,
                     const std::vector<int64_t> &shape) {
  std::string name;
  for (int64_t dimension : shape)
    name += dimension < 0 ? "?x" : fmt::format("{}x", dimension);
  return name + elementName(element);
}

/// Reads a file to its end into `memory`, which has the size of the file when
/// it was opened.
static Status readAll(int file, const Memory &memory) {
  for (uint64_t done = 0; done < memory.size();) {
    ssize_t count = ::pread(file, memory.data() + done, memory.size() - done,
                            static_cast<off_t>(done));
    if (count < 0 && errno != EINTR)
      return systemError(fmt::format("cannot read: {}", std::strerror(errno)));
    if (count == 0)
      return corrupted(fmt::format(
          "truncated while it was read: expected {} bytes, found {}",
          memory.size(), done));
    done += count > 0 ? static_cast<uint64_t>(count) : 0;
  }
  return Status::success();
}

Expected<std::shared_ptr<const Artifact>>
Artifact::open(const std::string &path, const VerifyOptions &options) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError(fmt::format("cannot open artifact '{}': {}", path,
                                   std::strerror(errno)));
  struct stat info;
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    return systemError(
        fmt::format("cannot open artifact '{}': not a regular file", path));
  }
  // A copy: the file may be replaced or truncated while its programs run, which
  // would change a mapping.
  Expected<Memory> memory =
      Memory::allocate(static_cast<uint64_t>(info.st_size));
  Status status = memory ? readAll(file, *memory) : memory.status();
  ::close(file);
  if (!status.ok())
    return status.withContext(fmt::format("artifact '{}'", path));
  return create(std::move(*memory), options,
                fmt::format("artifact '{}'", path));
}

Expected<std::shared_ptr<const Artifact>>
Artifact::fromMemory(std::span<const std::byte> bytes,
                     const VerifyOptions &options) {
  Expected<Memory> memory = Memory::allocate(bytes.size());
  if (!memory)
    return memory.status();
  std::copy(bytes.begin(), bytes.end(), memory->data());
  return create(std::move(*memory), options, "artifact");
}

Expected<std::shared_ptr<const Artifact>>
Artifact::create(Memory memory, const VerifyOptions &options,
                 const std::string &name) {
  memory.makeReadOnly();
  std::shared_ptr<Artifact> result(new Artifact(std::move(memory)));
  if (Status status = result->verify(options); !status.ok())
    return status.withContext(name);
  return std::shared_ptr<const Artifact>(std::move(result));
}

/// The signature, then the first verification (structure, integrity, version),
/// then the second (semantics). The order matters: only the identifier is read
/// before the signer is known to be trusted, and tables are read only after
/// FlatBuffers' verifier has accepted them.
Status Artifact::verify(const VerifyOptions &options) {
  SplitFile file = splitSignature({memory.data(), memory.size()});
  bytes = file.content;
  constexpr size_t smallestFile = 64;
  if (bytes.size() < smallestFile)
    return corrupted(
        fmt::format("truncated: expected at least {} bytes, found {}",
                    smallestFile, bytes.size()));
  if (!artifact::ArtifactBufferHasIdentifier(bytes.data())) {
    std::string found;
    for (size_t i = 4; i < 8; ++i) {
      char c = static_cast<char>(bytes[i]);
      found += c >= 32 && c < 127 ? std::string(1, c)
                                  : fmt::format("\\x{:02x}", uint8_t(c));
    }
    return corrupted(fmt::format(
        "not a Lockstep artifact: expected identifier '{}', found '{}'",
        artifact::ArtifactIdentifier(), found));
  }
  LOCKSTEP_RETURN_IF_ERROR(checkSignature(file, options.trustedKeys));
  if (file.signature)
    signedBy = file.signature->key;

  // FlatBuffers addresses 2 GiB; the segments behind the tables may lie beyond.
  size_t tableBytes =
      std::min<size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(bytes.data()), tableBytes,
      /*max_depth=*/16, /*max_tables=*/100'000'000);
  if (!artifact::VerifyArtifactBuffer(verifier))
    return corrupted(fmt::format(
        "truncated or corrupted: the tables are malformed ({} bytes found)",
        bytes.size()));
  root = artifact::GetArtifact(bytes.data());

  if (root->format_version() > artifactFormatVersion)
    return unsupported(
        fmt::format("format version {} is too new: this runtime reads up to {}",
                    root->format_version(), artifactFormatVersion));
  if (root->file_size() > bytes.size())
    return corrupted(fmt::format("truncated: expected {} bytes, found {}",
                                 root->file_size(), bytes.size()));
  if (root->file_size() < bytes.size())
    return corrupted(fmt::format("corrupted: expected {} bytes, found {}",
                                 root->file_size(), bytes.size()));
  if (!root->digest())
    return corrupted("corrupted: it has no digest");
  const auto *digestBytes = reinterpret_cast<const std::byte *>(root->digest());
  std::array<uint8_t, 32> actual =
      artifactDigest(bytes, static_cast<size_t>(digestBytes - bytes.data()));
  if (std::memcmp(actual.data(), digestBytes, actual.size()) != 0)
    return corrupted(
        "corrupted: its bytes do not have the SHA-256 digest it names");
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
  return std::span<const uint8_t, 32>(
      reinterpret_cast<const uint8_t *>(root->digest()), 32);
}

std::string Artifact::digestHex() const { return toHex(digest()); }

} // namespace lockstep::runtime
