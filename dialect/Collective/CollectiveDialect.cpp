//===- CollectiveDialect.cpp - The collective dialect ---------------------===//

#include "dialect/Collective/CollectiveDialect.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "runtime/schema/artifact_generated.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace lockstep::collective;
using namespace mlir;

/// The result types of a pending value; the list may be empty.
static ParseResult parsePendingResults(AsmParser &parser,
                                       SmallVector<Type> &results) {
  Type first;
  OptionalParseResult parsed = parser.parseOptionalType(first);
  if (!parsed.has_value())
    return success();
  if (failed(*parsed))
    return failure();
  results.push_back(first);
  if (failed(parser.parseOptionalComma()))
    return success();
  return parser.parseTypeList(results);
}

static void printPendingResults(AsmPrinter &printer, ArrayRef<Type> results) {
  llvm::interleaveComma(results, printer);
}

#include "dialect/Collective/CollectiveDialect.cpp.inc"
#include "dialect/Collective/CollectiveEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Collective/CollectiveAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Collective/CollectiveTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/Collective/CollectiveOps.cpp.inc"

void CollectiveDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Collective/CollectiveOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Collective/CollectiveTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Collective/CollectiveAttributes.cpp.inc"
      >();
}

LogicalResult GroupOp::verify() {
  if (!getRanks())
    return getWithReplicas()
               ? emitOpError("expected 'ranks' besides the replicas")
               : success();
  ArrayRef<int64_t> ranks = *getRanks();
  if (ranks.empty())
    return emitOpError("expected at least one rank");
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] < 0 || (i > 0 && ranks[i] <= ranks[i - 1]))
      return emitOpError(
                 "expected ranks that are not negative and ascending, found ")
             << ranks[i] << " at position " << i;
  return success();
}

const runtime::CollectiveProperties &collective::propertiesOf(Kind kind) {
  return runtime::CollectiveProperties::of(
      static_cast<artifact::CollectiveKind>(kind));
}

bool collective::isReductionResult(RankedTensorType operand, Type result) {
  if (operand == result)
    return true;
  Type element = operand.getElementType();
  return (element.isF16() || element.isBF16()) &&
         operand.clone(Float32Type::get(operand.getContext())) == result;
}

//===----------------------------------------------------------------------===//
// StartOp, WaitOp, BarrierOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyGroup(Operation *op, FlatSymbolRefAttr group,
                                 SymbolTableCollection &symbolTable) {
  if (!symbolTable.lookupNearestSymbolFrom<GroupOp>(op, group))
    return op->emitOpError("unknown group ") << group;
  return success();
}

LogicalResult collective::verifyMembers(StartOp op, ArrayRef<int64_t> ranks) {
  const runtime::CollectiveProperties &kind = op.getKindProperties();
  auto members = static_cast<int64_t>(ranks.size());
  if (kind.isPointToPoint && members != 2)
    return op.emitOpError("expected a group of 2 ranks for kind '")
           << kind.name << "', found " << members;
  if (std::optional<ArrayRef<int64_t>> sources = op.getSources()) {
    if (static_cast<int64_t>(sources->size()) != members)
      return op.emitOpError("expected a source for each of ")
             << members << " ranks, found " << sources->size();
    for (int64_t source : *sources)
      if (source >= 0 && !llvm::is_contained(ranks, source))
        return op.emitOpError("expected sources among the ranks of group ")
               << op.getGroupAttr() << ", found " << source;
  }
  if (!kind.hasAxis() || kind.hasRoot())
    return success();
  int64_t axis = op.getAxis().value_or(0);
  for (auto [operand, result] : llvm::zip_equal(
           op.getInputs().getTypes(), op.getPending().getType().getResults())) {
    auto from = cast<RankedTensorType>(operand),
         to = cast<RankedTensorType>(result);
    if (from.isDynamicDim(axis) || to.isDynamicDim(axis))
      continue;
    int64_t given = from.getDimSize(axis), got = to.getDimSize(axis);
    if (kind.concatenates() && got != given * members)
      return op.emitOpError("expected ")
             << given * members << " rows from " << members << " ranks, found "
             << to << " [E_SHAPE_MISMATCH]";
    if (kind.shape == runtime::ShapeRule::slice && given != got * members)
      return op.emitOpError("expected an operand with ")
             << got * members << " rows, " << got << " for each of " << members
             << " ranks, found " << from << " [E_SHAPE_MISMATCH]";
    if (kind.shape == runtime::ShapeRule::parts && given % members != 0)
      return op.emitOpError(
                 "expected an operand with as many rows for each of ")
             << members << " ranks, found " << from << " [E_SHAPE_MISMATCH]";
  }
  return success();
}

