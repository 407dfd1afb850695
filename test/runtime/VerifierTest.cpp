//===- VerifierTest.cpp - rules for tables, and how all are tested --------===//

#include "VerifierRules.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

TEST_P(Verifier, refuses) {
  TestProgram p(2);
  GetParam().build(p);
  std::string message = p.error();
  EXPECT_NE(message.find(GetParam().message), std::string::npos)
      << "found: " << message;
}

const Rule tables[] = {
    {"replicas", [](TestProgram &p) { p.writer.tables.replicas = 0; },
     "replicas, found 0"},
    {"hugeVariables",
     [](TestProgram &p) { p.writer.tables.variable_size = ~uint64_t(0); },
     "is too large"},
    {"binaryTargetTwice",
     [](TestProgram &p) {
       p.writer.tables.binaries.push_back(
           std::make_unique<artifact::BinaryT>(*p.writer.tables.binaries[0]));
     },
     "target 'x86-64' is empty or given twice"},
    {"binarySegment",
     [](TestProgram &p) { p.writer.tables.binaries[0]->segment = 7; },
     "segment 7 does not exist"},
    {"cubinSegment",
     [](TestProgram &p) { p.writer.tables.binaries[0]->cubin = 7; },
     "segment 7 does not exist"},
    {"noBinary", [](TestProgram &p) { p.writer.tables.binaries.clear(); },
     "no binary holds them"},
    {"constantOutputProgram",
     [](TestProgram &p) { p.constantOutput("other", "tag", "1"); },
     "constant output 'tag': there is no program 'other'"},
    {"constantOutputTwice",
     [](TestProgram &p) {
       p.constantOutput("main", "tag", "1");
       p.constantOutput("main", "tag", "2");
     },
     "constant output 'tag' of program 'main' is not in ascending order"},
    {"constantOutputJson",
     [](TestProgram &p) { p.constantOutput("main", "tag", "[1,"); },
     "constant output 'tag' of program 'main': expected JSON, found '[1,'"},
    {"symbol",
     [](TestProgram &p) { p.writer.tables.kernels[0]->symbol = "a b"; },
     "'a b' is not a symbol"},
    {"code", [](TestProgram &p) { p.writer.tables.kernels[0]->code = "a b"; },
     "its code 'a b' is not a symbol"},
    {"symbolTwice",
     [](TestProgram &p) { p.writer.tables.kernels[0]->symbol = "nothing"; },
     "'nothing' is given twice"},
    {"grid", [](TestProgram &p) { p.writer.tables.kernels[0]->grid = 0; },
     "tiles, found 0"},
    {"groupRank", [](TestProgram &p) { p.group({0, 2}); },
     "rank 2 does not exist"},
    {"groupOrder", [](TestProgram &p) { p.group({1, 0}); },
     "expected ascending ranks"},
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
    {"partInSharedSpace",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->whole_shape = {2, 4};
     },
     "variable 'a': expected a part of a variable for each replica to be in "
     "space replica_variable"},
    {"partsOfAnotherShape",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4}, /*perReplica=*/true);
       p.writer.tables.variables[0]->whole_shape = {3, 4};
     },
     "variable 'a': expected parts for 2 replicas of a variable of shape [3, "
     "4], found 16 bytes each"},
    {"partsWithAnElementTooMany",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4}, /*perReplica=*/true);
       p.writer.tables.variables[0]->whole_shape = {2, 3};
     },
     "variable of shape [2, 3], found 16 bytes each"},
    {"partsOfAnEmptyShape",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4}, /*perReplica=*/true);
       p.writer.tables.variables[0]->whole_shape = {0};
     },
     "variable of shape [0], found 16 bytes each"},
    {"partsOfANegativeShape",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4}, /*perReplica=*/true);
       p.writer.tables.variables[0]->whole_shape = {-2, -4};
     },
     "variable of shape [-2, -4], found 16 bytes each"},
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
       p.writer.tables.variables[0]->initial =
           int32_t(p.writer.addSegment(std::vector<std::byte>(12)));
     },
     "expected an initial value of 16 bytes, found 12"},
    {"elementType",
     [](TestProgram &p) {
       p.variable("a", ElementType::f32, {4});
       p.writer.tables.variables[0]->type->element = ElementType(77);
     },
     "unknown element type 77"},
    {"scalarDefault",
     [](TestProgram &p) { p.scalar("s", ElementType::f32, {1, 2}); },
     "expected a default of 4 bytes, found 2"},
    {"moreChannelsThanCommands",
     [](TestProgram &p) { p.program->channels = 100; },
     "100 channels, but only"},
    {"programTwice",
     [](TestProgram &p) {
       p.ret();
       p.writer.tables.programs.push_back(
           std::make_unique<artifact::ProgramT>(*p.writer.tables.programs[0]));
     },
     "program 'main': role 'worker' has two of this name"},
};

INSTANTIATE_TEST_SUITE_P(Tables, Verifier, testing::ValuesIn(tables), ruleName);

const Rule buffers[] = {
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
    {"outputBuffer", [](TestProgram &p) { p.output("r", 3); },
     "buffer 3 does not exist"},
    {"outputInInput",
     [](TestProgram &p) { p.output("r", p.input("x", ElementType::f32, {4})); },
     "space input, which belongs to the caller"},
};

INSTANTIATE_TEST_SUITE_P(Buffers, Verifier, testing::ValuesIn(buffers),
                         ruleName);

} // namespace
