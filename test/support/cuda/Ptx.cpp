//===- Ptx.cpp - modules of PTX, as read ----------------------------------===//

#include "Ptx.h"

namespace lockstep::standin {

std::optional<Type> typeNamed(std::string_view word) {
  using Kind = Type::Kind;
  static const std::map<std::string_view, Type> types = {
      {"u8", {Kind::Unsigned, 8}},
      {"u16", {Kind::Unsigned, 16}},
      {"u32", {Kind::Unsigned, 32}},
      {"u64", {Kind::Unsigned, 64}},
      {"s8", {Kind::Signed, 8}},
      {"s16", {Kind::Signed, 16}},
      {"s32", {Kind::Signed, 32}},
      {"s64", {Kind::Signed, 64}},
      {"b8", {Kind::Bits, 8}},
      {"b16", {Kind::Bits, 16}},
      {"b32", {Kind::Bits, 32}},
      {"b64", {Kind::Bits, 64}},
      {"b128", {Kind::Bits, 128}},
      {"f16", {Kind::Float, 16}},
      {"f32", {Kind::Float, 32}},
      {"f64", {Kind::Float, 64}},
      {"bf16", {Kind::BFloat, 16}},
      {"f16x2", {Kind::Float, 16, 2}},
      {"bf16x2", {Kind::BFloat, 16, 2}},
      {"f32x2", {Kind::Float, 32, 2}},
      {"u16x2", {Kind::Unsigned, 16, 2}},
      {"s16x2", {Kind::Signed, 16, 2}},
      {"pred", {Kind::Predicate, 1}},
  };
  auto found = types.find(word);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

std::string Instruction::text() const {
  std::string words = opcode;
  for (const std::string &modifier : modifiers)
    words += "." + modifier;
  return words;
}

const Function *PtxModule::find(std::string_view name) const {
  const Function *declaration = nullptr;
  for (const Function &function : functions)
    if (function.name == name) {
      if (function.hasBody)
        return &function;
      declaration = &function;
    }
  return declaration;
}

} // namespace lockstep::standin
