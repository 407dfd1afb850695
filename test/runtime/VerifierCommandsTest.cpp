//===- VerifierCommandsTest.cpp - rules for commands and their order ------===//

#include "VerifierRules.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

/// Sets the arguments of the kernel "nothing": `bytes`, of which the first
/// `reads` are read.
artifact::ArgumentsT &setArguments(TestProgram &p, std::vector<uint64_t> bytes,
                                   uint32_t reads) {
  for (auto &kernel : p.writer.tables.kernels)
    if (kernel->symbol == "nothing") {
      kernel->arguments = std::make_unique<artifact::ArgumentsT>();
      kernel->arguments->bytes = std::move(bytes);
      kernel->arguments->reads = reads;
      return *kernel->arguments;
    }
  std::abort();
}

/// Two buffers of 16 bytes; the second begins `offset` bytes after the first.
std::pair<uint32_t, uint32_t> buffersApart(TestProgram &p, uint64_t offset) {
  uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4);
  p.program->buffers[b]->offset = p.program->buffers[a]->offset + offset;
  return {a, b};
}

const Rule arguments[] = {
    {"reads", [](TestProgram &p) { setArguments(p, {16}, 2); },
     "kernel 'nothing': reads 2 of 1 arguments"},
    {"dynamic",
     [](TestProgram &p) { setArguments(p, {16, 16}, 1).dynamic = {0}; },
     "kernel 'nothing': expected numbers of dynamic dimensions for 2 "
     "arguments, found 1"},
    {"inPlace",
     [](TestProgram &p) { setArguments(p, {16, 16}, 1).in_place = {0, 0}; },
     "kernel 'nothing': expected the places of 1 results, found 2"},
    {"inPlaceOfNothing",
     [](TestProgram &p) { setArguments(p, {16, 16}, 1).in_place = {1}; },
     "kernel 'nothing': expected a read or -1 as the place of result 0, found "
     "1"},
    {"registers", [](TestProgram &p) { setArguments(p, {4}, 0).dynamic = {2}; },
     "kernel 'nothing': expected a register for each of 2 dynamic dimensions, "
     "found 0"},
    {"missingArgument",
     [](TestProgram &p) {
       setArguments(p, {16, 16, 16}, 2);
       p.launch("nothing", {f32(p, Space::replica, 4)},
                {f32(p, Space::replica, 4)});
     },
     "command 0 (train.py:42): expected 2 reads, 1 writes and 0 of working "
     "memory for kernel 'nothing', found 1, 1 and 0"},
    {"readInsteadOfWrite",
     [](TestProgram &p) {
       setArguments(p, {16, 16}, 1);
       p.launch("nothing",
                {f32(p, Space::replica, 4), f32(p, Space::replica, 4)}, {});
     },
     "expected 1 reads, 1 writes and 0 of working memory for kernel 'nothing', "
     "found 2, 0 and 0"},
    {"launchRegisters",
     [](TestProgram &p) {
       setArguments(p, {}, 0).registers = 1;
       p.launch("nothing", {}, {});
     },
     "expected 1 registers for kernel 'nothing', found 0"},
    {"size",
     [](TestProgram &p) {
       setArguments(p, {16, 32768}, 1);
       p.launch("nothing", {f32(p, Space::replica, 4)},
                {f32(p, Space::replica, 2048)});
     },
     "expected 32768 bytes as argument 1 of kernel 'nothing', found 8192"},
    {"sizeOnlyKnownLater",
     [](TestProgram &p) {
       setArguments(p, {16}, 1);
       p.launch("nothing",
                {p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                 {int32_t(p.reg())}, 16)},
                {});
     },
     "expected 16 bytes as argument 0 of kernel 'nothing', found up to 16"},
    {"dynamicSize",
     [](TestProgram &p) {
       artifact::ArgumentsT &declared = setArguments(p, {4}, 1);
       declared.dynamic = {2};
       declared.registers = 2;
       uint32_t rows = p.reg();
       p.launch("nothing",
                {p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                 {int32_t(rows)}, 16)},
                {}, {rows, rows});
     },
     "expected 2 dynamic dimensions and 4 bytes for each of their elements as "
     "argument 0 of kernel 'nothing', found 1 and 4"},
    {"dynamicElement",
     [](TestProgram &p) {
       artifact::ArgumentsT &declared = setArguments(p, {8}, 1);
       declared.dynamic = {1};
       declared.registers = 1;
       uint32_t rows = p.reg();
       p.launch("nothing",
                {p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                 {int32_t(rows)}, 16)},
                {}, {rows});
     },
     "expected 1 dynamic dimensions and 8 bytes for each of their elements as "
     "argument 0 of kernel 'nothing', found 1 and 4"},
    {"sizeOfAnother",
     [](TestProgram &p) {
       artifact::ArgumentsT &declared = setArguments(p, {4}, 1);
       declared.dynamic = {1};
       declared.registers = 1;
       uint32_t rows = p.reg(), other = p.reg();
       p.launch("nothing",
                {p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                                 {int32_t(rows)}, 16)},
                {}, {other});
     },
     "expected register 0 for a size of argument 0 of kernel 'nothing', found "
     "register 1"},
    {"scratch",
     [](TestProgram &p) {
       setArguments(p, {}, 0).scratch = 64;
       p.launch("nothing", {}, {f32(p, Space::replica, 4)});
       p.program->commands[0]->body.AsLaunch()->writes = 0;
     },
     "expected 64 bytes of working memory for kernel 'nothing', found 16"},
    {"resultsOverlap",
     [](TestProgram &p) {
       setArguments(p, {16, 16}, 0);
       auto [a, b] = buffersApart(p, 12);
       p.launch("nothing", {}, {a, b});
     },
     "argument 0 of kernel 'nothing' and argument 1 of kernel 'nothing' "
     "overlap"},
    {"readOverlapsResult",
     [](TestProgram &p) {
       setArguments(p, {16, 16}, 1).in_place = {0};
       auto [a, b] = buffersApart(p, 4);
       p.launch("nothing", {a}, {b});
     },
     "argument 0 of kernel 'nothing' and argument 1 of kernel 'nothing' "
     "overlap"},
    {"resultInPlaceOfAnotherRead",
     [](TestProgram &p) {
       setArguments(p, {16, 16, 16}, 2).in_place = {0};
       uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4);
       p.launch("nothing", {a, b}, {b});
     },
     "argument 1 of kernel 'nothing' and argument 2 of kernel 'nothing' "
     "overlap"},
};
INSTANTIATE_TEST_SUITE_P(Arguments, Verifier, testing::ValuesIn(arguments),
                         ruleName);

