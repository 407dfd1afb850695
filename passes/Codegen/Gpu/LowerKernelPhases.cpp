//===- LowerKernelPhases.cpp - Lower linalg on memory to GPU threads ------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Gpu/EmitThreads.h"
#include "passes/Codegen/Gpu/MergePhases.h"
#include "passes/Codegen/Gpu/PadProducts.h"
#include "passes/Codegen/Gpu/Remainders.h"
#include "passes/Codegen/Gpu/SplitReductions.h"
#include "passes/Codegen/Gpu/VectorAccess.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/LibraryPhases.h"
#include "passes/Passes.h"
#include "runtime/artifact/GpuSymbols.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/Support/MathExtras.h"

namespace lockstep {
#define GEN_PASS_DEF_LOWERKERNELPHASESPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

/// Of intermediate buffers, so that threads access whole segments of memory.
static constexpr int64_t kSegmentBytes = 256;

/// Refuses what threads would execute several times, and assertions about what
/// the kernel computes.
static LogicalResult checkOperations(func::FuncOp function) {
  Aliases aliases(function);
  WalkResult result = function.walk([&](Operation *op) {
    if (isa<cf::AssertOp>(op)) {
      if (isInEachPhase(op, aliases))
        return WalkResult::advance();
      return WalkResult(op->emitError(
          "no code on a GPU for an assertion about a value that the kernel "
          "computes in memory"));
    }
    bool isKnown = isa<linalg::GenericOp, memref::StoreOp, memref::AllocOp,
                       memref::DeallocOp>(op) ||
                   op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                   op->hasTrait<OpTrait::IsTerminator>() ||
                   isa<func::FuncOp>(op) || device::isAttention(op);
    if (!isKnown && !isMemoryEffectFree(op) &&
        !hasSingleEffect<MemoryEffects::Read>(op))
      return WalkResult(op->emitError("no code for '")
                        << op->getName() << "' on a GPU");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The numbers of the intermediate buffers of a function, in its order.
using BufferSet = llvm::SmallDenseSet<unsigned>;

/// Gives each intermediate buffer a place of its own in working memory, the
/// same in all phases, but for those in `elsewhere`. Returns the number of
/// bytes.
static FailureOr<int64_t> chooseOffsets(func::FuncOp function,
                                        const BufferSet &elsewhere) {
  Builder builder(function.getContext());
  int64_t bytes = 0;
  unsigned number = 0;
  WalkResult result = function.walk([&](memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    if (!type.hasStaticShape())
      return WalkResult(
          alloc.emitError("expected intermediate values of static "
                          "shape, found ")
          << type);
    if (elsewhere.contains(number++))
      return WalkResult::advance();
    alloc->setAttr(kOffsetAttr, builder.getI64IntegerAttr(bytes));
    bytes += llvm::alignTo(type.getNumElements() *
                               getElementBytes(type.getElementType()),
                           kSegmentBytes);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return bytes;
}

/// Replaces the intermediate buffers by views of working memory, the last
/// buffer, but for those that this phase does not have there.
static void placeBuffers(func::FuncOp function) {
  SmallVector<memref::AllocOp> allocs;
  function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (memref::AllocOp alloc : allocs) {
    if (!alloc->use_empty()) {
      assert(function->hasAttr(kHasScratchAttr) && "expected working memory");
      Value scratch = function.getArgument(
          function->getAttrOfType<IntegerAttr>(kNumBuffersAttr).getInt() - 1);
      Value offset = arith::ConstantIndexOp::create(
          builder, alloc.getLoc(),
          alloc->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt());
      Value place =
          memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(),
                                 scratch, offset, ValueRange());
      alloc.replaceAllUsesWith(place);
    }
    alloc.erase();
  }
}

/// The operations of the body that every phase may repeat.
static llvm::SmallPtrSet<Operation *, 16> findShared(func::FuncOp function) {
  llvm::SmallPtrSet<Operation *, 16> shared;
  Aliases aliases(function);
  for (Operation &op : function.getBody().front())
    if (isInEachPhase(&op, aliases) || op.hasTrait<OpTrait::IsTerminator>())
      shared.insert(&op);
  return shared;
}

/// Erases what belongs to other phases, and what is then unused.
static void keepOnly(func::FuncOp function, const Phase &phase) {
  llvm::SmallPtrSet<Operation *, 16> shared = findShared(function);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (!llvm::is_contained(phase.ops, &op) && !shared.contains(&op))
      op.erase();
}

/// Copies a function with nothing but the operations in `shared` and those of
/// `phase`, which becomes that of the copy.
static func::FuncOp copyOnly(func::FuncOp function,
                             const llvm::SmallPtrSetImpl<Operation *> &shared,
                             Phase &phase) {
  auto copy = cast<func::FuncOp>(function->cloneWithoutRegions());
  IRMapping copies;
  copies.map(function.getArguments(), copy.addEntryBlock()->getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(&copy.getBody().front());
  for (Operation &op : function.getBody().front())
    if (shared.contains(&op) || llvm::is_contained(phase.ops, &op))
      builder.clone(op, copies);
  phase = phase.mapTo(copies);
  return copy;
}

namespace {
struct LowerKernelPhases
    : lockstep::impl::LowerKernelPhasesPassBase<LowerKernelPhases> {
  using LowerKernelPhasesPassBase::LowerKernelPhasesPassBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kNumBuffersAttr))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(lower(function)))
        return signalPassFailure();
  }

  LogicalResult lower(func::FuncOp function) {
    if (failed(checkOperations(function)))
      return failure();
    GpuProductOptions options{tf32, libraryProducts, libraryConvolutions,
                              libraryActivations};
    function.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
    if (libraryProducts)
      padProducts(function, tf32);
    splitReductions(function);
    FailureOr<BufferSet> elsewhere = findOutsideOfMemory(function, options);
    if (failed(elsewhere))
      return failure();
    int64_t bytes = *chooseOffsets(function, *elsewhere);
    replaceTile(function);
    addScratch(function, bytes);

    std::string symbol = runtime::gpuSymbol(function.getSymName().str());
    Builder builder(function.getContext());
    SmallVector<int64_t> launches;
    // Of the phases that libraries compute, by their kind.
    std::array<SmallVector<int64_t>, kNumLibraryPhases> words;
    // Of the launch that is being formed.
    SmallVector<PhaseCode> codes;
    int64_t threads = 0, sharedBytes = 0;
    auto finish = [&] {
      if (codes.empty()) {
        launches.append({runtime::gpuLibraryBlocks, 0});
        return;
      }
      func::FuncOp code =
          codes.size() == 1 ? codes.front().function : mergePhases(codes);
      int64_t blocks = 0;
      for (const PhaseCode &each : codes)
        blocks += each.blocks;
      code.setSymName(runtime::gpuPhaseSymbol(symbol, launches.size() / 2));
      cleanUp(code);
      code->setAttr(kThreadsAttr, builder.getI64IntegerAttr(threads));
      code->setAttr(kBlocksAttr, builder.getI64IntegerAttr(blocks));
      launches.append({blocks, threads});
      codes.clear();
      sharedBytes = 0;
    };
    std::vector<Phase> phases = splitPhases(function, options);
    llvm::SmallPtrSet<Operation *, 16> shared = findShared(function);
    for (ArrayRef<size_t> numbers : divideAmongLaunches(function, phases)) {
      for (size_t i : numbers) {
        auto describe = [&](const auto &description, LibraryKind kind) {
          if (!description)
            return;
          auto numbered = *description;
          numbered.phase = launches.size() / 2;
          llvm::append_range(words[size_t(kind)], numbered.toWords());
        };
        describe(phases[i].libraryProduct, LibraryKind::Product);
        describe(phases[i].libraryConvolution, LibraryKind::Convolution);
        describe(phases[i].libraryAttention, LibraryKind::Attention);
        if (phases[i].kind == Phase::Kind::Library) {
          if (!phases[i].libraryAttention)
            return phases[i].ops.front()->emitError(
                "expected operands of an attention for cuDNN in buffers of the "
                "kernel, at places that are known at compile time");
          continue;
        }
        PhaseCode code{emit(function, shared, phases[i], i, symbol, options),
                       phases[i].blocks};
        // Of the 48 KiB that each GPU has for a block.
        constexpr int64_t mostSharedBytes = 32 << 10;
        int64_t bytes = code.countSharedBytes();
        if (!codes.empty() && sharedBytes + bytes > mostSharedBytes)
          finish();
        sharedBytes += bytes;
        threads = phases[i].threads;
        codes.push_back(code);
      }
      finish();
    }
    // A kernel that computes nothing: no blocks are launched.
    if (launches.empty())
      launches = {0, 32};
    // What is left describes the kernel.
    function.eraseBody();
    function.setPrivate();
    function->removeAttr(kNumBuffersAttr);
    function->setAttr(kLaunchesAttr, builder.getDenseI64ArrayAttr(launches));
    for (auto [kind, own] : llvm::zip_equal(kLibraryPhases, words))
      if (!own.empty())
        function->setAttr(kind.attribute, builder.getDenseI64ArrayAttr(own));
    function->setAttr(kGridAttr, builder.getI64IntegerAttr(1));
    return success();
  }

  /// The code of the phase of this number.
  static func::FuncOp emit(func::FuncOp function,
                           const llvm::SmallPtrSetImpl<Operation *> &shared,
                           Phase phase, size_t number, StringRef symbol,
                           const GpuProductOptions &options) {
    func::FuncOp copy;
    if (phase.group) {
      copy = copyOnly(function, shared, phase);
    } else {
      copy = function.clone();
      // In the same order in each copy.
      phase = std::move(splitPhases(copy, options)[number]);
      keepOnly(copy, phase);
    }
    copy.setSymName((symbol + "$part" + Twine(number)).str());
    OpBuilder(function).insert(copy);
    if (phase.product)
      emitTiles(copy, *phase.product, phase.tiles);
    else if (phase.updates)
      emitUpdates(copy, phase);
    else
      emitThreads(copy, phase);
    expandRemainders(copy);
    placeBuffers(copy);
    return copy;
  }

  /// The buffers that phases have in registers or in shared memory.
  static FailureOr<BufferSet>
  findOutsideOfMemory(func::FuncOp function, const GpuProductOptions &options) {
    OwningOpRef<func::FuncOp> copy = function.clone();
    FailureOr<int64_t> bytes = chooseOffsets(*copy, {});
    if (failed(bytes))
      return failure();
    addScratch(*copy, *bytes);
    llvm::SmallPtrSet<Operation *, 8> allocs;
    for (const Phase &phase : splitPhases(*copy, options)) {
      for (const auto &[buffer, indices] : phase.rows)
        allocs.insert(buffer.getDefiningOp());
      for (Value buffer : phase.registers)
        allocs.insert(buffer.getDefiningOp());
      if (phase.product)
        for (Value buffer : phase.product->registers)
          allocs.insert(buffer.getDefiningOp());
    }
    BufferSet found;
    unsigned number = 0;
    copy->walk([&](memref::AllocOp alloc) {
      if (allocs.contains(alloc))
        found.insert(number);
      ++number;
    });
    return found;
  }

  /// There are no tiles: a launch executes the whole kernel.
  static void replaceTile(func::FuncOp function) {
    Block &entry = function.getBody().front();
    unsigned last = function.getNumArguments() - 1;
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    if (!entry.getArgument(last).use_empty())
      entry.getArgument(last).replaceAllUsesWith(
          arith::ConstantIndexOp::create(builder, function.getLoc(), 0));
    (void)function.eraseArgument(last);
  }

  /// Adds the argument for working memory behind the other buffers, if this
  /// code or that for another target needs it.
  static void addScratch(func::FuncOp function, int64_t bytes) {
    Builder builder(function.getContext());
    function->setAttr(kScratchAttr, builder.getI64IntegerAttr(bytes));
    if (bytes == 0 && !function->hasAttr(kNeedsScratchAttr))
      return;
    unsigned numBuffers =
        function->getAttrOfType<IntegerAttr>(kNumBuffersAttr).getInt();
    auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    (void)function.insertArgument(numBuffers, type, {}, function.getLoc());
    function->setAttr(kNumBuffersAttr,
                      builder.getI64IntegerAttr(numBuffers + 1));
    function->setAttr(kHasScratchAttr, builder.getUnitAttr());
  }

  static void cleanUp(func::FuncOp function) {
    foldVectorViews(function);
    IRRewriter rewriter(function.getContext());
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }
};
} // namespace
