//===- BooleansAsBytes.cpp - Store i1 as bytes ----------------------------===//

#include "passes/Codegen/BooleansAsBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace lockstep;
using namespace mlir;

static Type toBytes(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.getElementType().isInteger(1))
    return {};
  return MemRefType::get(memref.getShape(),
                         IntegerType::get(type.getContext(), 8),
                         memref.getLayout(), memref.getMemorySpace());
}

static Value toByte(OpBuilder &builder, Location loc, Value value) {
  return arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
}

static Value toBoolean(OpBuilder &builder, Location loc, Value value) {
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 8);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

/// Converts the arguments and the results of the body; scalar operands are not
/// changed.
static void convertBody(linalg::GenericOp op) {
  Block *body = op.getBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  for (auto [operand, argument] :
       llvm::zip_equal(op->getOperands(), body->getArguments())) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || type.getElementType() == argument.getType())
      continue;
    argument.setType(builder.getI8Type());
    if (argument.use_empty())
      continue;
    Value boolean = toBoolean(builder, op.getLoc(), argument);
    argument.replaceUsesWithIf(boolean, [&](OpOperand &use) {
      return use.getOwner() != boolean.getDefiningOp();
    });
  }
  Operation *yield = body->getTerminator();
  builder.setInsertionPoint(yield);
  for (auto [i, init] : llvm::enumerate(op.getDpsInits()))
    if (cast<MemRefType>(init.getType()).getElementType() !=
        yield->getOperand(i).getType())
      yield->setOperand(i, toByte(builder, op.getLoc(), yield->getOperand(i)));
}

static memref::GlobalOp convertGlobal(memref::GlobalOp global) {
  std::string name = (global.getSymName() + "_bytes").str();
  auto module = global->getParentOfType<ModuleOp>();
  if (auto existing = module.lookupSymbol<memref::GlobalOp>(name))
    return existing;
  OpBuilder builder(global);
  auto converted = cast<memref::GlobalOp>(builder.clone(*global));
  converted.setSymName(name);
  converted.setType(cast<MemRefType>(toBytes(global.getType())));
  auto values = cast<DenseElementsAttr>(*global.getInitialValue());
  SmallVector<int8_t> bytes =
      llvm::map_to_vector(values.getValues<bool>(), [](bool value) {
        return static_cast<int8_t>(value);
      });
  converted.setInitialValueAttr(DenseElementsAttr::get(
      RankedTensorType::get(global.getType().getShape(), builder.getI8Type()),
      ArrayRef(bytes)));
  return converted;
}

void lockstep::storeBooleansAsBytes(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  for (Block &block : function.getBody())
    for (BlockArgument argument : block.getArguments())
      if (Type type = toBytes(argument.getType()))
        argument.setType(type);
  for (Operation *op : ops) {
    if (auto global = dyn_cast<memref::GetGlobalOp>(op);
        global && toBytes(global.getType()))
      global.setName(
          convertGlobal(SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
                            op, global.getNameAttr()))
              .getSymName());
    for (Value result : op->getResults())
      if (Type type = toBytes(result.getType()))
        result.setType(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (Type type = toBytes(argument.getType()))
            argument.setType(type);
  }
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (auto load = dyn_cast<memref::LoadOp>(op);
        load && load.getType().isInteger(1)) {
      load.getResult().setType(builder.getI8Type());
      builder.setInsertionPointAfter(load);
      Value boolean = toBoolean(builder, load.getLoc(), load);
      load.getResult().replaceUsesWithIf(boolean, [&](OpOperand &use) {
        return use.getOwner() != boolean.getDefiningOp();
      });
    } else if (auto store = dyn_cast<memref::StoreOp>(op);
               store && store.getValueToStore().getType().isInteger(1)) {
      store.getValueMutable().set(
          toByte(builder, store.getLoc(), store.getValueToStore()));
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      convertBody(generic);
    }
  }
  function.setFunctionType(
      FunctionType::get(function.getContext(),
                        function.getBody().front().getArgumentTypes(), {}));
}
