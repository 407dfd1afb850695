//===- BatchesTest.cpp - data sets become batches -------------------------===//

#include "DataTestSupport.h"

#include "runtime/data/Batches.h"
#include "runtime/data/EpochBatches.h"
#include "runtime/data/Shuffle.h"

#include <filesystem>

#include <gtest/gtest.h>

#include <map>
#include <numeric>

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;
using lockstep::artifact::ElementType;

namespace {

/// `examples` rows: x is [e, e + 0.5], y is e + 1 (never 0, which is padding).
std::string writeData(const TemporaryFolder &folder, unsigned examples) {
  std::vector<float> x;
  std::vector<int32_t> y;
  for (unsigned e = 0; e < examples; ++e) {
    x.insert(x.end(), {float(e), float(e) + 0.5f});
    y.push_back(int32_t(e) + 1);
  }
  std::string count = std::to_string(examples);
  folder.write("x.npy", npyOf("<f4", "(" + count + ", 2)", x));
  folder.write("y.npy", npyOf("<i4", "(" + count + ",)", y));
  return folder.path;
}

ProgramInfo program(int64_t rows, bool withMask = false,
                    ElementType mask = ElementType::f32) {
  std::vector<InputInfo> inputs = {{"x", {ElementType::f32, {rows, 2}, 0}, 0},
                                   {"y", {ElementType::i32, {rows}, 0}, 0}};
  if (withMask)
    inputs.insert(inputs.begin(), {"mask", {mask, {rows}, 0}, 0});
  return programWith(std::move(inputs));
}

/// The same program for any number of rows up to `rows`.
ProgramInfo varyingProgram(int64_t rows) {
  return programWith({{"x", {ElementType::f32, {rows, 2}, 0}, 0},
                      {"x.dim0", {ElementType::i64, {}, 0}, 0},
                      {"y", {ElementType::i32, {rows}, 0}, 0},
                      {"y.dim0", {ElementType::i64, {}, 0}, 0}});
}

std::unique_ptr<Batches> makeBatches(const std::string &path,
                                     const ProgramInfo &info,
                                     const BatchOptions &options) {
  Expected<Dataset> data = Dataset::open(path);
  EXPECT_TRUE(data.ok());
  Expected<BatchLayout> layout =
      planBatches(*data, info, options.mode == BatchMode::evaluate);
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  Expected<std::unique_ptr<Batches>> batches =
      Batches::create(std::move(*layout), options);
  EXPECT_TRUE(batches.ok()) << batches.status().message();
  return std::move(*batches);
}

std::string createError(const std::string &path, const ProgramInfo &info,
                        const BatchOptions &options) {
  Expected<Dataset> data = Dataset::open(path);
  Expected<BatchLayout> layout =
      planBatches(*data, info, options.mode == BatchMode::evaluate);
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  return Batches::create(std::move(*layout), options).status().message();
}

template <typename T>
std::vector<T> input(const Batch &batch, const ProgramInfo &info,
                     const char *name, unsigned replica) {
  for (const InputInfo &binding : info.inputs)
    if (binding.name == name)
      return valuesOf<T>(
          {batch.inputs[replica] + binding.offset, binding.type.bytes});
  return {};
}

/// Examples of each replica in the first step, in the next, ...: y without
/// padding, by the number of rows in the program's input.
std::vector<std::vector<std::vector<int32_t>>>
examplesOf(Batches &batches, const ProgramInfo &info, unsigned replicas,
           unsigned steps) {
  std::vector<std::vector<std::vector<int32_t>>> result(steps);
  for (auto &step : result) {
    const Batch *batch = *batches.next();
    for (unsigned replica = 0; replica < replicas; ++replica) {
      int64_t rows = input<int64_t>(*batch, info, "y.dim0", replica)[0];
      EXPECT_EQ(input<int64_t>(*batch, info, "x.dim0", replica)[0], rows);
      std::vector<int32_t> y = input<int32_t>(*batch, info, "y", replica);
      step.emplace_back(y.begin(), y.begin() + rows);
    }
  }
  return result;
}

std::string planError(const std::string &path, const ProgramInfo &info,
                      bool supplyMask = false) {
  return planBatches(*Dataset::open(path), info, supplyMask).status().message();
}

} // namespace

