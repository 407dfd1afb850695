//===- CheckpointTest.cpp - variables, saved and restored -----------------===//

#include "data/DataTestSupport.h"

#include "runtime/checkpoint/AtomicFile.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/FolderLock.h"
#include "runtime/checkpoint/SafetensorsWriter.h"
#include "runtime/support/Sha256.h"

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <numeric>
#include <set>
#include <unistd.h>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::ElementType;

namespace {

/// Variables without a session.
class Variables {
public:
  /// A variable of f32 elements `first`, `first` + 1, ...; one value for each
  /// of `copies` replicas, or one for all if it is 0.
  void add(const std::string &name, std::vector<int64_t> shape, float first,
           unsigned copies = 0, bool hasInitial = false) {
    VariableView view{
        name, {ElementType::f32, shape, 0}, hasInitial, copies > 0, {}};
    view.type.bytes = *staticBytes(ElementType::f32, shape);
    for (unsigned copy = 0; copy < std::max(copies, 1u); ++copy) {
      std::vector<float> &values =
          memory.emplace_back(view.type.bytes / sizeof(float));
      std::iota(values.begin(), values.end(), first + 100.0f * float(copy));
      view.values.emplace_back(std::as_writable_bytes(std::span(values)));
    }
    views.push_back(std::move(view));
  }

  std::deque<std::vector<float>> memory;
  std::vector<VariableView> views;
};

TrainingState someState() {
  return {
      .step = 500, .seed = ~uint64_t(0), .cursor = {3, 96}, .examples = 1437};
}

} // namespace

TEST(Checkpoint, RestoresWhatWasSaved) {
  TemporaryFolder folder;
  Variables saved, loaded;
  saved.add("params/w", {2, 3}, 1);
  saved.add("params/b", {}, 50);
  loaded.add("params/b", {}, 0);
  loaded.add("params/w", {2, 3}, 0);
  Expected<std::string> path =
      saveCheckpoint(folder / "deep/checkpoints", someState(), saved.views);
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ(*path, folder / "deep/checkpoints/checkpoint-500.safetensors");

  Expected<TrainingState> state = restoreCheckpoint(*path, loaded.views);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(*state, someState());
  EXPECT_EQ(loaded.memory[0], saved.memory[1]);
  EXPECT_EQ(loaded.memory[1], saved.memory[0]);
  // Saved again, the file has the same bytes.
  Expected<std::string> again =
      saveCheckpoint(folder / "again", *state, loaded.views);
  EXPECT_EQ(readText(*path), readText(*again));
}

// "Latest" is determined by number, not by alphabet or time, and ignores other
// files.
TEST(Checkpoint, FindsTheLatest) {
  TemporaryFolder folder;
  EXPECT_FALSE((*latestCheckpoint(folder / "none")).has_value());
  EXPECT_FALSE((*latestCheckpoint(folder.path)).has_value());
  for (const char *name :
       {"checkpoint-1000.safetensors", "checkpoint-20.safetensors",
        "checkpoint-999.safetensors", "checkpoint-2000.safetensors.tmp",
        "checkpoint-.safetensors", "checkpoint-3x.safetensors",
        "checkpoint--4000.safetensors", "other-5000.safetensors"})
    folder.write(name, "");
  EXPECT_EQ(**latestCheckpoint(folder.path),
            folder / "checkpoint-1000.safetensors");
  EXPECT_FALSE(latestCheckpoint(folder / "checkpoint-20.safetensors").ok());
}

TEST(Checkpoint, LeavesTheLatest) {
  TemporaryFolder folder;
  std::set<std::string> left = {"checkpoint-9.safetensors",
                                "checkpoint-20.safetensors",
                                "checkpoint-100.safetensors", "lock"};
  for (const std::string &name : left)
    folder.write(name, "");
  folder.write("checkpoint-8.safetensors", "");
  folder.write("checkpoint-0.safetensors", "");
  auto names = [&] {
    std::set<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path))
      found.insert(entry.path().filename());
    return found;
  };
  // The one with 100 steps is not of this run, or damaged.
  ASSERT_TRUE(removeCheckpoints(folder.path, 20, 2, {}).ok());
  EXPECT_EQ(names(), left);
  ASSERT_TRUE(removeCheckpoints(folder.path, 20, 3, {}).ok());
  EXPECT_EQ(names(), left);

  const std::string damaged[] = {folder / "checkpoint-20.safetensors"};
  ASSERT_TRUE(removeCheckpoints(folder.path, 20, 1, damaged).ok());
  EXPECT_EQ(names(), left);

  class Failing : public FileCalls {
    int remove(const char *) override {
      errno = EACCES;
      return -1;
    }
  } calls;
  Status failed = removeCheckpoints(folder.path, 20, 1, {}, calls);
  EXPECT_EQ(failed.message(),
            "'" + folder / "checkpoint-9.safetensors" +
                "': cannot remove this checkpoint: Permission denied");
}

