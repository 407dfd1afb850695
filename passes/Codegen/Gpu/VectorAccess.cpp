//===- VectorAccess.cpp - Elements that a thread accesses at once ---------===//

#include "passes/Codegen/Gpu/VectorAccess.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Gpu/RegisterRow.h"
#include "passes/Codegen/InPlace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace lockstep;
using namespace mlir;

NeighborAccess lockstep::classifyAccess(OpOperand &operand, unsigned dim,
                                        int64_t count) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  AffineMap map = cast<linalg::GenericOp>(operand.getOwner())
                      .getMatchingIndexingMap(&operand);
  if (!type || !map.isFunctionOfDim(dim))
    return NeighborAccess::Uniform;
  SmallVector<int64_t> strides;
  int64_t offset;
  // Vectors of elements that have no whole bytes have no gaps, as memory has.
  Type element = type.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0 ||
      failed(type.getStridesAndOffset(strides, offset)))
    return NeighborAccess::Other;
  auto isMultiple = [&](int64_t number) {
    return ShapedType::isStatic(number) && number % count == 0;
  };
  if (!isMultiple(offset))
    return NeighborAccess::Other;
  AffineExpr index = getAffineDimExpr(dim, map.getContext());
  for (auto [result, stride] : llvm::zip_equal(map.getResults(), strides)) {
    if (result == index ? stride == 1
                        : !result.isFunctionOfDim(dim) &&
                              (result == 0 || isMultiple(stride)))
      continue;
    return NeighborAccess::Other;
  }
  return NeighborAccess::Contiguous;
}

bool lockstep::accessesVectors(const LoopStage &stage, unsigned depth,
                               const llvm::SmallDenseSet<Value> &registers,
                               int64_t count) {
  SmallVector<unsigned> inner = getInnerDims(stage, depth);
  return llvm::all_of(stage.op->getOpOperands(), [&](OpOperand &operand) {
    return registers.contains(operand.get()) ||
           classifyAccess(operand, inner.back(), count) !=
               NeighborAccess::Other;
  });
}

int64_t lockstep::getMostElements(const LoopGroup &group, unsigned depth,
                                  const llvm::SmallDenseSet<Value> &registers) {
  // Of bytes, a thread would have too many in registers of their own.
  constexpr int64_t fewestBytes = 2;
  int64_t bytes = kVectorBytes;
  for (const LoopStage &stage : group.stages) {
    SmallVector<unsigned> inner = getInnerDims(stage, depth);
    if (inner.empty())
      continue;
    for (OpOperand &operand : stage.op->getOpOperands())
      if (!registers.contains(operand.get()) &&
          classifyAccess(operand, inner.back(), 1) ==
              NeighborAccess::Contiguous)
        bytes = std::min(bytes, getElementBytes(getElementTypeOrSelf(
                                    operand.get().getType())));
  }
  return kVectorBytes / std::max(bytes, fewestBytes);
}

int64_t
lockstep::chooseVectorLength(const LoopGroup &group, unsigned depth,
                             const llvm::SmallDenseSet<Value> &registers) {
  auto isPossible = [&](int64_t count) {
    return llvm::all_of(group.stages, [&](const LoopStage &stage) {
      SmallVector<unsigned> inner = getInnerDims(stage, depth);
      return inner.empty() || (stage.sizes[inner.back()] % count == 0 &&
                               accessesVectors(stage, depth, registers, count));
    });
  };
  int64_t count = getMostElements(group, depth, registers);
  while (count > 1 && !isPossible(count))
    count /= 2;
  return count;
}

VectorAccess::VectorAccess(OpBuilder &builder, const LoopGroup &group,
                           unsigned depth,
                           const llvm::SmallDenseSet<Value> &registers,
                           int64_t length)
    : builder(builder), depth(depth), registers(registers), length(length) {
  Location loc = group.stages.front().op->getLoc();
  // Strides and offsets are multiples of the length, so that the beginnings of
  // buffers decide.
  llvm::SmallSetVector<Value, 8> buffers;
  for (const LoopStage &stage : group.stages)
    if (!getInnerDims(stage, depth).empty())
      for (OpOperand &operand : stage.op->getOpOperands())
        if (!registers.contains(operand.get()) &&
            classifyAccess(operand, getInnermost(stage), length) ==
                NeighborAccess::Contiguous)
          buffers.insert(getBuffer(operand.get()));
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value bits = constant(0);
  for (Value buffer : buffers)
    bits = arith::OrIOp::create(
        builder, loc, bits,
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer));
  Value rest =
      arith::AndIOp::create(builder, loc, bits, constant(kVectorBytes - 1));
  isAligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                    rest, constant(0));
}

unsigned VectorAccess::getInnermost(const LoopStage &stage) const {
  return getInnerDims(stage, depth).back();
}

/// The lanes of a vector of so many elements of this type, at most.
static int64_t getLanes(Type element, int64_t length) {
  return std::min(length, kVectorBytes / getElementBytes(element));
}

