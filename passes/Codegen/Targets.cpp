//===- Targets.cpp - Instruction sets that code is generated for ----------===//

#include "passes/Codegen/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"

using namespace lockstep;

static constexpr CodegenTarget kTargets[] = {
    {"x86-64-v3", "x86_64_v3", 256, 16},
    {"x86-64-v4", "x86_64_v4", 512, 32},
    {"sm_80", "sm_80", 0, 0, "cuda", "+ptx82"},
    {"sm_90", "sm_90", 0, 0, "cuda", "+ptx82"},
    {"sm_90a", "sm_90a", 0, 0, "cuda", "+ptx82"},
    {"sm_100", "sm_100", 0, 0, "cuda", "+ptx87"},
};

llvm::Expected<const CodegenTarget *>
lockstep::lookupTarget(llvm::StringRef name) {
  for (const CodegenTarget &target : kTargets)
    if (target.name == name)
      return &target;
  std::string known =
      llvm::join(llvm::map_range(kTargets,
                                 [](const CodegenTarget &target) {
                                   return "'" + target.name.str() + "'";
                                 }),
                 ", ");
  return llvm::createStringError("unknown target '" + name.str() +
                                 "', expected one of " + known);
}

llvm::Expected<llvm::SmallVector<const CodegenTarget *>>
lockstep::parseTargets(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> names;
  list.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (names.empty())
    return llvm::createStringError("expected at least one target, found none");
  llvm::SmallVector<const CodegenTarget *> targets;
  for (llvm::StringRef name : names) {
    llvm::Expected<const CodegenTarget *> target = lookupTarget(name.trim());
    if (!target)
      return target.takeError();
    if (!llvm::is_contained(targets, *target))
      targets.push_back(*target);
  }
  return targets;
}

std::unique_ptr<llvm::TargetMachine>
lockstep::createTargetMachine(const CodegenTarget &target, bool optimize) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // Kernels contain no checksums, and the search for them takes exponential
    // time in the size of a loop's expressions.
    llvm::DisableLIRP::HashRecognize = true;
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(target.isGpu() ? "nvptx64-nvidia-cuda"
                                     : "x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // Allows the linker to drop unused functions.
  options.FunctionSections = true;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.name, target.ptx, options, llvm::Reloc::PIC_, std::nullopt,
      optimize ? llvm::CodeGenOptLevel::Aggressive
               : llvm::CodeGenOptLevel::Default));
}
