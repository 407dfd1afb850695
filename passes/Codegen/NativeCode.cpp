//===- NativeCode.cpp - From the LLVM dialect to an object ----------------===//

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/LoopMetadata.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

using namespace lockstep;
using namespace mlir;

/// LLVM may call these even where no library is named, e.g. to copy a large struct. The object brings its own; the linker drops them
/// where they are not used.
static constexpr StringLiteral kSupport = R"(
define linkonce_odr hidden ptr @memcpy(ptr %to, ptr %from, i64 %size) nounwind {
  %r = call { ptr, ptr, i64 } asm sideeffect "rep movsb", "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %to, ptr %from, i64 %size)
  ret ptr %to
}
define linkonce_odr hidden ptr @memmove(ptr %to, ptr %from, i64 %size) nounwind {
  %a = ptrtoint ptr %to to i64
  %b = ptrtoint ptr %from to i64
  %d = sub i64 %a, %b
  %forward = icmp uge i64 %d, %size
  br i1 %forward, label %up, label %down
up:
  %r = call { ptr, ptr, i64 } asm sideeffect "rep movsb", "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %to, ptr %from, i64 %size)
  ret ptr %to
down:
  %last = sub i64 %size, 1
  %tl = getelementptr i8, ptr %to, i64 %last
  %fl = getelementptr i8, ptr %from, i64 %last
  %s = call { ptr, ptr, i64 } asm sideeffect "std; rep movsb; cld", "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %tl, ptr %fl, i64 %size)
  ret ptr %to
}
define linkonce_odr hidden ptr @memset(ptr %to, i32 %value, i64 %size) nounwind {
  %byte = trunc i32 %value to i8
  %r = call { ptr, i64 } asm sideeffect "rep stosb", "={di},={cx},{ax},0,1,~{memory},~{dirflag},~{fpsr},~{flags}"(i8 %byte, ptr %to, i64 %size)
  ret ptr %to
}
)";

/// Library functions that code may use: those of the object itself.
static llvm::TargetLibraryInfoImpl getLibrary(const llvm::Triple &triple) {
  llvm::TargetLibraryInfoImpl library(triple);
  library.disableAllFunctions();
  return library;
}

static void setFunctionAttributes(llvm::Module &module, const CodegenTarget &target, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.name);
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void runOptimizations(llvm::Module &module, llvm::TargetMachine &machine, bool optimize) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = options.LoopInterleaving = optimize;
  // The vectorizer interleaves where it pays, and short loops are unrolled as a whole; more than that triples code and time.
  options.LoopUnrolling = options.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, options);
  llvm::TargetLibraryInfoImpl library = getLibrary(machine.getTargetTriple());
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  auto level = optimize ? llvm::OptimizationLevel::O3 : llvm::OptimizationLevel::O1;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

FailureOr<SmallVector<char, 0>> lockstep::compileToObject(ModuleOp module, const CodegenTarget &target, ArrayRef<KernelAlias> aliases,
                                                          bool optimize) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target, optimize);
  if (!machine)
    return module.emitError("LLVM has no code generator for '") << target.name << "'";
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> native = translateModuleToLLVMIR(module, context, "kernels");
  if (!native)
    return failure();
  for (const KernelAlias &alias : aliases)
    llvm::GlobalAlias::create(alias.name, native->getFunction(alias.kernel));
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> support = llvm::parseAssemblyString(kSupport, diagnostic, context);
  if (!support || llvm::Linker::linkModules(*native, std::move(support)))
    return module.emitError("support code: ") << diagnostic.getMessage();
  native->setTargetTriple(machine->getTargetTriple());
  native->setDataLayout(machine->createDataLayout());
  native->setPICLevel(llvm::PICLevel::BigPIC);
  setFunctionAttributes(*native, target, *machine);
  markParallelLoops(*native);
  runOptimizations(*native, *machine, optimize);
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emit;
  emit.add(new llvm::TargetLibraryInfoWrapperPass(getLibrary(machine->getTargetTriple())));
  if (machine->addPassesToEmitFile(emit, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM cannot emit an object for '") << target.name << "'";
  emit.run(*native);
  return object;
}
