//===- TensorRun.cpp - Runs a step on tensors, as terms -------------------===//

#include "TensorRun.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace lockstep::test;
using namespace mlir;

bool lockstep::test::isPerReplica(ModuleOp module, StringRef name) {
  if (auto variable = module.lookupSymbol<replica::VariableOp>(name))
    return variable.isPerReplica();
  return false;
}

Term lockstep::test::outside(Terms &terms, ModuleOp module, StringRef kind,
                             StringRef name) {
  bool uniform =
      kind == "scalar" || (kind == "variable" && !isPerReplica(module, name));
  return terms.intern((kind + " " + name).str(), uniform);
}

std::string lockstep::test::getConstantBytes(DenseElementsAttr value) {
  std::string bytes;
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes += static_cast<char>(element);
    return bytes;
  }
  ArrayRef<char> raw = value.getRawData();
  for (int64_t i = 0; i < (value.isSplat() ? value.getNumElements() : 1); ++i)
    bytes.append(raw.begin(), raw.end());
  return bytes;
}

namespace {

class TensorRun {
public:
  TensorRun(func::FuncOp step, Terms &terms)
      : step(step), module(step->getParentOfType<ModuleOp>()), terms(terms) {}

  FailureOr<Trace> run() {
    for (BlockArgument argument : step.getArguments()) {
      auto binding = step.getArgAttrOfType<device::BindingAttr>(
          argument.getArgNumber(), "device.binding");
      values[argument] = outside(
          terms, module, device::stringifyBindingKind(binding.getKind()),
          binding.getName());
    }
    for (auto variable : module.getOps<replica::VariableOp>())
      trace.results[("variable " + variable.getSymName()).str()] =
          outside(terms, module, "variable", variable.getSymName());
    if (failed(runBlock(step.getBody().front())))
      return failure();
    for (OpOperand &operand :
         step.getBody().front().getTerminator()->getOpOperands()) {
      auto binding = step.getResultAttrOfType<device::BindingAttr>(
          operand.getOperandNumber(), "device.binding");
      trace.results[(device::stringifyBindingKind(binding.getKind()) + " " +
                     binding.getName())
                        .str()] = values.at(operand.get());
    }
    return std::move(trace);
  }

private:
  LogicalResult runBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<device::InvokeOp, collective::StartOp, collective::WaitOp,
                    collective::BarrierOp, scf::ForOp, scf::IfOp, scf::WhileOp>(
                  [&](auto typed) { return run(typed); })
              .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                    tensor::CastOp, tensor::ExtractOp, arith::IndexCastOp>(
                  [&](Operation *same) {
                    values[same->getResult(0)] = values.at(same->getOperand(0));
                    return success();
                  })
              .Case<tensor::ConcatOp>([&](tensor::ConcatOp concat) {
                values[concat] = terms.apply("concat", get(concat.getInputs()));
                return success();
              })
              .Default([&](Operation *other) { return runConstant(other); });
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult runConstant(Operation *op) {
    DenseElementsAttr value;
    if (matchPattern(op, m_Constant(&value)))
      values[op->getResult(0)] = terms.constant(getConstantBytes(value));
    else if (!matchPattern(op, m_Constant()))
      return op->emitError("cannot run '") << op->getName() << "'";
    return success();
  }

  SmallVector<Term> get(ValueRange operands) {
    return llvm::map_to_vector(operands,
                               [&](Value value) { return values.at(value); });
  }

  void set(ValueRange results, ArrayRef<Term> to) {
    for (auto [result, term] : llvm::zip_equal(results, to))
      values[result] = term;
  }