// Replica r takes the r-th part of each global batch of the shuffled order; the
// last two of twenty examples do not fill a batch and are dropped.
TEST(Batches, TrainsInTheShuffledOrder) {
  TemporaryFolder folder;
  ProgramInfo info = program(/*rows=*/3);
  BatchOptions options{.replicas = 3, .seed = 7};
  std::unique_ptr<Batches> batches =
      makeBatches(writeData(folder, 20), info, options);
  EXPECT_EQ(batches->globalBatch(), 9u);
  EXPECT_EQ(batches->batchesPerEpoch(), 2u);
  EXPECT_EQ(batches->droppedExamples(), 2u);
  const Batch *peeked = nullptr;
  std::vector<float> shown;
  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    std::vector<uint64_t> order = shuffledOrder(7, epoch, 20);
    for (uint64_t step = 0; step < 2; ++step) {
      Expected<const Batch *> batch = batches->next();
      ASSERT_TRUE(batch.ok());
      EXPECT_TRUE(!peeked || input<float>(**batch, info, "x", 2) == shown);
      if ((peeked = batches->peek()))
        shown = input<float>(*peeked, info, "x", 2);
      EXPECT_EQ((*batch)->epoch, epoch);
      EXPECT_EQ((*batch)->examples, 9u);
      EXPECT_EQ((*batch)->endsEpoch, step == 1);
      EXPECT_EQ((*batch)->next,
                (step == 1 ? DataCursor{epoch + 1, 0} : DataCursor{epoch, 9}));
      for (unsigned replica = 0; replica < 3; ++replica) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>((*batch)->inputs[replica]) % 64,
                  0u);
        std::vector<float> x = input<float>(**batch, info, "x", replica);
        std::vector<int32_t> y = input<int32_t>(**batch, info, "y", replica);
        for (unsigned row = 0; row < 3; ++row) {
          uint64_t example = order[step * 9 + replica * 3 + row];
          EXPECT_EQ(x[2 * row], float(example));
          EXPECT_EQ(x[2 * row + 1], float(example) + 0.5f);
          EXPECT_EQ(y[row], int32_t(example) + 1);
        }
      }
    }
  }
}

// Twenty examples in batches of nine on two replicas: the last two are a batch
// too, and every epoch is whole.
TEST(Batches, DistributesTheRemainder) {
  TemporaryFolder folder;
  ProgramInfo info = varyingProgram(/*rows=*/5);
  BatchOptions options{.replicas = 2,
                       .remainder = Remainder::distribute,
                       .globalBatch = 9,
                       .seed = 7};
  std::unique_ptr<Batches> batches =
      makeBatches(writeData(folder, 20), info, options);
  EXPECT_EQ(batches->batchesPerEpoch(), 3u);
  EXPECT_EQ(batches->batchesFrom(18), 1u);
  EXPECT_EQ(batches->droppedExamples(), 0u);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<uint64_t> order = shuffledOrder(7, epoch, 20);
    auto next = order.begin();
    auto found = examplesOf(*batches, info, 2, 3);
    for (size_t step = 0; step < 3; ++step)
      for (size_t replica = 0; replica < 2; ++replica) {
        EXPECT_EQ(found[step][replica].size(),
                  (std::vector<std::vector<size_t>>{
                      {5, 4}, {5, 4}, {1, 1}})[step][replica]);
        for (int32_t example : found[step][replica])
          EXPECT_EQ(example, int32_t(*next++) + 1);
      }
  }
}

