//===- InPlace.cpp - Results in the memory of an argument -----------------===//

#include "passes/Codegen/InPlace.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace lockstep;
using namespace mlir;

Value lockstep::getBuffer(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

/// True if `argument` is the destination of an update: an element or slice is
/// inserted into it, alone or in a loop.
static bool isUpdated(Value argument) {
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    if (isa<scf::ForOp, scf::WhileOp>(user))
      return true;
    if (auto insert = dyn_cast<tensor::InsertOp>(user);
        insert && insert.getDest() == argument)
      return true;
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(user);
        insert && insert.getDest() == argument)
      return true;
    if (auto op = dyn_cast<linalg::LinalgOp>(user); op && op.isDpsInit(&use))
      return true;
  }
  return false;
}

SmallVector<ResultPlace> lockstep::chooseResultPlaces(device::KernelOp kernel) {
  SmallVector<ResultPlace> places(kernel.getResultTypes().size());
  llvm::SmallDenseSet<unsigned> taken;
  for (auto [r, place] : llvm::enumerate(places))
    // Two results cannot be in the memory of one argument.
    if (std::optional<unsigned> argument = kernel.getInPlaceArgument(r);
        argument && taken.insert(*argument).second)
      place = {*argument, isUpdated(kernel.getBody().getArgument(*argument))};
  return places;
}

/// The operation of `block` that is or contains `op`.
static Operation *getTopLevel(Block &block, Operation *op) {
  return block.findAncestorOpInBlock(*op);
}

/// True if the operation reads each element of `argument` only in the iteration
/// that writes the same element of `result`.
static bool isElementwise(Operation *op, Value argument, Value result) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumParallelLoops() != generic.getNumLoops())
    return false;
  std::optional<AffineMap> written;
  for (OpOperand &operand : generic->getOpOperands()) {
    if (getBuffer(operand.get()) != argument &&
        getBuffer(operand.get()) != result)
      continue;
    // A view with another layout could shift the elements.
    if (!cast<MemRefType>(operand.get().getType()).getLayout().isIdentity() ||
        cast<MemRefType>(operand.get().getType()).getNumElements() !=
            cast<MemRefType>(result.getType()).getNumElements())
      return false;
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    if (!map.isPermutation() || (written && *written != map))
      return false;
    written = map;
  }
  // Equal maps access equal elements only if the shapes are equal.
  Type shape;
  for (Value operand : generic->getOperands())
    if (getBuffer(operand) == argument || getBuffer(operand) == result) {
      auto type =
          MemRefType::get(cast<MemRefType>(operand.getType()).getShape(),
                          IntegerType::get(op->getContext(), 8));
      if (shape && shape != type)
        return false;
      shape = type;
    }
  // Loads inside of the body may read any element.
  return generic.getBody()
             ->walk([](memref::LoadOp) { return WalkResult::interrupt(); })
             .wasInterrupted() == false;
}

/// Collects all operations that access the buffer, except those that only
/// create a view of it. Fails if one forwards the buffer (a select, branch or
/// loop), because the accesses through its result are not known.
static LogicalResult collectAccesses(Value buffer,
                                     SmallVectorImpl<Operation *> &accesses) {
  for (Operation *user : buffer.getUsers()) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(user);
        view && view.getViewSource() == buffer) {
      for (Value result : user->getResults())
        if (failed(collectAccesses(result, accesses)))
          return failure();
    } else if (user->hasTrait<OpTrait::IsTerminator>() ||
               llvm::any_of(user->getResultTypes(),
                            llvm::IsaPred<BaseMemRefType>)) {
      return failure();
    } else {
      accesses.push_back(user);
    }
  }
  return success();
}

static bool canShareMemory(Block &block, Value argument, Value result) {
  SmallVector<Operation *> reads, writes;
  if (failed(collectAccesses(argument, reads)) ||
      failed(collectAccesses(result, writes)))
    return false;
  for (Operation *write : writes)
    for (Operation *read : reads) {
      Operation *first = getTopLevel(block, read),
                *second = getTopLevel(block, write);
      if (first == second
              ? !(read == write && isElementwise(read, argument, result))
              : second->isBeforeInBlock(first))
        return false;
    }
  return true;
}

void lockstep::confirmResultPlaces(func::FuncOp function, unsigned numArguments,
                                   MutableArrayRef<ResultPlace> places) {
  Block &block = function.getBody().front();
  for (auto [r, place] : llvm::enumerate(places))
    if (place.argument >= 0 && !place.isUpdatedCopy &&
        !canShareMemory(block, block.getArgument(place.argument),
                        block.getArgument(numArguments + r)))
      place = {};
}

DenseI64ArrayAttr lockstep::getInPlaceAttr(MLIRContext *context,
                                           ArrayRef<ResultPlace> places) {
  return DenseI64ArrayAttr::get(
      context, llvm::map_to_vector(places, [](const ResultPlace &place) {
        return place.argument;
      }));
}
