//===- ProductGroup.cpp - A product and its epilogue ----------------------===//

#include "passes/Codegen/ProductGroup.h"

#include "passes/Codegen/Aliases.h"
#include "passes/Codegen/InPlace.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace lockstep;
using namespace mlir;

/// Dimensions of the product, in the order of the result's indices.
static SmallVector<unsigned> getResultDims(const Product &product) {
  return llvm::map_to_vector(product.getMap(product.out).getResults(),
                             [](AffineExpr result) {
                               return cast<AffineDimExpr>(result).getPosition();
                             });
}

/// For each index of `operand`, the dimension of the product, or -1 if it is
/// not a dimension. `dims` maps the dimensions of `op` to those of the product.
static SmallVector<int> getIndexDims(linalg::GenericOp op, OpOperand *operand,
                                     ArrayRef<unsigned> dims) {
  return llvm::map_to_vector(op.getMatchingIndexingMap(operand).getResults(),
                             [&](AffineExpr result) -> int {
                               auto dim = dyn_cast<AffineDimExpr>(result);
                               return dim ? dims[dim.getPosition()] : -1;
                             });
}

SmallVector<unsigned> ProductGroup::getDims(linalg::GenericOp op) const {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto *buffer = buffers.find(operand->get());
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (buffer == buffers.end() || !map.isPermutation())
      continue;
    SmallVector<unsigned> dims(op.getNumLoops());
    for (auto [result, dim] : llvm::zip_equal(map.getResults(), buffer->second))
      dims[cast<AffineDimExpr>(result).getPosition()] = dim;
    return dims;
  }
  return {};
}

SmallVector<int> ProductGroup::getIndexDims(OpOperand *operand) const {
  auto op = cast<linalg::GenericOp>(operand->getOwner());
  return ::getIndexDims(op, operand, getDims(op));
}

/// Finds the buffers that only the group accesses.
static void findRegisters(ProductGroup &group) {
  group.registers.clear();
  for (auto &[buffer, dims] : group.buffers)
    if (buffer.getDefiningOp<memref::AllocOp>() &&
        llvm::all_of(buffer.getUsers(), [&](Operation *user) {
          return user == group.product.op || user == group.fill ||
                 llvm::is_contained(group.epilogue, user);
        }))
      group.registers.insert(buffer);
  // Without a fill, the product accumulates to the value in memory.
  if (!group.fill)
    group.registers.erase(group.product.out->get());
}

void ProductGroup::keepEpilogue(size_t count) {
  if (count == epilogue.size())
    return;
  epilogue.resize(count);
  buffers.remove_if([&](const auto &entry) {
    return entry.first != product.out->get() &&
           llvm::none_of(epilogue, [&](linalg::GenericOp op) {
             return llvm::is_contained(op.getDpsInits(), entry.first);
           });
  });
  findRegisters(*this);
}

/// The scalar that a generic without inputs stores to all elements; null for
/// other generics.
static Value getFilledValue(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 0 || op.getNumDpsInits() != 1 ||
      op.getBlock()->getOperations().size() != 1)
    return {};
  Value value = op.getBlock()->getTerminator()->getOperand(0);
  bool isOutside = value.getParentBlock() != op.getBlock();
  return isOutside && op.getMatchingIndexingMap(op.getDpsInitOperand(0))
                          .isPermutation()
             ? value
             : Value();
}

static void findFill(ProductGroup &group, const Aliases &aliases) {
  Value out = group.product.out->get();
  for (Operation *op = group.product.op->getPrevNode(); op;
       op = op->getPrevNode()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && generic->getNumOperands() == 1 &&
        generic->getOperand(0) == out)
      if (Value value = getFilledValue(generic)) {
        group.fill = generic;
        group.initial = value;
        return;
      }
    if (aliases.mayTouch(op, out))
      return;
  }
}

/// True if each operand of `op` can be read or written a vector at a time along
/// the product's column.
static bool canReadVectors(linalg::GenericOp op, ArrayRef<unsigned> dims,
                           unsigned column) {
  unsigned columnDim = llvm::find(dims, column) - dims.begin();
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.isScalar(&operand))
      continue;
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || !type.hasStaticShape())
      return false;
    if (!map.isFunctionOfDim(columnDim))
      continue;
    std::optional<unsigned> result = getOnlyResult(map, columnDim);
    if (!result || *result + 1 != map.getNumResults() ||
        !isInnermostContiguous(operand.get()))
      return false;
  }
  return llvm::all_of(op.getDpsInits(),
                      [&](Value init) { return isInnermostContiguous(init); });
}

