//===- LowerVariables.cpp - Convert variables to SSA values ---------------===//
//
// Promotes variables to SSA values: a variable enters a step as an argument,
// its current value is carried through loops and branches that assign it, and
// its last value is a result. Steps become functions.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Elementwise.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_LOWERVARIABLESPASS
#include "passes/Passes.h.inc"

namespace {

/// Current values of variables, in the order of their first use.
using Values = llvm::MapVector<StringAttr, Value>;

StringAttr getVariableName(Operation *op) {
  return op->getAttrOfType<FlatSymbolRefAttr>("variable").getAttr();
}

bool isAssignment(Operation *op) {
  return isa<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp>(op);
}

/// The variables that operations inside `op` assign, in program order.
SmallVector<StringAttr> getAssigned(Operation *op) {
  llvm::SetVector<StringAttr> names;
  op->walk([&](Operation *inner) {
    if (isAssignment(inner))
      names.insert(getVariableName(inner));
  });
  return names.takeVector();
}

/// Lowers one step to a function.
class StepLowering {
public:
  StepLowering(replica::StepOp step, SymbolTableCollection &symbols)
      : step(step), symbols(symbols), builder(step.getContext()) {}

  LogicalResult run() {
    if (!step.getBody().hasOneBlock())
      return step.emitOpError("expected a body of one block, found several; "
                              "run 'structure-control-flow' first");
    Block &body = step.getBody().front();
    addVariables(body);
    Values values = variables;
    if (failed(lowerBlock(body, values)))
      return failure();
    return createFunction(values);
  }

private:
  /// Adds an argument for each variable that the step reads or assigns, and one
  /// for the rank if the step uses it.
  void addVariables(Block &body) {
    unsigned position = 0;
    step.walk([&](Operation *op) {
      if (!isAssignment(op) && !isa<replica::ReadOp>(op))
        return;
      StringAttr name = getVariableName(op);
      if (variables.contains(name))
        return;
      auto variable =
          symbols.lookupNearestSymbolFrom<replica::VariableOp>(op, name);
      variables[name] = body.insertArgument(position++, variable.getType(),
                                            variable.getLoc());
      bindings.push_back(binding(device::BindingKind::Variable, name));
    });
    SmallVector<replica::IdOp> ids;
    step.walk([&](replica::IdOp id) { ids.push_back(id); });
    if (ids.empty())
      return;
    Value rank = body.insertArgument(position, ids.front().getType(),
                                     ids.front().getLoc());
    bindings.push_back(
        binding(device::BindingKind::Rank, builder.getStringAttr("")));
    for (replica::IdOp id : ids) {
      id.replaceAllUsesWith(rank);
      id.erase();
    }
  }

  device::BindingAttr binding(device::BindingKind kind, StringAttr name) {
    return device::BindingAttr::get(builder.getContext(), kind,
                                    name.getValue());
  }

