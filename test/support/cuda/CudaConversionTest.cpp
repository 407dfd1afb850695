//===- CudaConversionTest.cpp - cvt for its types and roundings -----------===//

#include "CudaTest.h"

#include <bit>
#include <cmath>
#include <limits>

namespace lockstep::standin {
namespace {

class CudaConversion : public CudaTest {
protected:
  /// The bits of %d after `cvt` from %a.
  uint64_t convert(const std::string &operation, unsigned from, unsigned to,
                   uint64_t operand) {
    std::string source = ".b" + std::to_string(from);
    std::string target = ".b" + std::to_string(to);
    std::string ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) {
  .reg .b64 %rd<3>;
  .reg )" + source + R"( %a;
  .reg )" + target + R"( %d;
  ld.param.u64 %rd1, [k_param_0];
  ld.param)" + source +
                      R"( %a, [k_param_1];
  cvt.)" + operation + R"( %d, %a;
  st.global.b64 [%rd1], 0;
  st.global)" + target +
                      R"( [%rd1], %d;
  ret;
}
)";
    CUmodule module = load(ptx);
    CUdeviceptr result = allocate(8);
    EXPECT_EQ(launch(find(module, "k"), 1, 1, nullptr, result, operand),
              CUDA_SUCCESS);
    return download<uint64_t>(result, 1)[0];
  }
  uint64_t fromFloat(const std::string &operation, float value, unsigned to) {
    return convert(operation, 32, to, std::bit_cast<uint32_t>(value));
  }
  uint64_t fromDouble(const std::string &operation, double value, unsigned to) {
    return convert(operation, 64, to, std::bit_cast<uint64_t>(value));
  }
  float toFloat(const std::string &operation, unsigned from, uint64_t value) {
    return std::bit_cast<float>(uint32_t(convert(operation, from, 32, value)));
  }

  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();
};

TEST_F(CudaConversion, Integers) {
  EXPECT_EQ(convert("s32.s8", 32, 32, 0x1FF), 0xFFFFFFFFu);
  EXPECT_EQ(convert("u32.u8", 32, 32, 0x1FF), 0xFFu);
  EXPECT_EQ(convert("s64.s32", 32, 64, 0x80000000), 0xFFFFFFFF80000000u);
  EXPECT_EQ(convert("u64.u32", 32, 64, 0x80000000), 0x80000000u);
  EXPECT_EQ(convert("u16.u64", 64, 16, 0x12345), 0x2345u);
  EXPECT_EQ(convert("s8.s32", 32, 32, 0x80), 0xFFFFFF80u);
  EXPECT_EQ(convert("sat.s8.s32", 32, 32, 300), 127u);
  EXPECT_EQ(convert("sat.u8.s32", 32, 32, uint32_t(-5)), 0u);
  EXPECT_EQ(convert("sat.s32.u64", 64, 32, uint64_t(1) << 40), 0x7FFFFFFFu);
}

TEST_F(CudaConversion, FloatsToIntegers) {
  EXPECT_EQ(fromFloat("rzi.s32.f32", -1.7f, 32), uint32_t(-1));
  EXPECT_EQ(fromFloat("rni.s32.f32", 2.5f, 32), 2u);
  EXPECT_EQ(fromFloat("rmi.s32.f32", -1.2f, 32), uint32_t(-2));
  EXPECT_EQ(fromFloat("rpi.s32.f32", 1.2f, 32), 2u);
  EXPECT_EQ(fromFloat("rzi.s32.f32", 1e20f, 32), 0x7FFFFFFFu);
  EXPECT_EQ(fromFloat("rzi.s32.f32", -infinity, 32), 0x80000000u);
  EXPECT_EQ(fromFloat("rzi.u32.f32", -5.0f, 32), 0u);
  EXPECT_EQ(fromFloat("rzi.s32.f32", nan, 32), 0u);
  EXPECT_EQ(fromFloat("rzi.s64.f32", nan, 64), uint64_t(1) << 63);
  EXPECT_EQ(fromDouble("rzi.s32.f64", nan, 32), 0x80000000u);
  EXPECT_EQ(fromDouble("rzi.u64.f64", 0x1p63, 64), uint64_t(1) << 63);
  EXPECT_EQ(fromFloat("rpi.ftz.s32.f32", 0x1p-130f, 32), 0u);
  EXPECT_EQ(fromFloat("rpi.s32.f32", 0x1p-130f, 32), 1u);
  EXPECT_EQ(convert("rzi.s16.f16", 16, 16, 0xC500), uint16_t(-5));
}

