//===- Prelude.cpp - functions in LLVM IR that translations use -----------===//

#include "Translator.h"

#include <fmt/format.h>

namespace lockstep::standin {

static constexpr std::string_view declarations = R"(
!0 = !{!"branch_weights", i32 1, i32 100000}
!1 = !{}

declare i64 @standin_resolve(ptr, i64, i32, i32, i32) cold
declare void @standin_trap(ptr) noreturn cold
declare void @standin_assert(ptr) noreturn cold
declare void @standin_exit(ptr) noreturn
declare void @standin_call_host(ptr, i64, i64)
declare i32 @standin_barrier(ptr, i32, i32, i32, i32)
declare i64 @standin_warp(ptr, i32, i32, i64, i32, i32)
declare i32 @standin_active_mask(ptr)
declare i32 @standin_atomic_add16(ptr, i32, i32, i32)
declare i32 @standin_bfind(i64, i32, i32, i32) memory(none)
declare i64 @standin_bfe(i64, i32, i32, i32, i32) memory(none)
declare i64 @standin_bfi(i64, i64, i32, i32, i32) memory(none)
declare i32 @standin_prmt(i32, i32, i32, i32) memory(none)
declare i32 @standin_fma16(float, float, float, i32) memory(none)
declare float @standin_rounded_f32(i32, i32, float, float, float) memory(none)
declare double @standin_rounded_f64(i32, i32, double, double, double) memory(none)
declare i64 @standin_round_integer(i64, i32, i32, i32) memory(none)
declare i64 @standin_round_number(double, i32, i32) memory(none)
declare float @standin_ex2(float) memory(none)
declare float @standin_lg2(float) memory(none)
declare float @standin_sin(float) memory(none)
declare float @standin_cos(float) memory(none)
declare float @standin_tanh(float) memory(none)

)";

static constexpr std::string_view conversions = R"(
define internal float @from.f16(i16 %bits) alwaysinline {
  %half = bitcast i16 %bits to half
  %number = fpext half %half to float
  ret float %number
}

define internal i16 @to.f16(float %number) alwaysinline {
  %half = fptrunc float %number to half
  %bits = bitcast half %half to i16
  ret i16 %bits
}

define internal float @from.bf16(i16 %bits) alwaysinline {
  %wide = zext i16 %bits to i32
  %top = shl i32 %wide, 16
  %number = bitcast i32 %top to float
  ret float %number
}

; To nearest, ties away from zero, with 10 bits of the mantissa.
define internal i32 @to.tf32(i32 %bits) alwaysinline {
  %magnitude = and i32 %bits, 2147483647
  %isNan = icmp ugt i32 %magnitude, 2139095040
  %sum = add i32 %bits, 4096
  %rounded = and i32 %sum, -8192
  %result = select i1 %isNan, i32 2147483647, i32 %rounded
  ret i32 %result
}

; To nearest, ties to even. A NaN stays one.
define internal i16 @to.bf16(float %number) alwaysinline {
  %bits = bitcast float %number to i32
  %top = lshr i32 %bits, 16
  %odd = and i32 %top, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %nan = fcmp uno float %number, 0.0
  %chosen = select i1 %nan, i32 32767, i32 %rounded
  %result = trunc i32 %chosen to i16
  ret i16 %result
}

; Denormal numbers become zeros with their sign.
define internal float @ftz.f32(float %number) alwaysinline {
  %bits = bitcast float %number to i32
  %exponent = and i32 %bits, 2139095040
  %tiny = icmp eq i32 %exponent, 0
  %sign = and i32 %bits, 2147483648
  %chosen = select i1 %tiny, i32 %sign, i32 %bits
  %result = bitcast i32 %chosen to float
  ret float %result
}

; The same below 2^-14, the least normal number of f16.
define internal float @ftz.f16(float %number) alwaysinline {
  %bits = bitcast float %number to i32
  %magnitude = and i32 %bits, 2147483647
  %tiny = icmp ult i32 %magnitude, 947912704
  %sign = and i32 %bits, 2147483648
  %chosen = select i1 %tiny, i32 %sign, i32 %bits
  %result = bitcast i32 %chosen to float
  ret float %result
}

