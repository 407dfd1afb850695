//===- RecordFormulas.cpp - How kernels compute single numbers ------------===//

#include "dialect/Device/DeviceDialect.h"
#include "passes/Kernels/Formulas.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_RECORDFORMULASPASS
#include "passes/Passes.h.inc"

namespace {

/// Writes the formula of one result.
class FormulaWriter {
public:
  explicit FormulaWriter(device::KernelOp kernel) : kernel(kernel), builder(kernel.getContext()), body(kernel.getBody().front()) {}

  /// Null if the formula would say no more than that the kernel computes it.
  DictionaryAttr write(unsigned result, Value value) {
    std::optional<int64_t> number = visit(value);
    if (!number || isWholeKernel(*number))
      return {};
    auto integer = [&](int64_t i) { return builder.getI64IntegerAttr(i); };
    return builder.getDictionaryAttr({builder.getNamedAttr("arguments", integer(body.getNumArguments())),
                                      builder.getNamedAttr("result", integer(result)), builder.getNamedAttr("steps", builder.getArrayAttr(steps)),
                                      builder.getNamedAttr("value", integer(*number))});
  }

private:
  /// Longer ones cost more to compare than they are worth.
  static constexpr size_t kMostSteps = 256;

  /// The number of a value: of an argument or a step. Nothing: the formula would get too long.
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
      return argument.getOwner() == &body ? std::optional<int64_t>(argument.getArgNumber()) : std::nullopt;
    Operation *op = value.getDefiningOp();
    if (std::optional<int64_t> constant = getConstant(value))
      return add(kConstantOperation, *constant);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op); extract && extract.getIndices().empty())
      return visit(extract.getTensor());
    if (auto elements = dyn_cast<tensor::FromElementsOp>(op); elements && elements.getType().getRank() == 0)
      return visit(elements.getElements()[0]);
    if (auto generic = dyn_cast<linalg::GenericOp>(op); generic && generic.getNumLoops() == 0)
      return visitBody(generic, cast<OpResult>(value).getResultNumber());
    if (keepsNumber(op))
      return visit(op->getOperand(0));
    if (isExact(op))
      return visitExact(op);
    return addOpaque(cast<OpResult>(value));
  }

  /// Without loops, its operations are executed once.
  std::optional<int64_t> visitBody(linalg::GenericOp generic, unsigned result) {
    for (auto [operand, argument] : llvm::zip_equal(generic.getOperands(), generic.getBody()->getArguments())) {
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
    if (auto elements = dyn_cast<DenseElementsAttr>(attribute); elements && elements.isSplat() && elements.getType().getRank() == 0)
      attribute = elements.getSplatValue<Attribute>();
    auto integer = dyn_cast<IntegerAttr>(attribute);
    if (!integer || integer.getValue().getBitWidth() > 64)
      return std::nullopt;
    return integer.getValue().getBitWidth() == 1 ? integer.getValue().getZExtValue() : integer.getValue().getSExtValue();
  }

  static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

  /// Whether the result is the number that the operand is; an i1 is 0 or 1.
  static bool keepsNumber(Operation *op) {
    if (op->getNumOperands() != 1 || op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
      return false;
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    if (!from.isIntOrIndex() || widthOf(to) < widthOf(from))
      return false;
    return widthOf(from) == 1 ? isa<arith::ExtUIOp, arith::IndexCastUIOp>(op) : isa<arith::ExtSIOp, arith::IndexCastOp>(op);
  }

  /// Whether an operation on numbers gives the same bits wherever it is compiled.
  static bool isExact(Operation *op) {
    if (!op->getDialect() || !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) || op->getNumRegions() || op->getNumResults() != 1)
      return false;
    if (auto math = dyn_cast<arith::ArithFastMathInterface>(op); math && math.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
      return false;
    auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
    return llvm::all_of(op->getOperandTypes(), isNumber) && llvm::all_of(op->getResultTypes(), isNumber);
  }

  std::optional<int64_t> visitExact(Operation *op) {
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> number = visit(operand);
      if (!number)
        return std::nullopt;
      operands.push_back(*number);
    }
    std::string name;
    llvm::raw_string_ostream os(name);
    os << op->getName();
    if (DictionaryAttr attributes = op->getAttrDictionary(); !attributes.empty())
      os << " " << attributes;
    os << " (";
    llvm::interleaveComma(op->getOperandTypes(), os);
    os << ") -> " << op->getResult(0).getType();
    return add(name, operands);
  }

  /// Something that only this kernel computes, from its arguments.
  std::optional<int64_t> addOpaque(OpResult value) {
    auto [it, isNew] = opaque.try_emplace(value.getOwner(), opaque.size());
    std::string name = (kernel.getSymName() + " value " + Twine(it->second) + " result " + Twine(value.getResultNumber())).str();
    return add(name, llvm::to_vector(llvm::seq<int64_t>(0, body.getNumArguments())));
  }

  bool isWholeKernel(int64_t number) const {
    return steps.size() == 1 && number == body.getNumArguments() && !opaque.empty();
  }

  std::optional<int64_t> add(StringRef operation, ArrayRef<int64_t> operands) {
    if (steps.size() >= kMostSteps)
      return std::nullopt;
    SmallVector<Attribute> step = {builder.getStringAttr(operation)};
    for (int64_t operand : operands)
      step.push_back(builder.getI64IntegerAttr(operand));
    steps.push_back(builder.getArrayAttr(step));
    return body.getNumArguments() + steps.size() - 1;
  }

  device::KernelOp kernel;
  Builder builder;
  Block &body;
  SmallVector<Attribute> steps;
  llvm::DenseMap<Value, int64_t> numbers;
  llvm::DenseMap<Operation *, size_t> opaque;
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
    SmallVector<Attribute> formulas;
    for (auto [result, value] : llvm::enumerate(kernel.getBody().front().getTerminator()->getOperands())) {
      if (cast<RankedTensorType>(value.getType()).getRank() != 0)
        continue;
      if (DictionaryAttr formula = FormulaWriter(kernel).write(result, value))
        formulas.push_back(formula);
    }
    if (!formulas.empty())
      kernel->setAttr(kFormulas, ArrayAttr::get(&getContext(), formulas));
  }
};

} // namespace
} // namespace lockstep