LogicalResult StartOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto group =
      symbolTable.lookupNearestSymbolFrom<GroupOp>(*this, getGroupAttr());
  if (!group)
    return emitOpError("unknown group ") << getGroupAttr();
  if (!group.hasAllReplicas() && getRoot() &&
      !llvm::is_contained(*group.getRanks(), static_cast<int64_t>(*getRoot())))
    return emitOpError("expected a root among the ranks of group ")
           << getGroupAttr() << ", found " << *getRoot();
  if (group.hasAllReplicas())
    return success();
  return verifyMembers(*this, *group.getRanks());
}

/// Verifies the axis along which an operand is concatenated or split.
static LogicalResult verifyAxis(StartOp op, RankedTensorType from) {
  if (from.getRank() == 0)
    return op.emitOpError("expected an operand with an axis to ")
           << (op.getKindProperties().concatenates() ? "gather" : "cut it")
           << " along, found the scalar " << from << " [E_SCALAR_GATHER]";
  auto axis = static_cast<int64_t>(op.getAxis().value_or(0));
  if (axis < 0 || axis >= from.getRank())
    return op.emitOpError("expected an axis in [0, ")
           << from.getRank() << "), found " << axis << " [E_AXIS_RANGE]";
  return success();
}

/// Verifies a result whose shape differs from its operand's only along the
/// axis.
static LogicalResult verifyAlongAxis(StartOp op, RankedTensorType from,
                                     RankedTensorType to) {
  auto axis = static_cast<int64_t>(op.getAxis().value_or(0));
  bool isAccumulated = op.getKindProperties().isReduction &&
                       isReductionResult(from, from.clone(to.getElementType()));
  if (to.getRank() != from.getRank() ||
      (to.getElementType() != from.getElementType() && !isAccumulated))
    return op.emitOpError("expected a pending result of rank ")
           << from.getRank() << " and element type " << from.getElementType()
           << ", found " << to;
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d != axis && from.getDimSize(d) != to.getDimSize(d))
      return op.emitOpError("expected dimension ")
             << d << " of the pending result to be as in the operand " << from
             << ", found " << to << " [E_SHAPE_MISMATCH]";
  return success();
}

/// Verifies an operand and its result, on a rank that has both.
static LogicalResult verifyPair(StartOp op, RankedTensorType from,
                                Type result) {
  const runtime::CollectiveProperties &kind = op.getKindProperties();
  bool isSame = kind.shape == runtime::ShapeRule::same ||
                kind.shape == runtime::ShapeRule::parts;
  bool fits =
      kind.isReduction ? isReductionResult(from, result) : from == result;
  if (isSame && !fits)
    return op.emitOpError("expected a pending result of type ")
           << from << ", found " << result;
  if (!kind.hasAxis())
    return success();
  if (failed(verifyAxis(op, from)))
    return failure();
  auto to = dyn_cast<RankedTensorType>(result);
  if (!to)
    return op.emitOpError("expected a tensor as pending result, found ")
           << result;
  return verifyAlongAxis(op, from, to);
}

/// Verifies the operands of a scatter: the rows for all other ranks, and how
/// many of them each rank receives.
static LogicalResult verifyRows(StartOp op) {
  TypeRange operands = op.getInputs().getTypes();
  if (operands.empty())
    return success();
  if (operands.size() != 2)
    return op.emitOpError("expected the rows and their counts, found ")
           << operands.size() << " operands";
  auto counts = cast<RankedTensorType>(operands[1]);
  if (counts.getRank() != 1 || !counts.getElementType().isInteger(64))
    return op.emitOpError("expected counts of type tensor<nxi64>, found ")
           << counts;
  return success();
}

