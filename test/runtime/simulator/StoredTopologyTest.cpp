//===- StoredTopologyTest.cpp ---------------------------------------------===//

#include "runtime/simulator/StoredTopology.h"

#include "TestProgram.h"

using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

Expected<Topology> storedAs(const std::string &text) {
  TestProgram program(2);
  program.writer.tables.topology = text;
  program.ret();
  return storedTopology(*program.artifact());
}

TEST(StoredTopology, IsAPresetOrAFile) {
  EXPECT_EQ(storedAs("torus-3d")->name, "torus-3d");
  Topology own = *Topology::preset("ethernet-25g");
  own.name = "own";
  EXPECT_EQ(storedAs(own.toJson())->name, "own");
  EXPECT_FALSE(storedAs("mesh"));
  EXPECT_FALSE(storedAs("{\"name\": \"own\"}"));
}

TEST(StoredTopology, IsHostIfNoneIsNamed) {
  TestProgram program(2);
  program.ret();
  EXPECT_EQ(storedTopology(*program.artifact())->name, "host");
}

} // namespace
