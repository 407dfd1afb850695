//===- TestProgram.h - artifacts for tests ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_RUNTIME_TESTPROGRAM_H
#define LOCKSTEP_TEST_RUNTIME_TESTPROGRAM_H

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ArtifactWriter.h"
#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/executor/Session.h"
#include "runtime/schema/Types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lockstep::runtime::test {

using artifact::CollectiveKind;
using artifact::ElementType;
using artifact::Reduction;
using artifact::Space;

/// The bytes of a file; fails the test if it cannot be read.
std::vector<std::byte> readFile(const std::string &path);

template <typename T> std::span<const std::byte> bytesOf(const T &value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// Assembles an artifact with one program ("main" unless said otherwise),
/// command by command. Kernels are those of TestKernels.c; buffers are placed
/// consecutively, 64-byte aligned.
class TestProgram {
public:
  /// What a kernel can call: it gets a buffer, or null.
  using HostFunction = void (*)(void *buffer);

  explicit TestProgram(uint32_t replicas);

  /// A role with the next ranks, besides "worker", which has the replicas.
  /// Later commands are added to its program. Returns its first rank.
  uint32_t role(const std::string &name, uint32_t ranks = 1);
  /// Continues with the program of another role.
  void in(const std::string &role);

  /// A new buffer; returns its index.
  uint32_t buffer(Space space, ElementType element, std::vector<int64_t> shape);
  /// A buffer with dimensions of -1 held in `registers`, and room for `bytes`.
  uint32_t dynamicBuffer(Space space, ElementType element,
                         std::vector<int64_t> shape,
                         std::vector<int32_t> registers, uint64_t bytes);
  /// A variable and a buffer for it.
  uint32_t variable(const std::string &name, ElementType element,
                    std::vector<int64_t> shape, bool perReplica = false);
  uint32_t scalar(const std::string &name, ElementType element,
                  std::vector<uint8_t> defaultValue = {});
  uint32_t input(const std::string &name, ElementType element,
                 std::vector<int64_t> shape);
  void output(const std::string &name, uint32_t buffer);
  /// An output of `program` that is no tensor; `value` is JSON.
  void constantOutput(const std::string &program, const std::string &name,
                      const std::string &value);
  uint32_t group(std::vector<uint32_t> ranks);
  uint32_t channel() { return program->channels++; }
  /// The number of a channel that another role has.
  uint32_t channel(uint32_t number) {
    program->channels = std::max(program->channels, number + 1);
    return number;
  }
  uint32_t reg() { return program->registers++; }

  /// Commands return their index, which is a branch target.
  uint32_t launch(const std::string &symbol, std::vector<uint32_t> reads,
                  std::vector<uint32_t> writes,
                  std::vector<uint32_t> registers = {});
  /// Launches a kernel that calls `function`, with the first of `reads` and
  /// `writes` if there are any: for what kernels cannot do on each device, such
  /// as waiting for a test.
  uint32_t call(HostFunction function, std::vector<uint32_t> reads = {},
                std::vector<uint32_t> writes = {}, bool tiles = false);
  uint32_t start(CollectiveKind kind, Reduction reduction, uint32_t channel,
                 std::vector<uint32_t> operands, std::vector<uint32_t> results,
                 uint32_t group = 0, int32_t axis = 0, int32_t root = -1,
                 std::vector<int32_t> sources = {});
  uint32_t wait(uint32_t channel);
  uint32_t barrier(uint32_t channel, uint32_t group = 0);
  uint32_t once(uint32_t channel);
  uint32_t endOnce();
  uint32_t jump(uint32_t target);
  uint32_t branchUnless(uint32_t condition, uint32_t target = 0);
  uint32_t branchGreaterEqual(uint32_t lhs, uint32_t rhs, uint32_t target = 0);
  uint32_t setRegister(uint32_t index, int64_t value);
  uint32_t addRegister(uint32_t index, uint32_t source);
  uint32_t loadRegister(uint32_t index, uint32_t buffer);
  uint32_t next();
  uint32_t copy(uint32_t source, uint32_t destination);
  uint32_t ret();
  /// The kernel with this symbol.
  artifact::KernelT &kernel(std::string_view symbol);
  /// Index of the next command.
  uint32_t here() const { return uint32_t(program->commands.size()); }
  /// Sets the target of a branch to the next command.
  void patch(uint32_t branch);

  /// The file; kernels and commands can be changed through `writer.tables`
  /// before.
  std::vector<std::byte> file();
  std::shared_ptr<const Artifact> artifact(const VerifyOptions &options = {});
  /// The message with which loading fails.
  std::string error(const VerifyOptions &options = {});
  std::unique_ptr<Session> session(SessionOptions options = {},
                                   const VerifyOptions &verify = {});

  ArtifactWriter writer;
  artifact::ProgramT *program;

private:
  void addBinary(const char *target, const char *path,
                 const char *device = nullptr);
  uint64_t &spaceSize(Space space);
  /// Index of the role whose program is being built.
  uint32_t roleIndex() const;
  template <typename T> uint32_t add(T body);

  uint32_t openOnce = 0;
  /// Whether kernels for GPUs are those with calls of the host.
  bool callsHost = false;
  std::vector<std::byte> constants;
};

/// Whether sessions of these tests run on a host device, not on one with
/// queues: `LOCKSTEP_DEVICE` says which.
bool isOnHostDevice();
/// The text of a report for a replica, or its device, that is inside of a
/// command.
std::string runningText(unsigned replica, std::string_view command);
/// A report without the state of devices with queues, which execute a random
/// part of their commands until a result is awaited.
std::string withoutDevices(std::string report);

/// A small artifact that uses most tables, without native code, so that tests
/// may try every byte.
std::vector<std::byte> smallFile();

/// The path of a file of this test alone, since others may run at the same
/// time; the file is removed with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &name)
      : path(std::filesystem::temp_directory_path() /
             (std::to_string(::getpid()) + "-" + name)) {}
  TemporaryFile(TemporaryFile &&other) noexcept
      : path(std::exchange(other.path, {})) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::string path;
};

} // namespace lockstep::runtime::test

#endif // LOCKSTEP_TEST_RUNTIME_TESTPROGRAM_H
