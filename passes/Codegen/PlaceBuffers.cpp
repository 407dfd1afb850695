//===- PlaceBuffers.cpp - Stack and scratch memory of kernels -------------===//

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace lockstep {
#define GEN_PASS_DEF_PLACEBUFFERSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

static constexpr int64_t kStackBytes = 512 * 1024;

static int64_t getBytes(MemRefType type) {
  Type element = type.getElementType();
  auto vector = dyn_cast<VectorType>(element);
  int64_t bytes = vector ? vector.getNumElements() *
                               getElementBytes(vector.getElementType())
                         : getElementBytes(element);
  return llvm::alignTo(type.getNumElements() * bytes, kAlignment);
}

namespace {
struct PlaceBuffers : lockstep::impl::PlaceBuffersPassBase<PlaceBuffers> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<memref::AllocOp> allocs;
    bool isDynamic = false;
    function.walk([&](memref::AllocOp alloc) {
      allocs.push_back(alloc);
      if (!alloc.getType().hasStaticShape()) {
        alloc.emitError("expected intermediate values of static shape, found ")
            << alloc.getType();
        isDynamic = true;
      }
    });
    if (isDynamic)
      return signalPassFailure();
    function.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });

    // Small buffers first: as many as possible stay on the stack.
    SmallVector<std::pair<int64_t, size_t>> order;
    for (auto [i, alloc] : llvm::enumerate(allocs))
      order.emplace_back(getBytes(alloc.getType()), i);
    llvm::sort(order);
    llvm::SmallDenseSet<Operation *> onStack;
    int64_t stack = 0;
    for (auto [bytes, i] : order) {
      if (stack + bytes > kStackBytes)
        break;
      stack += bytes;
      onStack.insert(allocs[i]);
    }

    // Allocate all in the entry block: a loop uses the same memory in each
    // iteration.
    Block &entry = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    int64_t scratch = 0;
    SmallVector<std::pair<memref::AllocOp, int64_t>> inScratch;
    for (memref::AllocOp alloc : allocs) {
      if (!onStack.contains(alloc)) {
        inScratch.emplace_back(alloc, scratch);
        scratch += getBytes(alloc.getType());
        continue;
      }
      auto place =
          memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType(),
                                   builder.getI64IntegerAttr(kAlignment));
      alloc.replaceAllUsesWith(place.getResult());
      alloc.erase();
    }
    function->setAttr(kScratchAttr, builder.getI64IntegerAttr(scratch));
    if (scratch == 0)
      return;

    // The new argument follows the other buffers; each tile uses a part of it.
    unsigned numBuffers =
        function->getAttrOfType<IntegerAttr>(kNumBuffersAttr).getInt();
    auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
    Location loc = function.getLoc();
    if (failed(function.insertArgument(numBuffers, type, {}, loc)))
      return signalPassFailure();
    function->setAttr(kNumBuffersAttr,
                      builder.getI64IntegerAttr(numBuffers + 1));
    function->setAttr(kHasScratchAttr, builder.getUnitAttr());
    Value tile = entry.getArguments().back();
    Value first = arith::MulIOp::create(
        builder, loc, tile,
        arith::ConstantIndexOp::create(builder, loc, scratch));
    for (auto [alloc, offset] : inScratch) {
      Value at = arith::AddIOp::create(
          builder, loc, first,
          arith::ConstantIndexOp::create(builder, loc, offset));
      Value place = memref::ViewOp::create(
          builder, alloc.getLoc(), alloc.getType(),
          entry.getArgument(numBuffers), at, ValueRange());
      alloc.replaceAllUsesWith(place);
      alloc.erase();
    }
  }
};
} // namespace
