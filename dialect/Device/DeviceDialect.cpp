//===- DeviceDialect.cpp - The device dialect -----------------------------===//

#include "dialect/Device/DeviceDialect.h"

#include "dialect/Interfaces/ElementBytes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace lockstep::device;
using namespace mlir;

#include "dialect/Device/DeviceDialect.cpp.inc"
#include "dialect/Device/DeviceEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Device/DeviceAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Device/DeviceTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/Device/DeviceOps.cpp.inc"

void DeviceDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Device/DeviceOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Device/DeviceTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Device/DeviceAttributes.cpp.inc"
      >();
}

RoleOp lockstep::device::getRole(Operation *op) {
  auto role = op->getAttrOfType<FlatSymbolRefAttr>(kRole);
  return role ? SymbolTable::lookupNearestSymbolFrom<RoleOp>(op, role)
              : nullptr;
}

int64_t lockstep::device::getSharedChannels(Operation *step) {
  auto channels = step->getAttrOfType<IntegerAttr>(kSharedChannels);
  return channels ? channels.getInt() : 0;
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

unsigned KernelOp::getNumTensorArguments() {
  return llvm::count_if(getArgumentTypes(), llvm::IsaPred<RankedTensorType>);
}

std::optional<unsigned> KernelOp::getInPlaceArgument(unsigned result) {
  std::optional<ArrayRef<int64_t>> inPlace = getInPlace();
  if (!inPlace || (*inPlace)[result] < 0)
    return std::nullopt;
  return (*inPlace)[result];
}

ArgumentsAttr KernelOp::getLaunchArguments() {
  SmallVector<int64_t> reads, writes, dynamic;
  auto append = [&](TypeRange types, SmallVectorImpl<int64_t> &bytes) {
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      bytes.push_back(getStaticByteSize(tensor));
      dynamic.push_back(tensor.getNumDynamicDims());
    }
  };
  unsigned tensors = getNumTensorArguments();
  append(getArgumentTypes().take_front(tensors), reads);
  append(getResultTypes(), writes);
  if (llvm::all_of(dynamic, [](int64_t count) { return count == 0; }))
    dynamic.clear();
  Builder builder(getContext());
  return ArgumentsAttr::get(
      getContext(), builder.getDenseI64ArrayAttr(reads),
      builder.getDenseI64ArrayAttr(writes),
      builder.getDenseI64ArrayAttr(getInPlace().value_or(ArrayRef<int64_t>())),
      builder.getDenseI64ArrayAttr(dynamic),
      static_cast<int64_t>(getScratch() * getGrid()),
      static_cast<int64_t>(getArgumentTypes().size() - tensors));
}

LogicalResult
ArgumentsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      DenseI64ArrayAttr reads, DenseI64ArrayAttr writes,
                      DenseI64ArrayAttr inPlace, DenseI64ArrayAttr dynamic,
                      int64_t scratch, int64_t registers) {
  auto isNegative = [](int64_t number) { return number < 0; };
  if (scratch < 0 || registers < 0 ||
      llvm::any_of(reads.asArrayRef(), isNegative) ||
      llvm::any_of(writes.asArrayRef(), isNegative))
    return emitError() << "expected sizes and counts that are not negative";
  if (!inPlace.empty() && inPlace.size() != writes.size())
    return emitError() << "expected 'in_place' for " << writes.size()
                       << " results, found " << inPlace.size();
  for (int64_t place : inPlace.asArrayRef())
    if (place < -1 || place >= reads.size())
      return emitError() << "expected 'in_place' to name a read or -1, found "
                         << place;
  if (!dynamic.empty() && dynamic.size() != reads.size() + writes.size())
    return emitError() << "expected 'dynamic' for "
                       << reads.size() + writes.size() << " tensors, found "
                       << dynamic.size();
  int64_t sizes = 0;
  for (int64_t count : dynamic.asArrayRef()) {
    if (count < 0 || count > 64)
      return emitError() << "expected 0 to 64 dynamic dimensions, found "
                         << count;
    sizes += count;
  }
  if (sizes > registers)
    return emitError() << "expected a register for each of " << sizes
                       << " dynamic dimensions, found " << registers;
  return success();
}

