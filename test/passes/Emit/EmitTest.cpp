//===- EmitTest.cpp - Device IR to artifact -------------------------------===//

#include "dialect/Interfaces/PlainValues.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/artifact/Artifact.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace lockstep;
using namespace mlir;

namespace {

/// The result of a module: an artifact, or the first error.
struct Emitted {
  std::string bytes, error;
  std::shared_ptr<const runtime::Artifact> artifact;

  const artifact::Artifact &tables() const { return artifact->tables(); }
  const artifact::Program &program(unsigned index = 0) const {
    return *tables().programs()->Get(index);
  }
};

Emitted emit(const std::string &text) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  Emitted result;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (result.error.empty())
      result.error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  llvm::raw_string_ostream os(result.bytes);
  if (!module || failed(emitArtifact(*module, os))) {
    EXPECT_FALSE(result.error.empty());
    return result;
  }
  auto loaded =
      runtime::Artifact::fromMemory(std::as_bytes(std::span(result.bytes)));
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  if (loaded)
    result.artifact = *loaded;
  return result;
}

const std::string kStrategy =
    "replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}\n";

/// A program of role "worker" with the commands `body` and 1 KiB of each
/// memory.
std::string program(const std::string &body, unsigned channels = 0) {
  return kStrategy + "collective.group @all\n" +
         "device.kernel @k(tensor<4xf32>, index, index) -> tensor<4xf32> "
         "attributes {scratch = 8 : i64}\n"
         "device.binary @v3 target \"x86-64-v3\" {object = dense<[127, 69, 76, "
         "70]> : tensor<4xi8>}\n" +
         "device.program @step role \"worker\" replica 1024 shared 1024 input "
         "1024 registers 3 channels " +
         std::to_string(channels) + " {\n" + body + "}\n";
}

