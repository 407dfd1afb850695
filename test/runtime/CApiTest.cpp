//===- CApiTest.cpp - the C API from outside ------------------------------===//

#include "TestProgram.h"

#include "runtime/api/lockstep.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <thread>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

class CApiWithExecutors : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Executors, CApiWithExecutors, testing::Values(1, 2));

TEST_P(CApiWithExecutors, isWhole) { // [7-non-tensor]
  TemporaryFile file("c-api.lockstep");
  const std::string &path = file.path;
  TestProgram p(2);
  uint32_t x = p.input("x", ElementType::i64, {});
  uint32_t lr = p.scalar("lr", ElementType::i64);
  uint32_t w = p.variable("w", ElementType::i64, {});
  uint32_t local = p.buffer(Space::replica, ElementType::i64, {});
  uint32_t sum = p.buffer(Space::shared, ElementType::i64, {});
  p.output("sum", sum);
  uint32_t add = p.reg(), channel = p.channel();
  p.loadRegister(add, lr);
  p.launch("add_scalar", {x}, {local}, {add});
  p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {local}, {sum});
  p.wait(channel);
  p.once(p.channel());
  p.copy(sum, w);
  p.endOnce();
  p.ret();
  p.constantOutput("main", "labels", R"(["cat","dog"])");
  p.file();
  ASSERT_TRUE(p.writer.writeFile(path).ok());

  lockstep_options options;
  lockstep_options_init(&options, sizeof(options));
  EXPECT_EQ(options.executors, 1u);
  options.workers = 2;
  options.executors = GetParam();
  lockstep_session *session = nullptr;
  ASSERT_EQ(lockstep_session_open(path.c_str(), &options, &session),
            LOCKSTEP_OK)
      << lockstep_last_error();
  EXPECT_EQ(lockstep_replicas(session), 2u);
  uint32_t program = 99;
  ASSERT_EQ(lockstep_program_find(session, "main", &program), LOCKSTEP_OK);
  EXPECT_EQ(lockstep_program_find(session, "other", &program),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "there is no program 'other': the artifact has 'main'");

  lockstep_tensor info;
  size_t offset = 99;
  ASSERT_EQ(lockstep_input_count(session, program), 1u);
  ASSERT_EQ(lockstep_input_info(session, program, 0, &info, &offset),
            LOCKSTEP_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.element, LOCKSTEP_I64);
  EXPECT_EQ(offset, 0u);
  alignas(64) int64_t batch[2][8] = {{5}, {7}};
  for (uint32_t r = 0; r < 2; ++r)
    ASSERT_EQ(lockstep_input_bind(session, program, r, batch[r]), LOCKSTEP_OK);
  int64_t value = 10;
  EXPECT_EQ(lockstep_run(session, program), LOCKSTEP_INVALID_ARGUMENT);
  ASSERT_EQ(lockstep_scalar_set(session, "lr", &value, sizeof(value)),
            LOCKSTEP_OK);

  const void *data = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(lockstep_output_get(session, program, 0, 0, &data, &bytes),
            LOCKSTEP_INVALID_ARGUMENT);
  ASSERT_EQ(lockstep_run(session, program), LOCKSTEP_OK)
      << lockstep_last_error();
  ASSERT_EQ(lockstep_output_count(session, program), 1u);
  ASSERT_EQ(lockstep_output_info(session, program, 0, &info), LOCKSTEP_OK);
  EXPECT_STREQ(info.name, "sum");
  ASSERT_EQ(lockstep_output_get(session, program, 0, 1, &data, &bytes),
            LOCKSTEP_OK);
  ASSERT_EQ(bytes, 8u);
  EXPECT_EQ(*static_cast<const int64_t *>(data), 32);

  const char *json = nullptr;
  ASSERT_EQ(lockstep_constant_output_get(session, program, "labels", &json),
            LOCKSTEP_OK);
  EXPECT_STREQ(json, R"(["cat","dog"])");
  EXPECT_EQ(lockstep_constant_output_get(session, program, "label", &json),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "program 'main' has no constant output 'label'");

  ASSERT_EQ(lockstep_variable_count(session), 1u);
  ASSERT_EQ(lockstep_variable_info(session, 0, &info), LOCKSTEP_OK);
  EXPECT_STREQ(info.name, "w");
  ASSERT_EQ(lockstep_variable_get(session, "w", 0, &value, sizeof(value)),
            LOCKSTEP_OK);
  EXPECT_EQ(value, 32);
  EXPECT_EQ(lockstep_variable_set(session, "w", 0, &value, 4),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_variable_get(session, "v", 0, &value, 8),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_deadline_report(session), "");
  for (uint32_t r = 0; r < 2; ++r)
    EXPECT_EQ(lockstep_input_announce(session, program, r, batch[r]),
              LOCKSTEP_OK);
  EXPECT_EQ(lockstep_input_announce(session, program, 2, batch[0]),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(), "program 0 or replica 2 does not exist");
  lockstep_session_close(session);
}

