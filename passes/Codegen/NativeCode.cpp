//===- NativeCode.cpp - Compile the LLVM dialect to native code -----------===//

#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/LoopMetadata.h"
#include "passes/Codegen/Targets.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

using namespace lockstep;
using namespace mlir;

/// LLVM may call these functions even without a library, e.g. to copy a large
/// struct or for `frem`. The object has its own definitions; the linker drops
/// those that are not used.
static constexpr StringLiteral kSupport = R"(
define weak_odr hidden ptr @memcpy(ptr %to, ptr %from, i64 %size) nounwind {
  %r = call { ptr, ptr, i64 } asm sideeffect "rep movsb", "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"(ptr %to, ptr %from, i64 %size)
  ret ptr %to
}
define weak_odr hidden ptr @memmove(ptr %to, ptr %from, i64 %size) nounwind {
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
define weak_odr hidden ptr @memset(ptr %to, i32 %value, i64 %size) nounwind {
  %byte = trunc i32 %value to i8
  %r = call { ptr, i64 } asm sideeffect "rep stosb", "={di},={cx},{ax},0,1,~{memory},~{dirflag},~{fpsr},~{flags}"(i8 %byte, ptr %to, i64 %size)
  ret ptr %to
}

; The processor's own remainder, which is exact: it is repeated until no partial remainder is left.
define weak_odr hidden double @fmod(double %x, double %y) nounwind {
  %a = alloca double
  %b = alloca double
  store double %x, ptr %a
  store double %y, ptr %b
  call void asm sideeffect "fldl $1\0Afldl $0\0A1:\0Afprem\0Afnstsw %ax\0Atestb $$4, %ah\0Ajne 1b\0Afstp %st(1)\0Afstpl $0", "=*m,*m,~{ax},~{st},~{st(1)},~{memory},~{dirflag},~{fpsr},~{flags}"(ptr elementtype(double) %a, ptr elementtype(double) %b)
  %r = load double, ptr %a
  ret double %r
}
define weak_odr hidden float @fmodf(float %x, float %y) nounwind {
  %a = fpext float %x to double
  %b = fpext float %y to double
  %r = call double @fmod(double %a, double %b)
  %narrow = fptrunc double %r to float
  ret float %narrow
}

; To f16 in one rounding, after one to odd in f32. The pass `expand-math` has
; expanded the conversions of the program in the same manner, but LLVM makes
; others: it reads signs before roundings, so that
; copysign(x, fptrunc(fptrunc(y))) converts the f64 y to f16.
define weak_odr hidden half @__truncdfhf2(double %x) nounwind {
  %single = fptrunc double %x to float
  %back = fpext float %single to double
  %bits = bitcast float %single to i32
  %isInexact = fcmp one double %back, %x
  %low = and i32 %bits, 1
  %isEven = icmp eq i32 %low, 0
  %isChanged = and i1 %isInexact, %isEven
  %backSize = call double @llvm.fabs.f64(double %back)
  %size = call double @llvm.fabs.f64(double %x)
  %isSmaller = fcmp olt double %backSize, %size
  %step = select i1 %isSmaller, i32 1, i32 -1
  %odd = add i32 %bits, %step
  %chosen = select i1 %isChanged, i32 %odd, i32 %bits
  %toOdd = bitcast i32 %chosen to float
  %half = fptrunc float %toOdd to half
  ret half %half
}
declare double @llvm.fabs.f64(double)
)";

/// The record of the first failed check of a kernel: a state (0: none, 1: being
/// written, 2: complete), the text of the message, and the two numbers in it.
/// `runtime/device/cpu/CpuBinary.h` has the same layout.
static constexpr StringLiteral kFaultSupport = R"(
@lockstep_fault = weak_odr global { i64, ptr, i64, i64 } zeroinitializer, align 64
define weak_odr hidden void @lockstep_fail(ptr %message, i64 %value, i64 %bound) nounwind {
  %exchange = cmpxchg ptr @lockstep_fault, i64 0, i64 1 acq_rel monotonic
  %first = extractvalue { i64, i1 } %exchange, 1
  br i1 %first, label %note, label %done
note:
  store ptr %message, ptr getelementptr (i8, ptr @lockstep_fault, i64 8)
  store i64 %value, ptr getelementptr (i8, ptr @lockstep_fault, i64 16)
  store i64 %bound, ptr getelementptr (i8, ptr @lockstep_fault, i64 24)
  store atomic i64 2, ptr @lockstep_fault release, align 8
  ret void
done:
  ret void
}
)";

/// No library functions are available to optimizations.
static llvm::TargetLibraryInfoImpl getLibrary(const llvm::Triple &triple) {
  llvm::TargetLibraryInfoImpl library(triple);
  library.disableAllFunctions();
  return library;
}

