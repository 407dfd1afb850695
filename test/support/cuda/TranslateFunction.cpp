//===- TranslateFunction.cpp - functions, control flow and calls ----------===//

#include "FunctionTranslator.h"

#include <cstddef>

namespace lockstep::standin {

void FunctionTranslator::addControlHandlers(
    std::map<std::string_view, Handler> &handlers) {
  using Self = FunctionTranslator;
  handlers["bra"] = &Self::branch;
  handlers["brx"] = &Self::indexedBranch;
  for (std::string_view name : {"ret", "exit"})
    handlers[name] = &Self::leave;
  handlers["trap"] = &Self::trap;
  handlers["call"] = &Self::call;
  handlers["nanosleep"] = &Self::nothing;
}

const std::map<std::string_view, FunctionTranslator::Handler> &
FunctionTranslator::handlers() {
  static const std::map<std::string_view, Handler> table = [] {
    std::map<std::string_view, Handler> handlers;
    addIntegerHandlers(handlers);
    addFloatHandlers(handlers);
    addCompareHandlers(handlers);
    addMemoryHandlers(handlers);
    addThreadHandlers(handlers);
    addControlHandlers(handlers);
    return handlers;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void FunctionTranslator::collectLabels() {
  for (const Statement &statement : function.body)
    if (!statement.label.empty() && !ptxLabels.insert(statement.label).second)
      fail("the label '" + statement.label + "' is defined twice");
}

std::string FunctionTranslator::labelOf(const std::string &name) const {
  if (!ptxLabels.count(name))
    fail("unknown label '" + name + "'");
  return "%\"L" + name + "\"";
}

void FunctionTranslator::branch() {
  has("uni");
  expectOperands(1);
  emit("br label {}", labelOf(operand(0).name));
  isTerminated = true;
}

void FunctionTranslator::indexedBranch() {
  has("idx");
  has("uni");
  expectOperands(2);
  auto table = function.jumpTables.find(operand(1).name);
  if (table == function.jumpTables.end())
    fail("unknown jump table '" + operand(1).name + "'");
  std::string index = read(0, 32), outside = newLabel(), cases;
  for (size_t i = 0; i < table->second.size(); ++i)
    cases += fmt::format(" i32 {}, label {}", i, labelOf(table->second[i]));
  emit("switch i32 {}, label %{} [{} ]", index, outside, cases);
  startBlock(outside);
  trap();
}

void FunctionTranslator::leave() {
  has("uni");
  expectOperands(0);
  if (instruction->opcode == "exit" && !function.isEntry) {
    kernel.code.hasBarriers = true;
    emit("call void @standin_exit(ptr %thread)");
    emit("unreachable");
  } else {
    emit("ret void");
  }
  isTerminated = true;
}

void FunctionTranslator::trap() {
  emit("call void @standin_trap(ptr %thread)");
  emit("unreachable");
  isTerminated = true;
}

void FunctionTranslator::nothing() { type(); }

const Function &FunctionTranslator::callee(const std::string &name) {
  const Function *found = kernel.module.find(name);
  if (!found)
    fail("unknown function '" + name + "'");
  if (!found->hasBody)
    fail("the function '" + name + "' has no body");
  calls.push_back(found);
  return *found;
}

/// A parameter of a call.
std::string FunctionTranslator::parameterSlot(const std::string &name) const {
  for (const Variable &variable : function.variables)
    if (variable.space == Space::Param && variable.name == name)
      return "%P." + name;
  fail("unknown parameter '" + name + "'");
}

/// A function of the host by its address, with the address of memory of the
/// device or null. No GPU has it: tests do so what only the host can.
void FunctionTranslator::callHost(const std::vector<Operand> &arguments) {
  if (arguments.size() != 2)
    fail(fmt::format("'lockstep_call_host' expects 2 arguments, found {}",
                     arguments.size()));
  auto load = [&](const Operand &argument) {
    return define("load i64, ptr {}", parameterSlot(argument.name));
  };
  std::string called = load(arguments[0]), memory = load(arguments[1]);
  emit("call void @standin_call_host(ptr %thread, i64 {}, i64 {})", called,
       memory);
}

/// call (results), function, (arguments); results and arguments are names of
/// parameters, and each list may be absent.
void FunctionTranslator::call() {
  has("uni");
  size_t index = 0;
  std::string result = "null";
  if (operand(0).kind == Operand::Kind::List) {
    if (operand(0).elements.size() != 1)
      fail("expected one result of a call");
    result = parameterSlot(operand(0).elements[0].name);
    ++index;
  }
  const std::string &name = operand(index).name;
  if (operand(index).kind != Operand::Kind::Symbol)
    fail("calls of addresses are not supported");
  // Called where a program's own check has failed.
  if (name == "__assertfail") {
    emit("call void @standin_assert(ptr %thread)");
    emit("unreachable");
    isTerminated = true;
    return;
  }
  std::vector<Operand> given;
  if (++index < instruction->operands.size())
    given = operand(index).elements;
  if (name == "lockstep_call_host")
    return callHost(given);
  const Function &called = callee(name);
  if (given.size() != called.parameters.size())
    fail(fmt::format("'{}' expects {} arguments, found {}", name,
                     called.parameters.size(), given.size()));
  std::string arguments;
  for (const Operand &argument : given)
    arguments += ", ptr " + parameterSlot(argument.name);
  std::string frame = define("add i64 %frame, {}", frameBytes);
  emit("call void @\"F{}\"(ptr %thread, i64 {}, ptr {}{})", name, frame, result,
       arguments);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void FunctionTranslator::dispatch() {
  auto found = handlers().find(instruction->opcode);
  if (found == handlers().end())
    fail("unknown instruction '" + instruction->text() + "'");
  isUsed.assign(instruction->modifiers.size(), false);
  (this->*found->second)();
  for (size_t i = 0; i < isUsed.size(); ++i)
    if (!isUsed[i])
      fail(fmt::format("unknown modifier '.{}' of '{}'",
                       instruction->modifiers[i], instruction->text()));
}

void FunctionTranslator::translate(const Statement &statement) {
  if (!statement.label.empty()) {
    if (!isTerminated)
      emit("br label %\"L{}\"", statement.label);
    code += fmt::format("\"L{}\":\n", statement.label);
    isTerminated = false;
    return;
  }
  if (isTerminated) {
    startBlock(newLabel());
    isTerminated = false;
  }
  instruction = &statement.instruction;
  if (instruction->guard.empty()) {
    dispatch();
    return;
  }
  Operand guard;
  guard.kind = Operand::Kind::Register;
  guard.name = instruction->guard;
  std::string condition = read(guard, 1);
  std::string then = newLabel(), after = newLabel();
  if (instruction->isGuardNegated)
    emit("br i1 {}, label %{}, label %{}", condition, after, then);
  else
    emit("br i1 {}, label %{}, label %{}", condition, then, after);
  startBlock(then);
  dispatch();
  if (!isTerminated)
    emit("br label %{}", after);
  startBlock(after);
  isTerminated = false;
}

/// Whether an instruction has the parameter's address, which is in local
/// memory.
bool FunctionTranslator::isAddressTaken(const Variable &parameter) const {
  for (const Statement &statement : function.body)
    for (const Operand &operand : statement.instruction.operands)
      if (operand.kind == Operand::Kind::Symbol &&
          operand.name == parameter.name)
        return true;
  return false;
}

void FunctionTranslator::place(const Variable &variable) {
  frameBytes =
      (frameBytes + variable.alignment - 1) & ~(variable.alignment - 1);
  locals[variable.name] = frameBytes;
  frameBytes += variable.bytes;
}

void FunctionTranslator::layOutFrame() {
  if (!function.isEntry)
    for (const Variable &parameter : function.parameters)
      if (isAddressTaken(parameter))
        place(parameter);
  for (const Variable &variable : function.variables) {
    if (variable.space == Space::Param) {
      allocas += fmt::format("  %P.{} = alloca [{} x i8], align {}\n",
                             variable.name, variable.bytes, variable.alignment);
    } else if (variable.space == Space::Local) {
      place(variable);
    }
  }
  constexpr uint64_t frameAlignment = 32;
  frameBytes = (frameBytes + frameAlignment - 1) & ~(frameAlignment - 1);
  if (!frameBytes)
    return;
  // A NaN, or far out of bounds.
  std::string memory = threadField(offsetof(Thread, local), "ptr");
  std::string frame = define("getelementptr i8, ptr {}, i64 %frame", memory);
  emit("call void @llvm.memset.p0.i64(ptr {}, i8 -1, i64 {}, i1 false)", frame,
       frameBytes);
  for (size_t i = 0; i < function.parameters.size(); ++i)
    if (auto found = locals.find(function.parameters[i].name);
        found != locals.end())
      emit("call void @llvm.memcpy.p0.p0.i64(ptr {}, ptr %param{}, i64 {}, i1 "
           "false)",
           define("getelementptr i8, ptr {}, i64 {}", frame, found->second), i,
           function.parameters[i].bytes);
}

std::string FunctionTranslator::header() const {
  if (function.isEntry)
    return "define internal void @thread(ptr noalias %thread) alwaysinline "
           "{\nentry:\n"
           "  %frame = add i64 0, 0\n";
  std::string parameters;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    parameters += fmt::format(", ptr %param{}", i);
  constexpr size_t largestInlined = 400;
  return fmt::format("define internal void @\"F{}\"(ptr noalias %thread, i64 "
                     "%frame, ptr %result{}) {}{{\nentry:\n",
                     function.name, parameters,
                     function.body.size() < largestInlined ? "alwaysinline "
                                                           : "");
}

KernelTranslation::Callee FunctionTranslator::run() {
  collectLabels();
  layOutFrame();
  for (const Statement &statement : function.body)
    translate(statement);
  instruction = nullptr;
  if (!isTerminated)
    emit("ret void");
  return {&function, header() + allocas + code + "}\n\n", frameBytes, calls};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void layOutParameters(const Function &entry, KernelCode &code) {
  for (const Variable &parameter : entry.parameters) {
    uint64_t offset = (code.parameterBytes + parameter.alignment - 1) &
                      ~(parameter.alignment - 1);
    code.parameters.push_back({offset, parameter.bytes});
    code.parameterBytes = offset + parameter.bytes;
  }
}

/// The bytes of local memory that a call needs.
static uint64_t localBytes(const KernelTranslation &kernel,
                           const Function *function,
                           std::set<const Function *> &active) {
  if (!active.insert(function).second)
    throw PtxError(function->line, "'" + function->name +
                                       "' calls itself, which is not "
                                       "supported");
  const KernelTranslation::Callee &callee = kernel.functions.at(function);
  uint64_t deepest = 0;
  for (const Function *called : callee.calls)
    deepest = std::max(deepest, localBytes(kernel, called, active));
  active.erase(function);
  return callee.frameBytes + deepest;
}

KernelCode translateKernel(const PtxModule &module, const Function &entry,
                           const VariableAddresses &addresses) {
  KernelTranslation kernel{module, addresses, {}, {}, 16, {}};
  KernelCode &code = kernel.code;
  code.name = entry.name;
  code.maxThreads = entry.maxThreads;
  code.requiredThreads = entry.requiredThreads;
  code.hasChecks = addresses.contains("lockstep_fault");
  layOutParameters(entry, code);

  std::vector<const Function *> worklist = {&entry};
  while (!worklist.empty()) {
    const Function *function = worklist.back();
    worklist.pop_back();
    if (kernel.functions.count(function))
      continue;
    KernelTranslation::Callee callee =
        FunctionTranslator(kernel, *function).run();
    worklist.insert(worklist.end(), callee.calls.begin(), callee.calls.end());
    kernel.functions.emplace(function, std::move(callee));
  }
  std::set<const Function *> active;
  code.localBytes = localBytes(kernel, &entry, active);
  code.sharedBytes = (code.sharedBytes + kernel.sharedAlignment - 1) &
                     ~(kernel.sharedAlignment - 1);

  code.ir = prelude();
  for (const auto &[function, callee] : kernel.functions)
    code.ir += callee.ir;
  std::string number = std::to_string(code.sharedBytes);
  for (size_t at = 0;
       (at = code.ir.find(staticShared, at)) != std::string::npos;)
    code.ir.replace(at, staticShared.size(), number);
  return std::move(kernel.code);
}

} // namespace lockstep::standin
