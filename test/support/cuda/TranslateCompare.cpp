//===- TranslateCompare.cpp - comparisons and selections ------------------===//

#include "FunctionTranslator.h"

namespace lockstep::standin {

void FunctionTranslator::addCompareHandlers(
    std::map<std::string_view, Handler> &handlers) {
  using Self = FunctionTranslator;
  handlers["setp"] = &Self::setPredicate;
  handlers["set"] = &Self::setValue;
  handlers["selp"] = &Self::select;
  handlers["slct"] = &Self::selectBySign;
  handlers["testp"] = &Self::test;
  handlers["copysign"] = &Self::copySign;
}

/// Compares the operands 1 and 2 and combines each lane's result with the
/// fourth operand, where there is one.
std::vector<std::string> FunctionTranslator::comparison(Type type) {
  struct Names {
    std::string_view ptx, ordered, isSigned, isUnsigned;
  };
  static constexpr Names table[] = {
      {"eq", "oeq", "eq", "eq"},   {"ne", "one", "ne", "ne"},
      {"lt", "olt", "slt", "ult"}, {"le", "ole", "sle", "ule"},
      {"gt", "ogt", "sgt", "ugt"}, {"ge", "oge", "sge", "uge"},
      {"lo", "", "ult", "ult"},    {"ls", "", "ule", "ule"},
      {"hi", "", "ugt", "ugt"},    {"hs", "", "uge", "uge"},
      {"equ", "ueq", "", ""},      {"neu", "une", "", ""},
      {"ltu", "ult", "", ""},      {"leu", "ule", "", ""},
      {"gtu", "ugt", "", ""},      {"geu", "uge", "", ""},
      {"num", "ord", "", ""},      {"nan", "uno", "", ""}};
  const Names *names = nullptr;
  for (const Names &row : table)
    if (has(row.ptx)) {
      names = &row;
      break;
    }
  std::string_view predicate;
  if (names)
    predicate = type.isFloat()    ? names->ordered
                : type.isSigned() ? names->isSigned
                                  : names->isUnsigned;
  if (predicate.empty())
    fail("unknown comparison '" + instruction->text() + "'");
  bool isFlushed = has("ftz");
  std::string_view combination = oneOf({"and", "or", "xor"});
  expectOperands(combination.empty() ? 3 : 4);
  std::vector<std::string> results;
  if (type.isFloat()) {
    std::vector<std::string> a = readNumbers(operand(1), type);
    std::vector<std::string> b = readNumbers(operand(2), type);
    for (size_t i = 0; i < a.size(); ++i) {
      if (isFlushed) {
        a[i] = flushed(a[i], type);
        b[i] = flushed(b[i], type);
      }
      results.push_back(
          define("fcmp {} {} {}, {}", predicate, computed(type), a[i], b[i]));
    }
  } else {
    results.push_back(define("icmp {} i{} {}, {}", predicate, type.bits,
                             read(1, type.bits), read(2, type.bits)));
  }
  return results;
}

void FunctionTranslator::setPredicate() {
  Type found = type();
  std::string_view combination;
  for (std::string_view name : {"and", "or", "xor"})
    for (const std::string &modifier : instruction->modifiers)
      if (modifier == name)
        combination = name;
  std::vector<std::string> results = comparison(found);
  bool isPair = operand(0).kind == Operand::Kind::Pair;
  if (results.size() == 2 && !isPair)
    fail("expected two results of '" + instruction->text() + "'");
  // The second result of one comparison is that of its opposite.
  if (results.size() == 1 && isPair)
    results.push_back(define("xor i1 {}, true", results[0]));
  for (size_t i = 0; i < results.size(); ++i) {
    if (!combination.empty())
      results[i] = define("{} i1 {}, {}", combination, results[i], read(3, 1));
    write(isPair ? operand(0).elements[i] : operand(0), results[i], 1);
  }
}

void FunctionTranslator::setValue() {
  Type to = type();
  Type from = type();
  std::string_view combination;
  for (std::string_view name : {"and", "or", "xor"})
    for (const std::string &modifier : instruction->modifiers)
      if (modifier == name)
        combination = name;
  if (to.lanes != from.lanes && from.lanes != 1)
    fail("unknown comparison '" + instruction->text() + "'");
  std::vector<std::string> results = comparison(from);
  for (std::string &result : results) {
    if (!combination.empty())
      result = define("{} i1 {}, {}", combination, result, read(3, 1));
    if (!to.isFloat())
      result = define("sext i1 {} to i{}", result, to.bits);
    else
      result =
          fromNumber(define("uitofp i1 {} to {}", result, computed(to)), to);
  }
  write(operand(0), join(results, to), to.width());
}

void FunctionTranslator::select() {
  expectOperands(4);
  unsigned bits = type().width();
  std::string a = read(1, bits), b = read(2, bits);
  write(operand(0),
        define("select i1 {0}, i{1} {2}, i{1} {3}", read(3, 1), bits, a, b),
        bits);
}

void FunctionTranslator::selectBySign() {
  expectOperands(4);
  bool isFlushed = has("ftz");
  unsigned bits = type().bits;
  Type by = type();
  std::string a = read(1, bits), b = read(2, bits), isPositive;
  if (by.isFloat()) {
    std::string number = readNumbers(operand(3), by)[0];
    if (isFlushed)
      number = flushed(number, by);
    isPositive = define("fcmp oge float {}, 0.0", number);
  } else {
    isPositive = define("icmp sge i32 {}, 0", read(3, 32));
  }
  write(operand(0),
        define("select i1 {0}, i{1} {2}, i{1} {3}", isPositive, bits, a, b),
        bits);
}

void FunctionTranslator::test() {
  expectOperands(2);
  // The masks of llvm.is.fpclass. Denormal numbers are normal to no test.
  std::string_view what = oneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  unsigned mask = what == "finite"       ? 0x1F8
                  : what == "infinite"   ? 0x204
                  : what == "number"     ? 0x3FC
                  : what == "notanumber" ? 0x003
                  : what == "normal"     ? 0x108
                                         : 0x090;
  if (what.empty())
    fail("unknown test '" + instruction->text() + "'");
  Type found = type();
  std::string number = readNumbers(operand(1), found)[0];
  write(operand(0),
        define("call i1 @llvm.is.fpclass.{}({} {}, i32 {})",
               found.bits == 64 ? "f64" : "f32", computed(found), number, mask),
        1);
}

/// The first source has the sign, the second one the magnitude.
void FunctionTranslator::copySign() {
  expectOperands(3);
  unsigned bits = type().bits;
  uint64_t sign = uint64_t(1) << (bits - 1);
  std::string a = define("and i{} {}, {}", bits, read(1, bits), sign);
  std::string b = define("and i{} {}, {}", bits, read(2, bits), sign - 1);
  write(operand(0), define("or i{} {}, {}", bits, a, b), bits);
}

} // namespace lockstep::standin
