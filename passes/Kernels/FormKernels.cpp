//===- FormKernels.cpp - Outlines computations into kernels ---------------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Analysis/UniformityAnalysis.h"
#include "passes/Analysis/UserLocation.h"
#include "passes/Kernels/DynamicSizes.h"
#include "passes/Kernels/Grouping.h"
#include "passes/Kernels/InPlaceResults.h"
#include "passes/Kernels/KernelScalars.h"
#include "passes/Kernels/RecomputeValues.h"
#include "passes/Kernels/Structure.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "passes/Passes.h.inc"

namespace {

/// Forms the kernels of one step.
class KernelFormer {
public:
  KernelFormer(func::FuncOp step, const GroupingOptions &options,
               const UniformityAnalysis &uniformity, DynamicSizes &sizes)
      : step(step), builder(step.getContext()), options(options),
        uniformity(uniformity), sizes(sizes), oldValues(step) {}

  LogicalResult run() { return formBlock(step.getBody().front()); }

private:
  //===--------------------------------------------------------------------===//
  // Operands of operations that stay in the step
  //===--------------------------------------------------------------------===//

  /// Scalars that the step itself uses (conditions, bounds) are passed through
  /// memory: the last computation becomes a kernel with a rank-0 result, which
  /// the step reads. Fills that the step uses become kernels, too.
  void materializeStepOperands(Block &block) {
    // A start and its wait have the same operands: each is materialized once.
    llvm::DenseMap<Value, Value> materialized;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (classify(&op) != OpClass::Step)
        continue;
      for (OpOperand &operand : op.getOpOperands()) {
        Value &replacement = materialized[operand.get()];
        if (!replacement)
          replacement = materialize(operand.get(), block);
        operand.set(replacement);
      }
    }
  }

  /// `value` as a value that is in memory, or that a kernel of `block` writes
  /// to memory.
  Value materialize(Value value, Block &block) {
    Operation *producer = value.getDefiningOp();
    if (!producer || sizes.isSize(value) ||
        classify(producer) != OpClass::Glue ||
        matchPattern(producer, m_Constant()))
      return value;
    // The kernels of an outer block have been formed already.
    if (producer->getBlock() == &block)
      builder.setInsertionPointAfter(producer);
    else
      builder.setInsertionPointToStart(&block);
    Location loc = producer->getLoc();
    if (isa<linalg::FillOp, tensor::EmptyOp>(producer))
      return createCopy(loc, value);
    Type type = value.getType();
    if (isa<RankedTensorType>(type))
      return value;
    // Registers are loaded from integers of any width.
    auto cast = dyn_cast<arith::IndexCastOp>(producer);
    auto extract = (cast && type.isIndex() ? cast.getIn() : value)
                       .getDefiningOp<tensor::ExtractOp>();
    if (extract && extract.getIndices().empty())
      return value;
    if (!type.isIndex())
      return readBack(loc, value);
    Value integer =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    return arith::IndexCastOp::create(builder, loc, type,
                                      readBack(loc, integer));
  }

  Value readBack(Location loc, Value scalar) {
    Value stored = tensor::FromElementsOp::create(
        builder, loc, RankedTensorType::get({}, scalar.getType()), scalar);
    return tensor::ExtractOp::create(builder, loc, stored, ValueRange());
  }

  /// A copy of `value` by an operation that becomes a kernel.
  Value createCopy(Location loc, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<Value> dynamic = llvm::map_to_vector(
        sizes.of(value), [](const DynamicSize &size) { return size.value; });
    Value init = tensor::EmptyOp::create(builder, loc, type, dynamic);
    sizes.copy(value, init);
    SmallVector<AffineMap> maps(2,
                                builder.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    Value copy =
        linalg::GenericOp::create(
            builder, loc, TypeRange(type), value, init, maps, iterators,
            [](OpBuilder &b, Location bodyLoc, ValueRange arguments) {
              linalg::YieldOp::create(b, bodyLoc, arguments[0]);
            })
            .getResult(0);
    sizes.copy(value, copy);
    return copy;
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  LogicalResult formBlock(Block &block) {
    materializeStepOperands(block);
    Grouping grouping = groupOperations(
        block, options,
        {[&](Value value) { return uniformity.isUniform(value); },
         [&](Operation *op) { return sizes.loadsSize(op); },
         [&](Operation *op) { return computesVariable(op); }});
    if (options.recompute)
      recomputeValues(block, grouping, step.getSymName());
    // Constants come first; everything else follows in the order of the
    // grouping.
    Operation *terminator = block.getTerminator();
    for (Operation &op : llvm::make_early_inc_range(block))
      if (matchPattern(&op, m_Constant()))
        op.moveBefore(&block, block.begin());
    SmallVector<Operation *> outlined;
    for (const Grouping::Node &node : grouping.nodes) {
      if (!node.isKernel) {
        if (node.ops.front() != terminator)
          node.ops.front()->moveBefore(terminator);
        continue;
      }
      builder.setInsertionPoint(terminator);
      if (failed(outline(node.ops)))
        return failure();
      llvm::append_range(outlined, node.ops);
    }
    for (Operation *op : llvm::reverse(outlined))
      erased.push_back(op);
    for (const Grouping::Node &node : grouping.nodes)
      if (!node.isKernel && isStepControlFlow(node.ops.front()))
        for (Region &region : node.ops.front()->getRegions())
          for (Block &inner : region)
            if (failed(formBlock(inner)))
              return failure();
    return success();
  }

  /// Whether a result of `op` is the new value of a variable.
  bool computesVariable(Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return static_cast<bool>(oldValues.find(result));
    });
  }