static LogicalResult verifySources(StartOp op) {
  const runtime::CollectiveProperties &kind = op.getKindProperties();
  if (op.getSources().has_value() != kind.hasSources)
    return op.emitOpError("expected ")
           << (kind.hasSources ? "'sources'" : "no 'sources'") << " for kind '"
           << kind.name << "'";
  std::optional<ArrayRef<int64_t>> sources = op.getSources();
  if (!sources)
    return success();
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t source : *sources)
    if (source < -1)
      return op.emitOpError("expected sources that are ranks or -1, found ")
             << source;
    else if (source >= 0 && !seen.insert(source).second)
      return op.emitOpError("expected each rank to be the source of one at "
                            "most, found ")
             << source << " again";
  return success();
}

LogicalResult StartOp::verify() {
  const runtime::CollectiveProperties &kind = getKindProperties();
  bool reduces = kind.isReduction;
  if (reduces != (getReduction() != Reduction::None))
    return emitOpError("expected ")
           << (reduces ? "a" : "no") << " reduction for kind '" << kind.name
           << "', found '" << stringifyReduction(getReduction()) << "'";
  ArrayRef<Type> results = getPending().getType().getResults();
  if (getRoot() && !kind.hasRoot())
    return emitOpError("expected no root for kind '") << kind.name << "'";
  bool areRows = kind.shape == runtime::ShapeRule::rows;
  if (!getRoot() && !areRows && results.size() != getInputs().size())
    return emitOpError("expected one pending result for each of ")
           << getInputs().size() << " operands, found " << results.size();
  if (getRoot() && results.empty() && getInputs().empty())
    return emitOpError("expected operands or results, found neither");
  for (auto [operand, result] : llvm::zip(getInputs().getTypes(), results)) {
    Type element = cast<RankedTensorType>(operand).getElementType();
    // The minimum and maximum of booleans are "and" and "or".
    bool isOrdered =
        getReduction() == Reduction::Min || getReduction() == Reduction::Max;
    if (reduces &&
        (!element.isIntOrFloat() || (element.isInteger(1) && !isOrdered)))
      return emitOpError("expected elements that are numbers, found ")
             << element << " [E_DTYPE_UNSUPPORTED]";
    if (failed(verifyPair(*this, cast<RankedTensorType>(operand), result)))
      return failure();
  }
  if (kind.concatenates() && !kind.hasRoot() && !getAxis())
    return emitOpError("expected an axis for kind '") << kind.name << "'";
  if (kind.shape == runtime::ShapeRule::rows && failed(verifyRows(*this)))
    return failure();
  if (failed(verifySources(*this)))
    return failure();
  int64_t dynamic = 0;
  for (Type result : results)
    if (auto tensor = dyn_cast<RankedTensorType>(result))
      dynamic += tensor.getNumDynamicDims();
  if (static_cast<int64_t>(getSizes().size()) != dynamic)
    return emitOpError("expected a size for each of ")
           << dynamic << " dynamic dimensions of the results, found "
           << getSizes().size();
  if (getBounds() && getBounds()->size() != getSizes().size())
    return emitOpError("expected 'bounds' to have ")
           << getSizes().size() << " entries, found " << getBounds()->size();
  if (getAxis() && !kind.hasAxis())
    return emitOpError("expected no axis for kind '") << kind.name << "'";
  if (!getPending().hasOneUse())
    return emitOpError("expected exactly one wait for each start");
  return success();
}

/// The position of the dynamic dimensions of type `number` in the list of all
/// dynamic dimensions of `types`: the first, and their count.
static std::pair<size_t, size_t> getDynamicDims(ArrayRef<Type> types,
                                                unsigned number) {
  size_t first = 0;
  for (Type type : types.take_front(number))
    first += cast<RankedTensorType>(type).getNumDynamicDims();
  return {first, cast<RankedTensorType>(types[number]).getNumDynamicDims()};
}

ValueRange StartOp::getResultSizes(unsigned result) {
  auto [first, count] =
      getDynamicDims(getPending().getType().getResults(), result);
  return getSizes().slice(first, count);
}

