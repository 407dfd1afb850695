//===- CudaArithmeticTest.cpp - single instructions against the host ------===//
//
// Each test executes one instruction for several operands. Results that the
// host's arithmetic gives are computed; others are written down, from the
// reference of PTX.
//
//===----------------------------------------------------------------------===//

#include "CudaTest.h"

#include <bit>
#include <cmath>
#include <limits>

namespace lockstep::standin {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

class CudaArithmetic : public CudaTest {
protected:
  /// Executes `body`, which computes %d of %a, %b and %c, all with so many
  /// bits, and returns %d for each row of operands.
  std::vector<uint64_t> run(const std::string &body, unsigned width,
                            const std::vector<std::vector<uint64_t>> &rows,
                            unsigned resultWidth = 0) {
    std::string type = ".b" + std::to_string(width);
    std::string result =
        ".b" + std::to_string(resultWidth ? resultWidth : width);
    std::string ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1) {
  .reg .b64 %rd<6>;
  .reg .b32 %r<4>;
  .reg .pred %p<3>;
  .reg )" + type + R"( %a, %b, %c;
  .reg )" + result + R"( %d;
  ld.param.u64 %rd1, [k_param_0];
  ld.param.u64 %rd2, [k_param_1];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 24;
  add.s64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd4, %r1, 8;
  add.s64 %rd2, %rd2, %rd4;
  ld.global)" + type + R"( %a, [%rd1];
  ld.global)" + type + R"( %b, [%rd1+8];
  ld.global)" + type + R"( %c, [%rd1+16];
  )" + body + R"(
  st.global.b64 [%rd2], 0;
  st.global)" + result +
                      R"( [%rd2], %d;
  ret;
}
)";
    std::vector<uint64_t> operands;
    for (const std::vector<uint64_t> &row : rows)
      for (size_t i = 0; i < 3; ++i)
        operands.push_back(i < row.size() ? row[i] : 0);
    CUmodule module = load(ptx);
    CUdeviceptr from = upload(operands), to = allocate(rows.size() * 8);
    EXPECT_EQ(
        launch(find(module, "k"), unsigned(rows.size()), 1, nullptr, from, to),
        CUDA_SUCCESS);
    return download<uint64_t>(to, rows.size());
  }

  uint64_t one(const std::string &body, unsigned width,
               const std::vector<uint64_t> &row, unsigned resultWidth = 0) {
    return run(body, width, {row}, resultWidth)[0];
  }

  void expectFloat(const std::string &body, const std::vector<float> &operands,
                   float expected) {
    std::vector<uint64_t> row;
    for (float operand : operands)
      row.push_back(bits(operand));
    auto found = std::bit_cast<float>(uint32_t(one(body, 32, row)));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(found)) << body << " " << found;
    else
      EXPECT_EQ(bits(found), bits(expected))
          << body << " " << found << " instead of " << expected;
  }
};

TEST_F(CudaArithmetic, IntegersWrapAround) {
  EXPECT_EQ(one("add.s32 %d, %a, %b;", 32, {0x7FFFFFFF, 1}), 0x80000000u);
  EXPECT_EQ(one("sub.u32 %d, %a, %b;", 32, {0, 1}), 0xFFFFFFFFu);
  EXPECT_EQ(one("add.sat.s32 %d, %a, %b;", 32, {0x7FFFFFFF, 1}), 0x7FFFFFFFu);
  EXPECT_EQ(one("sub.sat.s32 %d, %a, %b;", 32, {0x80000000, 1}), 0x80000000u);
  EXPECT_EQ(one("mul.lo.s32 %d, %a, %b;", 32, {0x10001, 0x10001}), 0x20001u);
  EXPECT_EQ(one("mul.hi.s32 %d, %a, %b;", 32, {0xFFFFFFFF, 2}), 0xFFFFFFFFu);
  EXPECT_EQ(one("mul.hi.u32 %d, %a, -1;", 32, {0xFFFFFFFF}), 0xFFFFFFFEu);
  EXPECT_EQ(one("mul.hi.u64 %d, %a, %b;", 64, {~uint64_t(0), ~uint64_t(0)}),
            ~uint64_t(1));
  EXPECT_EQ(one("mul.wide.s32 %d, %a, %b;", 32, {0xFFFFFFFF, 3}, 64),
            uint64_t(-3));
  EXPECT_EQ(one("mul.wide.u16 %d, %a, %b;", 16, {0xFFFF, 0xFFFF}, 32),
            0xFFFE0001u);
  EXPECT_EQ(one("mad.lo.s32 %d, %a, %b, %c;", 32, {3, 5, 7}), 22u);
  EXPECT_EQ(one("mad.hi.u32 %d, %a, %b, %c;", 32, {1u << 31, 4, 7}), 9u);
  EXPECT_EQ(one("neg.s32 %d, %a;", 32, {0x80000000}), 0x80000000u);
  EXPECT_EQ(one("abs.s64 %d, %a;", 64, {uint64_t(-5)}), 5u);
}

