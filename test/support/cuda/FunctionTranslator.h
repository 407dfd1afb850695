//===- FunctionTranslator.h - one function to LLVM IR -----------*- C++ -*-===//
//
// Members are defined in the Translate*.cpp file that has their subject.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_FUNCTIONTRANSLATOR_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_FUNCTIONTRANSLATOR_H

#include "KernelAbi.h"
#include "Translator.h"

#include <set>

#include <fmt/format.h>

namespace lockstep::standin {

/// Stands for a number that is known once all functions are translated: the
/// bytes of shared memory that variables have.
inline constexpr std::string_view staticShared = "<static shared>";

/// What the functions of one kernel share.
struct KernelTranslation {
  const PtxModule &module;
  const VariableAddresses &addresses;
  KernelCode code;
  /// Offsets of the shared variables that are used.
  std::map<std::string, uint64_t, std::less<>> shared;
  uint64_t sharedAlignment = 16;

  struct Callee {
    const Function *function;
    std::string ir;
    uint64_t frameBytes = 0;
    std::vector<const Function *> calls;
  };
  /// The entry and the functions that are called.
  std::map<const Function *, Callee> functions;
};

class FunctionTranslator {
public:
  FunctionTranslator(KernelTranslation &kernel, const Function &function)
      : kernel(kernel), function(function) {}

  /// The function's definition in LLVM IR, and the functions that it calls.
  KernelTranslation::Callee run();

private:
  using Handler = void (FunctionTranslator::*)();
  static const std::map<std::string_view, Handler> &handlers();
  static void addIntegerHandlers(std::map<std::string_view, Handler> &);
  static void addFloatHandlers(std::map<std::string_view, Handler> &);
  static void addCompareHandlers(std::map<std::string_view, Handler> &);
  static void addMemoryHandlers(std::map<std::string_view, Handler> &);
  static void addThreadHandlers(std::map<std::string_view, Handler> &);
  static void addControlHandlers(std::map<std::string_view, Handler> &);

  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  template <typename... Args>
  void emit(fmt::format_string<Args...> format, Args &&...args) {
    code += "  ";
    code += fmt::format(format, std::forward<Args>(args)...);
    code += '\n';
  }
  /// Emits the definition of a new value.
  template <typename... Args>
  std::string define(fmt::format_string<Args...> format, Args &&...args) {
    std::string name = fmt::format("%v{}", ++values);
    code += "  " + name + " = ";
    code += fmt::format(format, std::forward<Args>(args)...);
    code += '\n';
    return name;
  }
  std::string newLabel() { return fmt::format("b{}", ++labels); }
  void startBlock(std::string_view label) {
    code += fmt::format("{}:\n", label);
  }
  [[noreturn]] void fail(const std::string &message) const;

  //===--------------------------------------------------------------------===//
  // The current instruction
  //===--------------------------------------------------------------------===//

  /// Whether the instruction has a modifier. Those that nothing asks for are
  /// errors.
  bool has(std::string_view modifier);
  /// The first of the names that is a modifier; empty if none is.
  std::string_view oneOf(std::initializer_list<std::string_view> names);
  /// The same; an error if none is.
  std::string_view expectOneOf(std::initializer_list<std::string_view> names);
  /// The types among the modifiers, in order.
  std::optional<Type> nextType();
  Type type();
  const Operand &operand(size_t index) const;
  void expectOperands(size_t count) const;
  std::optional<Rounding> rounding();
  /// Marks modifiers that only concern caches.
  void ignoreCaching();

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  std::string registerSlot(std::string_view name, Type type);
  Type registerType(const Operand &operand) const;
  /// An integer of so many bits: those of the operand.
  std::string read(const Operand &operand, unsigned bits);
  std::string read(size_t index, unsigned bits) {
    return read(operand(index), bits);
  }
  std::string resize(const std::string &value, unsigned from, unsigned to,
                     bool isSigned = false);
  void checkElements(const Operand &operand, unsigned bits) const;
  std::string readVector(const Operand &operand, unsigned bits);
  std::string specialRegister(const Operand &operand, unsigned bits);
  std::string threadField(size_t offset, std::string_view type);
  std::string symbolAddress(const Operand &operand);
  std::optional<std::string> sharedAddress(const Operand &operand);
  void write(const Operand &operand, const std::string &value, unsigned bits,
             bool isSigned = false);

