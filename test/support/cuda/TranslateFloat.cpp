//===- TranslateFloat.cpp - floating-point arithmetic ---------------------===//
//
// Numbers of 16 bits are computed in 32 bits and rounded, which for one sum,
// product, quotient or root is the same as rounding once, since f32 has more
// than twice their digits and two. Fused operations are computed by a function
// of the runtime.
//
//===----------------------------------------------------------------------===//

#include "FunctionTranslator.h"

namespace lockstep::standin {

void FunctionTranslator::addFloatHandlers(
    std::map<std::string_view, Handler> &handlers) {
  using Self = FunctionTranslator;
  handlers["fma"] = &Self::fusedMultiplyAdd;
  for (std::string_view name :
       {"sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh"})
    handlers[name] = &Self::floatFunction;
  handlers["cvt"] = &Self::convert;
}

/// The name of a type in LLVM's intrinsics.
static std::string_view suffix(Type type) {
  return type.bits == 64 ? "f64" : "f32";
}

FunctionTranslator::FloatModifiers
FunctionTranslator::floatModifiers(Arithmetic operation) {
  FloatModifiers found;
  std::optional<Rounding> mode = rounding();
  if (operation == Arithmetic::Div && !mode)
    oneOf({"full", "approx"});
  found.isFlushed = has("ftz");
  found.isSaturated = has("sat");
  found.isClamped = has("relu");
  found.type = type();
  if (!found.type.isFloat())
    fail("expected a floating-point type in '" + instruction->text() + "'");
  if (mode && *mode != Rounding::Nearest)
    found.directed = mode;
  if (found.directed && found.type.bits == 16)
    fail("unknown rounding of '" + instruction->text() + "'");
  found.narrowType = nextType().value_or(found.type);
  if (found.narrowType != found.type &&
      (found.type.bits != 32 || found.narrowType.width() != 16))
    fail("unknown types of '" + instruction->text() + "'");
  return found;
}

std::string FunctionTranslator::limited(std::string result,
                                        const FloatModifiers &modifiers) {
  if (modifiers.isFlushed)
    result = flushed(result, modifiers.type);
  if (modifiers.isSaturated || modifiers.isClamped)
    result = define("call {0} @{1}.{2}({0} {3})", computed(modifiers.type),
                    modifiers.isSaturated ? "sat" : "relu",
                    suffix(modifiers.type), result);
  return result;
}

void FunctionTranslator::floatArithmetic(Arithmetic operation) {
  static constexpr std::string_view names[] = {"fadd", "fsub", "fmul", "fdiv"};
  expectOperands(3);
  FloatModifiers modifiers = floatModifiers(operation);
  Type found = modifiers.type;
  // add.f32.f16 widens its first operand.
  std::vector<std::string> a = readNumbers(operand(1), modifiers.narrowType);
  std::vector<std::string> b = readNumbers(operand(2), found);
  std::string_view computedType = computed(found);
  for (size_t i = 0; i < a.size(); ++i) {
    if (modifiers.isFlushed) {
      a[i] = flushed(a[i], found);
      b[i] = flushed(b[i], found);
    }
    a[i] = modifiers.directed
               ? define("call {0} @standin_rounded_{1}(i32 {2}, i32 {3}, {0} "
                        "{4}, {0} {5}, {0} {5})",
                        computedType, suffix(found), uint32_t(operation),
                        uint32_t(*modifiers.directed), a[i], b[i])
               : define("{} {} {}, {}", names[uint32_t(operation)],
                        computedType, a[i], b[i]);
    a[i] = limited(a[i], modifiers);
  }
  writeNumbers(operand(0), a, found);
}

std::string FunctionTranslator::fused16(const std::string &a,
                                        const std::string &b,
                                        const std::string &c, Type type) {
  std::string bits = define(
      "call i32 @standin_fma16(float {}, float {}, float {}, i32 {})", a, b, c,
      uint32_t(type.kind == Type::Kind::BFloat ? Format::BF16 : Format::F16));
  return toNumber(resize(bits, 32, 16), type);
}

void FunctionTranslator::fusedMultiplyAdd() {
  expectOperands(4);
  FloatModifiers modifiers = floatModifiers(Arithmetic::Fma);
  Type found = modifiers.type;
  // fma.f32.f16 widens its factors.
  std::vector<std::string> lanes[3];
  for (unsigned i = 0; i < 3; ++i)
    lanes[i] =
        readNumbers(operand(1 + i), i == 2 ? found : modifiers.narrowType);
  std::string_view computedType = computed(found);
  for (unsigned lane = 0; lane < found.lanes; ++lane) {
    std::string inputs[3];
    for (unsigned i = 0; i < 3; ++i)
      inputs[i] =
          modifiers.isFlushed ? flushed(lanes[i][lane], found) : lanes[i][lane];
    std::string result;
    if (found.bits == 16)
      result = fused16(inputs[0], inputs[1], inputs[2], found);
    else if (modifiers.directed)
      result = define("call {0} @standin_rounded_{1}(i32 {2}, i32 {3}, {0} "
                      "{4}, {0} {5}, {0} {6})",
                      computedType, suffix(found), uint32_t(Arithmetic::Fma),
                      uint32_t(*modifiers.directed), inputs[0], inputs[1],
                      inputs[2]);
    else
      result =
          define("call {0} @llvm.fma.{1}({0} {2}, {0} {3}, {0} {4})",
                 computedType, suffix(found), inputs[0], inputs[1], inputs[2]);
    lanes[0][lane] = limited(result, modifiers);
  }
  writeNumbers(operand(0), lanes[0], found);
}

/// Without .NaN, the result is the operand that is a number, if one is.
void FunctionTranslator::floatMinOrMax(Type found, bool isMax) {
  bool isFlushed = has("ftz"), propagatesNan = has("NaN");
  std::string_view name = propagatesNan ? isMax ? "maximum" : "minimum"
                          : isMax       ? "maximumnum"
                                        : "minimumnum";
  std::vector<std::string> a = readNumbers(operand(1), found);
  std::vector<std::string> b = readNumbers(operand(2), found);
  for (size_t i = 0; i < a.size(); ++i) {
    if (isFlushed) {
      a[i] = flushed(a[i], found);
      b[i] = flushed(b[i], found);
    }
    a[i] = define("call {0} @llvm.{1}.{2}({0} {3}, {0} {4})", computed(found),
                  name, suffix(found), a[i], b[i]);
  }
  writeNumbers(operand(0), a, found);
}

/// Only the sign bit changes, also that of a NaN.
void FunctionTranslator::floatSign(Type found, bool isNegation) {
  bool isFlushed = has("ftz");
  uint64_t sign = 0, rest = 0;
  for (unsigned i = 0; i < found.lanes; ++i) {
    uint64_t top = uint64_t(1) << (found.bits - 1);
    sign |= top << found.bits * i;
    rest |= (top - 1) << found.bits * i;
  }
  std::string value = read(1, found.width());
  if (isFlushed) {
    std::vector<std::string> lanes;
    for (const std::string &lane : split(value, found))
      lanes.push_back(fromNumber(flushed(toNumber(lane, found), found), found));
    value = join(lanes, found);
  }
  value = isNegation ? define("xor i{} {}, {}", found.width(), value, sign)
                     : define("and i{} {}, {}", found.width(), value, rest);
  write(operand(0), value, found.width());
}

/// Approximations are as exact as the host's library: those of a GPU differ in
/// the last bits.
void FunctionTranslator::floatFunction() {
  const std::string &opcode = instruction->opcode;
  expectOperands(2);
  std::optional<Rounding> mode = rounding();
  if (!mode)
    has("approx");
  bool isFlushed = has("ftz");
  Type found = type();
  if (!found.isFloat())
    fail("expected a floating-point type in '" + instruction->text() + "'");
  bool isRoot = opcode == "sqrt", isReciprocal = opcode == "rcp";
  if (mode && !isRoot && !isReciprocal)
    fail("unknown rounding of '" + instruction->text() + "'");
  // The only function of f64 other than roots and reciprocals.
  if (found.bits == 64 && !isRoot && !isReciprocal && opcode != "rsqrt")
    fail("unknown type of '" + instruction->text() + "'");
  bool isDirected = mode && *mode != Rounding::Nearest;
  std::string_view computedType = computed(found);
  std::vector<std::string> lanes = readNumbers(operand(1), found);
  for (std::string &lane : lanes) {
    if (isFlushed)
      lane = flushed(lane, found);
    if (isDirected && isRoot)
      lane = define("call {0} @standin_rounded_{1}(i32 {2}, i32 {3}, {0} {4}, "
                    "{0} {4}, {0} {4})",
                    computedType, suffix(found), uint32_t(Arithmetic::Sqrt),
                    uint32_t(*mode), lane);
    else if (isDirected)
      lane = define("call {0} @standin_rounded_{1}(i32 {2}, i32 {3}, {0} 1.0, "
                    "{0} {4}, {0} {4})",
                    computedType, suffix(found), uint32_t(Arithmetic::Div),
                    uint32_t(*mode), lane);
    else if (isReciprocal)
      lane = define("fdiv {} 1.0, {}", computedType, lane);
    else if (isRoot || opcode == "rsqrt")
      lane = define("call {0} @llvm.sqrt.{1}({0} {2})", computedType,
                    suffix(found), lane);
    else
      lane = define("call float @standin_{}(float {})", opcode, lane);
    if (opcode == "rsqrt")
      lane = define("fdiv {} 1.0, {}", computedType, lane);
    if (isFlushed)
      lane = flushed(lane, found);
  }
  writeNumbers(operand(0), lanes, found);
}

} // namespace lockstep::standin
