//===- Attributes.cpp - Parse attributes of StableHLO operations ----------===//

#include "passes/Import/StableHLO.h"

#include "llvm/ADT/StringExtras.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Parses `mnemonic<name = 1, name = [2, 3]>` from left to right. Members that
/// return a bool return false on a syntax error.
class ParameterReader {
public:
  ParameterReader(StringRef text) : rest(text) {}

  bool read(StringRef mnemonic, stablehlo::Parameters &parameters) {
    if (!consume(mnemonic) || !consume("<"))
      return false;
    while (!consume(">")) {
      StringRef name = readName();
      if (name.empty() || !consume("=") || !readList(parameters[name]))
        return false;
      consume(",");
    }
    return rest.trim().empty();
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  StringRef readName() {
    rest = rest.ltrim();
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    return name;
  }

  bool readList(SmallVector<int64_t> &values) {
    if (!consume("["))
      return readNumber(values);
    while (!consume("]")) {
      if (!readNumber(values))
        return false;
      consume(",");
    }
    return true;
  }

  bool readNumber(SmallVector<int64_t> &values) {
    rest = rest.ltrim();
    return !rest.consumeInteger(10, values.emplace_back());
  }

  StringRef rest;
};

} // namespace

FailureOr<stablehlo::Parameters>
stablehlo::parseParameters(Operation *op, StringRef attribute,
                           StringRef mnemonic) {
  auto opaque = op->getAttrOfType<OpaqueAttr>(attribute);
  if (!opaque)
    return emitCannotImport(op) << ": expected attribute '" << attribute << "'";
  Parameters parameters;
  if (!ParameterReader(opaque.getAttrData()).read(mnemonic, parameters))
    return emitCannotImport(op)
           << ": expected '" << attribute << "' to be #stablehlo." << mnemonic
           << "<name = [numbers], ...>, found " << Attribute(opaque);
  return parameters;
}

SmallVector<int64_t> stablehlo::getIntegers(Operation *op,
                                            StringRef attribute) {
  SmallVector<int64_t> values;
  Attribute value = op->getAttr(attribute);
  if (auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(value))
    llvm::append_range(values, dense.asArrayRef());
  else if (auto elements = dyn_cast_or_null<DenseIntElementsAttr>(value))
    for (const APInt &element : elements)
      values.push_back(element.getSExtValue());
  else if (auto array = dyn_cast_or_null<ArrayAttr>(value))
    for (auto element : array.getAsRange<IntegerAttr>())
      values.push_back(element.getInt());
  return values;
}

InFlightDiagnostic stablehlo::emitCannotImport(Operation *op) {
  return emitError(op->getLoc()) << "cannot import '" << op->getName() << "'";
}

LogicalResult stablehlo::verifyStaticShapes(Operation *op) {
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())}) {
    for (Type type : values.getTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return emitCannotImport(op)
               << ": expected tensors of static shape, found " << type;
    }
  }
  return success();
}

bool stablehlo::isReturning(Region &region) {
  return region.hasOneBlock() && !region.front().empty() &&
         region.front().back().getName().getStringRef() == "stablehlo.return";
}

LogicalResult stablehlo::verifyComputation(Operation *op, unsigned region,
                                           unsigned arguments,
                                           unsigned results) {
  auto isScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0;
  };
  auto areScalars = [&](TypeRange types, unsigned count) {
    return types.size() == count && llvm::all_of(types, isScalar);
  };
  if (region < op->getNumRegions() && isReturning(op->getRegion(region)) &&
      areScalars(op->getRegion(region).getArgumentTypes(), arguments) &&
      areScalars(op->getRegion(region).front().back().getOperandTypes(),
                 results))
    return success();
  return emitCannotImport(op) << ": expected region " << region << " to take "
                              << arguments << " scalars and return " << results;
}
