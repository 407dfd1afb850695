//===- ArtifactTest.cpp - writing, loading, integrity ---------------------===//

#include "TestProgram.h"

#include "runtime/artifact/KernelArguments.h"

#include <filesystem>
#include <fstream>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

TEST(Artifact, roundTrip) {
  auto loaded = Artifact::fromMemory(smallFile());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const artifact::Artifact &tables = (*loaded)->tables();
  EXPECT_EQ(tables.replicas(), 2u);
  EXPECT_EQ(tables.format_version(), artifactFormatVersion);
  EXPECT_EQ((*loaded)->segment(0).size(), 4u);
  EXPECT_EQ((*loaded)->segment(0)[2], std::byte(3));
  EXPECT_EQ(tables.segments()->Get(0)->offset() % segmentAlignment, 0u);
  EXPECT_EQ((*loaded)->location(1), "train.py:42");
  EXPECT_EQ((*loaded)->location(99), "");
  EXPECT_EQ((*loaded)->digestHex().size(), 64u);
}

// With a page of the file for each, thousands of variables would take
// megabytes.
TEST(Artifact, smallSegmentsShareAPage) {
  TestProgram program(2);
  program.ret();
  std::vector<uint32_t> small;
  for (int i = 0; i < 100; ++i)
    small.push_back(program.writer.addSegment(std::vector<std::byte>(32)));
  uint32_t large =
      program.writer.addSegment(std::vector<std::byte>(largeSegmentAlignment));
  auto loaded = Artifact::fromMemory(program.file());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto &segments = *(*loaded)->tables().segments();
  for (size_t i = 1; i < small.size(); ++i)
    EXPECT_EQ(segments.Get(small[i])->offset() -
                  segments.Get(small[i - 1])->offset(),
              segmentAlignment);
  EXPECT_EQ(segments.Get(large)->offset() % largeSegmentAlignment, 0u);
}

TEST(Artifact, sameContentsSameBytes) { EXPECT_EQ(smallFile(), smallFile()); }

TEST(Artifact, everyFlippedBitIsRefused) {
  std::vector<std::byte> file = smallFile();
  for (size_t i = 0; i < file.size(); ++i) {
    std::byte before = file[i];
    for (int bit = 0; bit < 8; ++bit) {
      file[i] = before ^ std::byte(1 << bit);
      ASSERT_FALSE(Artifact::fromMemory(file).ok())
          << "byte " << i << ", bit " << bit;
    }
    file[i] = before;
  }
  EXPECT_TRUE(Artifact::fromMemory(file).ok());
}

TEST(Artifact, everyTruncationIsRefused) {
  std::vector<std::byte> file = smallFile();
  for (size_t size = 0; size < file.size(); ++size)
    ASSERT_FALSE(Artifact::fromMemory({file.data(), size}).ok())
        << size << " bytes";
  file.push_back(std::byte(0));
  EXPECT_FALSE(Artifact::fromMemory(file).ok());
}

TEST(Artifact, messagesSayWhatIsWrong) {
  auto message = [](std::span<const std::byte> bytes) {
    return Artifact::fromMemory(bytes).status().message();
  };
  std::vector<std::byte> file = smallFile();
  EXPECT_EQ(message({}),
            "artifact: truncated: expected at least 64 bytes, found 0");
  EXPECT_NE(message({file.data(), file.size() - 1})
                .find("truncated: expected " + std::to_string(file.size())),
            std::string::npos);
  std::vector<std::byte> other = file;
  other[4] = std::byte('E');
  EXPECT_EQ(message(other), "artifact: not a Lockstep artifact: expected "
                            "identifier 'LKST', found 'EKST'");
  other = file;
  other.back() ^= std::byte(1);
  EXPECT_NE(message(other).find("SHA-256"), std::string::npos);
}

// The format version of a newer file is reported before its digest, which may
// be computed differently.
TEST(Artifact, newerVersionIsRefused) {
  std::vector<std::byte> file = smallFile();
  auto *root = artifact::GetArtifact(file.data());
  auto *version = const_cast<uint8_t *>(
      reinterpret_cast<const flatbuffers::Table *>(root)->GetAddressOf(
          artifact::Artifact::VT_FORMAT_VERSION));
  *version = artifactFormatVersion + 1;
  Status status = Artifact::fromMemory(file).status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(
      status.message(),
      "artifact: format version 4 is too new: this runtime reads up to 3");
}

