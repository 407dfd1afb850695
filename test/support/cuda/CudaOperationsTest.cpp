//===- CudaOperationsTest.cpp - every operation that llc may emit ---------===//
//
// Kernels that `generate_operations.py` writes, as llc compiles them for
// several targets. Each is translated, compiled and executed. Most of them are
// also compiled for the host, where the results have to be the same bits.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

#include <random>

namespace lockstep::standin {
namespace {

constexpr size_t bufferWords = 64;
/// As aligned as the widest vector.
struct alignas(64) Buffer {
  uint64_t words[bufferWords];
};

/// Random bits, numbers of each format that are special, and small integers.
Buffer drawBuffer(std::mt19937_64 &random) {
  static constexpr uint64_t doubles[] = {0,
                                         uint64_t(1) << 63,
                                         0x7FF0000000000000,
                                         0xFFF0000000000000,
                                         0x7FF8000000000000,
                                         1,
                                         0x3FF0000000000000,
                                         0x43E0000000000000,
                                         0xC1E0000000000000,
                                         0x7FEFFFFFFFFFFFFF};
  static constexpr uint32_t floats[] = {
      0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 1,
      0x807FFFFF, 0x3F800000, 0xBF000000, 0x4F000000, 0x7F7FFFFF, 0x477FF000};
  static constexpr uint16_t halves[] = {0,      0x8000, 0x7C00, 0xFC00, 0x7E00,
                                        1,      0x83FF, 0x3C00, 0xB800, 0x7BFF,
                                        0x3F80, 0x7F80, 0x7FC0, 0xFF7F};
  Buffer buffer;
  for (uint64_t &word : buffer.words)
    switch (random() % 5) {
    case 0:
      word = random();
      break;
    case 1:
      word = doubles[random() % std::size(doubles)];
      break;
    case 2:
      for (unsigned i = 0; i < 2; ++i)
        word = word << 32 | floats[random() % std::size(floats)];
      break;
    case 3:
      for (unsigned i = 0; i < 4; ++i)
        word = word << 16 | halves[random() % std::size(halves)];
      break;
    default:
      word = random() % 16 - 8;
    }
  return buffer;
}

/// Whether lanes of so many bits are equal or both not a number, where the
/// exponent has so many bits.
bool areSame(uint64_t a, uint64_t b, unsigned bits, unsigned exponentBits) {
  uint64_t sign = uint64_t(1) << (bits - 1);
  unsigned fraction = bits - 1 - exponentBits;
  uint64_t infinity = ((uint64_t(1) << exponentBits) - 1) << fraction;
  for (unsigned shift = 0; shift < 64; shift += bits) {
    uint64_t mask = sign | (sign - 1);
    uint64_t left = a >> shift & mask, right = b >> shift & mask;
    bool areNan =
        (left & (sign - 1)) > infinity && (right & (sign - 1)) > infinity;
    if (left != right && !areNan)
      return false;
  }
  return true;
}

/// The bits of a result that is not a number may differ.
bool areSame(uint64_t a, uint64_t b) {
  return a == b || areSame(a, b, 64, 11) || areSame(a, b, 32, 8) ||
         areSame(a, b, 16, 5) || areSame(a, b, 16, 8);
}

class CudaOperations : public CudaTest,
                       public testing::WithParamInterface<const char *> {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    std::ifstream file(std::string(LOCKSTEP_CUDA_KERNELS) + "/" + GetParam());
    std::stringstream text;
    text << file.rdbuf();
    ptx = text.str();
    int capability = 0;
    cuda.cuDeviceGetAttribute(&capability,
                              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    if (capability < 10 && ptx.find(".target sm_100") != std::string::npos)
      GTEST_SKIP() << "needs LOCKSTEP_CUDA_CAPABILITY=10.0";
  }

  /// The names of the kernels in a text.
  static std::vector<std::string> kernelsOf(const std::string &ptx) {
    std::vector<std::string> names;
    const std::string entry = ".visible .entry ";
    for (size_t at = 0; (at = ptx.find(entry, at)) != std::string::npos;) {
      at += entry.size();
      names.push_back(ptx.substr(at, ptx.find('(', at) - at));
    }
    return names;
  }

  using HostFunction = void (*)(uint64_t *, uint64_t *, uint64_t *, uint64_t *);

  /// Executes both for operands at random, until a result differs.
  void compare(const std::string &name, CUfunction function,
               HostFunction host) {
    for (unsigned round = 0; round < 20; ++round) {
      Buffer buffers[4];
      for (unsigned i = 0; i < 4; ++i) {
        buffers[i] = drawBuffer(random);
        ASSERT_EQ(
            cuda.cuMemcpyHtoD_v2(pointers[i], buffers[i].words, sizeof(Buffer)),
            CUDA_SUCCESS);
      }
      Buffer operands[] = {buffers[0], buffers[1], buffers[2]};
      host(buffers[0].words, buffers[1].words, buffers[2].words,
           buffers[3].words);
      ASSERT_EQ(launch(function, 1, 1, nullptr, pointers[0], pointers[1],
                       pointers[2], pointers[3]),
                CUDA_SUCCESS);
      // Atomic operations change the second buffer.
      for (unsigned i : {1u, 3u}) {
        std::vector<uint64_t> found =
            download<uint64_t>(pointers[i], bufferWords);
        for (size_t word = 0; word < bufferWords; ++word)
          ASSERT_TRUE(areSame(found[word], buffers[i].words[word]))
              << name << ", buffer " << i << ", word " << word << std::hex
              << ": " << found[word] << " instead of " << buffers[i].words[word]
              << " for " << operands[0].words[0] << ", " << operands[1].words[0]
              << ", " << operands[2].words[0];
      }
    }
  }

  std::string ptx;
  std::mt19937_64 random{1};
  CUdeviceptr pointers[4] = {};
};

TEST_P(CudaOperations, AgreeWithTheHost) {
  void *library = dlopen(LOCKSTEP_CUDA_HOST_OPERATIONS, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  // Where denormal numbers are flushed, results differ.
  bool isCompared = std::string(GetParam()).find("ftz") == std::string::npos;
  std::vector<std::string> names = kernelsOf(ptx);
  ASSERT_GT(names.size(), 1000u);
  CUmodule module = load(ptx);
  for (CUdeviceptr &pointer : pointers)
    pointer = allocate(bufferWords * 8);
  unsigned compared = 0;
  for (const std::string &name : names) {
    auto host = reinterpret_cast<HostFunction>(dlsym(library, name.c_str()));
    CUfunction function = find(module, name.c_str());
    if (host && isCompared) {
      compare(name, function, host);
      ++compared;
      continue;
    }
    // Only executed, with all threads of a warp.
    ASSERT_EQ(launch(function, 1, 32, nullptr, pointers[0], pointers[1],
                     pointers[2], pointers[3]),
              CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS) << name;
  }
  if (isCompared) {
    EXPECT_GT(compared, 600u);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CudaOperations,
                         testing::Values("operations-sm_80.ptx",
                                         "operations-sm_90-O0.ptx",
                                         "operations-sm_90-ftz.ptx",
                                         "operations-sm_100.ptx"));

} // namespace
} // namespace lockstep::standin