TEST_F(CudaArithmetic, CarriesAreKept) {
  const char *add = "add.cc.u32 %r2, %a, %b; addc.u32 %d, %c, 0;";
  EXPECT_EQ(one(add, 32, {0xFFFFFFFF, 1, 5}), 6u);
  EXPECT_EQ(one(add, 32, {0xFFFFFFFE, 1, 5}), 5u);
  const char *sub = "sub.cc.u32 %r2, %a, %b; subc.u32 %d, %c, 0;";
  EXPECT_EQ(one(sub, 32, {0, 1, 5}), 4u);
  EXPECT_EQ(one(sub, 32, {1, 1, 5}), 5u);
}

TEST_F(CudaArithmetic, DivisionsByZeroDoNotTrap) {
  EXPECT_EQ(one("div.s32 %d, %a, %b;", 32, {uint32_t(-7), 2}), uint32_t(-3));
  EXPECT_EQ(one("rem.s32 %d, %a, %b;", 32, {uint32_t(-7), 2}), uint32_t(-1));
  EXPECT_EQ(one("div.u64 %d, %a, %b;", 64, {~uint64_t(0), 10}),
            ~uint64_t(0) / 10);
  EXPECT_EQ(one("div.s32 %d, %a, %b;", 32, {5, 0}), 0xFFFFFFFFu);
  EXPECT_EQ(one("div.s32 %d, %a, %b;", 32, {0x80000000, 0xFFFFFFFF}),
            0x80000000u);
  EXPECT_EQ(one("rem.u32 %d, %a, %b;", 32, {5, 0}), 5u);
}

TEST_F(CudaArithmetic, ShiftsOfTheWidthOrMore) {
  EXPECT_EQ(one("shl.b32 %d, %a, %b;", 32, {1, 31}), 0x80000000u);
  EXPECT_EQ(one("shl.b32 %d, %a, %b;", 32, {1, 32}), 0u);
  EXPECT_EQ(one("shr.u32 %d, %a, %b;", 32, {0x80000000, 40}), 0u);
  EXPECT_EQ(one("shr.s32 %d, %a, %b;", 32, {0x80000000, 40}), 0xFFFFFFFFu);
  EXPECT_EQ(one("shr.s16 %d, %a, 3;", 16, {0x8000}), 0xF000u);
  EXPECT_EQ(
      one("shf.l.wrap.b32 %d, %a, %b, %c;", 32, {0x80000001, 0x12345678, 36}),
      0x23456788u);
  EXPECT_EQ(
      one("shf.r.clamp.b32 %d, %a, %b, %c;", 32, {0x80000001, 0x12345678, 36}),
      0x12345678u);
}