TEST(Artifact, filesAreNamedInErrors) {
  TemporaryFile saved("artifact-test.lockstep");
  const std::string &path = saved.path;
  std::vector<std::byte> file = smallFile();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()),
             std::streamsize(file.size()));
  EXPECT_TRUE(Artifact::open(path).ok());
  std::filesystem::resize_file(path, file.size() / 2);
  EXPECT_NE(Artifact::open(path).status().message().find("artifact '" + path +
                                                         "': truncated"),
            std::string::npos);
  std::filesystem::resize_file(path, 0);
  EXPECT_FALSE(Artifact::open(path).ok());
  std::filesystem::remove(path);
  EXPECT_EQ(Artifact::open(path).status().code(), StatusCode::system);
  EXPECT_FALSE(Artifact::open(std::filesystem::temp_directory_path()).ok());
}

// A file that is truncated or replaced while the artifact is in use does not
// affect it.
TEST(Artifact, doesNotDependOnItsFile) {
  TemporaryFile saved("artifact-test.lockstep");
  const std::string &path = saved.path;
  std::vector<std::byte> file = smallFile();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()),
             std::streamsize(file.size()));
  Expected<std::shared_ptr<const Artifact>> artifact = Artifact::open(path);
  ASSERT_TRUE(artifact.ok());
  std::string digest = (*artifact)->digestHex();
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ((*artifact)->digestHex(), digest);
  for (uint32_t i = 0; i < (*artifact)->tables().segments()->size(); ++i)
    for (std::byte byte : (*artifact)->segment(i))
      digest += static_cast<char>(byte);
  EXPECT_FALSE(Artifact::open(path).ok());
  EXPECT_GE(digest.size(), 64u);
}

TEST(Artifact, writerReportsWhatItCannotWrite) {
  ArtifactWriter writer;
  EXPECT_EQ(writer.writeFile("/nonexistent/file.lockstep").code(),
            StatusCode::system);
}

//===----------------------------------------------------------------------===//
// Choosing kernels
//===----------------------------------------------------------------------===//

TEST(CpuBinary, targets) {
  auto create = [](const char *inArtifact, const char *wanted) {
    TestProgram p(1);
    p.writer.tables.binaries[0]->target = inArtifact;
    p.ret();
    return Session::create(p.artifact(),
                           {.workers = 1, .target = wanted, .device = "cpu"});
  };
  auto best = create("x86-64", "");
  ASSERT_TRUE(best.ok());
  EXPECT_EQ((*best)->target(), "x86-64");
  EXPECT_EQ(create("sm_90", "").status().message(),
            "no kernels for this CPU: the artifact has 'sm_90', none of which "
            "it can execute");
  EXPECT_EQ(create("x86-64", "x86-64-v3").status().message(),
            "no kernels for target 'x86-64-v3': the artifact has 'x86-64'");
  EXPECT_EQ(create("sm_90", "sm_90").status().message(),
            "this CPU cannot execute kernels for target 'sm_90'");
}

TEST(CpuBinary, brokenObjectsAndMissingKernels) {
  TestProgram missing(1);
  missing.writer.tables.kernels[0]->symbol = "no_such_kernel";
  missing.launch("no_such_kernel", {}, {});
  missing.ret();
  EXPECT_NE(Session::create(missing.artifact(), {.device = "cpu"})
                .status()
                .message()
                .find("kernel 'no_such_kernel' is not in the binary for target "
                      "'x86-64'"),
            std::string::npos);
  TestProgram broken(1);
  broken.writer.tables.binaries[0]->segment =
      broken.writer.addSegment(std::vector<std::byte>(100));
  broken.ret();
  EXPECT_EQ(
      Session::create(broken.artifact(), {.device = "cpu"}).status().code(),
      StatusCode::corrupted);
}