// Valid launches: static and dynamic sizes, scratch, a result in place of an
// operand, and the same operand twice.
TEST(Verifier, launchesThatFit) {
  TestProgram p(1);
  artifact::ArgumentsT &declared = setArguments(p, {16, 16, 4, 16}, 3);
  declared.dynamic = {0, 0, 1, 0};
  declared.in_place = {0};
  declared.scratch = 16;
  declared.registers = 2;
  uint32_t rows = p.reg(), other = p.reg();
  uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4),
           scratch = f32(p, Space::replica, 8);
  uint32_t c = p.dynamicBuffer(Space::replica, ElementType::f32, {-1},
                               {int32_t(rows)}, 16);
  p.launch("nothing", {a, b, c}, {a, scratch}, {rows, other});
  p.program->commands.back()->body.AsLaunch()->writes = 1;
  p.launch("nothing", {b, b, c}, {a, scratch}, {rows, other});
  p.program->commands.back()->body.AsLaunch()->writes = 1;
  p.ret();
  EXPECT_NE(p.artifact(), nullptr);
}

const Rule commands[] = {
    {"location",
     [](TestProgram &p) {
       p.ret();
       p.program->commands[0]->location = 9;
     },
     "location 9 does not exist"},
    {"kernel",
     [](TestProgram &p) {
       p.launch("nothing", {}, {});
       p.program->commands[0]->body.AsLaunch()->kernel = 99;
     },
     "command 0 (train.py:42): kernel 99 does not exist"},
    {"launchBuffer", [](TestProgram &p) { p.launch("nothing", {5}, {}); },
     "buffer 5 does not exist"},
    {"launchCounts",
     [](TestProgram &p) {
       p.launch("nothing", {}, {});
       p.program->commands[0]->body.AsLaunch()->writes = 0xffffffff;
     },
     "but names 0"},
    {"launchWritesConstant",
     [](TestProgram &p) {
       p.launch("nothing", {}, {p.input("x", ElementType::f32, {4})});
     },
     "in space input"},
    {"launchWritesShared",
     [](TestProgram &p) {
       p.launch("nothing", {}, {f32(p, Space::shared, 4)});
     },
     "in space shared, which all replicas share, outside of a once section"},
    {"launchRegister", [](TestProgram &p) { p.launch("nothing", {}, {}, {0}); },
     "register 0 does not exist"},
    {"copySize",
     [](TestProgram &p) {
       p.copy(f32(p, Space::replica, 4), f32(p, Space::replica, 5));
     },
     "copies 16 bytes to a buffer of 20 bytes"},
    {"copyOverlap",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4);
       p.program->buffers[b]->offset = 8;
       p.copy(a, b);
     },
     "copies between buffers that overlap"},
    {"branchCondition",
     [](TestProgram &p) { p.branchUnless(f32(p, Space::replica, 1)); },
     "expected an element of type i1 in buffer 0, found f32"},
    {"loadRegister",
     [](TestProgram &p) { p.loadRegister(p.reg(), f32(p, Space::replica, 1)); },
     "expected an element of an integer type in buffer 0, found f32"},
    {"setRegister", [](TestProgram &p) { p.setRegister(3, 1); },
     "register 3 does not exist"},
    {"barrierGroup", [](TestProgram &p) { p.barrier(p.channel(), 4); },
     "group 4 does not exist"},
};

