//===- InlineRuns.cpp - Inline calls of steps -----------------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_INLINERUNSPASS
#include "passes/Passes.h.inc"

namespace {

/// True if the host can run `step` directly: all its arguments are bound to
/// batches, scalars or variables.
bool isBound(replica::StepOp step) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (!step.getArgAttr(i, "replica.batch") &&
        !step.getArgAttr(i, "replica.scalar") &&
        !step.getArgAttr(i, "replica.variable"))
      return false;
  return true;
}

/// Adds the caller to all locations, so that two calls of a step can be
/// distinguished.
void setCaller(Operation *op, Location caller) {
  op->walk([&](Operation *inner) {
    inner->setLoc(CallSiteLoc::get(inner->getLoc(), caller));
  });
}

LogicalResult inlineStep(replica::RunOp run, replica::StepOp step) {
  if (!step.getBody().hasOneBlock())
    return run.emitError("expected a step of one block, found branches between "
                         "several in '")
           << step.getSymName() << "'";
  Block &from = step.getBody().front();
  IRMapping mapping;
  step.getBody().cloneInto(&run.getBody(), mapping);
  Block &to = run.getBody().front();
  for (Operation &op : to)
    setCaller(&op, run.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(&to);
  Operation *terminator = mapping.lookup(from.getTerminator());
  replica::YieldOp::create(builder, terminator->getLoc(), TypeRange(),
                           terminator->getOperands());
  terminator->erase();
  run.removeCalleeAttr();
  return success();
}

/// Zeros, the initial values of results that the loop carries. [7-initial]
Value createZeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  return arith::ConstantOp::create(builder, loc,
                                   cast<TypedAttr>(builder.getZeroAttr(type)));
}

/// Expands `replica.run_steps` to a loop that takes a batch, runs the step and
/// reduces its results. The results of the last step are those of the loop.
LogicalResult expandSteps(replica::RunStepsOp steps) {
  OpBuilder builder(steps);
  Location loc = steps.getLoc();
  auto step = SymbolTable::lookupNearestSymbolFrom<replica::StepOp>(
      steps, steps.getCalleeAttr());
  SmallVector<Value> inits;
  for (Type type : steps.getResultTypes()) {
    auto component = dyn_cast<RankedTensorType>(replica::getComponent(type));
    if (!component || !component.hasStaticShape())
      return steps.emitError("expected results of a static shape from the last "
                             "step, found ")
             << type;
    if (!component.getElementType().isIntOrIndexOrFloat())
      return steps.emitError("expected elements that are numbers, found ")
             << component.getElementType() << " [E_DTYPE_UNSUPPORTED]";
    if (!isa<replica::PerReplicaType>(type)) {
      inits.push_back(createZeros(builder, loc, component));
      continue;
    }
    auto run = replica::RunOp::create(builder, loc, type, FlatSymbolRefAttr(),
                                      ValueRange());
    OpBuilder inner = OpBuilder::atBlockBegin(&run.getBody().emplaceBlock());
    replica::YieldOp::create(inner, loc, TypeRange(),
                             createZeros(inner, loc, component));
    inits.push_back(run.getResult(0));
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count =
      arith::ConstantIndexOp::create(builder, loc, steps.getIterations());
  auto loop = scf::ForOp::create(
      builder, loc, zero, count, one, inits,
      [&](OpBuilder &b, Location, Value, ValueRange) {
        auto next = replica::NextOp::create(b, loc, steps.getIterator());
        SmallVector<Value> operands(next.getResults());
        llvm::append_range(operands, steps.getParameters());
        SmallVector<Type> types =
            llvm::map_to_vector(step.getResultTypes(), [&](Type type) -> Type {
              return replica::PerReplicaType::get(b.getContext(),
                                                  cast<TensorType>(type));
            });
        auto run = replica::RunOp::create(b, loc, types, steps.getCalleeAttr(),
                                          operands);
        SmallVector<Value> results;
        for (auto [each, name, type] : llvm::zip_equal(
                 run.getResults(),
                 steps.getReductions().getAsValueRange<StringAttr>(),
                 steps.getResultTypes())) {
          std::optional<replica::Reduction> reduction =
              replica::symbolizeReduction(name);
          results.push_back(
              reduction ? replica::ReduceOp::create(b, loc, type, *reduction,
                                                    each, DenseI64ArrayAttr())
                              .getResult()
                        : Value(each));
        }
        scf::YieldOp::create(b, loc, results);
      });
  steps.replaceAllUsesWith(loop.getResults());
  return success();
}

/// Declares outputs that are not tensors as constant outputs of the program.
LogicalResult
declareOutputs(replica::RunStepsOp steps,
               llvm::StringMap<device::ConstantOutputOp> &declared) {
  auto program = steps->getParentOfType<replica::ProgramOp>();
  OpBuilder builder(program);
  for (NamedAttribute output :
       steps.getNonTensorOutputs().value_or(builder.getDictionaryAttr({}))) {
    device::ConstantOutputOp &known =
        declared[(program.getSymName() + "\n" + output.getName().getValue())
                     .str()];
    if (!known) {
      known = device::ConstantOutputOp::create(
          builder, steps.getLoc(), output.getName(), output.getValue(),
          program.getSymName());
    } else if (known.getValue() != output.getValue()) {
      InFlightDiagnostic diagnostic =
          steps.emitError("output '")
          << output.getName().getValue() << "' of program '"
          << program.getSymName() << "' is " << output.getValue()
          << " here and " << known.getValue() << " elsewhere";
      diagnostic.attachNote(known.getLoc()) << "the other steps that give it";
      return diagnostic;
    }
  }
  return success();
}

struct InlineRuns : impl::InlineRunsPassBase<InlineRuns> {
  void runOnOperation() override {
    SmallVector<replica::RunStepsOp> loops;
    getOperation().walk(
        [&](replica::RunStepsOp steps) { loops.push_back(steps); });
    llvm::StringMap<device::ConstantOutputOp> outputs;
    for (replica::RunStepsOp steps : loops) {
      if (failed(declareOutputs(steps, outputs)) || failed(expandSteps(steps)))
        return signalPassFailure();
      steps.erase();
    }
    llvm::SetVector<Operation *> called;
    // A step may contain a merge_call that runs another step.
    for (bool changed = true; changed;) {
      SmallVector<replica::RunOp> runs;
      getOperation().walk([&](replica::RunOp run) {
        if (run.getCalleeAttr())
          runs.push_back(run);
      });
      changed = !runs.empty();
      for (replica::RunOp run : runs) {
        auto step = SymbolTable::lookupNearestSymbolFrom<replica::StepOp>(
            run, run.getCalleeAttr());
        if (step->isAncestor(run)) {
          run.emitError("step '") << step.getSymName() << "' runs itself";
          return signalPassFailure();
        }
        if (failed(inlineStep(run, step)))
          return signalPassFailure();
        called.insert(step);
      }
    }
    for (Operation *step : called)
      if (!isBound(cast<replica::StepOp>(step)))
        step->erase();
  }
};

} // namespace
} // namespace lockstep
