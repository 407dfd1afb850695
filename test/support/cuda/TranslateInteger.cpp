//===- TranslateInteger.cpp - integers and bits ---------------------------===//

#include "FunctionTranslator.h"

namespace lockstep::standin {

void FunctionTranslator::addIntegerHandlers(
    std::map<std::string_view, Handler> &handlers) {
  using Self = FunctionTranslator;
  for (std::string_view name : {"add", "sub"})
    handlers[name] = &Self::addOrSubtract;
  for (std::string_view name : {"addc", "subc"})
    handlers[name] = &Self::addOrSubtract;
  handlers["mul"] = &Self::multiply;
  handlers["mad"] = &Self::multiplyAdd;
  for (std::string_view name : {"div", "rem"})
    handlers[name] = &Self::divideOrRemainder;
  for (std::string_view name : {"min", "max"})
    handlers[name] = &Self::minOrMax;
  for (std::string_view name : {"neg", "abs"})
    handlers[name] = &Self::negateOrAbsolute;
  for (std::string_view name : {"and", "or", "xor", "not", "cnot"})
    handlers[name] = &Self::bitwise;
  for (std::string_view name : {"shl", "shr"})
    handlers[name] = &Self::shift;
  handlers["shf"] = &Self::funnelShift;
  for (std::string_view name : {"popc", "clz", "brev", "bfind"})
    handlers[name] = &Self::countBits;
  for (std::string_view name : {"bfe", "bfi"})
    handlers[name] = &Self::bitField;
  handlers["prmt"] = &Self::permute;
  handlers["lop3"] = &Self::logic3;
}

void FunctionTranslator::addOrSubtract() {
  bool isSubtraction = instruction->opcode.starts_with("sub");
  bool usesCarry = instruction->opcode.ends_with("c");
  expectOperands(3);
  if (usesCarry || has("cc")) {
    addWithCarry(isSubtraction);
    return;
  }
  Type found = type();
  if (found.isFloat()) {
    // The handler of numbers asks for the type again.
    isUsed.assign(isUsed.size(), false);
    floatArithmetic(isSubtraction ? Arithmetic::Sub : Arithmetic::Add);
    return;
  }
  std::string_view operation = isSubtraction ? "sub" : "add";
  bool isSaturated = has("sat");
  std::vector<std::string> a = split(read(1, found.width()), found);
  std::vector<std::string> b = split(read(2, found.width()), found);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = isSaturated
               ? define("call i{0} @llvm.s{1}.sat.i{0}(i{0} {2}, i{0} {3})",
                        found.bits, operation, a[i], b[i])
               : define("{} i{} {}, {}", operation, found.bits, a[i], b[i]);
  write(operand(0), join(a, found), found.width(), found.isSigned());
}

/// The carry is a register of its own; for subtractions it is the borrow.
void FunctionTranslator::addWithCarry(bool isSubtraction) {
  bool usesCarry = instruction->opcode.ends_with("c");
  bool setsCarry = usesCarry ? has("cc") : true;
  Type found = type();
  unsigned wide = found.bits + 1;
  std::string carry = registerSlot("%carry", {Type::Kind::Predicate, 1});
  std::string a = resize(read(1, found.bits), found.bits, wide);
  std::string b = resize(read(2, found.bits), found.bits, wide);
  std::string_view operation = isSubtraction ? "sub" : "add";
  std::string result = define("{} i{} {}, {}", operation, wide, a, b);
  if (usesCarry)
    result = define("{} i{} {}, {}", operation, wide, result,
                    resize(define("load i1, ptr {}", carry), 1, wide));
  if (setsCarry) {
    std::string top = define("lshr i{} {}, {}", wide, result, found.bits);
    emit("store i1 {}, ptr {}", resize(top, wide, 1), carry);
  }
  write(operand(0), resize(result, wide, found.bits), found.bits);
}

/// The low, the high or the whole product of the operands 1 and 2.
std::string FunctionTranslator::product(Type type, std::string_view part) {
  if (part == "lo")
    return define("mul i{} {}, {}", type.bits, read(1, type.bits),
                  read(2, type.bits));
  unsigned wide = type.bits * 2;
  std::string a = resize(read(1, type.bits), type.bits, wide, type.isSigned());
  std::string b = resize(read(2, type.bits), type.bits, wide, type.isSigned());
  std::string result = define("mul i{} {}, {}", wide, a, b);
  if (part == "wide")
    return result;
  return resize(define("lshr i{} {}, {}", wide, result, type.bits), wide,
                type.bits);
}

void FunctionTranslator::multiply() {
  expectOperands(3);
  std::string_view part = oneOf({"lo", "hi", "wide"});
  if (part.empty()) {
    floatArithmetic(Arithmetic::Mul);
    return;
  }
  Type found = type();
  unsigned bits = part == "wide" ? found.bits * 2 : found.bits;
  write(operand(0), product(found, part), bits, found.isSigned());
}

void FunctionTranslator::multiplyAdd() {
  expectOperands(4);
  std::string_view part = oneOf({"lo", "hi", "wide"});
  if (part.empty()) {
    fusedMultiplyAdd();
    return;
  }
  Type found = type();
  unsigned bits = part == "wide" ? found.bits * 2 : found.bits;
  std::string sum =
      define("add i{} {}, {}", bits, product(found, part), read(3, bits));
  write(operand(0), sum, bits, found.isSigned());
}

void FunctionTranslator::divideOrRemainder() {
  bool isDivision = instruction->opcode == "div";
  expectOperands(3);
  Type found = type();
  if (found.isFloat()) {
    isUsed.assign(isUsed.size(), false);
    floatArithmetic(Arithmetic::Div);
    return;
  }
  if (found.bits < 16)
    fail("expected 16 bits or more in '" + instruction->text() + "'");
  std::string result =
      define("call i{0} @{1}.{2}{0}(i{0} {3}, i{0} {4})", found.bits,
             isDivision ? "div" : "rem", found.isSigned() ? 's' : 'u',
             read(1, found.bits), read(2, found.bits));
  write(operand(0), result, found.bits, found.isSigned());
}

void FunctionTranslator::minOrMax() {
  bool isMax = instruction->opcode == "max";
  expectOperands(3);
  Type found = type();
  if (found.isFloat()) {
    floatMinOrMax(found, isMax);
    return;
  }
  bool isClamped = has("relu");
  std::vector<std::string> a = split(read(1, found.width()), found);
  std::vector<std::string> b = split(read(2, found.width()), found);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] =
        define("call i{0} @llvm.{1}{2}.i{0}(i{0} {3}, i{0} {4})", found.bits,
               found.isSigned() ? 's' : 'u', isMax ? "max" : "min", a[i], b[i]);
    if (isClamped)
      a[i] = define("call i{0} @llvm.smax.i{0}(i{0} {1}, i{0} 0)", found.bits,
                    a[i]);
  }
  write(operand(0), join(a, found), found.width(), found.isSigned());
}