std::string_view bytesOf(const Emitted &emitted, uint32_t segment) {
  auto bytes = emitted.artifact->segment(segment);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

TEST(Emit, tablesHoldWhatTheModuleDeclares) {
  Emitted e = emit(R"(module @model {
    replica.strategy @dp {kind = #replica.kind<mirrored>, replicas = 4}
    collective.group @all
    collective.group @even {ranks = array<i64: 0, 2>}
    device.kernel @k(tensor<4xf32>) -> tensor<4xf32> attributes {grid = 3, flops = 7, bytes = 11} loc("train.py":42:0)
    device.binary @v3 target "x86-64-v3" {object = dense<[127, 69, 76, 70]> : tensor<4xi8>}
    device.variable @w variable[64] : tensor<2x2xf32> {initial = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, synchronization = 0 : i32, aggregation = 2 : i32}
    device.variable @n replica_variable[0] : tensor<i64> {synchronization = 1 : i32, aggregation = 1 : i32, is_unsigned}
    device.scalar "lr"[0] : tensor<f32> {default_value = dense<0.5> : tensor<f32>}
    device.scalar "step"[64] : tensor<i32>
    device.constants {bytes = dense<[1, 2, 3]> : tensor<3xi8>}
  })");
  ASSERT_TRUE(e.artifact);
  const artifact::Artifact &t = e.tables();
  EXPECT_EQ(t.name()->str(), "model");
  EXPECT_EQ(t.replicas(), 4u);
  ASSERT_EQ(t.groups()->size(), 2u);
  EXPECT_EQ(t.groups()->Get(0)->name()->str(), "all");
  EXPECT_EQ(t.groups()->Get(1)->ranks()->Get(1), 2u);
  const artifact::Kernel &kernel = *t.kernels()->Get(0);
  EXPECT_EQ(kernel.symbol()->str(), "k");
  EXPECT_EQ(kernel.grid(), 3u);
  EXPECT_EQ(kernel.flops(), 7u);
  EXPECT_EQ(kernel.bytes(), 11u);
  EXPECT_EQ(e.artifact->location(kernel.location()), "train.py:42");
  EXPECT_EQ(t.binaries()->Get(0)->target()->str(), "x86-64-v3");
  EXPECT_EQ(bytesOf(e, t.binaries()->Get(0)->segment()), "\x7f"
                                                         "ELF");
  const artifact::Variable &w = *t.variables()->Get(0),
                           &n = *t.variables()->Get(1);
  EXPECT_EQ(w.name()->str(), "w");
  EXPECT_EQ(w.offset(), 64u);
  EXPECT_EQ(w.space(), artifact::Space::variable);
  EXPECT_EQ(w.aggregation(), artifact::Aggregation::mean);
  EXPECT_EQ(w.type()->shape()->Get(1), 2);
  ASSERT_GE(w.initial(), 0);
  EXPECT_EQ(bytesOf(e, w.initial()).size(), 16u);
  EXPECT_EQ(n.space(), artifact::Space::replica_variable);
  EXPECT_EQ(n.synchronization(), artifact::Synchronization::on_read);
  EXPECT_EQ(n.type()->element(), artifact::ElementType::u64);
  EXPECT_EQ(n.initial(), -1);
  // Sizes of memories end at a cache line.
  EXPECT_EQ(t.variable_size(), 128u);
  EXPECT_EQ(t.replica_variable_size(), 64u);
  EXPECT_EQ(t.scalar_size(), 128u);
  EXPECT_EQ(t.scalars()->Get(0)->default_value()->size(), 4u);
  EXPECT_FALSE(t.scalars()->Get(1)->default_value() &&
               t.scalars()->Get(1)->default_value()->size());
  ASSERT_GE(t.constants(), 0);
  EXPECT_EQ(bytesOf(e, t.constants()), "\1\2\3");
}

TEST(Emit, commandsAreThoseOfTheProgramInItsOrder) {
  Emitted e = emit(program(R"(
    %x = device.slice input[64] "x" : !device.buffer<tensor<4xf32>>
    %a = device.slice replica[0] : !device.buffer<tensor<4xf32>>
    %b = device.slice replica[64] : !device.buffer<tensor<4xf32>>
    %s = device.slice replica[128] : !device.buffer<tensor<8xi8>>
    %r = device.slice shared[0] : !device.buffer<tensor<16xf32>>
    %c = device.slice shared[64] : !device.buffer<tensor<i1>>
    %n = device.slice shared[128] : !device.buffer<tensor<i32>>
    device.set_register 0 to -5
    device.load_register 1, %n : !device.buffer<tensor<i32>>
    device.add_register 0, 1
    device.launch @k reads(%x : !device.buffer<tensor<4xf32>>) writes(%a : !device.buffer<tensor<4xf32>>) scratch(%s : !device.buffer<tensor<8xi8>>) {registers = array<i64: 2, 0>}
    device.start all_gather none @all channel 3 (%a : !device.buffer<tensor<4xf32>>) to (%r : !device.buffer<tensor<16xf32>>) {axis = 0}
    device.wait channel 3
    device.once channel 2 {
      device.copy %r to %r : !device.buffer<tensor<16xf32>>
    }
    device.barrier @all channel 1
    device.output <metric "loss"> %c : !device.buffer<tensor<i1>>
    device.output <count "seen"> %b : !device.buffer<tensor<4xf32>>
    device.return
  )",
                           4));
  ASSERT_TRUE(e.artifact) << e.error;
  const artifact::Program &p = e.program();
  EXPECT_EQ(p.name()->str(), "step");
  EXPECT_EQ(p.role()->str(), "worker");
  EXPECT_EQ(p.registers(), 3u);
  EXPECT_EQ(p.channels(), 4u);
  using Body = artifact::CommandBody;
  std::vector<Body> kinds;
  for (const artifact::Command *command : *p.commands())
    kinds.push_back(command->body_type());
  EXPECT_EQ(kinds,
            (std::vector<Body>{Body::SetRegister, Body::LoadRegister,
                               Body::AddRegister, Body::Launch, Body::Start,
                               Body::Wait, Body::Once, Body::Copy,
                               Body::EndOnce, Body::Barrier, Body::Return}));
  EXPECT_EQ(p.commands()->Get(0)->body_as_SetRegister()->value(), -5);
  // Buffers are handed to a kernel as reads, writes, scratch.
  const artifact::Launch &launch = *p.commands()->Get(3)->body_as_Launch();
  ASSERT_EQ(launch.buffers()->size(), 3u);
  EXPECT_EQ(p.buffers()->Get(launch.buffers()->Get(0))->space(),
            artifact::Space::input);
  EXPECT_EQ(p.buffers()->Get(launch.buffers()->Get(2))->offset(), 128u);
  EXPECT_EQ(launch.reads(), 1u);
  EXPECT_EQ(launch.writes(), 1u);
  EXPECT_EQ(launch.registers()->Get(0), 2u);
  const artifact::Start &start = *p.commands()->Get(4)->body_as_Start();
  EXPECT_EQ(start.kind(), artifact::CollectiveKind::all_gather);
  EXPECT_EQ(start.reduction(), artifact::Reduction::none);
  EXPECT_EQ(start.channel(), 3u);
  const artifact::Once &once = *p.commands()->Get(6)->body_as_Once();
  EXPECT_EQ(once.channel(), 2u);
  EXPECT_EQ(once.end(), 8u);
  // Inputs and outputs of the host.
  ASSERT_EQ(p.inputs()->size(), 1u);
  EXPECT_EQ(p.inputs()->Get(0)->name()->str(), "x");
  EXPECT_EQ(p.inputs()->Get(0)->offset(), 64u);
  ASSERT_EQ(p.outputs()->size(), 2u);
  EXPECT_EQ(p.outputs()->Get(0)->kind(), artifact::OutputKind::metric);
  EXPECT_EQ(p.outputs()->Get(1)->kind(), artifact::OutputKind::count);
  EXPECT_EQ(p.buffers()->Get(p.outputs()->Get(1)->buffer())->offset(), 64u);
}

