//===- RecordFormulas.cpp - How kernels compute single numbers ------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ExactOperations.h"
#include "passes/Emit/FormulaAttributes.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_RECORDFORMULASPASS
#include "passes/Passes.h.inc"

namespace {

bool isStatic(Value value) {
  return isSingleNumber(value) ||
         cast<ShapedType>(value.getType()).hasStaticShape();
}

/// Numbers operations that are not looked into: all formulas of a kernel give
/// them the same names.
using OpaqueNumbers = llvm::DenseMap<Operation *, size_t>;

/// Writes the formula of one result. An operation on numbers is the same one
/// element by element where operands are tensors, all of them of one shape: so
/// an element of a tensor that several kernels compute has one formula, whether
/// it is taken from the tensor or from what that is computed from.
class FormulaWriter {
public:
  FormulaWriter(device::KernelOp kernel, OpaqueNumbers &opaque)
      : kernel(kernel), builder(kernel.getContext()),
        body(kernel.getBody().front()), opaque(opaque) {
    for (BlockArgument argument : body.getArguments())
      if (!isSingleNumber(argument))
        shaped.insert(argument.getArgNumber());
  }

  /// Null if there is none.
  DictionaryAttr write(unsigned result, Value value) {
    std::optional<int64_t> number = visit(value);
    if (!number)
      return {};
    auto integer = [&](int64_t i) { return builder.getI64IntegerAttr(i); };
    return builder.getDictionaryAttr(
        {builder.getNamedAttr("arguments", integer(body.getNumArguments())),
         builder.getNamedAttr("result", integer(result)),
         builder.getNamedAttr("steps", builder.getArrayAttr(steps)),
         builder.getNamedAttr("value", integer(*number))});
  }

  /// Operations, of which only the kernel knows how it computes them, in the
  /// formula.
  const llvm::SmallPtrSet<Operation *, 4> &getOpaque() const {
    return usedOpaque;
  }
  /// Whether the formula says no more than that the kernel computes the value.
  bool isWholeKernel() const {
    return steps.size() == 1 && !usedOpaque.empty() &&
           cast<ArrayAttr>(steps.front()).size() == 1 + body.getNumArguments();
  }

private:
  /// Longer ones cost more to compare than they are worth.
  static constexpr size_t kMostSteps = 256;

  /// The number of a value: of an argument or a step. Nothing: the formula
  /// would get too long.
  std::optional<int64_t> visit(Value value) {
    if (auto it = numbers.find(value); it != numbers.end())
      return it->second;
    std::optional<int64_t> number = find(value);
    if (number)
      numbers[value] = *number;
    return number;
  }