define internal i128 @clamp(i128 %value, i32 %bits, i1 %signed) alwaysinline {
  %wide = zext i32 %bits to i128
  %one = zext i1 %signed to i128
  %digits = sub i128 %wide, %one
  %range = shl i128 1, %digits
  %top = sub i128 %range, 1
  %low = sub i128 0, %range
  %bottom = select i1 %signed, i128 %low, i128 0
  %below = call i128 @llvm.smin.i128(i128 %value, i128 %top)
  %result = call i128 @llvm.smax.i128(i128 %below, i128 %bottom)
  ret i128 %result
}

)";

/// The fields that change are the first and the fourth of the thread's state.
static constexpr std::string_view loop = R"(
define void @kernel(ptr noalias %thread, i32 %count, i32 %step) {
entry:
  %linear.place = getelementptr i8, ptr %thread, i64 12
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  call void @thread(ptr %thread)
  %x = load i32, ptr %thread
  %x.next = add i32 %x, %step
  store i32 %x.next, ptr %thread
  %linear = load i32, ptr %linear.place
  %linear.next = add i32 %linear, %step
  store i32 %linear.next, ptr %linear.place
  %i.next = add i32 %i, 1
  %isDone = icmp eq i32 %i.next, %count
  br i1 %isDone, label %exit, label %loop

exit:
  ret void
}

)";

/// {0} is a type, {1} its name in intrinsics.
static constexpr std::string_view numbers = R"(
; Between 0 and 1; a NaN becomes 0.
define internal {0} @sat.{1}({0} %number) alwaysinline {{
  %above = call {0} @llvm.maximumnum.{1}({0} %number, {0} 0.0)
  %result = call {0} @llvm.minimumnum.{1}({0} %above, {0} 1.0)
  ret {0} %result
}}

define internal {0} @relu.{1}({0} %number) alwaysinline {{
  %result = call {0} @llvm.maximum.{1}({0} %number, {0} 0.0)
  ret {0} %result
}}

)";

/// {0} is a number of bits. Divisors that would trap the host's processor have
/// results as on a GPU: all ones, and the dividend as remainder.
static constexpr std::string_view divisions = R"(
define internal i{0} @div.s{0}(i{0} %a, i{0} %b) alwaysinline {{
  %zero = icmp eq i{0} %b, 0
  %minus = icmp eq i{0} %b, -1
  %special = or i1 %zero, %minus
  %divisor = select i1 %special, i{0} 1, i{0} %b
  %quotient = sdiv i{0} %a, %divisor
  %negated = sub i{0} 0, %a
  %finite = select i1 %minus, i{0} %negated, i{0} %quotient
  %result = select i1 %zero, i{0} -1, i{0} %finite
  ret i{0} %result
}}

define internal i{0} @rem.s{0}(i{0} %a, i{0} %b) alwaysinline {{
  %zero = icmp eq i{0} %b, 0
  %minus = icmp eq i{0} %b, -1
  %special = or i1 %zero, %minus
  %divisor = select i1 %special, i{0} 1, i{0} %b
  %remainder = srem i{0} %a, %divisor
  %result = select i1 %zero, i{0} %a, i{0} %remainder
  ret i{0} %result
}}

define internal i{0} @div.u{0}(i{0} %a, i{0} %b) alwaysinline {{
  %zero = icmp eq i{0} %b, 0
  %divisor = select i1 %zero, i{0} 1, i{0} %b
  %quotient = udiv i{0} %a, %divisor
  %result = select i1 %zero, i{0} -1, i{0} %quotient
  ret i{0} %result
}}

define internal i{0} @rem.u{0}(i{0} %a, i{0} %b) alwaysinline {{
  %zero = icmp eq i{0} %b, 0
  %divisor = select i1 %zero, i{0} 1, i{0} %b
  %remainder = urem i{0} %a, %divisor
  %result = select i1 %zero, i{0} %a, i{0} %remainder
  ret i{0} %result
}}

)";

const std::string &prelude() {
  static const std::string text = [] {
    std::string all(declarations);
    all += loop;
    all += conversions;
    all += fmt::format(numbers, "float", "f32");
    all += fmt::format(numbers, "double", "f64");
    for (unsigned bits : {16, 32, 64})
      all += fmt::format(divisions, bits);
    return all;
  }();
  return text;
}

} // namespace lockstep::standin
