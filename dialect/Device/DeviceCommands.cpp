//===- DeviceCommands.cpp - Verifiers of single commands ------------------===//
//
// The rules that can be verified on one command alone; those that relate
// commands of a program are in DeviceProgram.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Interfaces/PlainValues.h"

using namespace lockstep;
using namespace lockstep::device;
using namespace mlir;

/// Verifies an offset in bytes: a multiple of the size of an element.
static LogicalResult verifyOffset(Operation *op, int64_t offset,
                                  RankedTensorType type) {
  if (!type.getElementType().isIntOrIndexOrFloat())
    return op->emitOpError(
               "expected elements that are integers, indices or floats, found ")
           << type.getElementType();
  int64_t bytes = getElementBytes(type.getElementType());
  if (offset < 0 || offset % bytes != 0)
    return op->emitOpError("expected an offset that is not negative and a "
                           "multiple of the element's ")
           << bytes << " bytes, found " << offset;
  return success();
}

/// Verifies the bytes of a file or a memory image.
static LogicalResult verifyBytes(Operation *op, StringRef name,
                                 ElementsAttr bytes) {
  if (!bytes.getElementType().isInteger(8))
    return op->emitOpError("expected elements of type 'i8' in '")
           << name << "', found " << bytes.getElementType();
  return success();
}

/// The memory space of `buffer`.
static FailureOr<Space> getSpace(Operation *op, Value buffer) {
  if (auto slice = buffer.getDefiningOp<SliceOp>())
    return slice.getSpace();
  return op->emitOpError(
      "expected a buffer that is defined by a 'device.slice'");
}

/// Verifies that a buffer may be written: inputs, scalars, constants and the
/// rank are read-only.
static LogicalResult verifyWritten(Operation *op, Value buffer) {
  FailureOr<Space> space = getSpace(op, buffer);
  if (failed(space))
    return failure();
  if (*space != Space::Constant && *space != Space::Input &&
      *space != Space::Scalar && *space != Space::Rank)
    return success();
  InFlightDiagnostic diag = op->emitOpError("writes to a buffer in space '")
                            << stringifySpace(*space)
                            << "', which is read only";
  diag.attachNote(buffer.getLoc()) << "the buffer is defined here";
  return diag;
}

static LogicalResult verifyGroup(Operation *op, FlatSymbolRefAttr group,
                                 SymbolTableCollection &symbolTable) {
  if (!symbolTable.lookupNearestSymbolFrom<collective::GroupOp>(op, group))
    return op->emitOpError("unknown group ") << group;
  return success();
}

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

LogicalResult ConstantOutputOp::verify() {
  if (isPlainValue(getValue()))
    return success();
  return emitOpError("expected a value of strings, booleans, i64 and finite "
                     "f64, found ")
         << getValue();
}

LogicalResult BinaryOp::verify() {
  if (getTarget().empty())
    return emitOpError("expected a target, found an empty name");
  if (getCubin() && getDevice() != "cuda")
    return emitOpError("expected device 'cuda' with a cubin, found '")
           << getDevice().value_or("cpu") << "'";
  if (failed(verifyBytes(*this, "object", getObject())))
    return failure();
  return getCubin() ? verifyBytes(*this, "cubin", *getCubin()) : success();
}

LogicalResult EntryOp::verify() {
  if (getGridAttr().getInt() < 1)
    return emitOpError("expected a grid of at least one tile, found ")
           << getGridAttr().getInt();
  return success();
}

LogicalResult ConstantsOp::verify() {
  auto all = (*this)->getParentOfType<ModuleOp>().getOps<ConstantsOp>();
  if (*all.begin() != *this)
    return emitOpError("expected at most one in a module");
  return verifyBytes(*this, "bytes", getBytes());
}

LogicalResult VariableOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getSpace() != Space::Variable && getSpace() != Space::ReplicaVariable)
    return emitOpError(
               "expected space 'variable' or 'replica_variable', found '")
           << stringifySpace(getSpace()) << "'";
  if (!type.hasStaticShape())
    return emitOpError("expected a static shape, found ") << type;
  if (getInitialAttr() && getInitialAttr().getType() != type)
    return emitOpError("expected an initial value of type ")
           << type << ", found " << getInitialAttr().getType();
  if (getWholeShape() && getSpace() != Space::ReplicaVariable)
    return emitOpError("expected a part of a variable to be in space "
                       "'replica_variable', found '")
           << stringifySpace(getSpace()) << "'";
  if (getShard() && !getRoleAttr() && !getWholeShape())
    return emitOpError("expected a shard on a server, or one that is divided "
                       "among the replicas");
  return verifyOffset(*this, getOffsetAttr().getInt(), type);
}