INSTANTIATE_TEST_SUITE_P(Commands, Verifier, testing::ValuesIn(commands),
                         ruleName);

const Rule flow[] = {
    {"noCommands", [](TestProgram &) {}, "it has no commands"},
    {"lastCommand", [](TestProgram &p) { p.launch("nothing", {}, {}); },
     "the last command must be a return or a jump"},
    {"target", [](TestProgram &p) { p.jump(8); },
     "target 8 does not exist among 1 commands"},
    {"waitWithoutStart",
     [](TestProgram &p) {
       p.wait(p.channel());
       p.ret();
     },
     "command 0 (train.py:42): waits for channel 0, which no start precedes"},
    {"waitOnOnePath",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), channel = p.channel();
       uint32_t branch =
           p.branchUnless(p.buffer(Space::replica, ElementType::i1, {}));
       p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
       p.patch(branch);
       p.wait(channel);
       p.ret();
     },
     "channel 0 is pending on one path and not on another"},
    {"startTwice",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a},
               {a});
       p.jump(0);
     },
     "is pending on one path and not on another"},
    {"returnWhilePending",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a},
               {a});
       p.ret();
     },
     "returns while channel 0 is pending"},
    {"channelTwice",
     [](TestProgram &p) {
       uint32_t channel = p.channel();
       p.barrier(channel);
       p.barrier(channel);
       p.ret();
     },
     "command 1 (train.py:42): channel 0 is already used by command 0"},
    {"channelRange",
     [](TestProgram &p) {
       p.barrier(3);
       p.ret();
     },
     "channel 3 does not exist among 0"},
    {"onceEnd",
     [](TestProgram &p) {
       p.once(p.channel());
       p.ret();
     },
     "expected its section to end at an end_once, found end 0"},
    {"endOnceAlone",
     [](TestProgram &p) {
       p.once(p.channel());
       p.endOnce();
       p.program->commands.push_back(std::make_unique<artifact::CommandT>());
       p.program->commands.back()->body.Set(artifact::EndOnceT());
       p.ret();
     },
     "end_once without its once"},
    {"nestedOnce",
     [](TestProgram &p) {
       p.once(p.channel());
       p.once(p.channel());
       p.endOnce();
       p.program->commands[0]->body.AsOnce()->end = 2;
       p.ret();
     },
     "once inside of a once section"},
    {"waitInOnce",
     [](TestProgram &p) {
       p.once(p.channel());
       p.barrier(p.channel());
       p.endOnce();
       p.ret();
     },
     "Barrier inside of a once section"},
    {"nextInOnce",
     [](TestProgram &p) {
       p.once(p.channel());
       p.next();
       p.endOnce();
       p.ret();
     },
     "loads a batch inside of a once section"},
    {"jumpIntoOnce",
     [](TestProgram &p) {
       p.jump(2);
       p.once(p.channel());
       p.launch("nothing", {}, {});
       p.endOnce();
       p.ret();
     },
     "target 2 is on the other side of a once section"},
    {"jumpOutOfOnce",
     [](TestProgram &p) {
       p.once(p.channel());
       p.jump(3);
       p.endOnce();
       p.ret();
     },
     "target 3 is on the other side of a once section"},
};

INSTANTIATE_TEST_SUITE_P(Flow, Verifier, testing::ValuesIn(flow), ruleName);

// A channel that is started in one iteration and waited for in the next is
// fine.
TEST(VerifierAccepts, softwarePipeline) {
  TestProgram p(2);
  uint32_t a = f32(p, Space::replica, 4), channel = p.channel();
  uint32_t again =
      p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
  p.wait(channel);
  p.jump(again);
  EXPECT_EQ(p.error(), "");
}

// One replica shares its memory with no other.
TEST(VerifierAccepts, sharedWritesOfOneReplica) {
  TestProgram p(1);
  p.launch("nothing", {}, {f32(p, Space::shared, 4)});
  p.ret();
  EXPECT_EQ(p.error(), "");
}

} // namespace