  /// A number that the step uses: known, or decided within bounds.
  int64_t getNumber(Value index, int64_t low, int64_t high) {
    if (auto it = numbers.find(index); it != numbers.end())
      return it->second;
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant)))
      return constant.getSExtValue();
    return terms.decide(values.at(index), low, high);
  }

  LogicalResult run(device::InvokeOp invoke) {
    SmallVector<Term> operands;
    std::string name = invoke.getKernel().str();
    for (Value operand : invoke.getOperands()) {
      if (isa<RankedTensorType>(operand.getType()))
        operands.push_back(values.at(operand));
      else
        name += "[" + std::to_string(getNumber(operand, 0, 3)) + "]";
    }
    for (OpResult result : invoke->getResults())
      values[result] = terms.apply(
          Twine(name) + "/" + Twine(result.getResultNumber()), operands);
    return success();
  }

  LogicalResult run(collective::StartOp start) {
    std::string text =
        (collective::stringifyKind(start.getKind()) + " " +
         collective::stringifyReduction(start.getReduction()) + " @" +
         start.getGroup() + " channel " + Twine(*start.getChannel()) +
         " axis " + Twine(start.getAxis().value_or(0)))
            .str();
    for (Term operand : get(start.getInputs()))
      text += " #" + std::to_string(operand);
    started[start] = text;
    trace.exchanges.push_back(text);
    return success();
  }

  LogicalResult run(collective::WaitOp wait) {
    auto group =
        module.lookupSymbol<collective::GroupOp>(wait.getStart().getGroup());
    // Only values exchanged by all ranks are equal on all of them.
    for (OpResult result : wait->getResults())
      values[result] =
          terms.intern(started.at(wait.getStart()) + "/" +
                           std::to_string(result.getResultNumber()),
                       !group.getRanks());
    return success();
  }

  LogicalResult run(collective::BarrierOp barrier) {
    trace.exchanges.push_back(("barrier @" + barrier.getGroup() + " channel " +
                               Twine(*barrier.getChannel()))
                                  .str());
    return success();
  }

  LogicalResult run(scf::ForOp loop) {
    int64_t lower = getNumber(loop.getLowerBound(), 0, 1),
            upper = getNumber(loop.getUpperBound(), 0, 4);
    int64_t stride = getNumber(loop.getStep(), 1, 2);
    SmallVector<Term> carried = get(loop.getInitArgs());
    for (int64_t i = lower; i < upper; i += stride) {
      numbers[loop.getInductionVar()] = i;
      set(loop.getRegionIterArgs(), carried);
      if (failed(runBlock(*loop.getBody())))
        return failure();
      carried = get(loop.getYieldedValues());
    }
    set(loop.getResults(), carried);
    return success();
  }

  LogicalResult run(scf::IfOp branch) {
    Region &region = terms.decide(values.at(branch.getCondition()), 0, 1)
                         ? branch.getThenRegion()
                         : branch.getElseRegion();
    if (region.empty())
      return success();
    if (failed(runBlock(region.front())))
      return failure();
    set(branch.getResults(),
        get(region.front().getTerminator()->getOperands()));
    return success();
  }

  LogicalResult run(scf::WhileOp loop) {
    constexpr int kMostIterations = 5;
    SmallVector<Term> carried = get(loop.getInits());
    for (int i = 0;; ++i) {
      set(loop.getBeforeArguments(), carried);
      if (failed(runBlock(*loop.getBeforeBody())))
        return failure();
      SmallVector<Term> forwarded = get(loop.getConditionOp().getArgs());
      if (!terms.decide(values.at(loop.getConditionOp().getCondition()), 0,
                        i < kMostIterations)) {
        set(loop.getResults(), forwarded);
        return success();
      }
      set(loop.getAfterArguments(), forwarded);
      if (failed(runBlock(*loop.getAfterBody())))
        return failure();
      carried = get(loop.getYieldOp()->getOperands());
    }
  }

  func::FuncOp step;
  ModuleOp module;
  Terms &terms;
  Trace trace;
  llvm::DenseMap<Value, Term> values;
  llvm::DenseMap<Value, int64_t> numbers;
  llvm::DenseMap<Operation *, std::string> started;
};

} // namespace

FailureOr<Trace> lockstep::test::runTensors(func::FuncOp step, Terms &terms) {
  return TensorRun(step, terms).run();
}