std::optional<ArrayRef<int64_t>> StartOp::getResultBounds(unsigned result) {
  if (!getBounds())
    return std::nullopt;
  auto [first, count] =
      getDynamicDims(getPending().getType().getResults(), result);
  return getBounds()->slice(first, count);
}

FlatSymbolRefAttr StartOp::getGroupSymbol() { return getGroupAttr(); }
std::optional<uint64_t> StartOp::getChannelNumber() { return getChannel(); }
void StartOp::setChannelNumber(uint64_t channel) { setChannel(channel); }

std::string StartOp::getKindName() {
  std::string name = stringifyKind(getKind()).str();
  if (getReduction() != Reduction::None)
    name += (" " + stringifyReduction(getReduction())).str();
  return name;
}

const runtime::CollectiveProperties &StartOp::getKindProperties() {
  return propertiesOf(getKind());
}

Type StartOp::getElementType() {
  Type element;
  for (Type type : getInputs().getTypes()) {
    Type own = cast<RankedTensorType>(type).getElementType();
    if (element && element != own)
      return nullptr;
    element = own;
  }
  return element;
}

std::optional<uint64_t> StartOp::getContributedBytes() {
  uint64_t bytes = 0;
  for (Type type : getInputs().getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    if (!tensor.hasStaticShape())
      return std::nullopt;
    bytes += getByteSize(tensor);
  }
  return bytes;
}

LogicalResult WaitOp::verify() {
  StartOp start = getStart();
  if (!start || start->getBlock() != (*this)->getBlock())
    return emitOpError(
        "expected the pending value of a 'collective.start' in the same block");
  if (start.getInputs() != getInputs()) {
    InFlightDiagnostic diag = emitOpError("expected the operands of its start");
    diag.attachNote(start.getLoc()) << "the start is here";
    return diag;
  }
  if (TypeRange(start.getPending().getType().getResults()) != getResultTypes())
    return emitOpError("expected results of the pending types");
  return success();
}

/// True if the root of a collective whose result only the root receives is one
/// of the senders, instead of a rank of another role.
static bool isRootAmongGivers(StartOp start, GroupOp group) {
  bool isOther = group.getWithReplicas() &&
                 llvm::is_contained(*group.getRanks(),
                                    static_cast<int64_t>(*start.getRoot()));
  return !start.getInputs().empty() && !isOther;
}

ResultUniformity
WaitOp::getResultUniformity(unsigned, SymbolTableCollection &symbolTable) {
  StartOp start = getStart();
  auto group = start ? symbolTable.lookupNearestSymbolFrom<GroupOp>(
                           *this, start.getGroupAttr())
                     : nullptr;
  if (!group)
    return ResultUniformity::Varying;
  const runtime::CollectiveProperties &kind = start.getKindProperties();
  // Only the root receives a result. If it executes the same function as the
  // other senders, whose results are unspecified, the result is not uniform.
  if (start.getRoot() && kind.resultHolders == runtime::Holders::root)
    return isRootAmongGivers(start, group) ? ResultUniformity::Varying
                                           : ResultUniformity::Uniform;
  if (!kind.isSameForAll())
    return ResultUniformity::Varying;
  // The ranks of a smaller group have a result that other ranks do not have.
  return group.hasAllReplicas() ? ResultUniformity::Uniform
                                : ResultUniformity::Varying;
}

LogicalResult BarrierOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  return verifyGroup(*this, getGroupAttr(), symbolTable);
}
FlatSymbolRefAttr BarrierOp::getGroupSymbol() { return getGroupAttr(); }
std::optional<uint64_t> BarrierOp::getChannelNumber() { return getChannel(); }
void BarrierOp::setChannelNumber(uint64_t channel) { setChannel(channel); }
const runtime::CollectiveProperties &BarrierOp::getKindProperties() {
  return runtime::CollectiveProperties::of(artifact::CollectiveKind::barrier);
}
std::string BarrierOp::getKindName() { return getKindProperties().name; }
Type BarrierOp::getElementType() { return nullptr; }
std::optional<uint64_t> BarrierOp::getContributedBytes() { return 0; }
