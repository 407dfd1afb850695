//===- Signless.cpp - Convert integers to signless types ------------------===//

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Import/StableHLO.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lockstep;
using namespace mlir;

/// Whether the elements of `type` are of an unsigned integer type.
static bool isUnsigned(Type type) {
  return getElementTypeOrSelf(type).isUnsignedInteger();
}

/// Records unsignedness in attributes of functions and operations whose types
/// will no longer express it.
static void markUnsigned(ModuleOp module) {
  UnitAttr unit = UnitAttr::get(module.getContext());
  module.walk([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
        if (isUnsigned(type))
          function.setArgAttr(i, "replica.unsigned", unit);
      for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
        if (isUnsigned(type))
          function.setResultAttr(i, "replica.unsigned", unit);
    } else if (op->getName().getStringRef() == "stablehlo.scatter" &&
               isUnsigned(op->getOperand(op->getNumOperands() / 2).getType())) {
      op->setAttr(stablehlo::kUnsignedIndices, unit);
    }
  });
}

/// Whether an operation of this name, or a call with it as target, interprets
/// integers as signed, as it does not specify their signedness.
static bool readsSigned(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"replica.all_reduce", "replica.all_reduce_slices",
              "replica.reduce", "replica.reduce_slices"},
             true)
      .Cases(
          {"replica.reduce_to", "replica.batch_reduce_to", "replica.scatter"},
          true)
      .Default(false);
}

/// The type of one replica's component of a per-replica or mirrored value;
/// other types are returned unchanged.
static Type plainType(Type type) {
  TensorType component = replica::getComponent(type);
  return component ? Type(component) : type;
}

/// Fails if dropping signedness would change the semantics of an operation:
/// only reductions and scatters do not specify how they interpret integers.
static LogicalResult verifySigns(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) -> WalkResult {
    if (auto variable = dyn_cast<replica::VariableOp>(op);
        variable && variable.isOnRead() &&
        variable.getAggregation() == replica::Aggregation::Mean &&
        isUnsigned(variable.getType()))
      return emitError(op->getLoc())
             << "expected signed integers or floats in a variable whose copies "
                "are combined as a mean, found "
             << variable.getType();
    auto target = op->getAttrOfType<StringAttr>("call_target_name");
    StringRef name = target ? target.getValue() : op->getName().getStringRef();
    if (!readsSigned(name))
      return WalkResult::advance();
    for (Type type : op->getOperandTypes())
      if (isUnsigned(plainType(type)))
        return emitError(op->getLoc())
               << "\"" << name
               << "\" expected signed integers or floats, found " << type;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult stablehlo::makeSignless(ModuleOp module) {
  if (failed(verifySigns(module)))
    return failure();
  markUnsigned(module);

  AttrTypeReplacer replacer;
  replacer.addReplacement([](IntegerType type) -> std::optional<Type> {
    return IntegerType::get(type.getContext(), type.getWidth());
  });
  replacer.addReplacement(
      [&](DenseIntOrFPElementsAttr elements)
          -> std::optional<std::pair<Attribute, WalkResult>> {
        Type element = elements.getElementType();
        if (element.isSignlessIntOrFloat())
          return std::pair(Attribute(elements), WalkResult::skip());
        return std::pair(Attribute(elements.bitcast(replacer.replace(element))),
                         WalkResult::skip());
      });
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](Operation *op) {
    // The attributes of unregistered operations are not converted, as they are
    // imported from their original form.
    replacer.replaceElementsIn(op, /*replaceAttrs=*/op->isRegistered(),
                               /*replaceLocs=*/false, /*replaceTypes=*/true);
    if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op))
      casts.push_back(cast);
  });
  for (UnrealizedConversionCastOp cast : casts) {
    if (cast.getOperandTypes() != cast.getResultTypes())
      return emitCannotImport(cast)
             << ": expected types that differ by signs, found ("
             << cast.getOperandTypes() << ") and (" << cast.getResultTypes()
             << ")";
    cast.replaceAllUsesWith(cast.getInputs());
    cast.erase();
  }
  return success();
}
