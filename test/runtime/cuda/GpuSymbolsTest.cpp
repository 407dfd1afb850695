//===- GpuSymbolsTest.cpp - names in kernel images of GPUs ----------------===//

#include "runtime/artifact/GpuSymbols.h"

#include <gtest/gtest.h>

using namespace lockstep::runtime;

namespace {

TEST(GpuSymbols, charactersThatPtxLacks) {
  EXPECT_EQ(gpuSymbol("add_3"), "add_3");
  EXPECT_EQ(gpuSymbol("main.fused-0"), "main$2Efused$2D0");
  // `$` itself is written as a code, so that different names stay different.
  EXPECT_EQ(gpuSymbol("a$2E"), "a$242E");
  EXPECT_EQ(gpuSymbol("\xC3\xBC"), "$C3$BC");
}

TEST(GpuSymbols, suffixes) {
  EXPECT_EQ(gpuPhaseSymbol(gpuSymbol("a.b"), 12), "a$2Eb$12");
  EXPECT_EQ(gpuSymbol("k") + std::string(gpuArgumentsSuffix), "k$arguments");
  EXPECT_EQ(gpuSymbol("k") + std::string(gpuLaunchesSuffix), "k$launches");
}

} // namespace
