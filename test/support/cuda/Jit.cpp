//===- Jit.cpp - LLVM IR to code of the host ------------------------------===//

#include "Kernel.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm-c/blake3.h>
#include <unistd.h>

namespace lockstep::standin {

static void check(LLVMErrorRef error) {
  if (!error)
    return;
  char *message = LLVMGetErrorMessage(error);
  std::string text = message;
  LLVMDisposeErrorMessage(message);
  throw std::runtime_error(text);
}

/// How code is made, beside the target.
static constexpr const char *passes = "default<O1>";
static constexpr LLVMCodeGenOptLevel level = LLVMCodeGenLevelLess;

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
    machine = LLVMCreateTargetMachine(target, triple, cpu, features, level,
                                      LLVMRelocPIC, LLVMCodeModelJITDefault);
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

/// A name for the code of a kernel: a hash of all that it depends on.
static std::string nameOf(const KernelCode &code) {
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init(&hasher);
  auto update = [&](std::string_view text) {
    llvm_blake3_hasher_update(&hasher, text.data(), text.size());
    llvm_blake3_hasher_update(&hasher, "", 1);
  };
  char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  update(
      fmt::format("{}.{}.{} {} {}", major, minor, patch, passes, int(level)));
  for (char *text : {cpu, features}) {
    update(text);
    LLVMDisposeMessage(text);
  }
  update(code.ir);
  uint8_t digest[16];
  llvm_blake3_hasher_finalize(&hasher, digest, sizeof(digest));
  std::string name = "kernel_";
  for (uint8_t byte : digest)
    name += fmt::format("{:02x}", byte);
  return name;
}

/// The file with the code of this name, in the folder that
/// `LOCKSTEP_CUDA_CACHE` names; empty without one. Processes share it.
static std::string cacheFile(const std::string &name) {
  const char *folder = std::getenv("LOCKSTEP_CUDA_CACHE");
  return folder && *folder ? fmt::format("{}/{}.o", folder, name) : "";
}

/// Null if there is no such file.
static LLVMMemoryBufferRef readCached(const std::string &file) {
  LLVMMemoryBufferRef object = nullptr;
  char *message = nullptr;
  if (!file.empty() && LLVMCreateMemoryBufferWithContentsOfFile(
                           file.c_str(), &object, &message)) {
    LLVMDisposeMessage(message);
    return nullptr;
  }
  return object;
}

/// Appears as a whole, also to processes that write the same one.
static void writeCached(const std::string &file, LLVMMemoryBufferRef object) {
  if (file.empty())
    return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(),
                                      ignored);
  std::string written = fmt::format("{}.{}", file, getpid());
  std::ofstream stream(written, std::ios::binary);
  stream.write(LLVMGetBufferStart(object),
               std::streamsize(LLVMGetBufferSize(object)));
  stream.close();
  if (stream)
    std::filesystem::rename(written, file, ignored);
  std::filesystem::remove(written, ignored);
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

/// The object of a kernel, whose function has this name.
static LLVMMemoryBufferRef compile(const KernelCode &code,
                                   const std::string &name) {
  LLVMOrcLLJITRef instance = jit();
  std::unique_ptr<LLVMOpaqueContext, decltype(&LLVMContextDispose)> context(
      LLVMContextCreate(), LLVMContextDispose);
  LLVMModuleRef module = parse(context.get(), code);
  LLVMTargetMachineRef machine = createTargetMachine();
  LLVMSetTarget(module, LLVMOrcLLJITGetTripleString(instance));
  LLVMSetDataLayout(module, LLVMOrcLLJITGetDataLayoutStr(instance));
  LLVMSetValueName2(LLVMGetNamedFunction(module, "kernel"), name.data(),
                    name.size());
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  LLVMMemoryBufferRef object = nullptr;
  char *message = nullptr;
  bool hasFailed =
      !error && LLVMTargetMachineEmitToMemoryBuffer(
                    machine, module, LLVMObjectFile, &message, &object);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  check(error);
  if (hasFailed) {
    std::string text = message;
    LLVMDisposeMessage(message);
    throw std::runtime_error(text);
  }
  return object;
}

static KernelFunction load(const KernelCode &code) {
  std::string name = nameOf(code), file = cacheFile(name);
  LLVMMemoryBufferRef object = readCached(file);
  bool isCached = object != nullptr;
  if (!isCached) {
    object = compile(code, name);
    writeCached(file, object);
  }
  LLVMOrcLLJITRef instance = jit();
  LLVMOrcExecutorAddress address = 0;
  try {
    check(LLVMOrcLLJITAddObjectFile(
        instance, LLVMOrcLLJITGetMainJITDylib(instance), object));
    check(LLVMOrcLLJITLookup(instance, &address, name.c_str()));
  } catch (const std::runtime_error &error) {
    if (!isCached)
      throw;
    // The next process makes it again.
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    throw std::runtime_error(
        fmt::format("'{}', which has been removed: {}", file, error.what()));
  }
  return reinterpret_cast<KernelFunction>(address);
}

KernelFunction compileKernel(const KernelCode &code) {
  static std::mutex mutex;
  // Kernels may be executed until the process ends.
  static auto &known = *new std::unordered_map<std::string, KernelFunction>();
  std::lock_guard lock(mutex);
  auto found = known.find(code.ir);
  if (found == known.end())
    found = known.emplace(code.ir, load(code)).first;
  return found->second;
}

} // namespace lockstep::standin