// Everything that does not fit is named, and nothing has changed.
TEST(Checkpoint, ListsWhatDoesNotFit) {
  TemporaryFolder folder;
  Variables saved, loaded;
  saved.add("a", {2}, 1);
  saved.add("b", {3}, 1);
  saved.add("more", {1}, 1);
  ASSERT_TRUE(saveCheckpoint(folder.path, someState(), saved.views).ok());
  std::string path = folder / "checkpoint-500.safetensors";
  loaded.add("a", {2}, 7);
  loaded.add("b", {4}, 7);
  loaded.add("missing", {2, 2}, 7);
  loaded.add("given", {1}, 7, /*copies=*/0, /*hasInitial=*/true);
  std::string problems =
      "  'b': expected 4xf32, found 3xf32\n"
      "  'missing': expected 2x2xf32, found no such tensor\n";
  std::string begin =
      "'" + path + "' does not fit the variables of the artifact:\n";
  EXPECT_EQ(loadInitialValues(path, loaded.views).message(),
            begin + problems +
                "  'more': expected no such tensor, found 1xf32");
  EXPECT_EQ(restoreCheckpoint(path, loaded.views).status().message(),
            begin + problems +
                "  'given': expected 1xf32, found no such tensor\n"
                "  'more': expected no such tensor, found 1xf32");
  EXPECT_EQ(loaded.memory[0], (std::vector<float>{7, 8}));
}

// Another element type of the same size is no match.
TEST(Checkpoint, ComparesElementTypes) {
  TemporaryFolder folder;
  std::vector<int32_t> values = {1, 2};
  ASSERT_TRUE(
      writeSafetensors(
          folder / "i.safetensors",
          {{"a", ElementType::i32, {2}, {std::as_bytes(std::span(values))}}},
          {})
          .ok());
  Variables loaded;
  loaded.add("a", {2}, 0);
  EXPECT_EQ(loadInitialValues(folder / "i.safetensors", loaded.views).message(),
            "'" + folder / "i.safetensors" +
                "' does not fit the variables of the artifact:\n"
                "  'a': expected 2xf32, found 2xi32");
}

// Values of the replicas that are equal are saved once and fit any number of
// replicas.
TEST(Checkpoint, KeepsValuesOfReplicas) {
  TemporaryFolder folder;
  Variables different, equal;
  different.add("v", {2}, 1, /*copies=*/3);
  equal.add("v", {2}, 1, /*copies=*/3);
  equal.memory[1] = equal.memory[2] = equal.memory[0];
  std::string stacked =
      *saveCheckpoint(folder / "different", someState(), different.views);
  std::string single =
      *saveCheckpoint(folder / "equal", someState(), equal.views);
  EXPECT_EQ(typeName(SafetensorsFile::open(stacked)->find("v")->type),
            "3x2xf32");
  EXPECT_EQ(typeName(SafetensorsFile::open(single)->find("v")->type), "2xf32");

  Variables three, four;
  three.add("v", {2}, 0, /*copies=*/3);
  four.add("v", {2}, 0, /*copies=*/4);
  ASSERT_TRUE(restoreCheckpoint(stacked, three.views).ok());
  EXPECT_EQ(three.memory, different.memory);
  ASSERT_TRUE(restoreCheckpoint(single, four.views).ok());
  EXPECT_EQ(four.memory[3], equal.memory[0]);
  EXPECT_EQ(restoreCheckpoint(stacked, four.views).status().message(),
            "'" + stacked +
                "' does not fit the variables of the artifact:\n"
                "  'v': expected 2xf32 or 4x2xf32 (a value for each replica), "
                "found 3x2xf32");
}

TEST(Checkpoint, ChecksTheState) {
  TemporaryFolder folder;
  std::string path = folder / "x.safetensors";
  auto error = [&](const std::map<std::string, std::string> &metadata) {
    EXPECT_TRUE(writeSafetensors(path, {}, metadata).ok());
    return restoreCheckpoint(path, {}).status().message();
  };
  EXPECT_EQ(error({}),
            "'" + path +
                "': expected a checkpoint, found a safetensors file without a "
                "state of training (use it with --init)");
  EXPECT_EQ(error({{"lockstep_checkpoint", "1"}}),
            "'" + path +
                "': expected a checkpoint of version 2 or 3, found '1'");
  EXPECT_EQ(error({{"lockstep_checkpoint", "2"}, {"step", "1"}, {"seed", "x"}}),
            "'" + path +
                "': expected a number for 'seed' in the metadata, found 'x'");
  EXPECT_EQ(error({{"lockstep_checkpoint", "2"}}),
            "'" + path +
                "': expected a number for 'step' in the metadata, found none");
}