LogicalResult VariableOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (getRoleAttr() &&
      !symbolTable.lookupNearestSymbolFrom<RoleOp>(*this, getRoleAttr()))
    return emitOpError("unknown role ") << getRoleAttr();
  return success();
}

LogicalResult ScalarOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape())
    return emitOpError("expected a static shape, found ") << type;
  if (getDefaultValueAttr() && getDefaultValueAttr().getType() != type)
    return emitOpError("expected a default value of type ")
           << type << ", found " << getDefaultValueAttr().getType();
  return verifyOffset(*this, getOffsetAttr().getInt(), type);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  RankedTensorType type = getResult().getType().getTensor();
  if (getInput() && getSpace() != Space::Input)
    return emitOpError("names the batch tensor '")
           << *getInput() << "', but lies in space '"
           << stringifySpace(getSpace()) << "'";
  ArrayRef<int64_t> registers =
      getSizeRegisters().value_or(ArrayRef<int64_t>());
  if (registers.empty() && !type.hasStaticShape())
    return emitOpError("expected 'size_registers' for the dynamic sizes of ")
           << type;
  if (!registers.empty()) {
    if (static_cast<int64_t>(registers.size()) != type.getRank())
      return emitOpError("expected 'size_registers' to have ")
             << type.getRank() << " entries, found " << registers.size();
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d) != (registers[d] >= 0))
        return emitOpError("expected ")
               << (type.isDynamicDim(d) ? "a register" : "-1")
               << " for dimension " << d << " of " << type << ", found "
               << registers[d];
  }
  if (static_cast<bool>(getBound()) == type.hasStaticShape())
    return emitOpError(type.hasStaticShape()
                           ? "expected no 'bound' for the static sizes of "
                           : "expected a 'bound' for the dynamic sizes of ")
           << type;
  return verifyOffset(*this, getOffsetAttr().getInt(), type);
}

int64_t SliceOp::getByteSize() {
  RankedTensorType type = getResult().getType().getTensor();
  if (std::optional<uint64_t> bound = getBound())
    return *bound;
  return type.getNumElements() * getElementBytes(type.getElementType());
}

LogicalResult OutputOp::verify() {
  switch (getBinding().getKind()) {
  case BindingKind::Metric:
  case BindingKind::Sum:
  case BindingKind::Count:
  case BindingKind::Result:
    break;
  default:
    return emitOpError("expected a metric, sum, count or result, found '")
           << stringifyBindingKind(getBinding().getKind()) << "'";
  }
  FailureOr<Space> space = getSpace(*this, getBuffer());
  if (failed(space))
    return failure();
  if (*space == Space::Input || *space == Space::Scalar)
    return emitOpError("expected a buffer that the program owns, found space '")
           << stringifySpace(*space) << "'";
  return success();
}

LogicalResult CopyOp::verify() {
  return verifyWritten(*this, getDestination());
}

//===----------------------------------------------------------------------===//
// Launches and collectives
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  for (Value buffer : getWrites())
    if (failed(verifyWritten(*this, buffer)))
      return failure();
  return success();
}

/// Verifies a launch of native code, for which only the sizes of the arguments
/// are known, not their types.
static LogicalResult verifySizes(LaunchOp launch, ArgumentsAttr arguments) {
  size_t position = 0;
  auto verify = [&](StringRef name, ValueRange buffers,
                    ArrayRef<int64_t> sizes) -> LogicalResult {
    if (buffers.size() != sizes.size())
      return launch.emitOpError("expected ")
             << sizes.size() << " " << name << " for kernel "
             << launch.getKernelAttr() << ", found " << buffers.size();
    for (auto [index, buffer, bytes] : llvm::enumerate(buffers, sizes)) {
      RankedTensorType type = cast<BufferType>(buffer.getType()).getTensor();
      int64_t dynamic = arguments.getDynamic().empty()
                            ? 0
                            : arguments.getDynamic()[position++];
      if (getStaticByteSize(type) != bytes ||
          type.getNumDynamicDims() != static_cast<size_t>(dynamic))
        return launch.emitOpError("expected a buffer of ")
               << bytes << " bytes"
               << (dynamic ? " times " + std::to_string(dynamic) + " sizes"
                           : "")
               << " at position " << index << " of the " << name
               << " of kernel " << launch.getKernelAttr() << ", found "
               << buffer.getType();
    }
    return success();
  };
  return success(
      succeeded(verify("reads", launch.getReads(), arguments.getReads())) &&
      succeeded(verify("writes", launch.getWrites(), arguments.getWrites())));
}