static void setFunctionAttributes(llvm::Module &module,
                                  const CodegenTarget &target,
                                  llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.name);
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (!target.isGpu())
      function.addFnAttr("prefer-vector-width",
                         std::to_string(target.vectorBits));
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void runOptimizations(llvm::Module &module, llvm::TargetMachine &machine,
                             bool isGpu, bool optimize) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = options.LoopInterleaving = optimize;
  // The vectorizer interleaves where it is profitable, and short loops are
  // fully unrolled; more unrolling triples code size and compile time.
  options.LoopUnrolling = options.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  // It replaces a load of a vector of which single elements are used by loads
  // of these.
  if (isGpu)
    callbacks.registerShouldRunOptionalPassCallback(
        [](StringRef pass, llvm::Any) { return pass != "VectorCombinePass"; });
  llvm::PassBuilder builder(&machine, options, std::nullopt, &callbacks);
  llvm::TargetLibraryInfoImpl library = getLibrary(machine.getTargetTriple());
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  auto level =
      optimize ? llvm::OptimizationLevel::O3 : llvm::OptimizationLevel::O1;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

/// With so many threads on a multiprocessor, others work while some wait for
/// memory; each can have 128 registers.
static constexpr int64_t kResidentThreads = 512;

/// Marks the phases of kernels as functions that the host launches, with a
/// fixed number of threads in a block. If there are so few blocks that each has
/// a multiprocessor of its own, its threads can have more registers.
static void markPhases(ModuleOp module) {
  Builder builder(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto threads = function->getAttrOfType<IntegerAttr>(kThreadsAttr);
    if (!threads)
      continue;
    int64_t blocks = function->getAttrOfType<IntegerAttr>(kBlocksAttr).getInt();
    int64_t resident =
        std::min(kResidentThreads / threads.getInt(),
                 int64_t(llvm::divideCeil(blocks, kMultiprocessors)));
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    function->setAttr(
        NVVM::NVVMDialect::getReqntidAttrName(),
        builder.getDenseI32ArrayAttr(static_cast<int32_t>(threads.getInt())));
    if (resident > 1)
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        builder.getI32IntegerAttr(resident));
  }
}

/// Links the functions that the code generator may call, and that which records
/// a failed check.
static LogicalResult linkSupport(ModuleOp module, llvm::Module &native,
                                 const CodegenTarget &target,
                                 llvm::TargetMachine &machine) {
  SmallVector<StringRef, 2> texts = {kSupport};
  if (native.getFunction("lockstep_fail"))
    texts.push_back(kFaultSupport);
  for (StringRef text : texts) {
    llvm::SMDiagnostic diagnostic;
    std::unique_ptr<llvm::Module> support =
        llvm::parseAssemblyString(text, diagnostic, native.getContext());
    if (!support)
      return module.emitError("support code: ") << diagnostic.getMessage();
    support->setTargetTriple(native.getTargetTriple());
    support->setDataLayout(native.getDataLayout());
    setFunctionAttributes(*support, target, machine);
    if (llvm::Linker::linkModules(native, std::move(support)))
      return module.emitError("support code cannot be linked");
  }
  return success();
}

FailureOr<SmallVector<char, 0>>
lockstep::compileToCode(ModuleOp module, const CodegenTarget &target,
                        const KernelOptions &options) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(target, options.optimize);
  if (!machine)
    return module.emitError("LLVM has no code generator for '")
           << target.name << "'";
  markPhases(module);
  adoptLoopMarks(module);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> native =
      translateModuleToLLVMIR(module, context, "kernels");
  if (!native)
    return failure();
  native->setTargetTriple(machine->getTargetTriple());
  native->setDataLayout(machine->createDataLayout());
  if (!target.isGpu())
    native->setPICLevel(llvm::PICLevel::BigPIC);
  setFunctionAttributes(*native, target, *machine);
  markParallelLoops(*native);
  runOptimizations(*native, *machine, target.isGpu(), options.optimize);
  // Only now, because optimizations do not know the calls that the code
  // generator inserts, and would drop functions that seem unused.
  if (!target.isGpu() && failed(linkSupport(module, *native, target, *machine)))
    return failure();
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emit;
  emit.add(new llvm::TargetLibraryInfoWrapperPass(
      getLibrary(machine->getTargetTriple())));
  if (machine->addPassesToEmitFile(emit, stream, nullptr,
                                   target.isGpu()
                                       ? llvm::CodeGenFileType::AssemblyFile
                                       : llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM cannot emit code for '")
           << target.name << "'";
  emit.run(*native);
  return object;
}