TEST_F(CudaArithmetic, Bits) {
  EXPECT_EQ(one("popc.b32 %d, %a;", 32, {0xF0F0}), 8u);
  EXPECT_EQ(one("clz.b64 %d, %a;", 64, {0}, 32), 64u);
  EXPECT_EQ(one("brev.b32 %d, %a;", 32, {1}), 0x80000000u);
  EXPECT_EQ(one("bfind.u32 %d, %a;", 32, {0x100}), 8u);
  EXPECT_EQ(one("bfind.u32 %d, %a;", 32, {0}), 0xFFFFFFFFu);
  EXPECT_EQ(one("bfind.s32 %d, %a;", 32, {0xFFFFFFFE}), 0u);
  EXPECT_EQ(one("bfind.shiftamt.u32 %d, %a;", 32, {0x100}), 23u);
  EXPECT_EQ(one("bfe.u32 %d, %a, 4, 8;", 32, {0xABCD}), 0xBCu);
  EXPECT_EQ(one("bfe.s32 %d, %a, 4, 8;", 32, {0xABCD}), 0xFFFFFFBCu);
  EXPECT_EQ(one("bfi.b32 %d, %a, %b, 8, 4;", 32, {0x5, 0xFFFFFFFF}),
            0xFFFFF5FFu);
  EXPECT_EQ(one("prmt.b32 %d, %a, %b, 0x7531;", 32, {0x03020100, 0x07060504}),
            0x07050301u);
  EXPECT_EQ(one("prmt.b32 %d, %a, 0, 0x8880;", 32, {0x80}), 0xFFFFFF80u);
  EXPECT_EQ(one("prmt.b32.b4e %d, %a, %b, 1;", 32, {0x03020100, 0x07060504}),
            0x06070001u);
  EXPECT_EQ(one("lop3.b32 %d, %a, %b, %c, 0xE8;", 32, {0xC, 0xA, 0x9}), 0x8u);
  EXPECT_EQ(one("not.b32 %d, %a;", 32, {0}), 0xFFFFFFFFu);
  EXPECT_EQ(one("cnot.b32 %d, %a;", 32, {0}), 1u);
}

TEST_F(CudaArithmetic, FloatsRoundOnce) {
  expectFloat("fma.rn.f32 %d, %a, %b, %c;", {1 + 0x1p-12f, 1 + 0x1p-12f, -1},
              std::fma(1 + 0x1p-12f, 1 + 0x1p-12f, -1.0f));
  expectFloat("add.rz.f32 %d, %a, %b;", {1, 0x1.8p-24f}, 1);
  expectFloat("add.rp.f32 %d, %a, %b;", {1, 0x1p-40f}, 1 + 0x1p-23f);
  expectFloat("sub.rm.f32 %d, %a, %b;", {1, 0x1p-40f}, 1 - 0x1p-24f);
  expectFloat("div.rn.f32 %d, %a, %b;", {1, 3}, 1.0f / 3.0f);
  expectFloat("div.full.f32 %d, %a, %b;", {1, 0}, infinity);
  expectFloat("sqrt.rn.f32 %d, %a;", {2}, std::sqrt(2.0f));
  expectFloat("sqrt.rn.f32 %d, %a;", {-1}, nan);
  expectFloat("rcp.approx.ftz.f32 %d, %a;", {4}, 0.25f);
  expectFloat("rsqrt.approx.f32 %d, %a;", {4}, 0.5f);
  expectFloat("ex2.approx.f32 %d, %a;", {3}, 8);
  expectFloat("lg2.approx.f32 %d, %a;", {8}, 3);
  expectFloat("lg2.approx.f32 %d, %a;", {0}, -infinity);
}

TEST_F(CudaArithmetic, DenormalsAreFlushedWhereWritten) {
  constexpr float tiny = 0x1p-130f;
  expectFloat("add.f32 %d, %a, %b;", {tiny, tiny}, 2 * tiny);
  expectFloat("add.ftz.f32 %d, %a, %b;", {tiny, tiny}, 0);
  expectFloat("mul.ftz.f32 %d, %a, %b;", {-0x1p-100f, 0x1p-100f}, -0.0f);
  expectFloat("fma.rn.ftz.f32 %d, %a, %b, %c;", {1, tiny, 1}, 1);
  expectFloat("neg.f32 %d, %a;", {tiny}, -tiny);
  expectFloat("abs.ftz.f32 %d, %a;", {-tiny}, 0);
}

TEST_F(CudaArithmetic, Saturation) {
  expectFloat("add.sat.f32 %d, %a, %b;", {1, 1}, 1);
  expectFloat("add.sat.f32 %d, %a, %b;", {-1, 0.25f}, 0);
  expectFloat("mul.sat.f32 %d, %a, %b;", {nan, 1}, 0);
  expectFloat("fma.rn.sat.f32 %d, %a, %b, %c;", {0.5f, 0.5f, 0}, 0.25f);
}

