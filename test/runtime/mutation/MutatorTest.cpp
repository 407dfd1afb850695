//===- MutatorTest.cpp - mutants of artifacts -----------------------------===//

#include "Mutator.h"

#include "TestProgram.h"

#include "runtime/artifact/Artifact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace lockstep::runtime;
using namespace lockstep::runtime::mutation;

namespace {

/// Another small artifact, with tables that `smallFile` lacks.
std::vector<std::byte> otherFile() {
  using namespace test;
  TestProgram p(2);
  uint32_t n = p.reg(), one = p.reg(), two = p.reg();
  uint32_t x = p.buffer(Space::replica, ElementType::f32, {2});
  uint32_t flag = p.buffer(Space::shared, ElementType::i1, {});
  p.constantOutput("main", "version", "7");
  p.scalar("rate", ElementType::f64, std::vector<uint8_t>(8));
  p.input("y", ElementType::i32, {2});
  p.setRegister(one, 1);
  p.setRegister(two, 2);
  uint32_t head = p.branchGreaterEqual(n, two);
  p.once(p.channel());
  p.endOnce();
  p.barrier(p.channel());
  uint32_t branch = p.branchUnless(flag);
  p.copy(x, p.variable("w", ElementType::f32, {2}, true));
  p.patch(branch);
  p.addRegister(n, one);
  p.jump(head);
  p.patch(head);
  p.ret();
  return p.file();
}

class MutatorTest : public testing::Test {
protected:
  MutatorTest() {
    EXPECT_EQ(mutator.add(test::smallFile()).message(), "");
    EXPECT_EQ(mutator.add(otherFile()).message(), "");
  }
  Schema schema;
  Mutator mutator{schema};
};

TEST_F(MutatorTest, tablesSurviveBeingJson) {
  std::vector<std::byte> file = test::smallFile();
  Json tables = schema.toJson(file);
  Expected<std::vector<std::byte>> buffer = schema.toBuffer(tables);
  ASSERT_EQ(buffer.status().message(), "");
  EXPECT_EQ(schema.toJson(*buffer), tables);
  EXPECT_EQ(tables["programs"][0]["name"], "main");
  EXPECT_EQ(tables["locations"][1], "train.py:42");
}

TEST_F(MutatorTest, tablesAreFoundByName) {
  Json tables = schema.toJson(test::smallFile());
  Tables found = schema.tablesOf(tables);
  ASSERT_EQ(found["Start"].size(), 1u);
  EXPECT_EQ(found["Start"][0].path, "programs[0].commands[0].body");
  EXPECT_EQ((*found["Start"][0].object)["kind"], 0);
  EXPECT_EQ(found["Artifact"][0].object, &tables);
  EXPECT_FALSE(found.contains("Digest"));
}

TEST_F(MutatorTest, fieldsAreThoseOfTheSchema) {
  std::vector<std::string> fields = schema.fields();
  auto has = [&](const char *name) {
    return std::ranges::find(fields, name) != fields.end();
  };
  EXPECT_TRUE(has("Launch.kernel"));
  EXPECT_TRUE(has("Command.body"));
  EXPECT_FALSE(has("Command.body_type"));
  EXPECT_FALSE(has("Certificate.fingerprint"));
  EXPECT_FALSE(has("Artifact.digest"));
}

TEST_F(MutatorTest, requiredFieldsAreMissed) {
  Json tables = schema.toJson(test::smallFile());
  tables["programs"][0].erase("role");
  EXPECT_NE(schema.toBuffer(tables).status().message().find(
                "required field is missing: role"),
            std::string::npos);
}

TEST_F(MutatorTest, whatIsNotChangedIsLoaded) {
  for (size_t base : {0, 1}) {
    auto artifact = Artifact::fromMemory(mutator.unchanged(base));
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
  }
  auto artifact = Artifact::fromMemory(mutator.unchanged(0));
  EXPECT_EQ((*artifact)->segment(0).size(), 4u);
  EXPECT_EQ((*artifact)->segment(0)[3], std::byte(4));
}

TEST_F(MutatorTest, sameSeedSameMutant) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(mutator.mutate(seed).file, mutator.mutate(seed).file);
  EXPECT_NE(mutator.mutate(1).file, mutator.mutate(2).file);
}

TEST_F(MutatorTest, everyFieldIsChanged) {
  std::set<std::string> expected, found;
  for (const std::vector<std::byte> &file : {test::smallFile(), otherFile()}) {
    Json tables = schema.toJson(file);
    for (const auto &[name, rows] : schema.tablesOf(tables)) {
      for (const flatbuffers::FieldDef *field : rows[0].definition->fields.vec)
        if (!Schema::isFixed(*rows[0].definition, *field))
          expected.insert(name + "." + field->name);
    }
  }
  // No artifact here has such a table to copy.
  expected.erase("Variable.shard");
  expected.erase("Kernel.arguments");
  // Whole rows, where there are several that differ.
  for (const char *rows :
       {"Command", "Buffer", "TensorType", "SetRegister", "Variable"})
    expected.insert(rows);
  for (uint64_t seed = 0; seed < 8'000; ++seed)
    for (const Change &change : mutator.mutate(seed).changes)
      found.insert(change.place);
  for (const std::string &place : expected)
    EXPECT_TRUE(found.contains(place)) << place;
}

// Mutants are rejected for their contents, never for their digest or structure.
TEST_F(MutatorTest, noMutantIsRefusedForItsForm) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    Mutant mutant = mutator.mutate(seed);
    auto artifact = Artifact::fromMemory(mutant.file);
    ASSERT_FALSE(mutant.changes.empty());
    if (artifact)
      continue;
    std::string message = artifact.status().message();
    EXPECT_EQ(message.find("checksum"), std::string::npos) << message;
    EXPECT_EQ(message.find("malformed"), std::string::npos) << message;
  }
}

TEST_F(MutatorTest, whatIsNoArtifactIsAnError) {
  EXPECT_EQ(mutator.add(std::vector<std::byte>(100)).code(),
            StatusCode::corrupted);
}

} // namespace