  std::optional<int64_t> find(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == &body
                 ? std::optional<int64_t>(argument.getArgNumber())
                 : std::nullopt;
    Operation *op = value.getDefiningOp();
    if (std::optional<int64_t> constant = getConstant(value))
      return add(kConstantOperation, *constant, /*isShaped=*/false);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return visitExtract(extract);
    if (auto elements = dyn_cast<tensor::FromElementsOp>(op);
        elements && elements.getType().getRank() == 0)
      return visit(elements.getElements()[0]);
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && generic.getNumLoops() == 0)
      return visitBody(generic, cast<OpResult>(value).getResultNumber());
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && isExactByElements(generic, cast<OpResult>(value)))
      if (std::optional<int64_t> number =
              visitBody(generic, cast<OpResult>(value).getResultNumber());
          !number || shaped.contains(*number))
        return number;
    if (isa<scf::IfOp, scf::IndexSwitchOp>(op) && isSingleNumber(value))
      return visitBranch(cast<OpResult>(value));
    if (keepsNumber(op)) {
      std::optional<int64_t> number = visit(op->getOperand(0));
      // Elements of a tensor have a width.
      return number && shaped.contains(*number) ? visitExact(op) : number;
    }
    SplatElementsAttr splat;
    if (isExact(op) || isMove(op) || matchPattern(value, m_Constant(&splat)))
      return visitExact(op);
    return addOpaque(cast<OpResult>(value));
  }

  /// A choice among what the sides of a branch give.
  std::optional<int64_t> visitBranch(OpResult value) {
    Operation *op = value.getOwner();
    SmallVector<int64_t> operands;
    SmallVector<Value> chosen = {op->getOperand(0)};
    for (Region &side : op->getRegions())
      chosen.push_back(
          side.front().getTerminator()->getOperand(value.getResultNumber()));
    for (Value from : chosen) {
      std::optional<int64_t> number = visit(from);
      if (!number)
        return std::nullopt;
      operands.push_back(*number);
    }
    Type type = getElementTypeOrSelf(value.getType());
    std::string name;
    llvm::raw_string_ostream os(name);
    if (auto branch = dyn_cast<scf::IndexSwitchOp>(op)) {
      llvm::interleaveComma(branch.getCases(), os << op->getName() << " [");
      os << "] -> " << type;
    } else {
      // What the same choice is as an operation on numbers.
      os << arith::SelectOp::getOperationName() << " (i1, " << type << ", "
         << type << ") -> " << type;
    }
    return add(name, operands, llvm::any_of(operands, [&](int64_t number) {
                 return shaped.contains(number);
               }));
  }

  /// An element is a function of the bytes of its tensor and its indices.
  std::optional<int64_t> visitExtract(tensor::ExtractOp extract) {
    if (isSingleNumber(extract.getTensor()))
      return visit(extract.getTensor());
    if (!isStatic(extract.getTensor()))
      return addOpaque(cast<OpResult>(extract.getResult()));
    std::string name;
    llvm::raw_string_ostream(name)
        << extract->getName() << " of " << extract.getTensor().getType();
    std::optional<SmallVector<int64_t>> operands = visitOperands(extract);
    return operands ? add(name, *operands, /*isShaped=*/false) : std::nullopt;
  }

  /// Without loops, its operations are executed once; else once for each
  /// element.
  std::optional<int64_t> visitBody(linalg::GenericOp generic, unsigned result) {
    for (auto [operand, argument] : llvm::zip_equal(
             generic.getOperands(), generic.getBody()->getArguments())) {
      if (argument.use_empty())
        continue;
      std::optional<int64_t> number = visit(operand);
      if (!number)
        return std::nullopt;
      numbers[argument] = *number;
    }
    return visit(generic.getBody()->getTerminator()->getOperand(result));
  }

  /// Integers as registers hold them.
  static std::optional<int64_t> getConstant(Value value) {
    Attribute attribute;
    if (!matchPattern(value, m_Constant(&attribute)))
      return std::nullopt;
    if (auto elements = dyn_cast<DenseElementsAttr>(attribute);
        elements && elements.isSplat() && elements.getType().getRank() == 0)
      attribute = elements.getSplatValue<Attribute>();
    auto integer = dyn_cast<IntegerAttr>(attribute);
    if (!integer || integer.getValue().getBitWidth() > 64)
      return std::nullopt;
    return integer.getValue().getBitWidth() == 1
               ? integer.getValue().getZExtValue()
               : integer.getValue().getSExtValue();
  }

  static unsigned widthOf(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }

  /// Whether the result is the number that the operand is; an i1 is 0 or 1.
  static bool keepsNumber(Operation *op) {
    if (op->getNumOperands() != 1 || op->getNumResults() != 1 ||
        !op->getResult(0).getType().isIntOrIndex())
      return false;
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    if (!from.isIntOrIndex() || widthOf(to) < widthOf(from))
      return false;
    return widthOf(from) == 1 ? isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)
                              : isa<arith::ExtSIOp, arith::IndexCastOp>(op);
  }

  std::optional<int64_t> visitExact(Operation *op) {
    std::optional<SmallVector<int64_t>> operands = visitOperands(op);
    if (!operands)
      return std::nullopt;
    std::string name;
    llvm::raw_string_ostream os(name);
    os << op->getName();
    if (DictionaryAttr attributes = op->getAttrDictionary();
        !attributes.empty())
      os << " " << attributes;
    os << " (";
    llvm::interleaveComma(op->getOperandTypes(), os);
    os << ") -> " << op->getResult(0).getType();
    return add(name, *operands,
               !isSingleNumber(op->getResult(0)) ||
                   llvm::any_of(*operands, [&](int64_t number) {
                     return shaped.contains(number);
                   }));
  }

  std::optional<SmallVector<int64_t>> visitOperands(Operation *op) {
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> number = visit(operand);
      if (!number)
        return std::nullopt;
      operands.push_back(*number);
    }
    return operands;
  }

  /// Something that only this kernel computes, from its arguments.
  std::optional<int64_t> addOpaque(OpResult value) {
    auto [it, isNew] = opaque.try_emplace(value.getOwner(), opaque.size());
    std::string name = (kernel.getSymName() + " value " + Twine(it->second) +
                        " result " + Twine(value.getResultNumber()))
                           .str();
    usedOpaque.insert(value.getOwner());
    return add(name, argumentsOf(value.getOwner()), !isSingleNumber(value));
  }

  /// What an operation is computed from. A kernel may have arguments for other
  /// results, which differ between replicas when this one does not.
  SmallVector<int64_t> argumentsOf(Operation *op) {
    llvm::SetVector<Operation *> slice;
    llvm::SmallBitVector used(body.getNumArguments());
    slice.insert(op);
    for (size_t i = 0; i < slice.size(); ++i)
      slice[i]->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          auto argument = dyn_cast<BlockArgument>(operand);
          if (argument && argument.getOwner() == &body)
            used.set(argument.getArgNumber());
          else if (Operation *from = argument
                                         ? argument.getOwner()->getParentOp()
                                         : operand.getDefiningOp();
                   from && from != kernel)
            slice.insert(from);
        }
      });
    // Sizes that vary are arguments too.
    if (llvm::any_of(used.set_bits(), [&](unsigned i) {
          return !isStatic(body.getArgument(i));
        }))
      for (BlockArgument argument : body.getArguments())
        if (argument.getType().isIndex())
          used.set(argument.getArgNumber());
    return llvm::map_to_vector(used.set_bits(),
                               [](unsigned i) { return int64_t(i); });
  }

  std::optional<int64_t> add(StringRef operation, ArrayRef<int64_t> operands,
                             bool isShaped) {
    if (steps.size() >= kMostSteps)
      return std::nullopt;
    SmallVector<Attribute> step = {builder.getStringAttr(operation)};
    for (int64_t operand : operands)
      step.push_back(builder.getI64IntegerAttr(operand));
    steps.push_back(builder.getArrayAttr(step));
    int64_t number = body.getNumArguments() + steps.size() - 1;
    if (isShaped)
      shaped.insert(number);
    return number;
  }

  device::KernelOp kernel;
  Builder builder;
  Block &body;
  SmallVector<Attribute> steps;
  llvm::DenseMap<Value, int64_t> numbers;
  /// Those of tensors.
  llvm::DenseSet<int64_t> shaped;
  OpaqueNumbers &opaque;
  llvm::SmallPtrSet<Operation *, 4> usedOpaque;
};