TEST_F(CudaArithmetic, MinAndMaxOfSpecialNumbers) {
  expectFloat("min.f32 %d, %a, %b;", {nan, 2}, 2);
  expectFloat("max.f32 %d, %a, %b;", {2, nan}, 2);
  expectFloat("max.f32 %d, %a, %b;", {nan, nan}, nan);
  expectFloat("max.NaN.f32 %d, %a, %b;", {2, nan}, nan);
  expectFloat("min.f32 %d, %a, %b;", {0.0f, -0.0f}, -0.0f);
  expectFloat("max.f32 %d, %a, %b;", {-0.0f, 0.0f}, 0.0f);
  expectFloat("min.f32 %d, %a, %b;", {-infinity, infinity}, -infinity);
  EXPECT_EQ(one("max.s32 %d, %a, %b;", 32, {uint32_t(-1), 1}), 1u);
  EXPECT_EQ(one("max.u32 %d, %a, %b;", 32, {uint32_t(-1), 1}), 0xFFFFFFFFu);
}

TEST_F(CudaArithmetic, Signs) {
  EXPECT_EQ(one("neg.f32 %d, %a;", 32, {0x7FC00000}), 0xFFC00000u);
  EXPECT_EQ(one("copysign.f32 %d, %a, %b;", 32, {bits(-0.0f), bits(3.0f)}),
            bits(-3.0f));
  EXPECT_EQ(one("abs.f64 %d, %a;", 64, {bits(-2.5)}), bits(2.5));
  EXPECT_EQ(one("neg.f16x2 %d, %a;", 32, {0x3C00BC00}), 0xBC003C00u);
}

TEST_F(CudaArithmetic, Doubles) {
  EXPECT_EQ(one("fma.rn.f64 %d, %a, %b, %c;", 64,
                {bits(1 + 0x1p-30), bits(1 + 0x1p-30), bits(-1.0)}),
            bits(std::fma(1 + 0x1p-30, 1 + 0x1p-30, -1.0)));
  EXPECT_EQ(one("div.rn.f64 %d, %a, %b;", 64, {bits(1.0), bits(3.0)}),
            bits(1.0 / 3.0));
  EXPECT_EQ(one("add.f64 %d, %a, 0d3FF0000000000000;", 64, {bits(2.0)}),
            bits(3.0));
  EXPECT_EQ(one("sqrt.rn.f64 %d, %a;", 64, {bits(2.0)}), bits(std::sqrt(2.0)));
}

// Halves: 0x3C00 is 1, 0x0001 the least denormal number, 0x7BFF the greatest.
TEST_F(CudaArithmetic, Halves) {
  EXPECT_EQ(one("add.rn.f16 %d, %a, %b;", 16, {0x3C00, 0x1000}), 0x3C00u);
  EXPECT_EQ(one("add.rn.f16 %d, %a, %b;", 16, {0x3C01, 0x1000}), 0x3C02u);
  EXPECT_EQ(one("add.rn.f16 %d, %a, %b;", 16, {0x7BFF, 0x7BFF}), 0x7C00u);
  EXPECT_EQ(one("mul.rn.f16 %d, %a, %b;", 16, {0x0001, 0x3800}), 0u);
  EXPECT_EQ(one("add.rn.ftz.f16 %d, %a, %b;", 16, {0x0001, 0x0001}), 0u);
  EXPECT_EQ(one("add.rn.f16x2 %d, %a, %b;", 32, {0x3C004000, 0x3C003C00}),
            0x40004200u);
  // (1 + 2^-10)^2 is 1 + 2^-9 + 2^-20, of which only the last part is left.
  EXPECT_EQ(one("fma.rn.f16 %d, %a, %b, %c;", 16, {0x3C01, 0x3C01, 0xBC02}),
            0x0010u);
  EXPECT_EQ(one("fma.rn.relu.f16 %d, %a, %b, %c;", 16, {0xBC00, 0x3C00, 0}),
            0u);
  // 3 * 683 is a tie between 2048 and 2050, which 2^-24 breaks; rounded to f32
  // first, that is lost.
  EXPECT_EQ(one("fma.rn.f16 %d, %a, %b, %c;", 16, {0x4200, 0x6156, 0x0001}),
            0x6801u);
  EXPECT_EQ(one("fma.rn.f16 %d, %a, %b, %c;", 16, {0x4200, 0x6156, 0x0000}),
            0x6800u);
  EXPECT_EQ(one("max.f16x2 %d, %a, %b;", 32, {0x7E003C00, 0x40004000}),
            0x40004000u);
}