void FunctionTranslator::negateOrAbsolute() {
  bool isNegation = instruction->opcode == "neg";
  expectOperands(2);
  Type found = type();
  if (found.isFloat()) {
    floatSign(found, isNegation);
    return;
  }
  std::string value = read(1, found.bits);
  value = isNegation ? define("sub i{} 0, {}", found.bits, value)
                     : define("call i{0} @llvm.abs.i{0}(i{0} {1}, i1 false)",
                              found.bits, value);
  write(operand(0), value, found.bits, found.isSigned());
}

void FunctionTranslator::bitwise() {
  Type found = type();
  const std::string &opcode = instruction->opcode;
  unsigned bits = found.bits;
  std::string result;
  if (opcode == "not") {
    expectOperands(2);
    result = define("xor i{} {}, -1", bits, read(1, bits));
  } else if (opcode == "cnot") {
    expectOperands(2);
    result = resize(define("icmp eq i{} {}, 0", bits, read(1, bits)), 1, bits);
  } else {
    expectOperands(3);
    result =
        define("{} i{} {}, {}", opcode, bits, read(1, bits), read(2, bits));
  }
  write(operand(0), result, bits);
}

/// Amounts of the width or more shift all bits out.
void FunctionTranslator::shift() {
  expectOperands(3);
  Type found = type();
  unsigned bits = found.bits;
  std::string value = read(1, bits), amount = read(2, 32);
  if (instruction->opcode == "shr" && found.isSigned()) {
    std::string most =
        define("call i32 @llvm.umin.i32(i32 {}, i32 {})", amount, bits - 1);
    write(operand(0),
          define("ashr i{} {}, {}", bits, value, resize(most, 32, bits)), bits,
          true);
    return;
  }
  std::string isOut = define("icmp uge i32 {}, {}", amount, bits);
  std::string shifted =
      define("{} i{} {}, {}", instruction->opcode == "shl" ? "shl" : "lshr",
             bits, value, resize(amount, 32, bits));
  write(operand(0),
        define("select i1 {0}, i{1} 0, i{1} {2}", isOut, bits, shifted), bits);
}