TEST_F(CudaConversion, IntegersToFloats) {
  constexpr uint32_t odd = (1u << 24) + 1;
  EXPECT_EQ(toFloat("rn.f32.u32", 32, odd), 0x1p24f);
  EXPECT_EQ(toFloat("rp.f32.u32", 32, odd), 0x1p24f + 2);
  EXPECT_EQ(toFloat("rz.f32.s32", 32, uint32_t(-int32_t(odd))), -0x1p24f);
  EXPECT_EQ(toFloat("rm.f32.s32", 32, uint32_t(-int32_t(odd))), -0x1p24f - 2);
  EXPECT_EQ(toFloat("rn.f32.u64", 64, ~uint64_t(0)), 0x1p64f);
  EXPECT_EQ(toFloat("rn.f32.s8", 16, 0xFF), -1.0f);
  EXPECT_EQ(convert("rn.f16.s32", 32, 16, 2049), 0x6800u);
  EXPECT_EQ(convert("rn.f16.u32", 32, 16, 65520), 0x7C00u);
  EXPECT_EQ(convert("rn.f16.u32", 32, 16, 65519), 0x7BFFu);
  EXPECT_EQ(convert("rn.bf16.u64", 64, 16, (uint64_t(0x181) << 40) + 1),
            0x57C1u);
}

TEST_F(CudaConversion, BetweenFloats) {
  EXPECT_EQ(fromDouble("rn.f32.f64", 1 + 0x1p-24, 32), 0x3F800000u);
  EXPECT_EQ(fromDouble("rp.f32.f64", 1 + 0x1p-24, 32), 0x3F800001u);
  EXPECT_EQ(fromDouble("rz.f32.f64", 1e300, 32), 0x7F7FFFFFu);
  EXPECT_EQ(fromDouble("rn.f32.f64", 1e300, 32), 0x7F800000u);
  EXPECT_EQ(fromDouble("rn.f32.f64", 0x1p-149, 32), 1u);
  EXPECT_EQ(fromFloat("f64.f32", -0.0f, 64), uint64_t(1) << 63);
  // A tie in f32, which is none in f64.
  EXPECT_EQ(fromDouble("rn.f16.f64", 1 + 0x1p-11 + 0x1p-40, 16), 0x3C01u);
  EXPECT_EQ(fromDouble("rn.bf16.f64", 1 + 0x1p-8 + 0x1p-40, 16), 0x3F81u);
  EXPECT_EQ(fromFloat("rn.f16.f32", 1 + 0x1p-11f, 16), 0x3C00u);
  EXPECT_EQ(fromFloat("rz.f16.f32", 1e10f, 16), 0x7BFFu);
  EXPECT_EQ(fromFloat("rn.f16.f32", 0x1p-24f, 16), 1u);
  EXPECT_EQ(fromFloat("rn.bf16.f32", infinity, 16), 0x7F80u);
  EXPECT_EQ(fromFloat("rn.bf16.f32", nan, 16) & 0x7FC0u, 0x7FC0u);
  EXPECT_EQ(fromFloat("rz.bf16.f32", -1.999f, 16), 0xBFFFu);
  EXPECT_EQ(fromFloat("rn.relu.bf16.f32", -2, 16), 0u);
  EXPECT_EQ(toFloat("f32.f16", 16, 0x0001), 0x1p-24f);
  EXPECT_EQ(toFloat("f32.bf16", 16, 0xC040), -3.0f);
  EXPECT_EQ(toFloat("rni.f32.f32", 32, std::bit_cast<uint32_t>(-0.4f)), 0.0f);
  EXPECT_EQ(fromFloat("rni.f32.f32", -0.4f, 32), 0x80000000u);
  EXPECT_EQ(fromFloat("sat.f32.f32", 1.5f, 32), 0x3F800000u);
  EXPECT_EQ(fromFloat("ftz.f32.f32", -0x1p-130f, 32), 0x80000000u);
}

} // namespace
} // namespace lockstep::standin
