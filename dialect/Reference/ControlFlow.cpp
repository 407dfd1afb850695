//===- ControlFlow.cpp - Loops and branches -------------------------------===//

#include "dialect/Reference/Code.h"
#include "dialect/Reference/Machine.h"

#include "dialect/Device/DeviceDialect.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep::interpret {
namespace {

using CodePtr = std::shared_ptr<const Code>;

FailureOr<Instruction::Run> translate(scf::ForOp op, CodeBuilder &builder) {
  FailureOr<CodePtr> body = builder.build(*op.getBody());
  if (failed(body))
    return failure();
  unsigned width = getElement(op.getInductionVar().getType())->width;
  return Instruction::Run([body = *body, width,
                           isUnsigned = op.getUnsignedCmp()](
                              const Instruction &instruction, Frame &frame) {
    auto bound = [&](unsigned index) {
      uint64_t bits = frame.peek(instruction.operands[index]).intAt(0);
      return isUnsigned ? static_cast<int64_t>(bits) : signExtend(bits, width);
    };
    int64_t lower = bound(0), upper = bound(1), step = bound(2);
    if (step <= 0)
      return frame.fail(instruction.op,
                        "expected a positive step of the loop, found " +
                            Twine(step));
    auto first = static_cast<uint64_t>(lower),
         end = static_cast<uint64_t>(upper),
         stride = static_cast<uint64_t>(step);
    uint64_t distance =
        (isUnsigned ? first < end : lower < upper) ? end - first : 0;
    uint64_t trips = distance / stride + (distance % stride != 0);
    frame.machine.noteBranch(frame.replica, instruction.op,
                             static_cast<int64_t>(trips));
    SmallVector<Value> carried = takeAll(
                           frame, ArrayRef(instruction.operands).drop_front(3)),
                       arguments;
    // Counted, since the induction variable may overflow behind the last one.
    for (uint64_t trip = 0; trip < trips; ++trip) {
      arguments.assign(
          1, Value::ofInt((first + trip * stride) & widthMask(width)));
      for (Value &value : carried)
        arguments.push_back(std::move(value));
      if (failed(body->call(frame, arguments, carried)))
        return failure();
    }
    setResults(instruction, frame, carried);
    return success();
  });
}

/// Iterations may execute in any order. If the threads of replicas are
/// scheduled at random (RandomSchedule.h), the order is random too, and
/// different on each replica.
FailureOr<Instruction::Run> translate(scf::ParallelOp op,
                                      CodeBuilder &builder) {
  // A null function: loops with reductions are not supported.
  if (op.getNumResults() > 0)
    return Instruction::Run();
  FailureOr<CodePtr> body = builder.build(*op.getBody());
  if (failed(body))
    return failure();
  return Instruction::Run([body = *body, loops = op.getNumLoops()](
                              const Instruction &instruction, Frame &frame) {
    // The operands are the lower bounds of all loops, then their upper bounds,
    // then their steps.
    auto bound = [&](unsigned loop, unsigned which) {
      return static_cast<int64_t>(
          frame.peek(instruction.operands[which * loops + loop]).intAt(0));
    };
    // The iterations, as tuples of induction variables, built loop by loop.
    std::vector<SmallVector<Value>> iterations(1);
    for (unsigned loop = 0; loop < loops; ++loop) {
      int64_t step = bound(loop, 2);
      if (step <= 0)
        return frame.fail(instruction.op,
                          "expected a positive step of the loop, found " +
                              Twine(step));
      std::vector<SmallVector<Value>> extended;
      for (const SmallVector<Value> &outer : iterations)
        for (int64_t i = bound(loop, 0); i < bound(loop, 1); i += step) {
          if (failed(frame.machine.spend(frame.replica, instruction.op,
                                         kOverhead)))
            return failure();
          extended.push_back(outer);
          extended.back().push_back(Value::ofInt(static_cast<uint64_t>(i)));
        }
      iterations = std::move(extended);
    }
    frame.machine.shuffle(frame.replica, iterations);
    SmallVector<Value> none;
    for (SmallVector<Value> &indices : iterations)
      if (failed(body->call(frame, indices, none)))
        return failure();
    return success();
  });
}

FailureOr<Instruction::Run> translate(scf::WhileOp op, CodeBuilder &builder) {
  FailureOr<CodePtr> before = builder.build(*op.getBeforeBody());
  FailureOr<CodePtr> after = builder.build(*op.getAfterBody());
  if (failed(before) || failed(after))
    return failure();
  return Instruction::Run([before = *before, after = *after](
                              const Instruction &instruction, Frame &frame) {
    SmallVector<Value> carried = takeAll(frame, instruction.operands),
                       condition;
    while (true) {
      // The operands of the terminator are the condition, then the values that
      // are passed to the other region, or are the results of the loop.
      if (failed(before->call(frame, carried, condition)))
        return failure();
      frame.machine.noteBranch(frame.replica, instruction.op,
                               condition[0].intAt(0) != 0);
      MutableArrayRef<Value> passed = MutableArrayRef(condition).drop_front();
      if (!condition[0].intAt(0)) {
        setResults(instruction, frame, passed);
        return success();
      }
      if (failed(after->call(frame, passed, carried)))
        return failure();
    }
  });
}

/// Executes `branch`, the chosen region of `instruction`. It is null for the
/// missing `else` of an `if`, which has no results then.
LogicalResult runBranch(const CodePtr &branch, const Instruction &instruction,
                        Frame &frame) {
  if (!branch)
    return success();
  SmallVector<Value> results;
  if (failed(branch->call(frame, {}, results)))
    return failure();
  setResults(instruction, frame, results);
  return success();
}

FailureOr<Instruction::Run> translate(scf::IfOp op, CodeBuilder &builder) {
  FailureOr<CodePtr> thenCode = builder.build(*op.thenBlock());
  FailureOr<CodePtr> elseCode = op.elseBlock() ? builder.build(*op.elseBlock())
                                               : FailureOr<CodePtr>(CodePtr());
  if (failed(thenCode) || failed(elseCode))
    return failure();
  return Instruction::Run([thenCode = *thenCode, elseCode = *elseCode](
                              const Instruction &instruction, Frame &frame) {
    bool condition = frame.peek(instruction.operands[0]).intAt(0) != 0;
    frame.machine.noteBranch(frame.replica, instruction.op, condition);
    return runBranch(condition ? thenCode : elseCode, instruction, frame);
  });
}

FailureOr<Instruction::Run> translate(scf::IndexSwitchOp op,
                                      CodeBuilder &builder) {
  std::vector<CodePtr> branches;
  for (Region *region : op.getRegions()) {
    FailureOr<CodePtr> code = builder.build(region->front());
    if (failed(code))
      return failure();
    branches.push_back(*code);
  }
  // The default region is the first one.
  return Instruction::Run([branches,
                           cases = SmallVector<int64_t>(op.getCases())](
                              const Instruction &instruction, Frame &frame) {
    auto chosen = llvm::find(
        cases,
        static_cast<int64_t>(frame.peek(instruction.operands[0]).intAt(0)));
    size_t region = chosen == cases.end() ? 0 : 1 + (chosen - cases.begin());
    frame.machine.noteBranch(frame.replica, instruction.op,
                             static_cast<int64_t>(region));
    return runBranch(branches[region], instruction, frame);
  });
}

FailureOr<Instruction::Run> translate(scf::ExecuteRegionOp op,
                                      CodeBuilder &builder) {
  FailureOr<Body> body = builder.buildBody(op.getRegion());
  if (failed(body))
    return failure();
  return Instruction::Run(
      [body = std::move(*body)](const Instruction &instruction, Frame &frame) {
        SmallVector<Value> results;
        Operation *terminator;
        if (failed(body.call(frame, {}, results, terminator)))
          return failure();
        setResults(instruction, frame, results);
        return success();
      });
}

/// Executes the body of a kernel as that of a function on tensors.
FailureOr<Instruction::Run> translate(device::InvokeOp op,
                                      CodeBuilder &builder) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<device::KernelOp>(
      op, op.getKernelAttr());
  if (!kernel || kernel.getBody().empty()) {
    op.emitError("expected the body of kernel ")
        << op.getKernelAttr() << ", found none";
    return failure();
  }
  FailureOr<Body> body = builder.buildBody(kernel.getBody());
  if (failed(body))
    return failure();
  return Instruction::Run(
      [body = std::move(*body)](const Instruction &instruction, Frame &frame) {
        SmallVector<Value> arguments = takeAll(frame, instruction.operands),
                           results;
        Operation *terminator;
        if (failed(body.call(frame, arguments, results, terminator)))
          return failure();
        setResults(instruction, frame, results);
        return success();
      });
}

FailureOr<Instruction::Run> translate(cf::AssertOp op, CodeBuilder &) {
  return Instruction::Run([message = op.getMsg().str()](
                              const Instruction &instruction, Frame &frame) {
    return frame.peek(instruction.operands[0]).intAt(0)
               ? success()
               : frame.fail(instruction.op, message);
  });
}

} // namespace

FailureOr<Instruction::Run> translateControlFlow(Operation *op,
                                                 CodeBuilder &builder) {
  return TypeSwitch<Operation *, FailureOr<Instruction::Run>>(op)
      .Case<scf::ForOp, scf::ParallelOp, scf::WhileOp, scf::IfOp,
            scf::IndexSwitchOp, scf::ExecuteRegionOp, device::InvokeOp,
            cf::AssertOp>([&](auto typed) { return translate(typed, builder); })
      .Default([](Operation *) { return Instruction::Run(); });
}

} // namespace lockstep::interpret