TEST(Emit, aJumpToWhatFollowsIsNoCommand) {
  Emitted e = emit(program(R"(
    %c = device.slice shared[0] : !device.buffer<tensor<i1>>
    device.set_register 0 to 1
    device.jump ^head
  ^head:
    device.branch_ge 0, 1 ^exit else ^body
  ^body:
    device.branch_unless %c ^exit else ^next : !device.buffer<tensor<i1>>
  ^next:
    device.jump ^head
  ^exit:
    device.return
  )"));
  ASSERT_TRUE(e.artifact) << e.error;
  const auto &commands = *e.program().commands();
  ASSERT_EQ(commands.size(), 5u);
  EXPECT_EQ(commands[1]->body_as_BranchGreaterEqual()->target(), 4u);
  EXPECT_EQ(commands[2]->body_as_BranchUnless()->target(), 4u);
  EXPECT_EQ(commands[3]->body_as_Jump()->target(), 1u);
}

TEST(Emit, elementTypesKeepTheirSign) {
  using artifact::ElementType;
  std::vector<std::tuple<std::string, bool, ElementType>> types = {
      {"i1", false, ElementType::i1},     {"i8", false, ElementType::i8},
      {"i8", true, ElementType::u8},      {"i16", false, ElementType::i16},
      {"i16", true, ElementType::u16},    {"i32", false, ElementType::i32},
      {"i32", true, ElementType::u32},    {"i64", false, ElementType::i64},
      {"i64", true, ElementType::u64},    {"f16", false, ElementType::f16},
      {"bf16", false, ElementType::bf16}, {"f32", false, ElementType::f32},
      {"f64", false, ElementType::f64}};
  std::string text = kStrategy;
  for (size_t i = 0; i < types.size(); ++i)
    text += "device.variable @v" + std::to_string(i) + " variable[" +
            std::to_string(64 * i) + "] : tensor<3x" + std::get<0>(types[i]) +
            "> {synchronization = 0 : i32, aggregation = 0 : i32" +
            (std::get<1>(types[i]) ? ", is_unsigned}\n" : "}\n");
  Emitted e = emit(text);
  ASSERT_TRUE(e.artifact) << e.error;
  for (size_t i = 0; i < types.size(); ++i)
    EXPECT_EQ(e.tables().variables()->Get(i)->type()->element(),
              std::get<2>(types[i]))
        << std::get<0>(types[i]);
}

TEST(Emit, bytesAreInRowMajorOrderAndBooleansTakeOne) {
  Emitted e = emit(kStrategy + R"(
    device.variable @splat variable[0] : tensor<3xi16> {initial = dense<258> : tensor<3xi16>, synchronization = 0 : i32, aggregation = 0 : i32}
    device.variable @bools variable[64] : tensor<2x2xi1> {initial = dense<[[true, false], [false, true]]> : tensor<2x2xi1>, synchronization = 0 : i32, aggregation = 0 : i32}
    device.variable @same variable[128] : tensor<9xi1> {initial = dense<true> : tensor<9xi1>, synchronization = 0 : i32, aggregation = 0 : i32}
  )");
  ASSERT_TRUE(e.artifact) << e.error;
  auto initial = [&](unsigned i) {
    return std::string(bytesOf(e, e.tables().variables()->Get(i)->initial()));
  };
  EXPECT_EQ(initial(0), std::string("\2\1\2\1\2\1"));
  EXPECT_EQ(initial(1), std::string("\1\0\0\1", 4));
  EXPECT_EQ(initial(2), std::string(9, '\1'));
}

TEST(Emit, eachLocationIsStoredOnce) {
  Emitted e = emit(program(R"(
    device.set_register 0 to 1 loc("train.py":7:3)
    device.set_register 1 to 1 loc("train.py":7:3)
    device.set_register 2 to 1 loc("train.py":8:3)
    device.return loc("train.py":7:3)
  )"));
  ASSERT_TRUE(e.artifact) << e.error;
  const auto &commands = *e.program().commands();
  EXPECT_EQ(e.artifact->location(commands[0]->location()), "train.py:7");
  EXPECT_EQ(commands[0]->location(), commands[1]->location());
  EXPECT_NE(commands[0]->location(), commands[2]->location());
  EXPECT_EQ(commands[0]->location(), commands[3]->location());
}

TEST(Emit, theSameModuleGivesTheSameBytes) {
  std::string text = program("device.return\n");
  EXPECT_EQ(emit(text).bytes, emit(text).bytes);
  // Spaces and comments are no part of it, but whatever is executed is.
  EXPECT_NE(emit(text).bytes,
            emit(program("device.set_register 0 to 1\ndevice.return\n")).bytes);
}

// An integer outside of i64 is not rounded to a float.
TEST(Emit, integersOfPlainValuesFitIntoI64) {
  MLIRContext context;
  for (const char *json :
       {"9223372036854775807", "-9223372036854775808", "[true, -0]",
        "18446744073709551616.0", "1e19", "\"18446744073709551616\"",
        R"({"a\\\"18446744073709551616": [1]})"})
    EXPECT_TRUE(plainValueFromJson(json, &context)) << json;
  for (const char *json :
       {"9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616", "-18446744073709551616",
        R"(["\\", 18446744073709551616])", R"({"a": 18446744073709551616})"})
    EXPECT_FALSE(plainValueFromJson(json, &context)) << json;
}

TEST(Emit, errorsNameWhatHasNoPlace) {
  EXPECT_EQ(emit("module {}").error, "expected a 'replica.strategy' with a "
                                     "replica count; run 'set-replicas' first");
  EXPECT_EQ(emit("replica.strategy @dp {kind = #replica.kind<mirrored>}").error,
            "expected a 'replica.strategy' with a replica count; run "
            "'set-replicas' first");
  EXPECT_EQ(emit(kStrategy +
                 "device.variable @w variable[0] : tensor<2xi4> "
                 "{synchronization = 0 : i32, aggregation = 0 : i32}")
                .error,
            "element type 'i4' has no place in an artifact");
  EXPECT_EQ(
      emit(kStrategy +
           "device.variable @w variable[0] : tensor<2xf32> {initial = "
           "dense_resource<r> : tensor<2xf32>, synchronization = 0 : i32, "
           "aggregation = 0 : i32}\n{-# dialect_resources: {builtin: {r: "
           "\"0x040000000000000000000000\"}} #-}")
          .error,
      "expected dense elements, found dense_resource<r> : tensor<2xf32>");
  EXPECT_EQ(emit(program("device.branch_ge 0, 1 ^a else "
                         "^b\n^a:\ndevice.return\n^b:\ndevice.return\n"))
                .error,
            "expected the block of its second successor to follow");
}

} // namespace
