//===- TopologyTest.cpp ---------------------------------------------------===//

#include "runtime/model/Topology.h"

#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

using namespace lockstep::runtime;
using nlohmann::json;

namespace {

json valid() {
  return json::parse(R"({
    "name": "pair",
    "compute": {"flops_per_second": 2e9, "bytes_per_second": 1e9,
                "launch_seconds": 1e-6},
    "reduces_on_compute": false,
    "algorithm": "direct",
    "levels": [{"name": "bus", "size": 2, "latency_seconds": 1e-6,
                "bytes_per_second": 4e9},
               {"name": "wire", "latency_seconds": 1e-5,
                "bytes_per_second": 1e9}]})");
}

TEST(Topology, IsReadFromJson) {
  Expected<Topology> topology = Topology::parse(valid().dump());
  ASSERT_TRUE(topology) << topology.status().message();
  EXPECT_EQ(topology->name, "pair");
  EXPECT_EQ(topology->compute.flopsPerSecond, 2e9);
  EXPECT_EQ(topology->algorithm, ExchangeAlgorithm::direct);
  ASSERT_EQ(topology->levels.size(), 2u);
  EXPECT_EQ(topology->levels[0].size, 2u);
  EXPECT_EQ(topology->levels[1].size, 0u);
  EXPECT_DOUBLE_EQ(topology->levels[1].link.secondsPerByte, 1e-9);
  EXPECT_EQ(topology->streams, 1u);
}

TEST(Topology, KnowsTheStreamsOfALink) {
  json object = valid();
  object["streams"] = 64;
  Expected<Topology> topology = Topology::parse(object.dump());
  ASSERT_TRUE(topology) << topology.status().message();
  EXPECT_EQ(topology->streams, 64u);
  Expected<Topology> again = Topology::parse(topology->toJson());
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(again->streams, 64u);
}

TEST(Topology, IsWrittenAsItIsRead) {
  for (const char *name : Topology::presets()) {
    Expected<Topology> topology = Topology::preset(name);
    ASSERT_TRUE(topology) << name << ": " << topology.status().message();
    EXPECT_EQ(topology->name, name);
    Expected<Topology> again = Topology::parse(topology->toJson());
    ASSERT_TRUE(again) << name << ": " << again.status().message();
    EXPECT_EQ(again->toJson(), topology->toJson());
    EXPECT_EQ(again->reducesOnCompute, topology->reducesOnCompute);
  }
}