struct RecordFormulas : impl::RecordFormulasPassBase<RecordFormulas> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (llvm::range_size(module.getOps<device::RoleOp>()) < 2)
      return;
    for (auto kernel : module.getOps<device::KernelOp>())
      if (!kernel.getBody().empty())
        record(kernel);
  }

  void record(device::KernelOp kernel) {
    OpaqueNumbers opaque;
    SmallVector<std::pair<FormulaWriter, DictionaryAttr>> written;
    llvm::DenseMap<Operation *, unsigned> uses;
    for (auto [result, value] : llvm::enumerate(
             kernel.getBody().front().getTerminator()->getOperands())) {
      if (!isStatic(value))
        continue;
      FormulaWriter writer(kernel, opaque);
      if (DictionaryAttr formula = writer.write(result, value)) {
        for (Operation *op : writer.getOpaque())
          ++uses[op];
        written.push_back({std::move(writer), formula});
      }
    }
    SmallVector<Attribute> formulas;
    for (auto &[writer, formula] : written)
      // What nothing else is computed from needs no other name than that of the
      // kernel's result.
      if (!writer.isWholeKernel() ||
          llvm::any_of(writer.getOpaque(),
                       [&](Operation *op) { return uses.lookup(op) > 1; }))
        formulas.push_back(formula);
    if (!formulas.empty())
      kernel->setAttr(kFormulas, ArrayAttr::get(&getContext(), formulas));
  }
};

} // namespace
} // namespace lockstep
