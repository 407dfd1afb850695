//===- FaultTest.cpp - checkpoints when calls to the system fail ----------===//

#include "TestVariables.h"
#include "data/DataTestSupport.h"

#include "runtime/checkpoint/Checkpoint.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::Aggregation;
using lockstep::artifact::ElementType;

namespace {

enum class Fault {
  /// One call fails.
  error,
  /// The process ends at that call: nothing after it happens.
  crash,
};

/// Counts the calls and lets one of them fail. A write that fails has written a
/// half.
class FaultyCalls : public FileCalls {
public:
  FaultyCalls(Fault fault, unsigned failing) : fault(fault), failing(failing) {}

  int create(const char *path) override {
    return fails("create") ? -1 : FileCalls::create(path);
  }
  ssize_t write(int descriptor, const void *bytes, size_t size) override {
    if (!fails("write"))
      return FileCalls::write(descriptor, bytes, size);
    if (fired()) {
      EXPECT_EQ(FileCalls::write(descriptor, bytes, size / 2),
                ssize_t(size / 2));
    }
    errno = ENOSPC;
    return -1;
  }
  int sync(int descriptor) override {
    return fails("sync") ? -1 : FileCalls::sync(descriptor);
  }
  int close(int descriptor) override {
    // Closed in any case, as the system does.
    bool failed = fails("close");
    int result = FileCalls::close(descriptor);
    return failed ? errno = EIO, -1 : result;
  }
  int rename(const char *from, const char *to) override {
    return fails("rename") ? -1 : FileCalls::rename(from, to);
  }
  int openFolder(const char *path) override {
    return fails("folder") ? -1 : FileCalls::openFolder(path);
  }
  int remove(const char *path) override {
    return fails("remove") ? -1 : FileCalls::remove(path);
  }

  /// The call that failed; empty: none.
  std::string failed;
  /// All calls, in order.
  std::vector<std::string> calls;

private:
  bool fired() const { return calls.size() == failing; }
  bool fails(const char *call) {
    calls.push_back(call);
    if (fired())
      failed = call;
    errno = EIO;
    return fired() || (fault == Fault::crash && calls.size() > failing);
  }

  Fault fault;
  unsigned failing;
};

std::unique_ptr<OnReadVariable<float>> variable(float value) {
  return std::make_unique<OnReadVariable<float>>(
      ElementType::f32, Aggregation::sum,
      std::vector(2, std::vector<float>{value, value + 1, value + 2}));
}

/// Saves the values 1, ... as step `oldStep`, then 100, ... as step 2 with each
/// call failing once. After each, either checkpoint exists completely, and
/// saving can continue. Returns how often each kind of call has failed.
std::map<std::string, unsigned> saveWithFaults(Fault fault, uint64_t oldStep) {
  std::map<std::string, unsigned> faults;
  for (unsigned failing = 1;; ++failing) {
    TemporaryFolder folder;
    auto before = variable(1), after = variable(100);
    EXPECT_TRUE(saveCheckpoint(folder.path, {.step = oldStep, .seed = 1},
                               before->views())
                    .ok());
    FaultyCalls calls(fault, failing);
    bool saved = saveCheckpoint(folder.path, {.step = 2, .seed = 2},
                                after->views(), calls)
                     .ok();
    if (calls.failed.empty()) {
      EXPECT_TRUE(saved);
      return faults;
    }
    ++faults[calls.failed];

    auto loaded = variable(0);
    Expected<TrainingState> state =
        restoreCheckpoint(**latestCheckpoint(folder.path), loaded->views());
    EXPECT_TRUE(state.ok()) << calls.failed << " (call " << failing
                            << "): " << state.status().message();
    if (!state)
      return {};
    // The state and the values are of the same checkpoint; of the new one if
    // saving has succeeded.
    bool isNew = state->seed == 2;
    EXPECT_EQ(state->step, isNew ? 2 : oldStep);
    EXPECT_EQ(loaded->memory, isNew ? after->memory : before->memory)
        << calls.failed;
    EXPECT_TRUE(isNew || !saved) << calls.failed;
    // Remaining files do not prevent a later checkpoint from being saved and
    // read.
    EXPECT_TRUE(
        saveCheckpoint(folder.path, {.step = 2, .seed = 3}, after->views())
            .ok());
    EXPECT_EQ(
        restoreCheckpoint(**latestCheckpoint(folder.path), loaded->views())
            ->seed,
        3u);
  }
}

} // namespace

TEST(CheckpointFaults, EveryCallCanFail) {
  for (Fault fault : {Fault::error, Fault::crash})
    for (uint64_t oldStep : {1, 2}) {
      std::map<std::string, unsigned> faults = saveWithFaults(fault, oldStep);
      // Size, header and one tensor; the file and its folder.
      EXPECT_EQ(faults, (std::map<std::string, unsigned>{{"create", 1},
                                                         {"write", 3},
                                                         {"sync", 2},
                                                         {"close", 2},
                                                         {"rename", 1},
                                                         {"folder", 1}}));
    }
}

// A file is renamed only after it is on disk, and the name is on disk in the
// end.
TEST(CheckpointFaults, OrderOfCalls) {
  TemporaryFolder folder;
  FaultyCalls calls(Fault::error, 0);
  ASSERT_TRUE(
      saveCheckpoint(folder.path, {.step = 1}, variable(1)->views(), calls)
          .ok());
  EXPECT_EQ(calls.calls, (std::vector<std::string>{
                             "create", "write", "write", "write", "sync",
                             "close", "rename", "folder", "sync", "close"}));
}

// An error, unlike the end of the process, leaves no temporary file.
TEST(CheckpointFaults, ErrorsLeaveNothingBehind) {
  for (unsigned failing = 1; failing <= 7; ++failing) {
    TemporaryFolder folder;
    FaultyCalls calls(Fault::error, failing);
    Expected<std::string> path =
        saveCheckpoint(folder.path, {.step = 1}, variable(1)->views(), calls);
    std::string reason = calls.failed == "write" ? "No space left on device"
                                                 : "Input/output error";
    EXPECT_TRUE(path.status().message().ends_with(reason))
        << path.status().message();
    EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << calls.failed;
  }
}

namespace {

/// Writes a byte at a time, and is interrupted before each.
class SlowCalls : public FileCalls {
public:
  ssize_t write(int descriptor, const void *bytes, size_t) override {
    interrupts = !interrupts;
    errno = EINTR;
    return interrupts ? -1 : FileCalls::write(descriptor, bytes, 1);
  }

private:
  bool interrupts = false;
};

} // namespace

TEST(CheckpointFaults, ShortAndInterruptedWrites) {
  TemporaryFolder folder;
  SlowCalls calls;
  std::string slow = *saveCheckpoint(folder / "slow", {.step = 1},
                                     variable(1)->views(), calls);
  EXPECT_EQ(readText(slow),
            readText(*saveCheckpoint(folder / "fast", {.step = 1},
                                     variable(1)->views())));
}