// 0x3F80 is 1.
TEST_F(CudaArithmetic, Bfloats) {
  EXPECT_EQ(one("add.rn.bf16 %d, %a, %b;", 16, {0x3F80, 0x3B80}), 0x3F80u);
  EXPECT_EQ(one("add.rn.bf16 %d, %a, %b;", 16, {0x3F81, 0x3B80}), 0x3F82u);
  EXPECT_EQ(one("mul.rn.bf16x2 %d, %a, %b;", 32, {0x40003F80, 0x40004000}),
            0x40804000u);
  // 1.0625^2 is a tie, which 2^-100 breaks; rounded to f64 first, it is lost.
  EXPECT_EQ(one("fma.rn.bf16 %d, %a, %b, %c;", 16, {0x3F88, 0x3F88, 0x0D80}),
            0x3F91u);
  EXPECT_EQ(one("fma.rn.bf16 %d, %a, %b, %c;", 16, {0x3F88, 0x3F88, 0x0000}),
            0x3F90u);
  EXPECT_EQ(one("fma.rn.bf16 %d, %a, %b, %c;", 16, {0x3F90, 0x3F88, 0x8D80}),
            0x3F99u);
}

TEST_F(CudaArithmetic, Comparisons) {
  auto compare = [&](const std::string &operation, float a, float b) {
    return one("setp." + operation +
                   ".f32 %p1, %a, %b; selp.b32 %d, 1, 0, %p1;",
               32, {bits(a), bits(b)});
  };
  EXPECT_EQ(compare("eq", nan, nan), 0u);
  EXPECT_EQ(compare("ne", nan, 1), 0u);
  EXPECT_EQ(compare("neu", nan, 1), 1u);
  EXPECT_EQ(compare("ltu", nan, 1), 1u);
  EXPECT_EQ(compare("lt", -0.0f, 0.0f), 0u);
  EXPECT_EQ(compare("num", 1, nan), 0u);
  EXPECT_EQ(compare("nan", 1, nan), 1u);
  EXPECT_EQ(compare("ge", infinity, 1), 1u);
  EXPECT_EQ(one("setp.lt.s32 %p1, %a, %b; selp.b32 %d, 1, 0, %p1;", 32,
                {uint32_t(-1), 0}),
            1u);
  EXPECT_EQ(one("setp.lo.u32 %p1, %a, %b; selp.b32 %d, 1, 0, %p1;", 32,
                {uint32_t(-1), 0}),
            0u);
  EXPECT_EQ(one("setp.ne.b32 %p1, %c, 0; setp.lt.and.s32 %p2|%p0, %a, %b, %p1; "
                "selp.b32 %r2, 1, 0, %p2; selp.b32 %r3, 2, 0, %p0; "
                "or.b32 %d, %r2, %r3;",
                32, {1, 2, 1}),
            1u);
  EXPECT_EQ(one("set.lt.u32.f32 %d, %a, %b;", 32, {bits(1.f), bits(2.f)}),
            0xFFFFFFFFu);
  EXPECT_EQ(one("set.lt.f32.s32 %d, %a, %b;", 32, {1, 2}), bits(1.0f));
  EXPECT_EQ(one("slct.b32.s32 %d, %a, %b, %c;", 32, {1, 2, uint32_t(-1)}), 2u);
  EXPECT_EQ(one("testp.subnormal.f32 %p1, %a; selp.b32 %d, 1, 0, %p1;", 32,
                {bits(0x1p-130f)}),
            1u);
  EXPECT_EQ(one("testp.finite.f32 %p1, %a; selp.b32 %d, 1, 0, %p1;", 32,
                {bits(infinity)}),
            0u);
}

TEST_F(CudaArithmetic, PacksAndUnpacks) {
  EXPECT_EQ(one("mov.b64 {%r2, %r3}, %a; mov.b64 %d, {%r3, %r2};", 64,
                {0x1111111122222222}),
            0x2222222211111111u);
  EXPECT_EQ(one("mov.b64 {_, %d}, %a;", 64, {0x1111111122222222}, 32),
            0x11111111u);
}

} // namespace
} // namespace lockstep::standin