// The dynamic linker maps the ranges in an object's headers, even if the file
// is shorter.
TEST(CpuBinary, objectsThatAreCutOff) {
  std::vector<std::byte> object = readFile(LOCKSTEP_TEST_KERNELS);
  auto error = [&](size_t size) {
    TestProgram p(1);
    p.writer.tables.binaries[0]->segment = p.writer.addSegment(
        std::vector(object.begin(), object.begin() + ptrdiff_t(size)));
    p.launch("nothing", {}, {});
    p.ret();
    auto session = Session::create(p.artifact(), {.device = "cpu"});
    return session ? Status() : session.status();
  };
  EXPECT_EQ(error(object.size()).message(), "");
  // Up to the end of the last loaded part; debug information may follow.
  size_t refused = 0;
  for (size_t size = 0; size < object.size(); size += 61) {
    Status status = error(size);
    if (status.ok())
      continue;
    EXPECT_EQ(status.code(), StatusCode::corrupted) << status.message();
    refused += status.message().find("are cut off: expected at least ") !=
               std::string::npos;
  }
  EXPECT_GT(refused, object.size() / 61 / 4);
  EXPECT_EQ(error(100).message().find(
                "kernels for target 'x86-64' are cut off: expected at least "),
            0u)
      << error(100).message();
}

// The code has a hash of its arguments: other arguments in the tables, or none,
// are rejected.
TEST(CpuBinary, codeOfOtherArguments) {
  TestProgram p(1);
  for (auto &kernel : p.writer.tables.kernels)
    if (kernel->symbol == "nothing")
      kernel->arguments = std::make_unique<artifact::ArgumentsT>();
  p.launch("nothing", {}, {});
  p.ret();
  EXPECT_EQ(
      Session::create(p.artifact(), {.device = "cpu"}).status().message(),
      "program 'main': kernel 'nothing': the binary for target 'x86-64' has "
      "code "
      "for other arguments or another grid than the artifact's tables say");
  TestProgram silent(1);
  silent.writer.tables.kernels[0]->symbol = "silent";
  silent.launch("silent", {}, {});
  silent.ret();
  EXPECT_EQ(
      Session::create(silent.artifact(), {.device = "cpu"}).status().message(),
      "program 'main': kernel 'silent' does not say what arguments its code "
      "takes: expected 'silent.arguments' in the binary for target 'x86-64' "
      "(artifacts of earlier compilers lack it: compile the step again)");
}

TEST(KernelArguments, dynamicDimensions) {
  auto count = [](const std::vector<uint8_t> *dynamic, uint32_t argument) {
    flatbuffers::FlatBufferBuilder builder;
    auto list = dynamic ? builder.CreateVector(*dynamic) : 0;
    builder.Finish(artifact::CreateArguments(
        builder, builder.CreateVector<uint64_t>({4, 8}), /*reads=*/2, list));
    return countDynamicDimensions(
        *flatbuffers::GetRoot<artifact::Arguments>(builder.GetBufferPointer()),
        argument);
  };
  const std::vector<uint8_t> empty, given = {0, 3};
  for (uint32_t argument : {0u, 1u}) {
    EXPECT_EQ(count(nullptr, argument), 0u);
    EXPECT_EQ(count(&empty, argument), 0u);
    EXPECT_EQ(count(&given, argument), given[argument]);
  }
}

TEST(KernelArguments, codesDiffer) {
  artifact::ArgumentsT arguments;
  arguments.bytes = {16, 16};
  arguments.reads = 1;
  uint64_t code = argumentsCode(arguments, 1);
  EXPECT_EQ(code, argumentsCode(artifact::ArgumentsT(arguments), 1));
  EXPECT_NE(code, argumentsCode(arguments, 2));
  std::vector<std::function<void(artifact::ArgumentsT &)>> changes = {
      [](auto &other) { other.bytes[1] = 17; },
      [](auto &other) { other.bytes.pop_back(); },
      [](auto &other) { other.reads = 2; },
      [](auto &other) { other.dynamic = {0, 1}; },
      [](auto &other) { other.in_place = {0}; },
      [](auto &other) { other.scratch = 1; },
      [](auto &other) { other.in_place = {-1}; },
      [](auto &other) { other.registers = 1; }};
  for (const auto &change : changes) {
    artifact::ArgumentsT other = arguments;
    change(other);
    EXPECT_NE(code, argumentsCode(other, 1));
  }
}

// Two artifacts with different code are loaded at the same time without being
// mixed up.
TEST(CpuBinary, twoSessions) {
  TestProgram p(1);
  p.ret();
  auto first = p.session(), second = p.session();
  EXPECT_TRUE(first->run("main").ok());
  EXPECT_TRUE(second->run("main").ok());
}

} // namespace