static int64_t countDynamicDims(TypeRange types) {
  int64_t count = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      count += tensor.getNumDynamicDims();
  return count;
}

ArrayRef<int64_t> KernelOp::getResultBounds(unsigned result) {
  ArrayRef<Type> results = getResultTypes();
  int64_t count = countDynamicDims(results[result]);
  return count == 0 ? ArrayRef<int64_t>()
                    : getBounds()->slice(
                          countDynamicDims(results.take_front(result)), count);
}

LogicalResult KernelOp::verify() {
  if (getGrid() < 1)
    return emitOpError("expected a grid of at least one tile, found ")
           << static_cast<int64_t>(getGrid());
  if (static_cast<int64_t>(getScratch()) < 0)
    return emitOpError("expected scratch memory that is not negative, found ")
           << static_cast<int64_t>(getScratch());
  bool scalarSeen = false;
  for (Type type : getArgumentTypes()) {
    if (isa<RankedTensorType>(type) && !scalarSeen)
      continue;
    scalarSeen = true;
    if (!type.isIndex())
      return emitOpError("expected tensors, then values of type 'index' as "
                         "arguments, found ")
             << type;
  }
  for (Type type : getResultTypes())
    if (!isa<RankedTensorType>(type))
      return emitOpError("expected results that are tensors, found ") << type;
  int64_t dynamicResults = countDynamicDims(getResultTypes()),
          dynamic = countDynamicDims(getArgumentTypes()) + dynamicResults;
  auto indices =
      static_cast<int64_t>(getArgumentTypes().size() - getNumTensorArguments());
  if (indices < dynamic)
    return emitOpError("expected an argument of type 'index' for each of ")
           << dynamic << " dynamic dimensions, found " << indices;
  auto bounds = static_cast<int64_t>(getBounds() ? getBounds()->size() : 0);
  if (bounds != dynamicResults)
    return emitOpError("expected 'bounds' to have ")
           << dynamicResults
           << " entries, one for each dynamic dimension of the results, found "
           << bounds;
  if (std::optional<ArrayRef<int64_t>> inPlace = getInPlace()) {
    if (inPlace->size() != getResultTypes().size())
      return emitOpError("expected 'in_place' to have ")
             << getResultTypes().size() << " entries, found "
             << inPlace->size();
    for (auto [result, argument] : llvm::zip_equal(getResultTypes(), *inPlace))
      if (argument >= static_cast<int64_t>(getArgumentTypes().size()) ||
          (argument >= 0 && getArgumentTypes()[argument] != result))
        return emitOpError("expected 'in_place' to name an argument of type ")
               << result << ", found " << argument;
  }
  return success();
}

LogicalResult YieldOp::verify() {
  ArrayRef<Type> expected =
      cast<KernelOp>((*this)->getParentOp()).getResultTypes();
  if (TypeRange(expected) != getOperandTypes())
    return emitOpError("expected operands of types (")
           << expected << "), found (" << getOperandTypes() << ")";
  return success();
}

LogicalResult LoadBatchOp::verify() {
  if (getNames().size() != getNumResults())
    return emitOpError("expected one result for each of ")
           << getNames().size() << " names, found " << getNumResults();
  return success();
}

lockstep::ResultUniformity
LoadBatchOp::getResultUniformity(unsigned, SymbolTableCollection &) {
  return ResultUniformity::Varying;
}

ValueRange InvokeOp::getResultSizes(unsigned result) {
  unsigned tensors =
      llvm::count_if(getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  int64_t first =
      tensors + countDynamicDims(getOperandTypes()) +
      countDynamicDims(TypeRange(getResultTypes()).take_front(result));
  return getOperands().slice(first, countDynamicDims(getResultTypes()[result]));
}

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel =
      symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("unknown kernel ") << getKernelAttr();
  if (TypeRange(kernel.getArgumentTypes()) != getOperandTypes() ||
      TypeRange(kernel.getResultTypes()) != getResultTypes())
    return emitOpError("expected operands and results of kernel ")
           << getKernelAttr() << ", " << kernel.getFunctionType();
  return success();
}
