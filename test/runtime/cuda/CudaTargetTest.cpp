//===- CudaTargetTest.cpp - which kernels a GPU can execute ---------------===//

#include "TestProgram.h"

#include "runtime/device/cuda/CudaTarget.h"

using namespace lockstep;
using namespace lockstep::runtime;
using namespace lockstep::runtime::test;

namespace {

constexpr std::string_view ptx = ".version 7.0", cubin = "\x7f"
                                                         "ELF";

/// An artifact with kernels for `cpu`, and for GPUs: target and image.
struct Binaries {
  Binaries(
      std::initializer_list<std::pair<const char *, std::string_view>> images,
      std::string_view assembled = "") {
    TestProgram p(1);
    p.ret();
    auto add = [&](std::string_view image) {
      auto *first = reinterpret_cast<const std::byte *>(image.data());
      return p.writer.addSegment(std::vector(first, first + image.size()));
    };
    for (auto [target, image] : images) {
      auto binary = std::make_unique<artifact::BinaryT>();
      binary->target = target;
      binary->device = "cuda";
      binary->segment = add(image);
      if (!assembled.empty())
        binary->cubin = int32_t(add(assembled));
      p.writer.tables.binaries.push_back(std::move(binary));
    }
    artifact = p.artifact();
  }

  /// The target of the chosen kernels, or the error.
  std::string choose(ComputeCapability device, std::string_view target = "",
                     bool acceptsCubins = true) {
    auto image = chooseCudaImage(*artifact, target, device, acceptsCubins);
    return image ? std::string(image->target) : image.status().message();
  }

  std::shared_ptr<const Artifact> artifact;
};

TEST(CudaTarget, compilerTargets) {
  EXPECT_EQ(compilerTargetFor({8, 0}), "sm_80");
  EXPECT_EQ(compilerTargetFor({8, 9}), "sm_80");
  EXPECT_EQ(compilerTargetFor({9, 0}), "sm_90");
  EXPECT_EQ(compilerTargetFor({10, 0}), "sm_100");
  EXPECT_EQ(compilerTargetFor({12, 1}), "sm_100");
}

TEST(CudaTarget, names) {
  auto parse = [](std::string_view name) -> std::string {
    std::optional<CudaTarget> target = CudaTarget::parse(name);
    return target ? target->capability.text() + (target->isExact ? "a" : "")
                  : "none";
  };
  EXPECT_EQ(parse("sm_80"), "8.0");
  EXPECT_EQ(parse("sm_90a"), "9.0a");
  EXPECT_EQ(parse("sm_103"), "10.3");
  for (const char *name : {"", "sm_", "sm_a", "sm_9", "sm_90b", "sm_-90",
                           "sm_90aa", "x86-64", "sm_99999999999"})
    EXPECT_EQ(parse(name), "none") << name;
}

// The highest capability that is not above that of the GPU.
TEST(CudaTarget, theBestOne) {
  Binaries b({{"sm_80", ptx}, {"sm_100", ptx}, {"sm_90", ptx}});
  EXPECT_EQ(b.choose({8, 0}), "sm_80");
  EXPECT_EQ(b.choose({8, 9}), "sm_80");
  EXPECT_EQ(b.choose({9, 0}), "sm_90");
  EXPECT_EQ(b.choose({12, 0}), "sm_100");
  EXPECT_EQ(b.choose({9, 0}, "sm_80"), "sm_80");
}

// Features of one capability are not in later ones.
TEST(CudaTarget, exactOnes) {
  Binaries b({{"sm_80", ptx}, {"sm_90", ptx}, {"sm_90a", ptx}});
  EXPECT_EQ(b.choose({9, 0}), "sm_90a");
  EXPECT_EQ(b.choose({10, 0}), "sm_90");
  EXPECT_EQ(b.choose({10, 0}, "sm_90a"),
            "a GPU of compute capability 10.0 cannot execute kernels for "
            "target 'sm_90a'");
}

// A cubin is for later minor versions, PTX for all later ones.
TEST(CudaTarget, cubins) {
  Binaries b({{"sm_80", ptx}, {"sm_86", cubin}});
  EXPECT_EQ(b.choose({8, 0}), "sm_80");
  EXPECT_EQ(b.choose({8, 9}), "sm_86");
  EXPECT_EQ(b.choose({9, 0}), "sm_80");
  EXPECT_EQ(b.choose({8, 9}, "", /*acceptsCubins=*/false), "sm_80");
  EXPECT_EQ(b.choose({8, 9}, "sm_86", /*acceptsCubins=*/false),
            "a GPU of compute capability 8.9 cannot execute kernels for target "
            "'sm_86'");
}

// Of the same target, what need not be translated.
TEST(CudaTarget, cubinsAndPtx) {
  Binaries b({{"sm_90", ptx}}, cubin);
  auto chosen = [&](ComputeCapability device, bool acceptsCubins) {
    return isCubin(
        chooseCudaImage(*b.artifact, "", device, acceptsCubins)->code);
  };
  EXPECT_TRUE(chosen({9, 0}, true));
  EXPECT_FALSE(chosen({9, 0}, false));
  EXPECT_FALSE(chosen({10, 0}, true));
}

TEST(CudaTarget, errors) {
  EXPECT_EQ(Binaries({}).choose({9, 0}),
            "no kernels for GPUs: expected some for device 'cuda', the "
            "artifact has those for 'cpu' ('x86-64')");
  Binaries b({{"sm_90a", ptx}, {"sm_86", cubin}});
  EXPECT_EQ(b.choose({8, 0}),
            "no kernels for this GPU: expected a target for compute capability "
            "8.0, the artifact has 'sm_90a', 'sm_86' (a cubin)");
  EXPECT_EQ(b.choose({9, 0}, "sm_80"),
            "no kernels for target 'sm_80': the artifact has 'sm_90a', 'sm_86' "
            "(a cubin)");
  // Not those for `cpu`.
  EXPECT_EQ(b.choose({9, 0}, "x86-64"),
            "no kernels for target 'x86-64': the artifact has 'sm_90a', "
            "'sm_86' (a cubin)");
}

} // namespace
