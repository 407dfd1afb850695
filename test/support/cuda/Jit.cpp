//===- Jit.cpp - LLVM IR to code of the host ------------------------------===//

#include "Kernel.h"

#include <stdexcept>
#include <unordered_map>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

namespace lockstep::standin {

static void check(LLVMErrorRef error) {
  if (!error)
    return;
  char *message = LLVMGetErrorMessage(error);
  std::string text = message;
  LLVMDisposeErrorMessage(message);
  throw std::runtime_error(text);
}

/// For the processor that executes the tests, so that fused operations are
/// instructions.
static LLVMTargetMachineRef createTargetMachine() {
  static const bool isInitialized = [] {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    return true;
  }();
  (void)isInitialized;
  char *triple = LLVMGetDefaultTargetTriple();
  char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
  LLVMTargetRef target = nullptr;
  char *message = nullptr;
  LLVMTargetMachineRef machine = nullptr;
  if (LLVMGetTargetFromTriple(triple, &target, &message))
    LLVMDisposeMessage(message);
  else
    machine = LLVMCreateTargetMachine(target, triple, cpu, features,
                                      LLVMCodeGenLevelLess, LLVMRelocPIC,
                                      LLVMCodeModelJITDefault);
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  if (!machine)
    throw std::runtime_error("LLVM has no target for the host");
  return machine;
}

static void defineFunctions(LLVMOrcLLJITRef instance) {
  LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(instance);
  std::vector<LLVMOrcCSymbolMapPair> symbols;
  for (auto functions : {runtimeFunctions(), mathFunctions()})
    for (const RuntimeFunction &function : functions)
      symbols.push_back(
          {LLVMOrcLLJITMangleAndIntern(instance, function.name),
           {reinterpret_cast<LLVMOrcExecutorAddress>(function.address),
            {LLVMJITSymbolGenericFlagsExported |
                 LLVMJITSymbolGenericFlagsCallable,
             0}}});
  check(LLVMOrcJITDylibDefine(
      library, LLVMOrcAbsoluteSymbols(symbols.data(), symbols.size())));
  // What LLVM calls for operations that the host has no instructions for.
  LLVMOrcDefinitionGeneratorRef generator = nullptr;
  check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
      &generator, LLVMOrcLLJITGetGlobalPrefix(instance), nullptr, nullptr));
  LLVMOrcJITDylibAddGenerator(library, generator);
}

/// One for the process. Never disposed of, since LLVM's static objects may be
/// gone by then.
static LLVMOrcLLJITRef jit() {
  static LLVMOrcLLJITRef instance = [] {
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(
                     createTargetMachine()));
    LLVMOrcLLJITRef created = nullptr;
    check(LLVMOrcCreateLLJIT(&created, builder));
    defineFunctions(created);
    return created;
  }();
  return instance;
}

static LLVMModuleRef parse(LLVMContextRef context, const KernelCode &code) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
      code.ir.data(), code.ir.size(), code.name.c_str());
  LLVMModuleRef module = nullptr;
  char *message = nullptr;
  if (LLVMParseIRInContext(context, buffer, &module, &message)) {
    std::string text = message;
    LLVMDisposeMessage(message);
    throw std::runtime_error("the translation of '" + code.name +
                             "' is not valid: " + text);
  }
  return module;
}

static KernelFunction compile(const KernelCode &code) {
  LLVMOrcLLJITRef instance = jit();
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = nullptr;
  try {
    module = parse(context, code);
  } catch (...) {
    LLVMContextDispose(context);
    throw;
  }
  LLVMOrcThreadSafeContextRef shared =
      LLVMOrcCreateNewThreadSafeContextFromLLVMContext(context);
  LLVMTargetMachineRef machine = createTargetMachine();
  LLVMSetTarget(module, LLVMOrcLLJITGetTripleString(instance));
  LLVMSetDataLayout(module, LLVMOrcLLJITGetDataLayoutStr(instance));
  // All kernels are in one library.
  static unsigned count = 0;
  std::string name = "kernel" + std::to_string(count++);
  LLVMSetValueName2(LLVMGetNamedFunction(module, "kernel"), name.data(),
                    name.size());
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, "default<O1>", machine, options);
  LLVMDisposePassBuilderOptions(options);
  LLVMDisposeTargetMachine(machine);
  LLVMOrcThreadSafeModuleRef unit =
      LLVMOrcCreateNewThreadSafeModule(module, shared);
  LLVMOrcDisposeThreadSafeContext(shared);
  check(error);

  check(LLVMOrcLLJITAddLLVMIRModule(
      instance, LLVMOrcLLJITGetMainJITDylib(instance), unit));
  LLVMOrcExecutorAddress address = 0;
  check(LLVMOrcLLJITLookup(instance, &address, name.c_str()));
  return reinterpret_cast<KernelFunction>(address);
}

KernelFunction compileKernel(const KernelCode &code) {
  static std::mutex mutex;
  // Kernels may be executed until the process ends.
  static auto &known = *new std::unordered_map<std::string, KernelFunction>();
  std::lock_guard lock(mutex);
  auto found = known.find(code.ir);
  if (found == known.end())
    found = known.emplace(code.ir, compile(code)).first;
  return found->second;
}

} // namespace lockstep::standin
