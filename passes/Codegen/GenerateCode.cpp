//===- GenerateCode.cpp - Native code of all kernels ----------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/KernelCost.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/LibraryPhases.h"
#include "passes/Emit/ArgumentTables.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "runtime/artifact/GpuSymbols.h"
#include "runtime/artifact/KernelArguments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <unordered_map>

namespace lockstep {
#define GEN_PASS_DEF_GENERATECODEPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

namespace {
struct GenerateCode : lockstep::impl::GenerateCodePassBase<GenerateCode> {
  using GenerateCodePassBase::GenerateCodePassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    GenerateCodePassBase::getDependentDialects(registry);
    addLoweringDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (level != "O0" && level != "O2") {
      module.emitError("expected level 'O0' or 'O2', found '") << level << "'";
      return signalPassFailure();
    }
    llvm::Expected<SmallVector<const CodegenTarget *>> targets =
        parseTargets(this->targets);
    if (!targets) {
      module.emitError() << llvm::toString(targets.takeError());
      return signalPassFailure();
    }
    if (module.getOps<device::KernelOp>().empty())
      return;
    for (auto kernel : module.getOps<device::KernelOp>()) {
      KernelCost cost = estimateCost(kernel);
      kernel.setFlops(cost.flops);
      kernel.setBytes(cost.bytes);
    }
    findEqualKernels();
    SmallVector<Chunk> chunks;
    // Processors first: they decide about the number of tiles.
    bool isFirst = true;
    for (bool isGpu : {false, true})
      for (const CodegenTarget *target : *targets)
        if (target->isGpu() == isGpu) {
          if (failed(lower(*target, isFirst, chunks)))
            return signalPassFailure();
          isFirst = false;
        }
    addArgumentConstants(chunks);
    // In parallel, since LLVM takes most of the time. Chunks, and so objects,
    // do not depend on the number of threads.
    if (failed(
            failableParallelForEach(&getContext(), chunks, [&](Chunk &chunk) {
              FailureOr<SmallVector<char, 0>> object = compileToCode(
                  *chunk.module, *chunk.target, getOptions(*chunk.target));
              if (succeeded(object))
                chunk.object = std::move(*object);
              return object;
            })))
      return signalPassFailure();
    for (const CodegenTarget *target : *targets)
      if (failed(link(*target, chunks)))
        return signalPassFailure();
    explain();
  }

private:
  /// Kernels that are compiled together, for one target. A GPU loads a single
  /// module.
  struct Chunk {
    const CodegenTarget *target;
    OwningOpRef<ModuleOp> module;
    SmallVector<char, 0> object;
  };
  static constexpr size_t kChunkKernels = 24;

  KernelOptions getOptions(const CodegenTarget &target) {
    return {target.name.str(),
            level != "O0",
            checkBounds,
            {tf32, libraryProducts, libraryConvolutions, libraryActivations}};
  }

  /// Finds kernels that differ only in name and location, which are compiled
  /// once.
  void findEqualKernels() {
    equals.clear();
    // A bucket may contain different kernels with the same hash.
    std::unordered_map<size_t, SmallVector<device::KernelOp, 1>> byHash;
    for (auto kernel : getOperation().getOps<device::KernelOp>()) {
      SmallVector<device::KernelOp, 1> &known = byHash[computeHash(kernel)];
      auto first = llvm::find_if(known, [&](device::KernelOp other) {
        return areEqual(kernel, other);
      });
      if (first != known.end())
        equals[kernel.getSymName()] = first->getSymName();
      else
        known.push_back(kernel);
    }
  }

  /// A hash of the operations in `kernel`, in order, without their operands.
  static llvm::hash_code computeHash(device::KernelOp kernel) {
    llvm::hash_code hash =
        llvm::hash_value(kernel.getFunctionType().getAsOpaquePointer());
    kernel.getBody().walk([&](Operation *op) {
      hash = llvm::hash_combine(hash,
                                OperationEquivalence::computeHash(
                                    op, OperationEquivalence::ignoreHashValue,
                                    OperationEquivalence::ignoreHashValue,
                                    OperationEquivalence::IgnoreLocations));
    });
    return hash;
  }