// One example for four replicas: three of them get none, but execute the step.
// [6.1-empty]
TEST(Batches, ReplicasWithoutAnExample) {
  TemporaryFolder folder;
  ProgramInfo info = varyingProgram(/*rows=*/2);
  std::string path = writeData(folder, 9);
  std::unique_ptr<Batches> batches = makeBatches(
      path, info, {.replicas = 4, .remainder = Remainder::distribute});
  auto found = examplesOf(*batches, info, 4, 2);
  EXPECT_EQ(found[1][0].size(), 1u);
  for (unsigned replica = 1; replica < 4; ++replica)
    EXPECT_TRUE(found[1][replica].empty());
  // If the remainder is dropped, there is one step, with the maximum number of
  // rows.
  batches = makeBatches(path, info, {.replicas = 4});
  EXPECT_EQ(batches->batchesPerEpoch(), 1u);
  EXPECT_EQ(examplesOf(*batches, info, 4, 1)[0][3].size(), 2u);
  // Evaluated, nothing is padded, so no mask is needed.
  batches =
      makeBatches(path, info, {.mode = BatchMode::evaluate, .replicas = 2});
  EXPECT_EQ(examplesOf(*batches, info, 2, 3),
            (std::vector<std::vector<std::vector<int32_t>>>{
                {{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}, {{9}, {}}}));
}

TEST(Batches, RowsThatVaryNeedAProgramForThem) {
  TemporaryFolder folder;
  std::string path = writeData(folder, 10);
  EXPECT_EQ(
      createError(path, program(2),
                  {.replicas = 2, .remainder = Remainder::distribute}),
      "expected a program whose number of rows is known at run time only, "
      "because 10 examples in batches of 4 give 2 replicas different "
      "numbers of rows; found one that always takes 2");
  EXPECT_EQ(
      createError(path, varyingProgram(2), {.replicas = 2, .globalBatch = 5}),
      "expected a global batch of at most 4 (2 replicas with 2 rows), found 5");
  // Divisible batches from the beginning of an epoch need no such program.
  makeBatches(path, program(1),
              {.replicas = 2, .remainder = Remainder::distribute});
  EXPECT_NE(
      createError(
          path, program(1),
          {.replicas = 2, .remainder = Remainder::distribute, .start = {0, 5}}),
      "");
}

// A second run that begins where the first one stopped sees the same batches.
TEST(Batches, ResumesAnywhere) {
  TemporaryFolder folder;
  std::string path = writeData(folder, 11);
  ProgramInfo info = program(2);
  std::unique_ptr<Batches> whole =
      makeBatches(path, info, {.replicas = 1, .seed = 3});
  std::vector<std::vector<int32_t>> seen;
  std::vector<DataCursor> cursors = {{0, 0}};
  for (unsigned i = 0; i < 12; ++i) {
    Expected<const Batch *> batch = whole->next();
    seen.push_back(input<int32_t>(**batch, info, "y", 0));
    cursors.push_back((*batch)->next);
  }
  for (unsigned start = 0; start < 12; ++start) {
    std::unique_ptr<Batches> rest = makeBatches(
        path, info, {.replicas = 1, .seed = 3, .start = cursors[start]});
    for (unsigned i = start; i < 12; ++i)
      EXPECT_EQ(input<int32_t>(**rest->next(), info, "y", 0), seen[i]);
  }
}

// Each example is in one batch of a round, in the order of the data; the mask
// distinguishes it from padding, which is zero.
TEST(Batches, EvaluationCountsEveryExampleOnce) {
  TemporaryFolder folder;
  std::string path = writeData(folder, 13);
  for (ElementType element : {ElementType::f32, ElementType::i1}) {
    ProgramInfo info = program(2, /*withMask=*/true, element);
    std::unique_ptr<Batches> batches =
        makeBatches(path, info, {.mode = BatchMode::evaluate, .replicas = 4});
    EXPECT_EQ(batches->batchesPerEpoch(), 2u);
    EXPECT_EQ(batches->droppedExamples(), 0u);
    for (uint64_t round = 0; round < 5; ++round) {
      int32_t expected = 1;
      for (uint64_t step = 0; step < 2; ++step) {
        const Batch *batch = *batches->next();
        EXPECT_EQ(batch->epoch, round);
        EXPECT_EQ(batch->endsEpoch, step == 1);
        EXPECT_EQ(batch->examples, step == 0 ? 8u : 5u);
        for (unsigned replica = 0; replica < 4; ++replica)
          for (unsigned row = 0; row < 2; ++row) {
            bool real = expected <= 13;
            EXPECT_EQ(input<int32_t>(*batch, info, "y", replica)[row],
                      real ? expected : 0);
            if (element == ElementType::f32)
              EXPECT_EQ(input<float>(*batch, info, "mask", replica)[row],
                        real ? 1.0f : 0.0f);
            else
              EXPECT_EQ(input<uint8_t>(*batch, info, "mask", replica)[row],
                        real ? 1 : 0);
            ++expected;
          }
      }
    }
  }
}

// A data set smaller than one global batch leaves whole replicas without an
// example.
TEST(Batches, EvaluatesFewExamples) {
  TemporaryFolder folder;
  ProgramInfo info = program(4, /*withMask=*/true);
  std::unique_ptr<Batches> batches =
      makeBatches(writeData(folder, 3), info,
                  {.mode = BatchMode::evaluate, .replicas = 2, .slots = 2});
  for (unsigned round = 0; round < 6; ++round) {
    const Batch *batch = *batches->next();
    EXPECT_TRUE(batch->endsEpoch);
    EXPECT_EQ(input<float>(*batch, info, "mask", 0),
              (std::vector<float>{1, 1, 1, 0}));
    EXPECT_EQ(input<float>(*batch, info, "mask", 1),
              (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(input<int32_t>(*batch, info, "y", 1),
              (std::vector<int32_t>{0, 0, 0, 0}));
  }
}

TEST(Batches, RefusesTooFewExamples) {
  TemporaryFolder folder;
  std::string path = writeData(folder, 7);
  EXPECT_EQ(createError(path, program(4), {.replicas = 2}),
            "'" + path +
                "': expected at least a global batch of 8 (2 replicas with 4 "
                "rows), found 7 "
                "examples");
  EXPECT_EQ(createError(path, program(4),
                        {.mode = BatchMode::evaluate, .replicas = 2}),
            "'" + path +
                "': expected a multiple of the global batch of 8 (2 replicas "
                "with 4 rows), "
                "because the program has no input 'mask' that could tell "
                "padding from "
                "examples; found 7 examples");
  EXPECT_EQ(createError(path, program(1), {.start = {0, 8}}),
            "'" + path + "': expected a position of at most 7, found 8");
  TemporaryFolder empty;
  path = writeData(empty, 0);
  EXPECT_EQ(createError(path, program(1), {}),
            "'" + path + "': expected examples, found none");
}

// The thread that fills batches is stopped together with the one that waits for
// them. The batch is so large that it is not ready at the first call.
TEST(Batches, ASuspensionIsNoDeadline) {
  /// The first waits end at once, an hour after they began.
  struct SuspendedClock final : Clock {
    Duration now() override { return time; }
    void waitUntil(std::unique_lock<std::mutex> &lock,
                   std::condition_variable &condition, Duration) override {
      time += std::chrono::hours(1);
      if (++waits > 2)
        condition.wait(lock);
    }
    int waits = 0;
    Duration time{};
  } clock;
  TemporaryFolder folder;
  constexpr int64_t rows = 1 << 20;
  writeData(folder, rows);
  std::unique_ptr<Batches> batches =
      makeBatches(folder.path, program(rows), {.clock = &clock});
  Expected<const Batch *> batch = batches->next();
  EXPECT_TRUE(batch.ok()) << batch.status().message();
}

// Batches can be destroyed while the thread is filling, waiting, or has not
// begun. [6.1-prefetch]
TEST(Batches, ShutsDownAtAnyTime) {
  TemporaryFolder folder;
  std::string path = writeData(folder, 64);
  for (unsigned taken = 0; taken < 20; ++taken) {
    std::unique_ptr<Batches> batches =
        makeBatches(path, program(2), {.replicas = 2, .slots = 3});
    for (unsigned i = 0; i < taken; ++i)
      ASSERT_TRUE(batches->next().ok());
  }
}

// All that does not fit is listed, not the first of it.
TEST(BatchLayout, ListsWhatDoesNotFit) {
  TemporaryFolder folder;
  writeData(folder, 6);
  folder.write("short.npy", npyOf<int32_t>("<i4", "(5,)", {1, 2, 3, 4, 5}));
  ProgramInfo info = programWith({{"x", {ElementType::f32, {2, 3}, 0}, 0},
                                  {"y", {ElementType::i64, {2}, 0}, 0},
                                  {"z", {ElementType::f32, {2}, 0}, 0},
                                  {"one", {ElementType::f32, {}, 0}, 0},
                                  {"w", {ElementType::f32, {3}, 0}, 0}});
  EXPECT_EQ(
      planError(folder.path, info),
      "'" + folder.path +
          "' does not fit the inputs of 'step':\n"
          "  'x': expected ?x3xf32, found 6x2xf32\n"
          "  'y': expected ?xi64, found 6xi32\n"
          "  'z': expected ?xf32, found no such array (there are: short, x, "
          "y)\n"
          "  'one': expected the shape of a batch [rows, ...], found f32\n"
          "  'w': expected 2 rows as in the other inputs, found 3xf32");
  ProgramInfo lengths = programWith({{"y", {ElementType::i32, {2}, 0}, 0},
                                     {"short", {ElementType::i32, {2}, 0}, 0}});
  EXPECT_EQ(planError(folder.path, lengths),
            "'" + folder.path +
                "' does not fit the inputs of 'step':\n"
                "  'short': expected 6 examples as in 'y', found 5");
  ProgramInfo mask = programWith({{"mask", {ElementType::i32, {2}, 0}, 0}});
  EXPECT_EQ(planError(folder.path, mask, /*supplyMask=*/true),
            "'" + folder.path +
                "' does not fit the inputs of 'step':\n"
                "  'mask': expected 2xf32 or 2xi1, found 2xi32");
}

// Rows are known at run time for all inputs or for none, and nothing else is.
TEST(BatchLayout, SizesKnownAtRunTime) {
  TemporaryFolder folder;
  std::string path = writeData(folder, 6);
  ProgramInfo info = varyingProgram(3);
  Expected<BatchLayout> layout =
      planBatches(*Dataset::open(path), info, /*supplyMask=*/false);
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(layout->rows, 3u);
  EXPECT_EQ(layout->fields.size(), 2u);
  EXPECT_EQ(
      layout->sizeOffsets,
      (std::vector<uint64_t>{info.inputs[1].offset, info.inputs[3].offset}));
  ProgramInfo mixed = programWith({{"x", {ElementType::f32, {3, 2}, 0}, 0},
                                   {"x.dim0", {ElementType::i64, {}, 0}, 0},
                                   {"x.dim1", {ElementType::i64, {}, 0}, 0},
                                   {"y", {ElementType::i32, {3}, 0}, 0}});
  EXPECT_EQ(planError(path, mixed),
            "'" + path +
                "' does not fit the inputs of 'step':\n"
                "  'x': expected a size of dimension 1 that is known when it "
                "is compiled, found one of at most 2\n"
                "  'y': expected rows that are known at run time only as in "
                "the other inputs");
}

TEST(Dataset, NeedsArrays) {
  TemporaryFolder folder;
  EXPECT_EQ(Dataset::open(folder.path).status().message(),
            "'" + folder.path + "': expected files NAME.npy, found none");
  EXPECT_EQ(Dataset::open(folder / "no.npz").status().message(),
            "'" + folder / "no.npz" + "': cannot open: No such file");
}

// A program that loads batches gets the same batches as a sequence of steps,
// all at once.
TEST(EpochBatches, AreTheBatchesOfAnEpoch) {
  TemporaryFolder folder;
  writeData(folder, 11);
  BatchOptions options{.replicas = 2, .seed = 3, .start = {1, 4}};
  ProgramInfo info = program(2);
  auto single = makeBatches(folder.path, info, options);
  Expected<Dataset> data = Dataset::open(folder.path);
  Expected<BatchLayout> layout = planBatches(*data, info, false);
  Expected<std::unique_ptr<EpochBatches>> epochs =
      EpochBatches::create(std::move(*layout), options);
  ASSERT_TRUE(epochs.ok()) << epochs.status().message();
  // The rest of epoch 1, then whole ones.
  for (size_t batches : {1, 2, 2}) {
    ASSERT_TRUE((*epochs)->next().ok());
    for (size_t i = 0; i < batches; ++i) {
      Expected<const Batch *> batch = single->next();
      ASSERT_TRUE(batch.ok());
      EXPECT_EQ((*batch)->epoch, (*epochs)->epoch());
      EXPECT_EQ((*batch)->endsEpoch, i + 1 == batches);
      for (unsigned replica = 0; replica < 2; ++replica) {
        ASSERT_EQ((*epochs)->inputs(replica).size(), batches);
        EXPECT_EQ(std::memcmp((*epochs)->inputs(replica)[i],
                              (*batch)->inputs[replica], info.inputSize),
                  0);
      }
      if (i + 1 == batches)
        EXPECT_EQ((*epochs)->cursor(), (*batch)->next);
    }
  }
}

// Data that are truncated while a run reads them: what was read before is
// right, then there is an error.
TEST(Batches, DataThatBecomeShorter) {
  TemporaryFolder folder;
  ProgramInfo info = program(/*rows=*/1);
  Expected<Dataset> data = Dataset::open(writeData(folder, 20));
  Expected<BatchLayout> layout = planBatches(*data, info, false);
  ASSERT_TRUE(layout.ok());
  folder.write(
      "x.npy",
      npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (20, 2), }",
              std::string(160, '\0')));
  for (BatchField &field : layout->fields)
    if (field.name == "x")
      field.array =
          std::make_shared<NpyArray>(*NpyArray::open(folder / "x.npy", 0));
  Expected<std::unique_ptr<Batches>> batches =
      Batches::create(*layout, {.replicas = 1, .seed = 1, .slots = 2});
  ASSERT_TRUE(batches.ok());
  EXPECT_TRUE((*batches)->next().ok());
  std::filesystem::resize_file(folder / "x.npy", 100);
  // Some batches have been made already.
  Status status;
  for (int i = 0; i < 40 && status.ok(); ++i)
    status = (*batches)->next().status();
  EXPECT_TRUE(status.message().starts_with(
      "'" + folder / "x.npy" + "': truncated since it was opened: expected "))
      << status.message();
  EXPECT_EQ((*batches)->next().status().message(), status.message());
  std::unique_ptr<EpochBatches> epochs =
      std::move(*EpochBatches::create(*layout, {.replicas = 1, .seed = 1}));
  EXPECT_EQ(epochs->next().code(), StatusCode::corrupted);
}