  LogicalResult lowerBlock(Block &block, Values &values) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      builder.setInsertionPoint(&op);
      if (auto read = dyn_cast<replica::ReadOp>(op)) {
        read.replaceAllUsesWith(values[getVariableName(&op)]);
        op.erase();
      } else if (isAssignment(&op)) {
        Value &current = values[getVariableName(&op)];
        current = assignedValue(&op, current);
        op.erase();
      } else if (op.getNumRegions() > 0 && failed(lowerRegions(&op, values))) {
        return failure();
      }
    }
    return success();
  }

  Value assignedValue(Operation *op, Value current) {
    Value value = op->getOperand(0);
    if (isa<replica::AssignOp>(op))
      return value;
    bool add = isa<replica::AssignAddOp>(op);
    auto type = cast<RankedTensorType>(value.getType());
    return createElementwise(
        builder, op->getLoc(), type, {current, value},
        [&](OpBuilder &b, ValueRange in) -> Value {
          if (isa<FloatType>(type.getElementType()))
            return add ? arith::AddFOp::create(b, op->getLoc(), in[0], in[1])
                             .getResult()
                       : arith::SubFOp::create(b, op->getLoc(), in[0], in[1])
                             .getResult();
          return add ? arith::AddIOp::create(b, op->getLoc(), in[0], in[1])
                           .getResult()
                     : arith::SubIOp::create(b, op->getLoc(), in[0], in[1])
                           .getResult();
        });
  }

  LogicalResult lowerRegions(Operation *op, Values &values) {
    SmallVector<StringAttr> assigned = getAssigned(op);
    if (assigned.empty()) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (failed(lowerBlock(block, values)))
            return failure();
      return success();
    }
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<scf::ForOp, scf::IfOp, scf::WhileOp>(
            [&](auto typed) { return threadThrough(typed, assigned, values); })
        .Default([&](Operation *other) {
          return other->emitError("assignments of variables inside '")
                 << other->getName() << "' are not supported";
        });
  }

  /// Makes the assigned variables loop-carried.
  LogicalResult threadThrough(scf::ForOp loop, ArrayRef<StringAttr> assigned,
                              Values &values) {
    SmallVector<Value> inits = llvm::map_to_vector(
        assigned, [&](StringAttr name) { return values[name]; });
    IRRewriter rewriter(builder);
    Values inner = values;
    LogicalResult lowered = success();
    auto yields = [&](OpBuilder &, Location,
                      ArrayRef<BlockArgument> arguments) {
      for (auto [name, argument] : llvm::zip_equal(assigned, arguments))
        inner[name] = argument;
      // The body is moved only after this returns: yield the arguments for now;
      // the values at the end of the body replace them below.
      return SmallVector<Value>(arguments.begin(), arguments.end());
    };
    FailureOr<LoopLikeOpInterface> replaced =
        cast<LoopLikeOpInterface>(loop.getOperation())
            .replaceWithAdditionalYields(rewriter, inits,
                                         /*replaceInitOperandUsesInLoop=*/false,
                                         yields);
    if (failed(replaced))
      return loop.emitError("cannot carry a variable through this loop");
    auto threaded = cast<scf::ForOp>(replaced->getOperation());
    Block *body = threaded.getBody();
    unsigned first = threaded.getNumRegionIterArgs() - assigned.size();
    for (auto [i, name] : llvm::enumerate(assigned))
      inner[name] = threaded.getRegionIterArg(first + i);
    lowered = lowerBlock(*body, inner);
    for (auto [i, name] : llvm::enumerate(assigned)) {
      body->getTerminator()->setOperand(first + i, inner[name]);
      values[name] = threaded.getResult(first + i);
    }
    return lowered;
  }

  /// Makes both branches yield the assigned variables.
  LogicalResult threadThrough(scf::IfOp branch, ArrayRef<StringAttr> assigned,
                              Values &values) {
    SmallVector<Type> types(branch.getResultTypes());
    for (StringAttr name : assigned)
      types.push_back(values[name].getType());
    auto threaded =
        scf::IfOp::create(builder, branch.getLoc(), types,
                          branch.getCondition(), /*addThenBlock=*/false,
                          /*addElseBlock=*/false);
    threaded.getThenRegion().takeBody(branch.getThenRegion());
    threaded.getElseRegion().takeBody(branch.getElseRegion());
    if (threaded.getElseRegion().empty()) {
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&threaded.getElseRegion());
      scf::YieldOp::create(builder, branch.getLoc());
    }
    for (Region *region :
         {&threaded.getThenRegion(), &threaded.getElseRegion()}) {
      Values inner = values;
      if (failed(lowerBlock(region->front(), inner)))
        return failure();
      Operation *yield = region->front().getTerminator();
      SmallVector<Value> operands(yield->getOperands());
      for (StringAttr name : assigned)
        operands.push_back(inner[name]);
      yield->setOperands(operands);
    }
    unsigned kept = branch.getNumResults();
    branch.replaceAllUsesWith(threaded.getResults().take_front(kept));
    for (auto [i, name] : llvm::enumerate(assigned))
      values[name] = threaded.getResult(kept + i);
    branch.erase();
    return success();
  }

  /// Carries the assigned variables through both regions: the condition
  /// forwards their values to the body and to the results.
  LogicalResult threadThrough(scf::WhileOp loop, ArrayRef<StringAttr> assigned,
                              Values &values) {
    SmallVector<Value> inits(loop.getInits());
    SmallVector<Type> types(loop.getResultTypes());
    for (StringAttr name : assigned) {
      inits.push_back(values[name]);
      types.push_back(values[name].getType());
    }
    auto threaded = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
    threaded.getBefore().takeBody(loop.getBefore());
    threaded.getAfter().takeBody(loop.getAfter());
    for (Region *region : {&threaded.getBefore(), &threaded.getAfter()}) {
      Values inner = values;
      for (StringAttr name : assigned)
        inner[name] =
            region->front().addArgument(values[name].getType(), loop.getLoc());
      if (failed(lowerBlock(region->front(), inner)))
        return failure();
      // Both terminators forward the variables as their last operands.
      Operation *terminator = region->front().getTerminator();
      for (StringAttr name : assigned)
        terminator->insertOperands(terminator->getNumOperands(), inner[name]);
    }
    unsigned kept = loop.getNumResults();
    loop.replaceAllUsesWith(threaded.getResults().take_front(kept));
    for (auto [i, name] : llvm::enumerate(assigned))
      values[name] = threaded.getResult(kept + i);
    loop.erase();
    return success();
  }

  /// The binding of an argument or result by its `replica.*` attribute.
  FailureOr<device::BindingAttr> bindingOf(DictionaryAttr attributes) {
    static constexpr std::pair<StringLiteral, device::BindingKind> kinds[] = {
        {"replica.batch", device::BindingKind::Batch},
        {"replica.scalar", device::BindingKind::Scalar},
        {"replica.metric", device::BindingKind::Metric},
        {"replica.sum", device::BindingKind::Sum},
        {"replica.count", device::BindingKind::Count},
        {"replica.result", device::BindingKind::Result}};
    if (attributes)
      for (auto [name, kind] : kinds)
        if (auto value = attributes.getAs<StringAttr>(name))
          return binding(kind, value);
    return failure();
  }

  LogicalResult createFunction(const Values &values) {
    Block &body = step.getBody().front();
    SmallVector<Value> results;
    SmallVector<Attribute> ofResults;
    for (auto &[name, value] : values) {
      if (value == variables[name])
        continue;
      results.push_back(value);
      ofResults.push_back(
          withBinding(binding(device::BindingKind::Variable, name)));
    }
    Operation *terminator = body.getTerminator();
    for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
      DictionaryAttr attributes = step.getResultAttrDict(i);
      FailureOr<device::BindingAttr> bound = bindingOf(attributes);
      if (failed(bound))
        bound = binding(device::BindingKind::Result,
                        builder.getStringAttr("result" + Twine(i)));
      results.push_back(terminator->getOperand(i));
      ofResults.push_back(
          withBinding(*bound, keep({"replica.unsigned"}, attributes)));
    }
    builder.setInsertionPoint(terminator);
    func::ReturnOp::create(builder, terminator->getLoc(), results);
    terminator->erase();

    builder.setInsertionPoint(step);
    auto type = builder.getFunctionType(body.getArgumentTypes(),
                                        ValueRange(results).getTypes());
    auto function =
        func::FuncOp::create(builder, step.getLoc(), step.getSymName(), type);
    // Set all at once: every intermediate attribute list would stay in the
    // context.
    SmallVector<Attribute> ofArguments =
        llvm::map_to_vector(bindings, [&](device::BindingAttr bound) {
          return withBinding(bound);
        });
    for (unsigned declared = 0; declared < step.getNumArguments(); ++declared) {
      FailureOr<Attribute> attributes = bindArgument(declared);
      if (failed(attributes))
        return failure();
      ofArguments.push_back(*attributes);
    }
    function.setArgAttrsAttr(builder.getArrayAttr(ofArguments));
    function.setResAttrsAttr(builder.getArrayAttr(ofResults));
    function.getBody().takeBody(step.getBody());
    step.erase();
    return success();
  }

  /// The attributes of an argument or result of the function.
  Attribute withBinding(device::BindingAttr bound,
                        ArrayRef<NamedAttribute> others = {}) {
    SmallVector<NamedAttribute> attributes(others);
    attributes.push_back(builder.getNamedAttr("device.binding", bound));
    return builder.getDictionaryAttr(attributes);
  }

  /// The attributes of argument `declared` of the step.
  FailureOr<Attribute> bindArgument(unsigned declared) {
    DictionaryAttr attributes = step.getArgAttrDict(declared);
    FailureOr<device::BindingAttr> bound = bindingOf(attributes);
    if (failed(bound)) {
      step.emitError("argument ")
          << declared << " has neither 'replica.batch' nor 'replica.scalar'";
      return failure();
    }
    return withBinding(
        *bound, keep({"replica.default", "replica.unsigned"}, attributes));
  }

  /// Those of the `attributes` that have one of the names.
  SmallVector<NamedAttribute> keep(ArrayRef<StringRef> names,
                                   DictionaryAttr attributes) {
    SmallVector<NamedAttribute> kept;
    for (StringRef name : names)
      if (Attribute value = attributes ? attributes.get(name) : Attribute())
        kept.push_back(builder.getNamedAttr(name, value));
    return kept;
  }

  replica::StepOp step;
  SymbolTableCollection &symbols;
  OpBuilder builder;
  /// The variables' values on entry.
  Values variables;
  /// Bindings of the arguments that were added in front.
  SmallVector<device::BindingAttr> bindings;
};

struct LowerVariables : impl::LowerVariablesPassBase<LowerVariables> {
  void runOnOperation() override {
    // Only variables are looked up, and these are not changed.
    SymbolTableCollection symbols;
    for (auto step :
         llvm::make_early_inc_range(getOperation().getOps<replica::StepOp>()))
      if (failed(StepLowering(step, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace lockstep
