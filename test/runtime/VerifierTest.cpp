//===- VerifierTest.cpp - each rule of the second verification ------------===//

#include "TestProgram.h"

#include <functional>

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

struct Rule {
  const char *name;
  /// Breaks the artifact.
  std::function<void(TestProgram &)> build;
  /// Part of the message.
  const char *message;
};

std::ostream &operator<<(std::ostream &stream, const Rule &rule) { return stream << rule.name; }

uint32_t f32(TestProgram &p, Space space, int64_t size) {
  return p.buffer(space, ElementType::f32, {size});
}

const Rule rules[] = {
    // Tables
    {"replicas", [](TestProgram &p) { p.writer.tables.replicas = 0; }, "replicas, found 0"},
    {"hugeVariables", [](TestProgram &p) { p.writer.tables.variable_size = ~uint64_t(0); },
     "is too large"},
    {"binaryTargetTwice",
     [](TestProgram &p) {
       p.writer.tables.binaries.push_back(
           std::make_unique<artifact::BinaryT>(*p.writer.tables.binaries[0]));
     },
     "target 'x86-64' is empty or given twice"},
    {"binarySegment", [](TestProgram &p) { p.writer.tables.binaries[0]->segment = 7; },
     "segment 7 does not exist"},
    {"noBinary", [](TestProgram &p) { p.writer.tables.binaries.clear(); },
     "no binary holds them"},
    {"constantOutputProgram", [](TestProgram &p) { p.constantOutput("other", "tag", "1"); },
     "constant output 'tag': there is no program 'other'"},
    {"constantOutputTwice",
     [](TestProgram &p) {
       p.constantOutput("main", "tag", "1");
       p.constantOutput("main", "tag", "2");
     },
     "constant output 'tag' of program 'main' is not in ascending order"},
    {"constantOutputJson", [](TestProgram &p) { p.constantOutput("main", "tag", "[1,"); },
     "constant output 'tag' of program 'main': expected JSON, found '[1,'"},
    {"symbol", [](TestProgram &p) { p.writer.tables.kernels[0]->symbol = "a b"; },
     "'a b' is not a symbol"},
    {"symbolTwice",
     [](TestProgram &p) { p.writer.tables.kernels[0]->symbol = "nothing"; },
     "'nothing' is given twice"},
    {"grid", [](TestProgram &p) { p.writer.tables.kernels[0]->grid = 0; }, "tiles, found 0"},
    {"groupRank", [](TestProgram &p) { p.group({0, 2}); }, "rank 2 does not exist"},
    {"groupOrder", [](TestProgram &p) { p.group({1, 0}); }, "expected ascending ranks"},
    {"constants", [](TestProgram &p) { p.writer.tables.constants = 9; },
     "segment 9 of the constants does not exist"},
    {"variableTwice",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {1});
       p.variable("a", ElementType::f32, {1});
     },
     "variable 'a': the name is empty or given twice"},
    {"variableOverlap",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.variable("b", ElementType::f32, {4});
       p.writer.tables.variables[1]->offset = 12;
     },
     "variables 'a' and 'b' overlap at byte 12"},
    {"variableRange",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->offset = 4;
     },
     "16 bytes at 4 lie outside"},
    {"variableAlignment",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->offset = 2;
     },
     "offset 2 is not aligned to its element type f32"},
    {"variableSpace",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->space = Space::shared;
     },
     "expected space variable or replica_variable"},
    {"variableShape",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->type->shape = {-1};
     },
     "dimension 0 is -1"},
    {"variableOverflow",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->type->shape = {int64_t(1) << 62, 16};
     },
     "the size of the shape overflows"},
    {"variableInitial",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->initial = int32_t(p.writer.addSegment(
           std::vector<std::byte>(12)));
     },
     "expected an initial value of 16 bytes, found 12"},
    {"elementType",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->type->element = ElementType(77);
     },
     "unknown element type 77"},
    {"scalarDefault", [](TestProgram &p) { p.scalar("s", ElementType::f32, {1, 2}); },
     "expected a default of 4 bytes, found 2"},
    {"moreChannelsThanCommands", [](TestProgram &p) { p.program->channels = 100; }, "100 channels, but only"},
    {"programTwice",
     [](TestProgram &p) {
       p.ret();
       p.writer.tables.programs.push_back(
           std::make_unique<artifact::ProgramT>(*p.writer.tables.programs[0]));
     },
     "program 'main': role 'worker' has two of this name"},
    // Buffers and bindings
    {"bufferRange",
     [](TestProgram &p) {
       f32(p, Space::replica, 4);
       p.program->replica_size = 8;
     },
     "16 bytes at 0 lie outside of space replica of 8 bytes"},
    {"bufferOverflow",
     [](TestProgram &p) {
       f32(p, Space::replica, 4);
       p.program->buffers[0]->offset = ~uint64_t(0) - 3;
     },
     "lie outside of space replica"},
    {"bufferSpace",
     [](TestProgram &p) {
       f32(p, Space::replica, 4);
       p.program->buffers[0]->space = Space(9);
     },
     "unknown space 9"},
    {"bufferSize",
     [](TestProgram &p) {
       f32(p, Space::replica, 4);
       p.program->buffers[0]->size = 12;
     },
     "its type takes 16 bytes, its size is 12"},
    {"bufferSizeRegisters",
     [](TestProgram &p) {
       p.dynamicBuffer(Space::replica, ElementType::f32, {-1, 2}, {0}, 64);
     },
     "expected a size register for each of 2 dimensions, found 1"},
    {"bufferRegister",
     [](TestProgram &p) {
       p.dynamicBuffer(Space::replica, ElementType::f32, {-1}, {0}, 64);
     },
     "register 0 does not exist"},
    {"inputRange",
     [](TestProgram &p) {
       p.input("x", ElementType::f32, {4});
       p.program->inputs[0]->offset = 4;
     },
     "input 'x': 16 bytes at 4"},
    {"outputBuffer", [](TestProgram &p) { p.output("r", 3); }, "buffer 3 does not exist"},
    {"outputInInput",
     [](TestProgram &p) { p.output("r", p.input("x", ElementType::f32, {4})); },
     "space input, which belongs to the caller"},
    // Commands
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
     [](TestProgram &p) { p.launch("nothing", {}, {p.input("x", ElementType::f32, {4})}); },
     "in space input"},
    {"launchWritesShared",
     [](TestProgram &p) { p.launch("nothing", {}, {f32(p, Space::shared, 4)}); },
     "in space shared, which all replicas share, outside of a once section"},
    {"launchRegister", [](TestProgram &p) { p.launch("nothing", {}, {}, {0}); },
     "register 0 does not exist"},
    {"copySize",
     [](TestProgram &p) { p.copy(f32(p, Space::replica, 4), f32(p, Space::replica, 5)); },
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
    {"loadRegister",
     [](TestProgram &p) { p.loadRegister(p.reg(), f32(p, Space::replica, 1)); },
     "expected an element of an integer type in buffer 0, found f32"},
    {"setRegister", [](TestProgram &p) { p.setRegister(3, 1); }, "register 3 does not exist"},
    {"barrierGroup", [](TestProgram &p) { p.barrier(p.channel(), 4); },
     "group 4 does not exist"},
    // Collectives
    {"collectiveKind",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_to_all, Reduction::none, p.channel(), {}, {});
     },
     "collective all_to_all is not supported by this runtime"},
    {"rootOfAllReduce",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a}, {a}, 0, 0, 1);
     },
     "all_reduce has no root, found 1"},
    {"rootIsNoMember",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::broadcast, Reduction::none, p.channel(), {a}, {a}, p.group({1}), 0, 0);
     },
     "broadcast: root 0 is not in its group"},
    {"rootIsNegative",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4);
       p.start(CollectiveKind::broadcast, Reduction::none, p.channel(), {a}, {a}, 0, 0, -2);
     },
     "broadcast: root -2 is not in its group"},
    {"broadcastCounts",
     [](TestProgram &p) { p.start(CollectiveKind::broadcast, Reduction::none, p.channel(), {f32(p, Space::replica, 4)}, {}); },
     "broadcast with root 0: expected as many results as operands, or none at a root on its own, found 1 operands and 0 results"},
    {"reduceCounts",
     [](TestProgram &p) { p.start(CollectiveKind::reduce, Reduction::sum, p.channel(), {}, {f32(p, Space::replica, 4)}); },
     "reduce with root 0: expected as many operands as results, or none at a root on its own, found 0 operands and 1 results"},
    {"scatterCounts",
     [](TestProgram &p) {
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 4)});
     },
     "scatter with root 0: expected 2 operands and 1 result, found 1 operands and 1 results"},
    {"scatterCountsType",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i32, {1});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {f32(p, Space::replica, 4), counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: expected the counts of 1 other members, 1xi64, in a buffer of 8 bytes"},
    {"scatterOfAScalar",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}), rows = p.buffer(Space::replica, ElementType::f32, {});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: expected rows, found a scalar"},
    {"scatterOfDynamicRows",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}), n = p.reg();
       uint32_t rows = p.dynamicBuffer(Space::replica, ElementType::f32, {4, -1}, {-1, int32_t(n)}, 64);
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: expected rows of a static size, found a dynamic dimension 1"},
    {"scatterRowsDiffer",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}), rows = p.buffer(Space::replica, ElementType::f32, {4, 2});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: the rows and the result differ in another dimension than the first"},
    {"scatterElements",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {1}), rows = p.buffer(Space::replica, ElementType::i32, {4});
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {rows, counts}, {f32(p, Space::replica, 4)});
     },
     "scatter: the rows are of i32, the result of f32"},
    {"scatterShared",
     [](TestProgram &p) {
       uint32_t counts = p.buffer(Space::replica, ElementType::i64, {2});
       p.writer.tables.replicas = 3;
       p.start(CollectiveKind::scatter, Reduction::none, p.channel(), {f32(p, Space::replica, 4), counts}, {f32(p, Space::shared, 4)});
     },
     "scatter has a result in shared space, but results differ"},
    {"reduceShared",
     [](TestProgram &p) {
       p.start(CollectiveKind::reduce, Reduction::sum, p.channel(), {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 4)});
     },
     "reduce has a result in shared space, but only its root gets one"},
    {"gatherRootAxis",
     [](TestProgram &p) {
       uint32_t a = p.buffer(Space::replica, ElementType::f32, {});
       p.start(CollectiveKind::gather, Reduction::none, p.channel(), {a}, {a});
     },
     "gather: axis 0 does not exist in a buffer of rank 0"},
    {"collectiveReduction",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::none, p.channel(), {}, {});
     },
     "all_reduce with reduction none"},
    {"collectiveCounts",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {});
     },
     "1 operands and 0 results"},
    {"collectiveShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::replica, 5)});
     },
     "differ in shape or size (16 and 20 bytes)"},
    {"collectiveElement",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {p.buffer(Space::replica, ElementType::i32, {4})});
     },
     "operand 0 is of f32, its result of i32"},
    {"collectiveNarrowsItsAccumulator",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {p.buffer(Space::replica, ElementType::bf16, {4})});
     },
     "operand 0 is of f32, its result of bf16"},
    {"gatherWidens",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_gather, Reduction::none, p.channel(),
               {p.buffer(Space::replica, ElementType::bf16, {4})}, {f32(p, Space::replica, 8)});
     },
     "operand 0 is of bf16, its result of f32"},
    {"unroundedShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {p.buffer(Space::replica, ElementType::bf16, {4})}, {f32(p, Space::replica, 2)});
     },
     "differ in shape or size (8 and 8 bytes)"},
    {"collectiveWritesInput",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {p.input("x", ElementType::f32, {4})});
     },
     "which is in space input"},
    {"collectiveOfBooleans",
     [](TestProgram &p) {
       uint32_t a = p.buffer(Space::replica, ElementType::i1, {4});
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a}, {a});
     },
     "all_reduce sum of i1 is not supported"},
    {"gatherShape",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_gather, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 9)});
     },
     "expected 8 in the result of 2 members, found 9"},
    {"gatherAxis",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_gather, Reduction::none, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 8)}, 0, 1);
     },
     "axis 1 does not exist in both"},
    {"subgroupShared",
     [](TestProgram &p) {
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(),
               {f32(p, Space::replica, 4)}, {f32(p, Space::shared, 4)}, p.group({1}));
     },
     "of a part of the replicas has a result in space shared"},
    {"partialOverlap",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), b = f32(p, Space::replica, 4);
       p.program->buffers[b]->offset = 8;
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a}, {b});
     },
     "a result overlaps the operand 0 of the same collective"},
    {"resultsOverlap",
     [](TestProgram &p) {
       uint32_t a = f32(p, Space::replica, 4), r = f32(p, Space::shared, 4);
       p.start(CollectiveKind::all_reduce, Reduction::sum, p.channel(), {a, a}, {r, r});
     },
     "a result overlaps the result"},
    // Control flow
    {"noCommands", [](TestProgram &) {}, "it has no commands"},
    {"lastCommand", [](TestProgram &p) { p.launch("nothing", {}, {}); },
     "the last command must be a return or a jump"},
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

class Verifier : public testing::TestWithParam<Rule> {};

TEST_P(Verifier, refuses) {
  TestProgram p(2);
  GetParam().build(p);
  std::string message = p.error();
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << "found: " << message;
}

INSTANTIATE_TEST_SUITE_P(Rules, Verifier, testing::ValuesIn(rules),
                         [](const auto &info) { return std::string(info.param.name); });

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
