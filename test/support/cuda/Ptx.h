//===- Ptx.h - modules of PTX, as read --------------------------*- C++ -*-===//
//
// What the reader understands of PTX's structure: variables, functions with
// their parameters and registers, and instructions as words. What the words
// mean is the translator's business.
//
// The language: "Parallel Thread Execution ISA", NVIDIA.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_PTX_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_PTX_H

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::standin {

/// What is wrong with a module, and in which line of its text.
class PtxError : public std::runtime_error {
public:
  PtxError(unsigned line, const std::string &message)
      : std::runtime_error("line " + std::to_string(line) + ": " + message) {}
};

/// A fundamental type. Packed types, such as f16x2, have several lanes.
struct Type {
  enum class Kind { Unsigned, Signed, Bits, Float, BFloat, Predicate };
  Kind kind;
  /// Of one lane.
  unsigned bits;
  unsigned lanes = 1;

  bool isFloat() const { return kind == Kind::Float || kind == Kind::BFloat; }
  bool isSigned() const { return kind == Kind::Signed; }
  bool isPredicate() const { return kind == Kind::Predicate; }
  unsigned width() const { return bits * lanes; }
  unsigned bytes() const { return (width() + 7) / 8; }
  bool operator==(const Type &) const = default;
};

/// The type that a modifier without its dot names, if it does.
std::optional<Type> typeNamed(std::string_view word);

struct Operand {
  enum class Kind {
    Register,
    Immediate,
    /// The name of a variable, function or label.
    Symbol,
    /// [base + offset]; the base is a register, a symbol or absent.
    Address,
    /// {a, b, ...}
    Vector,
    /// (a, b, ...): arguments and results of calls.
    List,
    /// a|b: two results.
    Pair,
    /// _: a result that nobody reads.
    Sink,
  };
  Kind kind = Kind::Sink;
  std::string name;
  uint64_t bits = 0;
  /// The name is a register's, in an address.
  bool isRegisterBase = false;
  /// !%p
  bool isNegated = false;
  int64_t offset = 0;
  std::vector<Operand> elements;
};

struct Instruction {
  unsigned line = 0;
  /// The first word, without modifiers.
  std::string opcode;
  std::vector<std::string> modifiers;
  /// The predicate of @%p or @!%p; empty without one.
  std::string guard;
  bool isGuardNegated = false;
  std::vector<Operand> operands;

  std::string text() const;
};

/// A part of an initializer: a number, or an address.
struct Initializer {
  uint64_t bits = 0;
  std::string symbol;
  /// Of 0xFF(symbol): the byte of the address that is meant.
  std::optional<unsigned> byte;
};

enum class Space { Param, Global, Shared, Local, Const, Generic };

struct Variable {
  unsigned line = 0;
  std::string name;
  Space space = Space::Global;
  Type type{Type::Kind::Bits, 8};
  uint64_t alignment = 1;
  uint64_t bytes = 0;
  /// Memory whose size is given when a kernel is launched.
  bool isDynamic = false;
  bool isExtern = false;
  std::vector<Initializer> initializer;
};

/// A label, an instruction or a jump table at its place in a body.
struct Statement {
  std::string label;
  Instruction instruction;
};

struct Function {
  unsigned line = 0;
  std::string name;
  bool isEntry = false;
  /// A declaration has no body.
  bool hasBody = false;
  std::vector<Variable> results, parameters;
  /// Registers by name, with the types that they are declared with.
  std::map<std::string, Type, std::less<>> registers;
  /// Variables of the body: shared, local, and parameters of calls.
  std::vector<Variable> variables;
  std::map<std::string, std::vector<std::string>, std::less<>> jumpTables;
  std::vector<Statement> body;
  /// Threads per block: at most, and exactly; 0 without the directive.
  uint64_t maxThreads = 0, requiredThreads = 0;
};

struct PtxModule {
  unsigned version = 0;
  /// The compute capability times ten, such as 80.
  unsigned target = 0;
  std::vector<Variable> variables;
  std::vector<Function> functions;

  const Function *find(std::string_view name) const;
};

/// Throws PtxError.
PtxModule readPtx(std::string_view text);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_PTX_H