/// Shifts the 64 bits {b, a}.
void FunctionTranslator::funnelShift() {
  expectOperands(4);
  bool isLeft = has("l");
  if (!isLeft && !has("r"))
    fail("expected .l or .r in '" + instruction->text() + "'");
  bool isWrapped = has("wrap");
  if (!isWrapped && !has("clamp"))
    fail("expected .wrap or .clamp in '" + instruction->text() + "'");
  type();
  Type pair{Type::Kind::Bits, 32, 2};
  std::string value = join({read(1, 32), read(2, 32)}, pair);
  std::string amount =
      isWrapped
          ? define("and i32 {}, 31", read(3, 32))
          : define("call i32 @llvm.umin.i32(i32 {}, i32 32)", read(3, 32));
  std::string shifted = define("{} i64 {}, {}", isLeft ? "shl" : "lshr", value,
                               resize(amount, 32, 64));
  if (isLeft)
    shifted = define("lshr i64 {}, 32", shifted);
  write(operand(0), resize(shifted, 64, 32), 32);
}

void FunctionTranslator::countBits() {
  expectOperands(2);
  const std::string &opcode = instruction->opcode;
  Type found = type();
  unsigned bits = found.bits;
  std::string value = read(1, bits);
  if (opcode == "brev") {
    write(operand(0),
          define("call i{0} @llvm.bitreverse.i{0}(i{0} {1})", bits, value),
          bits);
    return;
  }
  if (opcode == "bfind") {
    bool isShift = has("shiftamt");
    std::string wide = resize(value, bits, 64, found.isSigned());
    write(operand(0),
          define("call i32 @standin_bfind(i64 {}, i32 {}, i32 {}, i32 {})",
                 wide, bits, int(found.isSigned()), int(isShift)),
          32);
    return;
  }
  std::string count =
      opcode == "popc"
          ? define("call i{0} @llvm.ctpop.i{0}(i{0} {1})", bits, value)
          : define("call i{0} @llvm.ctlz.i{0}(i{0} {1}, i1 false)", bits,
                   value);
  write(operand(0), resize(count, bits, 32), 32);
}

void FunctionTranslator::bitField() {
  Type found = type();
  unsigned bits = found.bits;
  if (instruction->opcode == "bfe") {
    expectOperands(4);
    std::string value = resize(read(1, bits), bits, 64, found.isSigned());
    std::string result =
        define("call i64 @standin_bfe(i64 {}, i32 {}, i32 {}, i32 {}, i32 {})",
               value, read(2, 32), read(3, 32), bits, int(found.isSigned()));
    write(operand(0), resize(result, 64, bits), bits);
    return;
  }
  expectOperands(5);
  std::string field = resize(read(1, bits), bits, 64);
  std::string into = resize(read(2, bits), bits, 64);
  std::string result =
      define("call i64 @standin_bfi(i64 {}, i64 {}, i32 {}, i32 {}, i32 {})",
             field, into, read(3, 32), read(4, 32), bits);
  write(operand(0), resize(result, 64, bits), bits);
}

void FunctionTranslator::permute() {
  expectOperands(4);
  type();
  static constexpr std::string_view modes[] = {"f4e", "b4e", "rc8",
                                               "ecl", "ecr", "rc16"};
  unsigned mode = 0;
  for (unsigned i = 0; i < std::size(modes); ++i)
    if (has(modes[i]))
      mode = i + 1;
  write(operand(0),
        define("call i32 @standin_prmt(i32 {}, i32 {}, i32 {}, i32 {})",
               read(1, 32), read(2, 32), read(3, 32), mode),
        32);
}

/// The last operand is the truth table of three inputs.
void FunctionTranslator::logic3() {
  expectOperands(5);
  type();
  uint64_t table = operand(4).bits;
  std::string inputs[3], inverted[3];
  for (unsigned i = 0; i < 3; ++i) {
    inputs[i] = read(1 + i, 32);
    inverted[i] = define("xor i32 {}, -1", inputs[i]);
  }
  std::string result = "0";
  for (unsigned row = 0; row < 8; ++row) {
    if (!(table >> row & 1))
      continue;
    std::string term = "-1";
    for (unsigned i = 0; i < 3; ++i)
      term = define("and i32 {}, {}", term,
                    row >> (2 - i) & 1 ? inputs[i] : inverted[i]);
    result = define("or i32 {}, {}", result, term);
  }
  write(operand(0), result, 32);
}

} // namespace lockstep::standin
