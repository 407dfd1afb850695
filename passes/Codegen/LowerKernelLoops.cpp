//===- LowerKernelLoops.cpp - Lower linalg on memory to loops -------------===//

#include "passes/Codegen/EmitLoops.h"
#include "passes/Codegen/EmitProduct.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/MergeLoops.h"
#include "passes/Codegen/PlainLoops.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lockstep {
#define GEN_PASS_DEF_LOWERKERNELLOOPSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

namespace {
struct LowerKernelLoops
    : lockstep::impl::LowerKernelLoopsPassBase<LowerKernelLoops> {
  using LowerKernelLoopsPassBase::LowerKernelLoopsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    llvm::Expected<const CodegenTarget *> found = lookupTarget(target);
    if (!found) {
      function.emitError() << llvm::toString(found.takeError());
      return signalPassFailure();
    }
    setGrid(1);
    if (optimize) {
      lowerProducts(**found);
      lowerGroups();
    }
    if (failed(lowerToPlainLoops(function)))
      return signalPassFailure();
  }

  void setGrid(int64_t tiles) {
    getOperation()->setAttr(
        kGridAttr,
        IntegerAttr::get(IntegerType::get(&getContext(), 64), tiles));
  }

  /// Whether the kernel consists only of `members` and transparent operations,
  /// so that it can be divided into tiles.
  bool isAlone(ArrayRef<Operation *> members) {
    Block &body = getOperation().getBody().front();
    Aliases aliases(getOperation());
    if (members.front()->getBlock() != &body)
      return false;
    return llvm::all_of(body.without_terminator(), [&](Operation &op) {
      return isTransparent(&op, aliases) || llvm::is_contained(members, &op);
    });
  }

  static SmallVector<Operation *> getMembers(ProductGroup &group) {
    SmallVector<Operation *> members = {group.product.op};
    if (group.fill)
      members.push_back(group.fill);
    members.append(group.epilogue.begin(), group.epilogue.end());
    return members;
  }

  void lowerGroups() {
    func::FuncOp function = getOperation();
    Value tile = function.getBody().front().getArguments().back();
    SmallVector<Block *> blocks;
    function.walk([&](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    Aliases aliases(function);
    for (Block *block : blocks)
      for (LoopGroup &group : groupStages(*block, aliases, [&](Operation *op) {
             return isTransparent(op, aliases);
           })) {
        SmallVector<Split> splits;
        SmallVector<Operation *> members = llvm::map_to_vector(
            group.stages,
            [](LoopStage &stage) -> Operation * { return stage.op; });
        if (isAlone(members)) {
          splits = splitLoops(group);
          setGrid(getNumTiles(splits));
        }
        OpBuilder builder(&getContext());
        emitLoops(builder, group, tile, splits);
      }
  }

  void lowerProducts(const CodegenTarget &codegenTarget) {
    func::FuncOp function = getOperation();
    // Only reductions: fills and epilogues are erased together with the product
    // that they are fused with.
    SmallVector<linalg::GenericOp> ops;
    function.walk([&](linalg::GenericOp op) {
      if (op.getNumReductionLoops() > 0)
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      std::optional<Product> product = matchProduct(op);
      if (!product)
        continue;
      ProductGroup group = collectProductGroup(*product, function);
      if (linalg::GenericOp merged = mergeLoops(group)) {
        product = matchProduct(merged);
        group = collectProductGroup(*product, function);
      }
      SmallVector<Split> splits;
      if (isAlone(getMembers(group))) {
        splits = splitProduct(*product);
        setGrid(getNumTiles(splits));
      }
      OpBuilder builder(product->op);
      emitProduct(builder, group, codegenTarget,
                  function.getBody().front().getArguments().back(), splits);
      eraseProductGroup(group);
    }
  }
};
} // namespace