  //===--------------------------------------------------------------------===//
  // Outlining
  //===--------------------------------------------------------------------===//

  /// Collects the inputs of a kernel with the operations `inside` on which
  /// `value` depends. Repeatable glue is traversed and collected in `glue`.
  void collectInputs(Value value,
                     const llvm::SmallPtrSetImpl<Operation *> &inside,
                     llvm::SetVector<Value> &inputs,
                     llvm::SetVector<Operation *> &glue) {
    Operation *producer = value.getDefiningOp();
    if (producer && llvm::any_of(inside, [&](Operation *op) {
          return op->isAncestor(producer);
        }))
      return;
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (llvm::any_of(inside, [&](Operation *op) {
            return op->isAncestor(argument.getOwner()->getParentOp());
          }))
        return;
    if (producer && !sizes.isSize(value) &&
        classify(producer) == OpClass::Glue && isRepeatable(producer)) {
      if (glue.contains(producer))
        return;
      for (Value operand : producer->getOperands())
        collectInputs(operand, inside, inputs, glue);
      glue.insert(producer);
      return;
    }
    inputs.insert(value);
  }

  /// Whether a library reads what `op`, or reshapes and slices of it, compute.
  static bool feedsAttention(Operation *op) {
    return device::isAttention(op) ||
           (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                tensor::ExtractSliceOp>(op) &&
            llvm::any_of(op->getUsers(), feedsAttention));
  }

  /// Large constants are passed to kernels rather than repeated in each of
  /// them.
  static bool isRepeatable(Operation *op) {
    constexpr int64_t kMostBytes = 1024;
    DenseElementsAttr value;
    if (!matchPattern(op, m_Constant(&value)))
      return true;
    // A library reads nothing that is a part of the code.
    if (llvm::any_of(op->getUsers(), feedsAttention))
      return false;
    return value.isSplat() ||
           value.getNumElements() * getElementBytes(value.getElementType()) <=
               kMostBytes;
  }