  /// The type that numbers of a type are computed in.
  static std::string_view computed(Type type) {
    return type.bits == 64 ? "double" : "float";
  }
  /// The lanes of an operand as numbers.
  std::vector<std::string> readNumbers(const Operand &operand, Type type);
  void writeNumbers(const Operand &operand,
                    const std::vector<std::string> &numbers, Type type);
  std::string toNumber(const std::string &bits, Type type);
  std::string fromNumber(const std::string &number, Type type);
  /// The lanes of packed integers.
  std::vector<std::string> split(const std::string &value, Type type);
  std::string join(const std::vector<std::string> &lanes, Type type);
  std::string flushed(const std::string &number, Type type);

  //===--------------------------------------------------------------------===//
  // Integers
  //===--------------------------------------------------------------------===//

  void addOrSubtract();
  void addWithCarry(bool isSubtraction);
  void multiply();
  void multiplyAdd();
  void divideOrRemainder();
  void minOrMax();
  void negateOrAbsolute();
  void bitwise();
  void shift();
  void funnelShift();
  void countBits();
  void bitField();
  void permute();
  void logic3();
  std::string product(Type type, std::string_view part);

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  /// What an instruction on floats says beside its operation.
  struct FloatModifiers {
    Type type;
    /// Of operands that the instruction widens to `type`.
    Type narrowType;
    /// The rounding, unless it is to the nearest number.
    std::optional<Rounding> directed;
    bool isFlushed = false, isSaturated = false, isClamped = false;
  };
  FloatModifiers floatModifiers(Arithmetic operation);
  /// A result after flushing, saturation and clamping, as the modifiers say.
  std::string limited(std::string result, const FloatModifiers &modifiers);
  void floatArithmetic(Arithmetic operation);
  void fusedMultiplyAdd();
  void floatMinOrMax(Type type, bool isMax);
  void floatSign(Type type, bool isNegation);
  void floatFunction();
  std::string fused16(const std::string &a, const std::string &b,
                      const std::string &c, Type type);

  //===--------------------------------------------------------------------===//
  // Conversions and comparisons
  //===--------------------------------------------------------------------===//

  void convert();
  void convertPacked(Type to);
  void convertIntegers(Type to, Type from);
  void convertToInteger(Type to, Type from, std::string_view mode);
  void convertFromInteger(Type to, Type from);
  void convertFloats(Type to, Type from, std::string_view mode);
  std::string rounded(const std::string &number, Type from, Type to,
                      Rounding mode);
  std::string roundedToIntegral(const std::string &number, Type type,
                                std::string_view mode);
  std::vector<std::string> comparison(Type type);
  void setPredicate();
  void setValue();
  void select();
  void selectBySign();
  void test();
  void copySign();

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  Space spaceOf();
  void move();
  void load();
  void store();
  void atomic();
  void convertAddress();
  void fence();
  /// The value of an address operand in its space.
  std::string address(const Operand &operand);
  /// The host's pointer for an access, after its checks.
  std::string resolve(Space space, const Operand &operand, uint64_t bytes);
  std::string resolveGlobal(Space space, const std::string &address,
                            uint64_t bytes);
  std::string resolveWindow(AccessSpace space, const std::string &address,
                            uint64_t bytes);
  std::string parameterPointer(const Operand &operand, uint64_t bytes);
  bool isParameter(std::string_view name) const;
  std::string orderOf(bool isLoad);
  unsigned vectorLength();

  //===--------------------------------------------------------------------===//
  // Threads and control
  //===--------------------------------------------------------------------===//

  void barrier();
  void shuffle();
  void vote();
  void match();
  void activeMask();
  void reduceWarp();
  void multiplyMatrices();
  std::string warp(WarpOperation operation, const std::string &mask,
                   const std::string &value, const std::string &b,
                   const std::string &c);
  void branch();
  void indexedBranch();
  void leave();
  void trap();
  void call();
  void callHost(const std::vector<Operand> &arguments);
  void nothing();

  void translate(const Statement &statement);
  void dispatch();
  std::string labelOf(const std::string &name) const;
  void collectLabels();
  bool isAddressTaken(const Variable &parameter) const;
  /// Gives a variable its place in the frame.
  void place(const Variable &variable);
  void layOutFrame();
  std::string header() const;
  std::string parameterSlot(const std::string &name) const;
  const Function &callee(const std::string &name);

  KernelTranslation &kernel;
  const Function &function;
  const Instruction *instruction = nullptr;
  std::vector<bool> isUsed;
  std::string code, allocas;
  std::set<std::string, std::less<>> slots;
  std::set<std::string, std::less<>> ptxLabels;
  /// Offsets of the function's local variables in its frame.
  std::map<std::string, uint64_t, std::less<>> locals;
  uint64_t frameBytes = 0;
  std::vector<const Function *> calls;
  unsigned values = 0, labels = 0;
  bool isTerminated = false;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_FUNCTIONTRANSLATOR_H
