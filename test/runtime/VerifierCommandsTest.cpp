//===- VerifierCommandsTest.cpp - rules for commands and their order ------===//

#include "VerifierRules.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

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
    {"launchBuffer", [](TestProgram &p) { p.launch("nothing", {5}, {}); }, "buffer 5 does not exist"},
    {"launchCounts",
     [](TestProgram &p) {
       p.launch("nothing", {}, {});
       p.program->commands[0]->body.AsLaunch()->writes = 0xffffffff;
     },
     "but names 0"},
    {"launchWritesConstant", [](TestProgram &p) { p.launch("nothing", {}, {p.input("x", ElementType::f32, {4})}); }, "in space input"},
    {"launchWritesShared", [](TestProgram &p) { p.launch("nothing", {}, {f32(p, Space::shared, 4)}); },
     "in space shared, which all replicas share, outside of a once section"},
    {"launchRegister", [](TestProgram &p) { p.launch("nothing", {}, {}, {0}); }, "register 0 does not exist"},
    {"copySize", [](TestProgram &p) { p.copy(f32(p, Space::replica, 4), f32(p, Space::replica, 5)); },
     "copies 16 bytes to a buffer of 20 bytes"},
    {"copyOverlap",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4);
       p.program->buffers[b]->offset = 8;
       p.copy(a, b);
     },
     "copies between buffers that overlap"},
    {"branchCondition", [](TestProgram &p) { p.branchUnless(f32(p, Space::replica, 1)); },
     "expected an element of type i1 in buffer 0, found f32"},
    {"loadRegister", [](TestProgram &p) { p.loadRegister(p.reg(), f32(p, Space::replica, 1)); },
     "expected an element of an integer type in buffer 0, found f32"},
    {"setRegister", [](TestProgram &p) { p.setRegister(3, 1); }, "register 3 does not exist"},
    {"barrierGroup", [](TestProgram &p) { p.barrier(p.channel(), 4); }, "group 4 does not exist"},
};

INSTANTIATE_TEST_SUITE_P(Commands, Verifier, testing::ValuesIn(commands), ruleName);

const Rule flow[] = {
    {"noCommands", [](TestProgram &) {}, "it has no commands"},
    {"lastCommand", [](TestProgram &p) { p.launch("nothing", {}, {}); }, "the last command must be a return or a jump"},
    {"target", [](TestProgram &p) { p.jump(8); }, "target 8 does not exist among 1 commands"},
    {"waitWithoutStart",
     [](TestProgram &p) {
       p.wait(p.channel());
       p.ret();
     },
     "command 0 (train.py:42): waits for channel 0, which no start precedes"},
    {"waitOnOnePath",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), channel = p.channel();
       uint32_t branch = p.branchUnless(p.buffer(Space::replica, ElementType::i1, {}));
       p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
       p.patch(branch);
       p.wait(channel);
       p.ret();
     },
     "channel 0 is pending on one path and not on another"},
    {"startTwice",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a}, {a});
       p.jump(0);
     },
     "is pending on one path and not on another"},
    {"returnWhilePending",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a}, {a});
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

// A channel that is started in one iteration and waited for in the next is fine.
TEST(VerifierAccepts, softwarePipeline) {
  TestProgram p(2);
  uint32_t a = f32(p, Space::replica, 4), channel = p.channel();
  uint32_t again = p.start(CollectiveKind::all_reduce, Reduction::sum, channel, {a}, {a});
  p.wait(channel);
  p.jump(again);
  EXPECT_EQ(p.error(), "");
}

// One replica shares memory with nobody.
TEST(VerifierAccepts, sharedWritesOfOneReplica) {
  TestProgram p(1);
  p.launch("nothing", {}, {f32(p, Space::shared, 4)});
  p.ret();
  EXPECT_EQ(p.error(), "");
}

} // namespace
