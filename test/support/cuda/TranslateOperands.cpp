//===- TranslateOperands.cpp - registers and immediate values -------------===//

#include "FunctionTranslator.h"

namespace lockstep::standin {

void FunctionTranslator::fail(const std::string &message) const {
  throw PtxError(instruction ? instruction->line : function.line, message);
}

//===----------------------------------------------------------------------===//
// The current instruction
//===----------------------------------------------------------------------===//

bool FunctionTranslator::has(std::string_view modifier) {
  for (size_t i = 0; i < isUsed.size(); ++i)
    if (!isUsed[i] && instruction->modifiers[i] == modifier)
      return isUsed[i] = true;
  return false;
}

std::string_view
FunctionTranslator::oneOf(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (has(name))
      return name;
  return {};
}

std::string_view
FunctionTranslator::expectOneOf(std::initializer_list<std::string_view> names) {
  std::string_view found = oneOf(names);
  if (found.empty())
    fail("unknown instruction '" + instruction->text() + "'");
  return found;
}

std::optional<Type> FunctionTranslator::nextType() {
  for (size_t i = 0; i < isUsed.size(); ++i)
    if (!isUsed[i])
      if (std::optional<Type> type = typeNamed(instruction->modifiers[i])) {
        isUsed[i] = true;
        return type;
      }
  return std::nullopt;
}

Type FunctionTranslator::type() {
  std::optional<Type> found = nextType();
  if (!found)
    fail("expected a type in '" + instruction->text() + "'");
  return *found;
}

const Operand &FunctionTranslator::operand(size_t index) const {
  if (index >= instruction->operands.size())
    fail(fmt::format("'{}' has {} operands, too few", instruction->text(),
                     instruction->operands.size()));
  return instruction->operands[index];
}

void FunctionTranslator::expectOperands(size_t count) const {
  if (instruction->operands.size() != count)
    fail(fmt::format("'{}' expects {} operands, found {}", instruction->text(),
                     count, instruction->operands.size()));
}

std::optional<Rounding> FunctionTranslator::rounding() {
  if (has("rn"))
    return Rounding::Nearest;
  if (has("rz"))
    return Rounding::Zero;
  if (has("rm"))
    return Rounding::Down;
  if (has("rp"))
    return Rounding::Up;
  return std::nullopt;
}

void FunctionTranslator::ignoreCaching() {
  for (size_t i = 0; i < isUsed.size(); ++i) {
    std::string_view word = instruction->modifiers[i];
    if (word.starts_with("L1::") || word.starts_with("L2::"))
      isUsed[i] = true;
  }
  oneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"});
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// A register that is never written has a value that no computation gives by
/// chance.
std::string FunctionTranslator::registerSlot(std::string_view name, Type type) {
  std::string slot = fmt::format("%R.{}", name.substr(1));
  if (slots.insert(slot).second) {
    unsigned bits = type.width();
    std::string initial =
        bits == 1 ? "1" : std::to_string(bits == 16 ? 0x7FD5 : freshLocal);
    allocas += fmt::format("  {} = alloca i{}\n  store i{} {}, ptr {}\n", slot,
                           bits, bits, initial, slot);
  }
  return slot;
}

Type FunctionTranslator::registerType(const Operand &operand) const {
  auto found = function.registers.find(operand.name);
  if (found == function.registers.end())
    fail("unknown register '" + operand.name + "'");
  return found->second;
}

std::string FunctionTranslator::resize(const std::string &value, unsigned from,
                                       unsigned to, bool isSigned) {
  if (from == to)
    return value;
  if (from > to)
    return define("trunc i{} {} to i{}", from, value, to);
  return define("{} i{} {} to i{}", isSigned ? "sext" : "zext", from, value,
                to);
}

static std::string constant(uint64_t value, unsigned bits) {
  return std::to_string(bits >= 64 ? value
                                   : value & ((uint64_t(1) << bits) - 1));
}

std::string FunctionTranslator::read(const Operand &operand, unsigned bits) {
  switch (operand.kind) {
  case Operand::Kind::Register: {
    auto found = function.registers.find(operand.name);
    if (found == function.registers.end())
      return specialRegister(operand, bits);
    Type declared = found->second;
    if (declared.isPredicate() != (bits == 1))
      fail("'" + operand.name + "' has a wrong type for '" +
           instruction->text() + "'");
    std::string value = define("load i{}, ptr {}", declared.width(),
                               registerSlot(operand.name, declared));
    if (operand.isNegated)
      value = define("xor i{} {}, -1", declared.width(), value);
    return resize(value, declared.width(), bits);
  }
  case Operand::Kind::Immediate:
    if (operand.isNegated)
      return constant(~operand.bits, bits);
    return constant(operand.bits, bits);
  case Operand::Kind::Symbol:
    if (operand.name == "WARP_SZ")
      return std::to_string(warpSize);
    return resize(symbolAddress(operand), 64, bits);
  case Operand::Kind::Vector:
    return readVector(operand, bits);
  default:
    fail("expected a value as operand of '" + instruction->text() + "'");
  }
}

void FunctionTranslator::checkElements(const Operand &operand,
                                       unsigned bits) const {
  size_t count = operand.elements.size();
  if (!count || bits % count)
    fail(fmt::format("a vector of {} elements cannot have {} bits", count,
                     bits));
}

std::string FunctionTranslator::readVector(const Operand &operand,
                                           unsigned bits) {
  checkElements(operand, bits);
  unsigned part = bits / unsigned(operand.elements.size());
  std::vector<std::string> lanes;
  for (const Operand &element : operand.elements)
    lanes.push_back(read(element, part));
  return join(lanes, {Type::Kind::Bits, part, unsigned(lanes.size())});
}

void FunctionTranslator::write(const Operand &operand, const std::string &value,
                               unsigned bits, bool isSigned) {
  if (operand.kind == Operand::Kind::Sink)
    return;
  if (operand.kind == Operand::Kind::Vector) {
    checkElements(operand, bits);
    Type type{Type::Kind::Bits, bits / unsigned(operand.elements.size()),
              unsigned(operand.elements.size())};
    std::vector<std::string> lanes = split(value, type);
    for (size_t i = 0; i < lanes.size(); ++i)
      write(operand.elements[i], lanes[i], type.bits);
    return;
  }
  if (operand.kind != Operand::Kind::Register)
    fail("expected a register as result of '" + instruction->text() + "'");
  Type declared = registerType(operand);
  if (declared.isPredicate() != (bits == 1))
    fail("'" + operand.name + "' has a wrong type for '" + instruction->text() +
         "'");
  emit("store i{} {}, ptr {}", declared.width(),
       resize(value, bits, declared.width(), isSigned),
       registerSlot(operand.name, declared));
}

std::vector<std::string> FunctionTranslator::split(const std::string &value,
                                                   Type type) {
  if (type.lanes == 1)
    return {value};
  std::vector<std::string> lanes;
  for (unsigned i = 0; i < type.lanes; ++i) {
    std::string shifted =
        i ? define("lshr i{} {}, {}", type.width(), value, i * type.bits)
          : value;
    lanes.push_back(resize(shifted, type.width(), type.bits));
  }
  return lanes;
}

std::string FunctionTranslator::join(const std::vector<std::string> &lanes,
                                     Type type) {
  if (type.lanes == 1)
    return lanes[0];
  std::string result;
  for (unsigned i = 0; i < type.lanes; ++i) {
    std::string wide = resize(lanes[i], type.bits, type.width());
    if (i)
      wide = define("shl i{} {}, {}", type.width(), wide, i * type.bits);
    result = i ? define("or i{} {}, {}", type.width(), result, wide) : wide;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

std::string FunctionTranslator::toNumber(const std::string &bits, Type type) {
  if (type.bits == 16)
    return define("call float @{}(i16 {})",
                  type.kind == Type::Kind::BFloat ? "from.bf16" : "from.f16",
                  bits);
  return define("bitcast i{} {} to {}", type.bits, bits, computed(type));
}

std::string FunctionTranslator::fromNumber(const std::string &number,
                                           Type type) {
  if (type.bits == 16)
    return define("call i16 @{}(float {})",
                  type.kind == Type::Kind::BFloat ? "to.bf16" : "to.f16",
                  number);
  return define("bitcast {} {} to i{}", computed(type), number, type.bits);
}

std::vector<std::string> FunctionTranslator::readNumbers(const Operand &operand,
                                                         Type type) {
  std::vector<std::string> numbers;
  for (const std::string &lane : split(read(operand, type.width()), type))
    numbers.push_back(toNumber(lane, type));
  return numbers;
}

void FunctionTranslator::writeNumbers(const Operand &operand,
                                      const std::vector<std::string> &numbers,
                                      Type type) {
  std::vector<std::string> lanes;
  for (const std::string &number : numbers)
    lanes.push_back(fromNumber(number, type));
  write(operand, join(lanes, type), type.width());
}

std::string FunctionTranslator::flushed(const std::string &number, Type type) {
  if (type.bits == 64)
    return number;
  bool isHalf = type.bits == 16 && type.kind == Type::Kind::Float;
  return define("call float @{}(float {})", isHalf ? "ftz.f16" : "ftz.f32",
                number);
}

} // namespace lockstep::standin
