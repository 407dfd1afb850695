//===- Signless.cpp - Signs leave the types of integers -------------------===//

#include "passes/Import/StableHLO.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace lockstep;
using namespace mlir;

/// Whether the elements of `type` are of an unsigned integer type.
static bool isUnsigned(Type type) { return getElementTypeOrSelf(type).isUnsignedInteger(); }

/// Notes on functions and operations what their types will not say any more.
static void markUnsigned(ModuleOp module) {
  UnitAttr unit = UnitAttr::get(module.getContext());
  module.walk([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
        if (isUnsigned(type))
          function.setArgAttr(i, "replica.unsigned", unit);
    } else if (op->getName().getStringRef() == "stablehlo.scatter" &&
               isUnsigned(op->getOperand(op->getNumOperands() / 2).getType())) {
      op->setAttr(stablehlo::kUnsignedIndices, unit);
    }
  });
}

/// Fails where dropping the sign would change the meaning of an operation: only the mean of integers does not say how
/// it reads them.
static LogicalResult verifySigns(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) -> WalkResult {
    auto target = op->getAttrOfType<StringAttr>("call_target_name");
    if (!target || (target.getValue() != "replica.all_reduce" && target.getValue() != "replica.reduce_to"))
      return WalkResult::advance();
    for (Type type : op->getOperandTypes())
      if (isUnsigned(type))
        return emitError(op->getLoc()) << target << " expected signed integers or floats, found " << type;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult stablehlo::makeSignless(ModuleOp module) {
  if (failed(verifySigns(module)))
    return failure();
  markUnsigned(module);

  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](IntegerType type) -> std::optional<Type> { return IntegerType::get(type.getContext(), type.getWidth()); });
  replacer.addReplacement([&](DenseIntOrFPElementsAttr elements) -> std::optional<std::pair<Attribute, WalkResult>> {
    Type element = elements.getElementType();
    if (element.isSignlessIntOrFloat())
      return std::pair(Attribute(elements), WalkResult::skip());
    return std::pair(Attribute(elements.bitcast(replacer.replace(element))), WalkResult::skip());
  });
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](Operation *op) {
    // The attributes of operations that MLIR does not know are read as they are.
    replacer.replaceElementsIn(op, /*replaceAttrs=*/op->isRegistered(), /*replaceLocs=*/false, /*replaceTypes=*/true);
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op))
      casts.push_back(cast);
  });
  for (UnrealizedConversionCastOp cast : casts) {
    if (cast.getOperandTypes() != cast.getResultTypes())
      return emitCannotImport(cast) << ": expected types that differ by signs, found (" << cast.getOperandTypes()
                                    << ") and (" << cast.getResultTypes() << ")";
    cast.replaceAllUsesWith(cast.getInputs());
    cast.erase();
  }
  return success();
}