/// The context of a session's report functions. A kernel waits for `calls`. It
/// is never freed: a run that misses its deadline leaves kernels behind, which
/// may end after the test.
struct Reports {
  std::atomic<int> calls{0};
  std::string text, json;
  lockstep_session *session = nullptr;
};
Reports *reports;

void remember(void *context, const char *text, const char *json) {
  auto *received = static_cast<Reports *>(context);
  received->text = text;
  received->json = json;
  ++received->calls;
}

void rememberAndInterrupt(void *context, const char *text, const char *json) {
  remember(context, text, json);
  EXPECT_EQ(lockstep_interrupt(static_cast<Reports *>(context)->session),
            LOCKSTEP_OK)
      << lockstep_last_error();
}

/// The deadline is short for a test, but long for a thread that is runnable and
/// has to wait for a processor.
lockstep_options reportingOptions(uint32_t executors, Reports &received) {
  lockstep_options options;
  lockstep_options_init(&options, sizeof(options));
  options.workers = 2;
  options.executors = executors;
  options.deadline_seconds = 0.5;
  options.report_context = &received;
  return options;
}

// The calling thread itself hangs in a kernel, in this test until it has been
// reported.
TEST_P(CApiWithExecutors, reportsADeadline) {
  TemporaryFile file("c-api-deadline.lockstep");
  const std::string &path = file.path;
  TestProgram p(2);
  p.call([](void *) {
    Reports *mine = reports;
    while (!mine->calls)
      std::this_thread::yield();
  });
  p.barrier(p.channel());
  p.ret();
  p.file();
  ASSERT_TRUE(p.writer.writeFile(path).ok());
  Reports &received = *(reports = new Reports);
  lockstep_options options = reportingOptions(GetParam(), received);
  options.on_deadline = remember;
  lockstep_session *session = nullptr;
  ASSERT_EQ(lockstep_session_open(path.c_str(), &options, &session),
            LOCKSTEP_OK)
      << lockstep_last_error();
  EXPECT_NE(lockstep_variables_intact(session), 0);
  EXPECT_EQ(lockstep_run(session, 0), LOCKSTEP_DEADLINE);
  EXPECT_EQ(received.calls, 1);
  EXPECT_NE(received.text.find("running command 0 'launch 'call''"),
            std::string::npos)
      << received.text;
  EXPECT_EQ(received.json, lockstep_deadline_report(session));
  EXPECT_NE(lockstep_variables_intact(session), 0);
  lockstep_session_close(session);
}

// Replica 1 is in an infinite loop. The report function can end the run.
TEST_P(CApiWithExecutors, reportsALongWait) {
  TemporaryFile file("c-api-long-wait.lockstep");
  const std::string &path = file.path;
  TestProgram p(2);
  uint32_t ends = p.variable("ends", ElementType::i1, {}, true);
  uint32_t iterations = p.variable("iterations", ElementType::i64, {}, true);
  uint32_t one = p.reg();
  p.setRegister(one, 1);
  p.launch("add_scalar", {iterations}, {iterations}, {one});
  p.branchUnless(ends, 1);
  p.barrier(p.channel());
  p.ret();
  p.file();
  ASSERT_TRUE(p.writer.writeFile(path).ok());
  Reports &received = *(reports = new Reports);
  lockstep_options options = reportingOptions(GetParam(), received);
  options.on_deadline = remember;
  options.on_long_wait = rememberAndInterrupt;
  ASSERT_EQ(lockstep_session_open(path.c_str(), &options, &received.session),
            LOCKSTEP_OK)
      << lockstep_last_error();
  // The second replica never ends.
  for (uint32_t replica = 0; replica < 2; ++replica) {
    char ends = replica == 0;
    int64_t none = 0;
    ASSERT_EQ(lockstep_variable_set(received.session, "ends", replica, &ends,
                                    sizeof(ends)),
              LOCKSTEP_OK)
        << lockstep_last_error();
    ASSERT_EQ(lockstep_variable_set(received.session, "iterations", replica,
                                    &none, sizeof(none)),
              LOCKSTEP_OK)
        << lockstep_last_error();
  }
  EXPECT_EQ(lockstep_run(received.session, 0), LOCKSTEP_INTERRUPTED);
  EXPECT_STREQ(lockstep_last_error(),
               "the run was aborted by lockstep_interrupt");
  EXPECT_GE(received.calls, 1);
  EXPECT_NE(received.text.find("while others went on without coming"),
            std::string::npos)
      << received.text;
  EXPECT_EQ(nlohmann::json::parse(received.json)["waits"][0]["missing"],
            nlohmann::json::array({1}));
  EXPECT_EQ(lockstep_variables_intact(received.session), 0);
  EXPECT_EQ(lockstep_run(received.session, 0), LOCKSTEP_POISONED);
  lockstep_session_close(received.session);
}