/// True if the two operands access the same element at each point of the
/// product.
static bool isSameElement(linalg::GenericOp first, OpOperand *a,
                          ArrayRef<unsigned> firstDims,
                          linalg::GenericOp second, OpOperand *b,
                          ArrayRef<unsigned> secondDims,
                          const Aliases &aliases) {
  bool isSameView =
      a->get() == b->get() ||
      (a->get().getType() == b->get().getType() &&
       aliases.isWholeBuffer(a->get()) && aliases.isWholeBuffer(b->get()));
  SmallVector<int> indices = getIndexDims(first, a, firstDims);
  return isSameView && !llvm::is_contained(indices, -1) &&
         indices == getIndexDims(second, b, secondDims);
}

/// True if `op` may be computed for each tile directly after the product.
static bool canFuse(ProductGroup &group, linalg::GenericOp op,
                    const Aliases &aliases) {
  const Product &product = group.product;
  if (op.getNumParallelLoops() != op.getNumLoops() || !isVectorizableBody(op))
    return false;
  SmallVector<unsigned> dims = group.getDims(op);
  if (dims.empty() || !canReadVectors(op, dims, product.column))
    return false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto *buffer = group.buffers.find(input->get());
    if (buffer != group.buffers.end() &&
        getIndexDims(op, input, dims) !=
            llvm::map_to_vector(buffer->second, [](unsigned dim) {
              return static_cast<int>(dim);
            }))
      return false;
  }
  // Elements that this operation writes must not be read by the product, nor at
  // another point by an operation of the group.
  SmallVector<linalg::GenericOp> members(group.epilogue);
  members.push_back(op);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (!op.getMatchingIndexingMap(&init).isPermutation() ||
        op.payloadUsesValueFromOperand(&init))
      return false;
    if (aliases.mayAlias(init.get(), product.lhs->get()) ||
        aliases.mayAlias(init.get(), product.rhs->get()))
      return false;
    if (aliases.mayAlias(init.get(), product.out->get()) &&
        init.get() != product.out->get())
      return false;
    for (linalg::GenericOp member : members)
      for (OpOperand &operand : member->getOpOperands())
        if (isa<MemRefType>(operand.get().getType()) &&
            aliases.mayAlias(init.get(), operand.get()) &&
            !isSameElement(member, &operand,
                           member == op ? dims : group.getDims(member), op,
                           &init, dims, aliases))
          return false;
  }
  // Nor may it read, at another point, elements that the group writes.
  for (linalg::GenericOp member : group.epilogue)
    for (OpOperand &init : member.getDpsInitsMutable())
      for (OpOperand *input : op.getDpsInputOperands())
        if (isa<MemRefType>(input->get().getType()) &&
            aliases.mayAlias(init.get(), input->get()) &&
            init.get() != input->get())
          return false;
  return true;
}

ProductGroup lockstep::collectProductGroup(const Product &product,
                                           func::FuncOp function) {
  ProductGroup group;
  group.product = product;
  group.buffers[product.out->get()] = getResultDims(product);
  Aliases aliases(function);
  findFill(group, aliases);
  for (Operation *op = product.op->getNextNode(); op; op = op->getNextNode()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!canFuse(group, generic, aliases))
        break;
      SmallVector<unsigned> dims = group.getDims(generic);
      group.epilogue.push_back(generic);
      for (OpOperand &init : generic.getDpsInitsMutable())
        group.buffers[init.get()] = llvm::map_to_vector(
            getIndexDims(generic, &init, dims),
            [](int dim) { return static_cast<unsigned>(dim); });
    } else if (!isMemoryEffectFree(op) && !isa<memref::AllocOp>(op)) {
      break;
    }
  }
  findRegisters(group);
  return group;
}

void lockstep::eraseProductGroup(ProductGroup &group) {
  for (linalg::GenericOp op : group.epilogue)
    op.erase();
  group.product.op.erase();
  if (group.fill)
    group.fill.erase();
  for (auto &[buffer, dims] : group.buffers)
    if (auto alloc = buffer.getDefiningOp<memref::AllocOp>();
        alloc && alloc->use_empty())
      alloc.erase();
}