static LogicalResult verifyTypes(LaunchOp launch, KernelOp kernel) {
  auto verify = [&](StringRef name, ValueRange buffers,
                    ArrayRef<Type> types) -> LogicalResult {
    if (buffers.size() != types.size())
      return launch.emitOpError("expected ")
             << types.size() << " " << name << " for kernel "
             << launch.getKernelAttr() << ", found " << buffers.size();
    for (auto [index, buffer, type] : llvm::enumerate(buffers, types))
      if (cast<BufferType>(buffer.getType()).getTensor() != type)
        return launch.emitOpError("expected a buffer of ")
               << type << " at position " << index << " of the " << name
               << " of kernel " << launch.getKernelAttr() << ", found "
               << buffer.getType();
    return success();
  };
  return success(
      succeeded(verify("reads", launch.getReads(),
                       kernel.getArgumentTypes().take_front(
                           kernel.getNumTensorArguments()))) &&
      succeeded(verify("writes", launch.getWrites(), kernel.getResultTypes())));
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel =
      symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  auto entry =
      symbolTable.lookupNearestSymbolFrom<EntryOp>(*this, getKernelAttr());
  if (!kernel && !entry)
    return emitOpError("unknown kernel ") << getKernelAttr();
  ArgumentsAttr arguments =
      kernel ? kernel.getLaunchArguments() : entry.getArgumentsAttr();
  if (!arguments)
    return success();
  if (failed(kernel ? verifyTypes(*this, kernel)
                    : verifySizes(*this, arguments)))
    return failure();
  auto registers =
      static_cast<int64_t>(getRegisters().value_or(ArrayRef<int64_t>()).size());
  if (registers != arguments.getRegisters())
    return emitOpError("expected ")
           << arguments.getRegisters() << " registers for kernel "
           << getKernelAttr() << ", found " << registers;
  size_t scratch = arguments.getScratch() > 0;
  if (getScratch().size() != scratch)
    return emitOpError("expected ")
           << scratch << " buffers of scratch memory for kernel "
           << getKernelAttr() << ", found " << getScratch().size();
  int64_t given =
      scratch ? getStaticByteSize(
                    cast<BufferType>(getScratch()[0].getType()).getTensor())
              : 0;
  if (given < arguments.getScratch())
    return emitOpError("expected ")
           << arguments.getScratch() << " bytes of scratch memory for the "
           << (kernel ? kernel.getGrid() : entry.getGrid())
           << " tiles of kernel " << getKernelAttr() << ", found " << given;
  return success();
}

LogicalResult StartOp::verify() {
  const runtime::CollectiveProperties &kind =
      collective::propertiesOf(getKind());
  bool reduces = kind.isReduction;
  if (reduces != (getReduction() != collective::Reduction::None))
    return emitOpError("expected ")
           << (reduces ? "a" : "no") << " reduction for kind '" << kind.name
           << "', found '" << stringifyReduction(getReduction()) << "'";
  if (!getRoot() && getInputs().size() != getOutputs().size())
    return emitOpError("expected one buffer for the result of each of ")
           << getInputs().size() << " operands, found " << getOutputs().size();
  for (auto [input, output] : llvm::zip(getInputs(), getOutputs())) {
    RankedTensorType operand = cast<BufferType>(input.getType()).getTensor();
    if (reduces && kind.isSameForAll() &&
        !collective::isReductionResult(
            operand, cast<BufferType>(output.getType()).getTensor()))
      return emitOpError("expected a buffer of type ")
             << input.getType() << " for the result, found "
             << output.getType();
  }
  for (Value output : getOutputs())
    if (failed(verifyWritten(*this, output)))
      return failure();
  if (kind.concatenates() && !kind.hasRoot() && !getAxis())
    return emitOpError("expected an axis for kind '") << kind.name << "'";
  return success();
}

LogicalResult StartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyGroup(*this, getGroupAttr(), symbolTable);
}

LogicalResult BarrierOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyGroup(*this, getGroupAttr(), symbolTable);
}

//===----------------------------------------------------------------------===//
// Registers and branches
//===----------------------------------------------------------------------===//

LogicalResult LoadRegisterOp::verify() {
  RankedTensorType type = getSource().getType().getTensor();
  if (type.getRank() != 0 || !type.getElementType().isInteger())
    return emitOpError("expected a buffer of one integer, found ") << type;
  return success();
}

LogicalResult BranchUnlessOp::verify() {
  RankedTensorType type = getCondition().getType().getTensor();
  if (type.getRank() != 0 || !type.getElementType().isInteger(1))
    return emitOpError("expected a condition of type 'tensor<i1>', found ")
           << type;
  return success();
}