  static bool areEqual(device::KernelOp kernel, device::KernelOp other) {
    device::KernelOp::Properties properties = kernel.getProperties(),
                                 others = other.getProperties();
    properties.sym_name = others.sym_name;
    return properties == others &&
           kernel->getDiscardableAttrDictionary() ==
               other->getDiscardableAttrDictionary() &&
           OperationEquivalence::isRegionEquivalentTo(
               &kernel.getBody(), &other.getBody(),
               OperationEquivalence::IgnoreLocations);
  }

  /// The kernel whose code is used: the first one that is equal to `kernel`.
  StringRef getRepresentative(device::KernelOp kernel) {
    auto found = equals.find(kernel.getSymName());
    return found == equals.end() ? kernel.getSymName() : found->second;
  }

  /// Lowers all kernels to the LLVM dialect and distributes them over chunks.
  LogicalResult lower(const CodegenTarget &target, bool isFirst,
                      SmallVectorImpl<Chunk> &chunks) {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    // A nested pipeline can only run on an operation in that of the pass.
    auto lowered = ModuleOp::create(builder, module.getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(lowered.getBody());
    for (auto kernel : module.getOps<device::KernelOp>())
      if (!equals.contains(kernel.getSymName()))
        inner.clone(*kernel);
    OpPassManager pm(ModuleOp::getOperationName());
    buildLowerKernelsPipeline(pm, getOptions(target));
    LogicalResult result = runPipeline(pm, lowered);
    lowered->remove();
    OwningOpRef<ModuleOp> owned(lowered);
    if (failed(result))
      return failure();
    readAttributes(lowered, isFirst, target.isGpu());

    size_t firstChunk = chunks.size(), count = 0;
    auto addChunk = [&] {
      chunks.push_back(
          {&target, ModuleOp::create(builder.getUnknownLoc()), {}});
    };
    // Its constants are needed without functions, too.
    if (target.isGpu())
      addChunk();
    SmallVector<Operation *> globals;
    for (Operation &op : llvm::make_early_inc_range(*lowered.getBody())) {
      auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (!function || function.isExternal()) {
        globals.push_back(&op);
        continue;
      }
      if (!target.isGpu() && count++ % kChunkKernels == 0)
        addChunk();
      function->moveBefore(chunks.back().module->getBody(),
                           chunks.back().module->getBody()->end());
    }
    for (Chunk &chunk : llvm::drop_begin(chunks, firstChunk)) {
      OpBuilder globalBuilder =
          OpBuilder::atBlockBegin(chunk.module->getBody());
      llvm::SmallDenseSet<StringAttr> used;
      std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(&chunk.module->getBodyRegion());
      for (const SymbolTable::SymbolUse &use : *uses)
        used.insert(use.getSymbolRef().getRootReference());
      // The runtime finds the texts of checks on a GPU by their names.
      auto isPublic = [&](Operation *op) {
        auto global = dyn_cast<LLVM::GlobalOp>(op);
        return target.isGpu() && global &&
               global.getLinkage() == LLVM::Linkage::External;
      };
      for (Operation *global : globals)
        if (used.contains(SymbolTable::getSymbolName(global)) ||
            isPublic(global))
          globalBuilder.clone(*global);
    }
    return success();
  }

  /// Adds a constant to the code of each kernel that describes its arguments,
  /// now that the scratch memory for all targets is known.
  void addArgumentConstants(MutableArrayRef<Chunk> chunks) {
    SymbolTable kernels(getOperation());
    for (Chunk &chunk : chunks) {
      OpBuilder builder = OpBuilder::atBlockEnd(chunk.module->getBody());
      if (chunk.target->isGpu()) {
        addGpuConstants(builder);
        continue;
      }
      for (auto function :
           llvm::make_early_inc_range(chunk.module->getOps<LLVM::LLVMFuncOp>()))
        if (auto kernel =
                kernels.lookup<device::KernelOp>(function.getSymName()))
          LLVM::GlobalOp::create(
              builder, kernel.getLoc(), builder.getI64Type(),
              /*isConstant=*/true, LLVM::Linkage::External,
              (kernel.getSymName() + runtime::argumentsSuffix).str(),
              builder.getI64IntegerAttr(getArgumentsCode(kernel)),
              /*alignment=*/8);
    }
  }

  /// Adds the constants that `GpuSymbols.h` describes.
  void addGpuConstants(OpBuilder &builder) {
    for (auto kernel : getOperation().getOps<device::KernelOp>()) {
      if (equals.contains(kernel.getSymName()))
        continue;
      std::string symbol = runtime::gpuSymbol(kernel.getSymName().str());
      auto add = [&](std::string_view suffix, Type type, Attribute value) {
        LLVM::GlobalOp::create(builder, kernel.getLoc(), type,
                               /*isConstant=*/true, LLVM::Linkage::External,
                               symbol + std::string(suffix), value,
                               /*alignment=*/8, /*addrSpace=*/1);
      };
      Type i64 = builder.getI64Type();
      add(runtime::gpuArgumentsSuffix, i64,
          builder.getI64IntegerAttr(getArgumentsCode(kernel)));
      auto addArray = [&](std::string_view suffix, ArrayRef<int64_t> numbers) {
        add(suffix, LLVM::LLVMArrayType::get(i64, numbers.size()),
            builder.getI64TensorAttr(numbers));
      };
      addArray(runtime::gpuLaunchesSuffix, launches[kernel.getSymName()]);
      for (auto [kind, words] : llvm::zip_equal(kLibraryPhases, byLibraries))
        if (auto own = words.find(kernel.getSymName()); own != words.end())
          addArray(kind.suffix, own->second);
    }
  }

  LogicalResult link(const CodegenTarget &target, ArrayRef<Chunk> chunks) {
    ModuleOp module = getOperation();
    SmallVector<ArrayRef<char>> objects;
    for (const Chunk &chunk : chunks)
      if (chunk.target == &target)
        objects.push_back(chunk.object);
    std::string error;
    FailureOr<std::string> library =
        target.isGpu()
            ? std::string(objects.front().begin(), objects.front().end())
            : linkObjects(objects, error);
    if (failed(library))
      return module.emitError("linking kernels for '")
             << target.name << "': " << error;
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto type = RankedTensorType::get(library->size(), builder.getI8Type());
    auto bytes = DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef<char>(library->data(), library->size()));
    device::BinaryOp::create(
        builder, module.getLoc(), target.symbol, target.name,
        target.device.empty() ? StringAttr()
                              : builder.getStringAttr(target.device),
        bytes, /*cubin=*/nullptr);
    return success();
  }

