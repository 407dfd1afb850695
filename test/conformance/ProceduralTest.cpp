//===- ProceduralTest.cpp - procedural cases ------------------------------===//

#include "ProceduralCases.h"
#include "ProceduralExpression.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

using namespace lockstep::conformance;

namespace {

std::string valueOf(std::string_view text, Environment environment = {}) {
  Expected<CaseValue> value = evaluate(text, std::move(environment));
  return value ? value->toJson().dump() : value.status().message();
}

/// The cases of a file.
json casesOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  return json::parse(file)["cases"];
}

json casesByHand() {
  return casesOf(LOCKSTEP_CONFORMANCE "/Inputs/procedural.json");
}

std::string difference(const json &expected, const json &found,
                       double tolerance = 1e-6) {
  return compareResults(expected, found, tolerance).message();
}

} // namespace

// Cases of all kinds, with other sizes than the recorded ones.
TEST(Procedural, CasesByHand) {
  std::set<std::string> kinds;
  for (const json &testCase : casesByHand()) {
    EXPECT_EQ(runProcedural(testCase).message(), "") << testCase["name"];
    kinds.insert(testCase["op"]);
  }
  EXPECT_EQ(kinds.size(), proceduralKinds().size());
}

TEST(Procedural, RecordedCases) {
  unsigned count = 0;
  for (const auto &file :
       std::filesystem::directory_iterator(LOCKSTEP_CONFORMANCE "/cases")) {
    if (file.path().extension() != ".json")
      continue;
    for (const json &testCase : casesOf(file.path()))
      if (!testCase.contains("program") &&
          findProcedural(testCase.value("op", ""))) {
        EXPECT_EQ(runProcedural(testCase).message(), "") << testCase["name"];
        ++count;
      }
  }
  EXPECT_GE(count, 45u);
}

// No case passes for nothing: with another expectation, each of them fails.
TEST(Procedural, WrongExpectationsFail) {
  for (json testCase : casesByHand()) {
    bool rejects = testCase.value("grading", "") == "reject";
    if (rejects)
      testCase["neutral_error"] = "E_OTHER";
    else
      testCase["expected"] = {
          {"ok", {{"table", json::array()}, {"nothing", 0}}}};
    testCase.erase("expected_per_worker");
    EXPECT_FALSE(runProcedural(testCase).ok()) << testCase["name"];
  }
}

TEST(Procedural, UnknownOrIncompleteCases) {
  EXPECT_EQ(runProcedural({{"op", "other"}}).message(),
            "expected an operation with a handler, found 'other'");
  for (const ProceduralKind &kind : proceduralKinds())
    EXPECT_FALSE(runProcedural({{"op", kind.op}, {"grading", "match_tf"}}).ok())
        << kind.op;
}

TEST(Procedural, ComparesResults) {
  EXPECT_EQ(difference({{"a", {1, 2.0}}}, {{"a", {1, 2.0000001}}}), "");
  EXPECT_EQ(difference({{"a", {1, 2.0}}}, {{"a", {1, 2.1}}}),
            ".a[1]: expected 2.0, found 2.1");
  EXPECT_EQ(difference(1000.0, 1000.0005), "");
  EXPECT_EQ(difference(1, 2), "the result: expected 1, found 2");
  EXPECT_EQ(difference({{"a", 1}}, {{"a", 1}, {"b", 2}}),
            R"(the result: expected {"a":1}, found {"a":1,"b":2})");
  EXPECT_EQ(difference({1, 2}, {1}), "the result: expected [1,2], found [1]");
  EXPECT_EQ(difference("nan", "nan"), "");
  EXPECT_EQ(difference({{"error", "ValueError"}, {"message", "text"}},
                       {{"error", "E_OPTION_VALUE"}}),
            "");
  EXPECT_NE(difference({{"error", "ValueError"}}, {{"partitions", {1}}}), "");
}

TEST(Procedural, Expressions) {
  Environment replica{.values = {{"replica_id", hostValue(1)}}};
  EXPECT_EQ(valueOf("[3.,2.,1.,0.][replica_id] host f64", replica),
            R"({"py":2.0})");
  EXPECT_EQ(valueOf("2*replica_id+1 (host int)", replica), R"({"py":3})");
  EXPECT_EQ(valueOf("ones([replica_id+1])", replica),
            R"({"data":[1.0,1.0],"dtype":"f32","shape":[2]})");
  EXPECT_EQ(valueOf("-arange(4,f32).reshape(2,2)*10"),
            R"({"data":[0.0,-10.0,-20.0,-30.0],"dtype":"f32","shape":[2,2]})");
  EXPECT_EQ(
      valueOf("(a=i64[[1,2],[3,4]], f32(a)/2)"),
      R"([{"data":[1,2,3,4],"dtype":"i64","shape":[2,2]},{"data":[0.5,1.0,1.5,2.0],"dtype":"f32","shape":[2,2]}])");
  EXPECT_EQ(valueOf("range(5).batch(2).shard(2,1)"),
            R"([{"data":[2,3],"dtype":"i64","shape":[2]}])");
  EXPECT_EQ(valueOf("{'a': 1, \"b\": [2, 3.5]}"),
            R"({"a":{"py":1},"b":[{"py":2},{"py":3.5}]})");
  EXPECT_EQ(valueOf("(1+1)=2"), R"({"py":2})");
  EXPECT_EQ(
      valueOf("(1+1)=3"),
      R"('(1+1)=3', at 7: expected a value of {"py":2} before, found the end)");
  EXPECT_EQ(valueOf("1 + other"),
            "'1 + other', at 9: expected a value named 'other', found the end");
  EXPECT_EQ(
      valueOf("i64[[1,2],[3]]"),
      R"(expected lists of numbers of one shape, found [[{"py":1},{"py":2}],[{"py":3}]])");
  EXPECT_EQ(valueOf("[1,2][2]"),
            R"(expected an index below 2, found {"py":2})");
  EXPECT_EQ(valueOf("[1"), "'[1', at 2: expected ',' or ']', found the end");
}