TEST(Topology, KnowsWhatReplicasOfOneProcessShare) {
  json object = valid();
  object["reduces_on_compute"] = true;
  object["cores"] = 4;
  object["cache_bytes"] = 1024;
  // Without the others, cores do not slow each other down.
  Expected<Topology> topology = Topology::parse(object.dump());
  ASSERT_TRUE(topology) << topology.status().message();
  EXPECT_EQ(topology->memoryBytesPerSecond,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(topology->cacheBytesPerSecond, 0);
  EXPECT_EQ(topology->rendezvousSeconds, 0);
  EXPECT_EQ(topology->stepSeconds, 0);
  EXPECT_EQ(topology->toJson().find("step_seconds"), std::string::npos);
  object["cache_bytes_per_second"] = 8e10;
  object["memory_bytes_per_second"] = 4e10;
  object["rendezvous_seconds"] = 2e-8;
  object["step_seconds"] = 3e-6;
  topology = Topology::parse(object.dump());
  ASSERT_TRUE(topology) << topology.status().message();
  EXPECT_EQ(topology->memoryBytesPerSecond, 4e10);
  Expected<Topology> again = Topology::parse(topology->toJson());
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(again->cacheBytesPerSecond, 8e10);
  EXPECT_EQ(again->memoryBytesPerSecond, 4e10);
  EXPECT_EQ(again->rendezvousSeconds, 2e-8);
  EXPECT_EQ(again->stepSeconds, 3e-6);
}

/// A change of the valid JSON, and the error that it causes.
struct Mistake {
  const char *name;
  void (*change)(json &);
  const char *error;
};

class Refuses : public testing::TestWithParam<Mistake> {};

TEST_P(Refuses, Topology) {
  json object = valid();
  GetParam().change(object);
  Expected<Topology> topology = Topology::parse(object.dump());
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.status().code(), StatusCode::invalidArgument);
  EXPECT_EQ(topology.status().message(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Topology, Refuses,
    testing::Values(
        Mistake{"noObject", [](json &o) { o = json::array(); },
                "expected a JSON object"},
        Mistake{"noName", [](json &o) { o.erase("name"); },
                "'name': expected a text that is not empty, found nothing"},
        Mistake{"unknownKey", [](json &o) { o["speed"] = 1; },
                "'speed': expected one of the keys sources, name, compute, "
                "reduces_on_compute, streams, algorithm, levels"},
        Mistake{"computeIsNumber", [](json &o) { o["compute"] = 1; },
                "'compute': expected an object, found 1"},
        Mistake{"noFlops",
                [](json &o) { o["compute"].erase("flops_per_second"); },
                "'compute.flops_per_second': expected a positive number, found "
                "nothing"},
        Mistake{"negative",
                [](json &o) { o["levels"][1]["latency_seconds"] = -1; },
                "'levels[1].latency_seconds': expected a positive number, "
                "found -1"},
        Mistake{"computeKey", [](json &o) { o["compute"]["cores"] = 2; },
                "'compute.cores': expected one of the keys flops_per_second, "
                "bytes_per_second, launch_seconds"},
        Mistake{"noCores", [](json &o) { o["reduces_on_compute"] = true; },
                "'cores': expected a positive integer, found nothing"},
        Mistake{"noCache",
                [](json &o) {
                  o["reduces_on_compute"] = true;
                  o["cores"] = 2;
                },
                "'cache_bytes': expected a positive integer, found nothing"},
        Mistake{"stepOfNothing",
                [](json &o) {
                  o["reduces_on_compute"] = true;
                  o["cores"] = o["cache_bytes"] = 2;
                  o["step_seconds"] = 0;
                },
                "'step_seconds': expected a positive number, found 0"},
        Mistake{"sharedMemoryOfItsOwn",
                [](json &o) { o["memory_bytes_per_second"] = 1e9; },
                "'memory_bytes_per_second': expected one of the keys sources, "
                "name, compute, reduces_on_compute, streams, algorithm, "
                "levels"},
        Mistake{"coresOfItsOwn", [](json &o) { o["cores"] = 2; },
                "'cores': expected one of the keys sources, name, compute, "
                "reduces_on_compute, streams, algorithm, levels"},
        Mistake{"noStreams", [](json &o) { o["streams"] = 0; },
                "'streams': expected a positive integer, found 0"},
        Mistake{"tooManyStreams", [](json &o) { o["streams"] = 65; },
                "'streams': expected an integer from 1 to 64, found 65"},
        Mistake{"streamsOfTheHost",
                [](json &o) {
                  o["reduces_on_compute"] = true;
                  o["cores"] = o["cache_bytes"] = o["streams"] = 2;
                },
                "'streams': expected one of the keys sources, name, compute, "
                "reduces_on_compute, cores, cache_bytes, "
                "cache_bytes_per_second, memory_bytes_per_second, "
                "rendezvous_seconds, step_seconds, algorithm, levels"},
        Mistake{"tooSmall",
                [](json &o) { o["compute"]["flops_per_second"] = 1e-200; },
                "'compute.flops_per_second': expected a number from 1e-30 to "
                "1e+30, found 1e-200"},
        Mistake{"boolean", [](json &o) { o["reduces_on_compute"] = 1; },
                "'reduces_on_compute': expected true or false, found 1"},
        Mistake{"algorithm", [](json &o) { o["algorithm"] = "star"; },
                "'algorithm': expected one of direct, ring-or-tree, found "
                "\"star\""},
        Mistake{"levelsThatNoExecutorKnows",
                [](json &o) {
                  o["levels"].insert(o["levels"].begin(), o["levels"][0]);
                },
                "'levels': expected at most 2 with the algorithm 'direct', on "
                "a host and between hosts, found 3"},
        Mistake{"noLevels", [](json &o) { o["levels"] = json::array(); },
                "'levels': expected a list that is not empty, found an array "
                "without elements"},
        Mistake{"levelIsNumber", [](json &o) { o["levels"][0] = 3; },
                "'levels[0]': expected an object, found 3"},
        Mistake{"levelWithoutSize",
                [](json &o) { o["levels"][0].erase("size"); },
                "'levels[0].size': expected a positive integer in all levels "
                "but the last one, found nothing"},
        Mistake{"sizeZero", [](json &o) { o["levels"][0]["size"] = 0; },
                "'levels[0].size': expected a positive integer, found 0"}),
    [](const testing::TestParamInfo<Mistake> &info) {
      return info.param.name;
    });

TEST(Topology, RefusesTextThatIsNoJson) {
  EXPECT_EQ(Topology::parse("{").status().message(), "expected a JSON object");
}

TEST(Topology, PrintsNoNestedValues) {
  json object = valid();
  std::string text = object.dump();
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  text.replace(text.find("\"pair\""), 6, deep);
  EXPECT_EQ(Topology::parse(text).status().message(),
            "'name': expected a text that is not empty, found an array");
}

TEST(Topology, NamesThePresets) {
  Expected<Topology> topology = Topology::preset("mesh");
  EXPECT_EQ(topology.status().message(),
            "topology 'mesh': expected one of host, ethernet-25g, "
            "ethernet-100g, dgx-h100, torus-3d");
  EXPECT_EQ(Topology::load("no/such/file").status().message(),
            "topology 'no/such/file': expected one of host, ethernet-25g, "
            "ethernet-100g, dgx-h100, torus-3d, or a file that can be read: "
            "No such file or directory");
  EXPECT_EQ(Topology::load("/").status().message(),
            "topology '/': expected one of host, ethernet-25g, "
            "ethernet-100g, dgx-h100, torus-3d, or a file that can be read: "
            "Is a directory");
}

} // namespace