  /// Copies the attributes of the generated functions to the kernels. They are
  /// the same for all targets, except for `scratch`, which is the maximum.
  void readAttributes(ModuleOp lowered, bool isFirst, bool isGpu) {
    Builder builder(&getContext());
    SymbolTable functions(lowered);
    for (auto kernel : getOperation().getOps<device::KernelOp>()) {
      Operation *function = functions.lookup(getRepresentative(kernel));
      int64_t scratch =
          function->getAttrOfType<IntegerAttr>(kScratchAttr).getInt();
      int64_t grid = function->getAttrOfType<IntegerAttr>(kGridAttr).getInt();
      if (isGpu) {
        // Its blocks share the working memory of all tiles.
        scratch = llvm::divideCeil(scratch, kernel.getGrid());
        grid = kernel.getGrid();
        launches[kernel.getSymName()] = llvm::to_vector(
            function->getAttrOfType<DenseI64ArrayAttr>(kLaunchesAttr)
                .asArrayRef());
        for (auto [kind, words] : llvm::zip_equal(kLibraryPhases, byLibraries))
          if (auto own =
                  function->getAttrOfType<DenseI64ArrayAttr>(kind.attribute))
            words[kernel.getSymName()] = llvm::to_vector(own.asArrayRef());
      }
      kernel.setGrid(grid);
      kernel.setScratch(
          isFirst ? scratch : std::max<int64_t>(kernel.getScratch(), scratch));
      auto found = equals.find(kernel.getSymName());
      if (found != equals.end())
        kernel.setCode(found->second);
      if (kernel.getInPlace())
        kernel.setInPlaceAttr(
            function->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr));
    }
  }