// Temporary files of killed runs do not disturb others, and are removed when a
// run has locked the folder. Those of other programs are kept.
TEST(Checkpoint, SurvivesALeftover) {
  TemporaryFolder folder;
  Variables variables;
  variables.add("a", {2}, 1);
  std::string leftover =
      "checkpoint-500.safetensors." + std::to_string(::getpid()) + "-0.tmp";
  for (std::string name :
       {leftover, std::string("checkpoint-2.safetensors.77-3.tmp"),
        std::string("notes.tmp")})
    folder.write(name, std::string(5000, 'x'));
  ASSERT_TRUE(saveCheckpoint(folder.path, someState(), variables.views).ok());
  EXPECT_TRUE(
      restoreCheckpoint(**latestCheckpoint(folder.path), variables.views).ok());
  EXPECT_TRUE(FolderLock::acquire(folder.path).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / leftover));
  EXPECT_FALSE(
      std::filesystem::exists(folder / "checkpoint-2.safetensors.77-3.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.tmp"));
}

// An existing name, for example an attacker's link to a file of this user, is
// not written to.
TEST(AtomicFile, FollowsNoLink) {
  TemporaryFolder folder;
  folder.write("target", "theirs");
  struct Linking final : FileCalls {
    int create(const char *path) override {
      if (links++ == 0)
        std::filesystem::create_symlink(target, path);
      return FileCalls::create(path);
    }
    std::string target;
    int links = 0;
  } calls;
  calls.target = folder / "target";
  Expected<AtomicFile> file = AtomicFile::create(folder / "file", calls);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->write(std::as_bytes(std::span("ours", 4))).ok());
  EXPECT_TRUE(file->commit().ok());
  EXPECT_EQ(calls.links, 2);
  EXPECT_EQ(readText(folder / "target"), "theirs");
  EXPECT_EQ(readText(folder / "file"), "ours");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "file"));
}

TEST(FolderLock, IsHeldByOne) {
  TemporaryFolder folder;
  Expected<FolderLock> first = FolderLock::acquire(folder.path);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(FolderLock::acquire(folder.path).status().message(),
            "'" + folder.path +
                "': expected a folder that no other run saves to, found it "
                "locked by process " +
                std::to_string(::getpid()));
  *first = FolderLock();
  EXPECT_TRUE(FolderLock::acquire(folder.path).ok());
  std::filesystem::remove(folder / "lock");
  std::filesystem::create_symlink(folder / "elsewhere", folder / "lock");
  EXPECT_FALSE(FolderLock::acquire(folder.path).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere"));
}

// If any byte of a checkpoint has changed, the checkpoint is damaged, and the
// previous one is restored.
TEST(Checkpoint, SeesEachByteThatHasChanged) {
  TemporaryFolder folder;
  Variables variables;
  variables.add("a", {2}, 1);
  std::string older =
      *saveCheckpoint(folder.path, {.step = 1, .seed = 7}, variables.views);
  std::string latest =
      *saveCheckpoint(folder.path, {.step = 2, .seed = 8}, variables.views);
  const std::string sound = readText(latest);
  for (size_t i = 0; i < sound.size(); ++i)
    for (char change : {'\x01', '\x80'}) {
      std::string changed = sound;
      changed[i] = char(changed[i] ^ change);
      folder.write("checkpoint-2.safetensors", changed);
      Expected<TrainingState> state =
          restoreCheckpoint(latest, variables.views);
      ASSERT_EQ(state.status().code(), StatusCode::corrupted)
          << i << ": " << state.status().message();
      Expected<std::optional<RestoredCheckpoint>> restored =
          restoreLatestCheckpoint(folder.path, variables.views);
      ASSERT_TRUE(restored.ok()) << restored.status().message();
      ASSERT_EQ((*restored)->path, older);
      ASSERT_EQ((*restored)->state.seed, 7u);
      ASSERT_EQ((*restored)->damaged,
                std::vector<std::string>{state.status().message()});
    }
  for (size_t size = 0; size < sound.size(); ++size) {
    folder.write("checkpoint-2.safetensors", sound.substr(0, size));
    Expected<std::optional<RestoredCheckpoint>> restored =
        restoreLatestCheckpoint(folder.path, variables.views);
    ASSERT_TRUE(restored.ok()) << size << ": " << restored.status().message();
    ASSERT_EQ((*restored)->path, older);
  }
  folder.write("checkpoint-1.safetensors", "");
  Status none = restoreLatestCheckpoint(folder.path, variables.views).status();
  EXPECT_EQ(none.code(), StatusCode::corrupted);
  EXPECT_TRUE(none.message().starts_with(
      "'" + folder.path +
      "': expected a checkpoint that is whole, found none:\n  '" + latest +
      "': "))
      << none.message();
}

// The digest in the file equals that computed from the file by other programs.
TEST(Checkpoint, DigestIsThatOfTheFile) {
  TemporaryFolder folder;
  Variables variables;
  variables.add("a", {2}, 1);
  std::string text =
      readText(*saveCheckpoint(folder.path, someState(), variables.views));
  size_t place = text.find("\"sha256\":\"") + 10;
  std::string digest = text.substr(place, 64);
  text.replace(place, 64, 64, '0');
  EXPECT_EQ(toHex(Sha256::of(std::as_bytes(std::span(text)))), digest);
}

// Checkpoints of the previous version have no digest, and are read; a file of
// that version with a digest is an error.
TEST(Checkpoint, ReadsThoseWithoutDigest) {
  TemporaryFolder folder;
  std::string path = folder / "checkpoint-3.safetensors";
  std::map<std::string, std::string> metadata = {{"lockstep_checkpoint", "2"},
                                                 {"step", "3"},
                                                 {"seed", "0"},
                                                 {"epoch", "0"},
                                                 {"position", "0"}};
  ASSERT_TRUE(writeSafetensors(path, {}, metadata).ok());
  EXPECT_EQ(restoreCheckpoint(path, {})->step, 3u);
  metadata["sha256"] = std::string(noDigest);
  ASSERT_TRUE(writeSafetensors(path, {}, metadata).ok());
  EXPECT_EQ(restoreCheckpoint(path, {}).status().code(),
            StatusCode::unsupported);
  metadata["lockstep_checkpoint"] = "3";
  metadata.erase("sha256");
  ASSERT_TRUE(writeSafetensors(path, {}, metadata).ok());
  EXPECT_EQ(restoreCheckpoint(path, {}).status().message(),
            "'" + path +
                "': expected 'sha256' in the metadata, found none: bytes of "
                "the file have changed");
}

// A folder that cannot be created, or that is a file, is reported before the
// first step, not after the last one.
TEST(Checkpoint, FolderIsTriedBeforeTraining) {
  TemporaryFolder folder;
  EXPECT_TRUE(prepareCheckpoints(folder / "new/deep").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder / "new/deep"));
  EXPECT_TRUE(prepareCheckpoints(folder / "new/deep").ok());
  folder.write("file", "");
  for (std::string path : {folder / "file", folder / "file/below"})
    EXPECT_EQ(
        prepareCheckpoints(path).message(),
        "'" + path +
            "': cannot create this folder for checkpoints: Not a directory");
}