TEST(CApi, errors) {
  lockstep_session *session = nullptr;
  EXPECT_EQ(lockstep_session_open("/nonexistent.lockstep", nullptr, &session),
            LOCKSTEP_SYSTEM);
  EXPECT_EQ(session, nullptr);
  EXPECT_NE(std::string(lockstep_last_error()).find("cannot open artifact"),
            std::string::npos);
  lockstep_options options;
  lockstep_options_init(&options, sizeof(options));
  options.deadline_seconds = 0;
  EXPECT_EQ(lockstep_session_open("x", &options, &session),
            LOCKSTEP_INVALID_ARGUMENT);
  TemporaryFile file("c-api-errors.lockstep");
  const std::string &path = file.path;
  TestProgram p(2);
  p.ret();
  p.file();
  ASSERT_TRUE(p.writer.writeFile(path).ok());
  lockstep_options_init(&options, sizeof(options));
  options.executors = 3;
  EXPECT_EQ(lockstep_session_open(path.c_str(), &options, &session),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(
      lockstep_last_error(),
      "expected 1 to 2 executors, at most one for each replica, found 3");
  options.executors = 0;
  EXPECT_EQ(lockstep_session_open(path.c_str(), &options, &session),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(), "expected at least 1 executor, found 0");
  lockstep_session_close(nullptr);
}

/// Options as an older and a newer program see them.
struct OlderOptions {
  size_t struct_size;
  uint32_t workers;
  double deadline_seconds;
};
struct NewerOptions {
  lockstep_options known;
  uint64_t unknown;
};

TemporaryFile writeEmptyProgram() {
  TemporaryFile file("c-api-options.lockstep");
  TestProgram p(2);
  p.ret();
  p.file();
  EXPECT_TRUE(p.writer.writeFile(file.path).ok());
  return file;
}

// A program compiled with fewer options passes a shorter struct, and nothing is
// written after it.
TEST(CApiOptions, olderProgram) {
  TemporaryFile file = writeEmptyProgram();
  const std::string &path = file.path;
  struct {
    OlderOptions options;
    uint64_t behind = 0x1234567890abcdef;
  } memory;
  auto *options = reinterpret_cast<lockstep_options *>(&memory.options);
  ASSERT_EQ(lockstep_options_init(options, sizeof(memory.options)),
            LOCKSTEP_OK);
  EXPECT_EQ(memory.behind, 0x1234567890abcdefu);
  EXPECT_EQ(memory.options.struct_size, sizeof(memory.options));
  EXPECT_EQ(memory.options.deadline_seconds, 60);
  lockstep_session *session = nullptr;
  // The bytes after it would be a target.
  EXPECT_EQ(lockstep_session_open(path.c_str(), options, &session), LOCKSTEP_OK)
      << lockstep_last_error();
  lockstep_session_close(session);
  memory.options.deadline_seconds = -1;
  EXPECT_EQ(lockstep_session_open(path.c_str(), options, &session),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "expected a deadline above 0 and up to 1000000000 s, found -1");
}

// One compiled with more options gets zeros for those unknown to the library,
// and may keep them.
TEST(CApiOptions, newerProgram) {
  TemporaryFile file = writeEmptyProgram();
  const std::string &path = file.path;
  NewerOptions options;
  std::memset(&options, 0xff, sizeof(options));
  ASSERT_EQ(lockstep_options_init(&options.known, sizeof(options)),
            LOCKSTEP_OK);
  EXPECT_EQ(options.unknown, 0u);
  lockstep_session *session = nullptr;
  EXPECT_EQ(lockstep_session_open(path.c_str(), &options.known, &session),
            LOCKSTEP_OK)
      << lockstep_last_error();
  lockstep_session_close(session);
  options.unknown = 1;
  EXPECT_EQ(lockstep_session_open(path.c_str(), &options.known, &session),
            LOCKSTEP_UNSUPPORTED);
  EXPECT_EQ(lockstep_last_error(),
            "expected options of " + std::to_string(sizeof(lockstep_options)) +
                " bytes, found " + std::to_string(sizeof(options)) +
                " with one set at byte " +
                std::to_string(sizeof(lockstep_options)) +
                ", which this version of the library does not know");
}

TEST(CApiOptions, notSetUp) {
  lockstep_options options{};
  lockstep_session *session = nullptr;
  EXPECT_EQ(lockstep_options_init(&options, 4), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "expected options of at least 8 bytes, found 4");
  EXPECT_EQ(lockstep_session_open("x", &options, &session),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_STREQ(lockstep_last_error(),
               "options were not set up by lockstep_options_init");
}

} // namespace