  LogicalResult outline(ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
    llvm::SetVector<Value> inputs;
    llvm::SetVector<Operation *> glue;
    SmallVector<Value> outputs;
    for (Operation *op : ops) {
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          collectInputs(operand, inside, inputs, glue);
      });
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return llvm::none_of(inside, [&](Operation *member) {
                return member->isAncestor(user);
              });
            }))
          outputs.push_back(result);
    }
    for (Value output : outputs)
      if (!isa<RankedTensorType>(output.getType()) &&
          !output.getType().isIntOrIndexOrFloat())
        return output.getDefiningOp()->emitError(
                   "expected results that are tensors or numbers, found ")
               << output.getType();

    // Tensors first, then registers: dynamic sizes, and other indices.
    SmallVector<Value> arguments;
    for (Value input : inputs)
      if (isa<RankedTensorType>(input.getType()))
        arguments.push_back(input);
    SmallVector<int64_t> bounds;
    for (Value input : SmallVector<Value>(arguments))
      for (const DynamicSize &size : sizes.of(input))
        arguments.push_back(size.value);
    for (Value output : outputs)
      for (const DynamicSize &size : sizes.of(output)) {
        arguments.push_back(size.value);
        bounds.push_back(size.bound);
      }
    for (Value input : inputs) {
      if (isa<RankedTensorType>(input.getType()))
        continue;
      if (!input.getType().isIndex())
        return ops.front()->emitError("expected a tensor or an index to cross "
                                      "the boundary of a kernel, found ")
               << input.getType();
      if (!llvm::is_contained(arguments, input))
        arguments.push_back(input);
    }

    device::KernelOp kernel =
        createKernel(ops, glue.getArrayRef(), arguments, outputs);
    if (!bounds.empty())
      kernel.setBounds(bounds);
    if (size_t lines = countLines(kernel.getLoc()); ops.size() > 1 || lines > 1)
      remark::passed(kernel.getLoc(),
                     decision(Stage::Kernels, "Fused", step.getSymName()))
          << (countText(ops.size(), "operation") + " in kernel @" +
              kernel.getSymName() + ", from " +
              (lines > 1 ? "lines " : "line ") + linesText(kernel.getLoc()))
                 .str();
    auto invoke = device::InvokeOp::create(builder, kernel.getLoc(),
                                           getStoredTypes(outputs),
                                           kernel.getSymName(), arguments);
    for (auto [output, result] :
         llvm::zip_equal(outputs, invoke.getResults())) {
      Value given =
          loadScalar(builder, kernel.getLoc(), result, output.getType());
      sizes.copy(output, given);
      output.replaceUsesWithIf(given, [&](OpOperand &use) {
        return llvm::none_of(inside, [&](Operation *member) {
          return member->isAncestor(use.getOwner());
        });
      });
    }
    return success();
  }

  /// Kernels return numbers in memory, as tensors of rank 0.
  static SmallVector<Type> getStoredTypes(ArrayRef<Value> outputs) {
    return llvm::map_to_vector(
        outputs, [](Value output) { return getStoredType(output.getType()); });
  }

  device::KernelOp createKernel(ArrayRef<Operation *> ops,
                                ArrayRef<Operation *> glue,
                                ArrayRef<Value> arguments,
                                ArrayRef<Value> outputs) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(step);
    // Reports name the first location of a kernel. Loops come first, since a
    // kernel may not terminate because of a loop.
    SmallVector<Location> locations;
    for (bool ofLoops : {true, false})
      for (Operation *op : ops)
        if (isa<LoopLikeOpInterface>(op) == ofLoops)
          locations.push_back(op->getLoc());
    auto type = builder.getFunctionType(ValueRange(arguments).getTypes(),
                                        getStoredTypes(outputs));
    auto kernel = device::KernelOp::create(
        builder, builder.getFusedLoc(locations), nameOf(ops), type);
    SymbolTable::setSymbolVisibility(kernel, SymbolTable::Visibility::Private);
    Block *body =
        builder.createBlock(&kernel.getBody(), {}, type.getInputs(),
                            llvm::map_to_vector(arguments, [](Value value) {
                              return value.getLoc();
                            }));
    IRMapping mapping;
    for (auto [argument, inner] :
         llvm::zip_equal(arguments, body->getArguments()))
      mapping.map(argument, inner);
    llvm::SmallPtrSet<Operation *, 16> bodyOps(glue.begin(), glue.end());
    bodyOps.insert(ops.begin(), ops.end());
    for (Operation *op : ops)
      cloneWithOperands(op, bodyOps, mapping);
    SmallVector<Value> yielded = llvm::map_to_vector(outputs, [&](Value value) {
      return storeScalar(builder, value.getLoc(), mapping.lookup(value));
    });
    device::YieldOp::create(builder, kernel.getLoc(), yielded);
    annotateInPlace(kernel, oldValues, arguments, outputs);
    return kernel;
  }

  /// Clones `op` after those of `bodyOps` that it needs.
  void cloneWithOperands(Operation *op,
                         llvm::SmallPtrSetImpl<Operation *> &bodyOps,
                         IRMapping &mapping) {
    if (!bodyOps.erase(op))
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          cloneWithOperands(producer, bodyOps, mapping);
    });
    builder.clone(*op, mapping);
  }

  /// "step_12_attention_product": the step, a number, the user's function, if
  /// it is known and another one, and the main operation.
  std::string nameOf(ArrayRef<Operation *> ops) {
    Operation *main = ops.back();
    for (Operation *op : ops)
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
          linalgOp && isProduct(linalgOp))
        main = op;
    std::string kind = main->getName().stripDialect().str();
    if (auto generic = dyn_cast<linalg::GenericOp>(main))
      kind = isProduct(generic)                 ? "product"
             : lockstep::isElementwise(generic) ? "elementwise"
                                                : "reduction";
    StringRef function = findUserFunction(main->getLoc());
    if (!function.empty() && function != step.getSymName())
      kind = (function + "_" + kind).str();
    for (char &c : kind)
      if (!llvm::isAlnum(c))
        c = '_';
    return (step.getSymName() + "_" + Twine(number++) + "_" + kind).str();
  }

public:
  /// Operations that kernels have replaced, users first.
  SmallVector<Operation *> erased;

private:
  func::FuncOp step;
  OpBuilder builder;
  const GroupingOptions options;
  const UniformityAnalysis &uniformity;
  DynamicSizes &sizes;
  OldValues oldValues;
  unsigned number = 0;
};

struct FormKernels : impl::FormKernelsPassBase<FormKernels> {
  using FormKernelsPassBase::FormKernelsPassBase;

  void runOnOperation() override {
    for (func::FuncOp step :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (step.isExternal())
        continue;
      FailureOr<DynamicSizes> sizes = DynamicSizes::find(step);
      if (failed(sizes))
        return signalPassFailure();
      UniformityAnalysis uniformity(step);
      KernelFormer former(step,
                          {fuse, libraryProducts, libraryConvolutions,
                           libraryActivations, tf32, mergeUpdates, mergePadding,
                           recompute},
                          uniformity, *sizes);
      if (failed(former.run()))
        return signalPassFailure();
      for (Operation *op : former.erased) {
        op->dropAllUses();
        op->erase();
      }
      eraseDeadGlue(step);
    }
  }

  /// Glue was cloned into the kernels; erases what the step does not use.
  void eraseDeadGlue(func::FuncOp step) {
    bool changed = true;
    while (changed) {
      changed = false;
      step.walk<WalkOrder::PostOrder, mlir::ReverseIterator>(
          [&](Operation *op) {
            if (isOpTriviallyDead(op)) {
              op->erase();
              changed = true;
            }
          });
    }
  }
};
} // namespace
} // namespace lockstep