  /// The grids of the phases of a kernel, equal ones in a row once, without
  /// those that have no blocks, such as what only a library computes.
  static std::string phasesText(ArrayRef<int64_t> numbers) {
    std::string text;
    for (size_t i = 0; i < numbers.size();) {
      if (numbers[i] <= 0) {
        i += 2;
        continue;
      }
      size_t count = 1;
      while (i + 2 * count < numbers.size() &&
             numbers[i + 2 * count] == numbers[i] &&
             numbers[i + 2 * count + 1] == numbers[i + 1])
        ++count;
      text += (text.empty() ? "" : ", then ") +
              (count > 1 ? std::to_string(count) + " times " : std::string()) +
              countText(numbers[i], "block") + " of " +
              std::to_string(numbers[i + 1]) + " threads";
      i += 2 * count;
    }
    return text;
  }

  /// What a GPU executes for a kernel: the grids of its phases, and what
  /// libraries may compute instead, or compute alone.
  std::string executionText(StringRef kernel, ArrayRef<int64_t> launches) {
    SmallVector<std::string> parts;
    if (std::string phases = phasesText(launches); !phases.empty())
      parts.push_back(phases);
    for (auto [kind, words] : llvm::zip_equal(kLibraryPhases, byLibraries)) {
      auto found = words.find(kernel);
      if (found == words.end())
        continue;
      size_t count = found->second.size() / kind.words;
      parts.push_back((kind.isAlone ? kind.library + " for " + kind.name
                                    : "or " + kind.library + " for " +
                                          countText(count, kind.name))
                          .str());
    }
    return parts.empty() ? "nothing" : llvm::join(parts, ", ");
  }

  /// Emits remarks about the tiles of kernels and the size of the code.
  void explain() {
    SymbolTableCollection symbols;
    getOperation().walk([&](device::InvokeOp invoke) {
      auto kernel = symbols.lookupNearestSymbolFrom<device::KernelOp>(
          invoke, invoke.getKernelAttr());
      StringRef step = invoke->getParentOfType<FunctionOpInterface>().getName();
      if (kernel.getGrid() > 1)
        remark::passed(kernel.getLoc(), decision(Stage::Codegen, "Tiled", step))
            << ("@" + kernel.getSymName() + ": " +
                countText(kernel.getGrid(), "tile") + " that workers share (" +
                bytesText(kernel.getBytes()) + ", " + Twine(kernel.getFlops()) +
                " flops)" +
                (kernel.getScratch() ? ", " + bytesText(kernel.getScratch()) +
                                           " of working memory each"
                                     : ""))
                   .str();
      if (auto phases = launches.find(getRepresentative(kernel));
          phases != launches.end())
        remark::passed(kernel.getLoc(),
                       decision(Stage::Codegen, "Phases", step))
            << ("@" + kernel.getSymName() + ": on a GPU, " +
                executionText(getRepresentative(kernel), phases->second))
                   .str();
    });
    for (auto binary : getOperation().getOps<device::BinaryOp>()) {
      int64_t kernels =
          llvm::range_size(getOperation().getOps<device::KernelOp>());
      remark::analysis(UnknownLoc::get(&getContext()),
                       decision(Stage::Codegen, "Binary", StringRef()))
          << (binary.getTarget() + ": " + countText(kernels, "kernel") + ", " +
              Twine(kernels - equals.size()) + " of them different, " +
              bytesText(binary.getObject().getNumElements()))
                 .str();
    }
  }

  /// For code on GPUs, the numbers of blocks and threads of each phase.
  llvm::StringMap<SmallVector<int64_t>> launches;
  /// And the phases that libraries compute, in words, by their kind.
  std::array<llvm::StringMap<SmallVector<int64_t>>, kNumLibraryPhases>
      byLibraries;
  llvm::StringMap<StringRef> equals; ///< For a kernel with an equal one before
                                     ///< it, the name of the first of these.
};
} // namespace