// A file does not depend on where variables are: split among servers, copied by
// executors, or neither.
TEST(Checkpoint, DoesNotDependOnWhereVariablesLive) {
  TemporaryFolder folder;
  Variables whole;
  whole.add("table", {5, 2}, 1);
  Expected<std::string> path =
      saveCheckpoint(folder / "whole", someState(), whole.views);
  ASSERT_TRUE(path.ok()) << path.status().message();

  for (const std::vector<size_t> &rows :
       {std::vector<size_t>{3, 2}, {1, 1, 3}, {5}}) {
    std::vector<float> first(10, -1), second(10, -1);
    std::vector<VariableValue::Pieces> places;
    for (std::vector<float> *memory : {&first, &second}) {
      std::span<std::byte> rest = std::as_writable_bytes(std::span(*memory));
      VariableValue::Pieces &pieces = places.emplace_back();
      for (size_t count : rows) {
        pieces.push_back(rest.first(count * 2 * sizeof(float)));
        rest = rest.subspan(pieces.back().size());
      }
    }
    Variables split;
    split.add("table", {5, 2}, 0);
    split.views[0].values = {VariableValue(std::move(places))};
    Expected<TrainingState> state = restoreCheckpoint(*path, split.views);
    ASSERT_TRUE(state.ok()) << state.status().message();
    EXPECT_EQ(first, whole.memory[0]);
    EXPECT_EQ(second, whole.memory[0]);
    Expected<std::string> again =
        saveCheckpoint(folder / "split", *state, split.views);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(readText(*again), readText(*path));
  }
}

// Values in different pieces are compared by their bytes.
TEST(Variables, ValuesInPiecesAreCompared) {
  std::array<std::byte, 6> left = {}, right = {};
  auto value = [](std::span<std::byte> bytes, size_t first) {
    return VariableValue(std::vector<VariableValue::Pieces>{
        {bytes.first(first), bytes.subspan(first)}});
  };
  for (size_t split : {0, 1, 5, 6}) {
    EXPECT_EQ(value(left, 2), value(right, split));
    right[5] = std::byte(1);
    EXPECT_NE(value(left, 2), value(right, split));
    right[5] = std::byte(0);
  }
}