void VectorAccess::load(const LoopStage &stage,
                        MutableArrayRef<ScalarBody> bodies,
                        const ScalarBody::Elements &computed) {
  linalg::GenericOp op = stage.op;
  Location loc = op.getLoc();
  SmallVector<OpOperand *> contiguous;
  SmallVector<Type> types;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isReduced = op.isDpsInit(&operand) && !stage.reductionDims.empty();
    if (!isa<MemRefType>(operand.get().getType()) || isReduced ||
        computed.contains(operand.get()) ||
        op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    if (classifyAccess(operand, getInnermost(stage), length) ==
        NeighborAccess::Contiguous) {
      contiguous.push_back(&operand);
      types.append(bodies.size(),
                   getElementTypeOrSelf(operand.get().getType()));
      continue;
    }
    for (size_t first = 0; first < bodies.size(); first += length) {
      Value element = bodies[first].load(operand);
      for (ScalarBody &body : bodies.slice(first, length))
        body.setElement(operand, element);
    }
  }
  if (contiguous.empty())
    return;
  auto branch = scf::IfOp::create(builder, loc, types, isAligned,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> elements;
  builder.setInsertionPointToStart(branch.thenBlock());
  for (OpOperand *operand : contiguous) {
    Type element = getElementTypeOrSelf(operand->get().getType());
    int64_t lanes = getLanes(element, length);
    for (size_t first = 0; first < bodies.size(); first += lanes) {
      Value vector = vector::LoadOp::create(
          builder, loc, VectorType::get(lanes, element), operand->get(),
          bodies[first].getIndices(*operand), /*nontemporal=*/false,
          llvm::MaybeAlign(lanes * getElementBytes(element)));
      for (int64_t lane = 0; lane < lanes; ++lane)
        elements.push_back(
            vector::ExtractOp::create(builder, loc, vector, lane));
    }
  }
  scf::YieldOp::create(builder, loc, elements);
  elements.clear();
  builder.setInsertionPointToStart(branch.elseBlock());
  for (OpOperand *operand : contiguous)
    for (ScalarBody &body : bodies)
      elements.push_back(body.load(*operand));
  scf::YieldOp::create(builder, loc, elements);
  auto result = branch.getResults().begin();
  for (OpOperand *operand : contiguous)
    for (ScalarBody &body : bodies)
      body.setElement(*operand, *result++);
}

void VectorAccess::store(const LoopStage &stage,
                         MutableArrayRef<ScalarBody> bodies,
                         ArrayRef<SmallVector<Value>> results) {
  linalg::GenericOp op = stage.op;
  Location loc = op.getLoc();
  SmallVector<OpOperand *> stored;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!registers.contains(init.get()))
      stored.push_back(&init);
  if (stored.empty())
    return;
  auto getResult = [&](OpOperand *init, size_t iteration) {
    return results[iteration][init->getOperandNumber() - op.getNumDpsInputs()];
  };
  auto branch = scf::IfOp::create(builder, loc, TypeRange(), isAligned,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (OpOperand *init : stored) {
    Type element = getElementTypeOrSelf(init->get().getType());
    int64_t lanes = getLanes(element, length);
    for (size_t first = 0; first < bodies.size(); first += lanes) {
      SmallVector<Value> values;
      for (int64_t lane = 0; lane < lanes; ++lane)
        values.push_back(getResult(init, first + lane));
      Value vector = vector::FromElementsOp::create(
          builder, loc, VectorType::get(lanes, element), values);
      vector::StoreOp::create(
          builder, loc, vector, init->get(), bodies[first].getIndices(*init),
          /*nontemporal=*/false,
          llvm::MaybeAlign(lanes * getElementBytes(element)));
    }
  }
  scf::YieldOp::create(builder, loc);
  builder.setInsertionPointToStart(branch.elseBlock());
  for (OpOperand *init : stored)
    for (auto [iteration, body] : llvm::enumerate(bodies))
      memref::StoreOp::create(builder, loc, getResult(init, iteration),
                              init->get(), body.getIndices(*init));
  scf::YieldOp::create(builder, loc);
}

void lockstep::foldVectorViews(func::FuncOp function) {
  SmallVector<Operation *> accesses;
  auto collect = [&] {
    accesses.clear();
    function.walk([&](Operation *op) {
      if (isa<vector::LoadOp, vector::StoreOp>(op))
        accesses.push_back(op);
    });
  };
  collect();
  RewritePatternSet patterns(function.getContext());
  memref::populateFoldMemRefAliasOpPatterns(patterns);
  (void)applyOpPatternsGreedily(
      accesses, std::move(patterns),
      GreedyRewriteConfig().setStrictness(
          GreedyRewriteStrictness::ExistingAndNewOps));
  collect();
  auto getBytes = [](VectorType type) {
    return std::min(kVectorBytes, type.getNumElements() *
                                      getElementBytes(type.getElementType()));
  };
  for (Operation *op : accesses)
    if (auto load = dyn_cast<vector::LoadOp>(op))
      load.setAlignment(getBytes(load.getVectorType()));
    else if (auto store = dyn_cast<vector::StoreOp>(op))
      store.setAlignment(getBytes(store.getVectorType()));
}
