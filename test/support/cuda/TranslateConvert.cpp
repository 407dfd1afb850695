//===- TranslateConvert.cpp - conversions between types -------------------===//

#include "FunctionTranslator.h"

namespace lockstep::standin {

static Format formatOf(Type type) {
  if (type.kind == Type::Kind::BFloat)
    return Format::BF16;
  return type.bits == 16   ? Format::F16
         : type.bits == 32 ? Format::F32
                           : Format::F64;
}

static std::string_view suffix(Type type) {
  return type.bits == 64 ? "f64" : "f32";
}

void FunctionTranslator::convert() {
  if (has("tf32")) {
    expectOneOf({"rna"});
    expectOneOf({"f32"});
    expectOperands(2);
    write(operand(0), define("call i32 @to.tf32(i32 {})", read(1, 32)), 32);
    return;
  }
  Type to = type();
  if (to.lanes != 1) {
    convertPacked(to);
    return;
  }
  expectOperands(2);
  Type from = type();
  if (from.lanes != 1)
    fail("unknown conversion '" + instruction->text() + "'");
  std::string_view integral = oneOf({"rni", "rzi", "rmi", "rpi"});
  if (!to.isFloat() && !from.isFloat())
    convertIntegers(to, from);
  else if (!to.isFloat())
    convertToInteger(to, from, integral);
  else if (!from.isFloat())
    convertFromInteger(to, from);
  else
    convertFloats(to, from, integral);
}

/// d = {first source above, second below}.
void FunctionTranslator::convertPacked(Type to) {
  expectOperands(3);
  Type from = type();
  if (from != Type{Type::Kind::Float, 32} || to.bits != 16 || !to.isFloat())
    fail("unknown conversion '" + instruction->text() + "'");
  Rounding mode = rounding().value_or(Rounding::Nearest);
  bool isClamped = has("relu");
  std::vector<std::string> lanes;
  for (unsigned index : {2u, 1u}) {
    std::string number = readNumbers(operand(index), from)[0];
    if (isClamped)
      number = define("call float @relu.f32(float {})", number);
    lanes.push_back(rounded(number, from, {to.kind, 16}, mode));
  }
  write(operand(0), join(lanes, to), 32);
}

void FunctionTranslator::convertIntegers(Type to, Type from) {
  bool isSaturated = has("sat");
  std::string value = read(1, from.bits);
  if (!isSaturated) {
    write(operand(0), resize(value, from.bits, to.bits, from.isSigned()),
          to.bits, to.isSigned());
    return;
  }
  // In a type that has all values of both.
  unsigned wide = 128;
  value = resize(value, from.bits, wide, from.isSigned());
  std::string_view top = to.isSigned() ? "smax.of" : "umax.of";
  value = define("call i128 @clamp(i128 {}, i32 {}, i1 {})", value, to.bits,
                 int(top == "smax.of"));
  write(operand(0), resize(value, wide, to.bits), to.bits, to.isSigned());
}

std::string FunctionTranslator::roundedToIntegral(const std::string &number,
                                                  Type type,
                                                  std::string_view mode) {
  std::string_view name = mode == "rni"   ? "roundeven"
                          : mode == "rzi" ? "trunc"
                          : mode == "rmi" ? "floor"
                                          : "ceil";
  return define("call {0} @llvm.{1}.{2}({0} {3})", computed(type), name,
                suffix(type), number);
}

/// Out of range, the nearest integer. A NaN is 0, unless one of the types has
/// 64 bits; then it is the integer with only the top bit set.
void FunctionTranslator::convertToInteger(Type to, Type from,
                                          std::string_view mode) {
  if (mode.empty())
    fail("expected a rounding in '" + instruction->text() + "'");
  bool isFlushed = has("ftz");
  has("sat");
  std::string number = readNumbers(operand(1), from)[0];
  if (isFlushed)
    number = flushed(number, from);
  std::string whole = roundedToIntegral(number, from, mode);
  std::string result =
      define("call i{0} @llvm.fpto{1}i.sat.i{0}.{2}({3} {4})", to.bits,
             to.isSigned() ? 's' : 'u', suffix(from), computed(from), whole);
  if (to.bits == 64 || from.bits == 64) {
    std::string isNan = define("fcmp uno {} {}, 0.0", computed(from), number);
    result = define("select i1 {0}, i{1} {2}, i{1} {3}", isNan, to.bits,
                    uint64_t(1) << (to.bits - 1), result);
  }
  write(operand(0), result, to.bits, to.isSigned());
}

void FunctionTranslator::convertFromInteger(Type to, Type from) {
  std::optional<Rounding> mode = rounding();
  if (!mode)
    fail("expected a rounding in '" + instruction->text() + "'");
  bool isSaturated = has("sat");
  std::string value = read(1, from.bits);
  if (*mode == Rounding::Nearest && to.bits != 16) {
    std::string number =
        define("{}itofp i{} {} to {}", from.isSigned() ? 's' : 'u', from.bits,
               value, computed(to));
    if (isSaturated)
      number = define("call {0} @sat.{1}({0} {2})", computed(to), suffix(to),
                      number);
    writeNumbers(operand(0), {number}, to);
    return;
  }
  if (isSaturated)
    fail("unknown conversion '" + instruction->text() + "'");
  std::string bits =
      define("call i64 @standin_round_integer(i64 {}, i32 {}, i32 {}, i32 {})",
             resize(value, from.bits, 64, from.isSigned()),
             int(from.isSigned()), uint32_t(formatOf(to)), uint32_t(*mode));
  write(operand(0), resize(bits, 64, to.bits), to.bits);
}

/// The bits of a number in another format.
std::string FunctionTranslator::rounded(const std::string &number, Type from,
                                        Type to, Rounding mode) {
  if (mode == Rounding::Nearest && from.bits == 32 && to.bits == 16)
    return fromNumber(number, to);
  std::string wide =
      from.bits == 64 ? number : define("fpext float {} to double", number);
  std::string bits =
      define("call i64 @standin_round_number(double {}, i32 {}, i32 {})", wide,
             uint32_t(formatOf(to)), uint32_t(mode));
  return resize(bits, 64, to.bits);
}

void FunctionTranslator::convertFloats(Type to, Type from,
                                       std::string_view integral) {
  std::optional<Rounding> mode = rounding();
  bool isFlushed = has("ftz"), isSaturated = has("sat");
  bool isClamped = has("relu");
  std::string number = readNumbers(operand(1), from)[0];
  if (isFlushed)
    number = flushed(number, from);
  if (!integral.empty())
    number = roundedToIntegral(number, from, integral);
  if (isSaturated || isClamped)
    number = define("call {0} @{1}.{2}({0} {3})", computed(from),
                    isSaturated ? "sat" : "relu", suffix(from), number);
  // Formats of 16 bits are already in a type that has all their values.
  bool isExact = to == from || (from.bits < to.bits);
  if (!isExact && !mode && integral.empty())
    fail("expected a rounding in '" + instruction->text() + "'");
  if (isExact) {
    if (to.bits == 64 && from.bits != 64)
      number = define("fpext float {} to double", number);
    if (isFlushed)
      number = flushed(number, to);
    writeNumbers(operand(0), {number}, to);
    return;
  }
  Rounding found = mode.value_or(Rounding::Nearest);
  std::string bits;
  if (found == Rounding::Nearest && from.bits == 64 && to.bits == 32)
    bits = fromNumber(define("fptrunc double {} to float", number), to);
  else
    bits = rounded(number, from, to, found);
  if (isFlushed)
    bits = fromNumber(flushed(toNumber(bits, to), to), to);
  write(operand(0), bits, to.bits);
}

} // namespace lockstep::standin
