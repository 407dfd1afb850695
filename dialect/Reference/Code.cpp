//===- Code.cpp - Operations, resolved for execution ----------------------===//

#include "dialect/Reference/Code.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Reference/LaneKernels.h"
#include "dialect/Reference/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace lockstep::interpret {

LogicalResult Frame::fail(Operation *op, const Twine &message) {
  return machine.fail(replica, op, message);
}

LogicalResult Frame::spend(Operation *op, ArrayRef<int64_t> shape) {
  if (!machine.options.budget)
    return success();
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(count, size, count))
      count = std::numeric_limits<int64_t>::max();
  return machine.spend(replica, op, count);
}

void setResults(const Instruction &instruction, Frame &frame,
                MutableArrayRef<Value> values) {
  for (auto [slot, value] : llvm::zip_equal(instruction.results, values))
    frame.slots[slot] = std::move(value);
}

SmallVector<Value> takeAll(Frame &frame, ArrayRef<Use> uses) {
  return llvm::map_to_vector(uses, [&](Use use) { return frame.take(use); });
}

/// Charges the budget of the run (`RunOptions::budget`, a number of element
/// operations) for the elements of the operands, which measure the work of most
/// operations. Operations that do more work, or create tensors of any size,
/// charge it themselves.
static LogicalResult spend(const Instruction &instruction, Frame &frame) {
  if (!frame.machine.options.budget)
    return success();
  int64_t count = kOverhead;
  // Operations with memory effects (variables, collectives) do not visit the
  // elements of values known to be zero; computing with such values costs as
  // much as with others.
  for (Use use : instruction.operands)
    if (const Value &value = frame.peek(use);
        !value.isZero() || isMemoryEffectFree(instruction.op))
      count += value.size();
  return frame.machine.spend(frame.replica, instruction.op, count);
}

LogicalResult Code::execute(Frame &frame) const {
  if (frame.machine.hasFailed() ||
      failed(frame.machine.spend(frame.replica, terminator, kOverhead)))
    return failure();
  for (const Instruction &instruction : instructions) {
    frame.machine.pause(frame.replica);
    if (failed(spend(instruction, frame)) ||
        failed(instruction.run(instruction, frame)))
      return failure();
    for (unsigned slot : instruction.released)
      frame.slots[slot] = Value();
  }
  return success();
}

LogicalResult Code::call(Frame &frame, MutableArrayRef<Value> values,
                         SmallVectorImpl<Value> &results) const {
  for (auto [slot, value] : llvm::zip_equal(arguments, values))
    frame.slots[slot] = std::move(value);
  if (failed(execute(frame)))
    return failure();
  results.clear();
  for (Use use : yielded)
    results.push_back(frame.take(use));
  return success();
}

//===----------------------------------------------------------------------===//
// Several blocks
//===----------------------------------------------------------------------===//

FailureOr<Body> CodeBuilder::buildBody(Region &region) {
  Body body;
  for (Block &block : region) {
    Operation *terminator = block.getTerminator();
    if (terminator->getNumSuccessors() > 0 &&
        !isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp>(terminator)) {
      terminator->emitError(
          "expected a branch that the interpreter knows, found '")
          << terminator->getName() << "'";
      return failure();
    }
    FailureOr<std::shared_ptr<const Code>> code = build(block);
    if (failed(code))
      return failure();
    body.numbers[&block] = body.blocks.size();
    body.blocks.push_back(*code);
  }
  return body;
}

/// The index of the successor that a terminator branches to; `values` are the
/// values of its operands.
static unsigned getTaken(Operation *terminator, ArrayRef<Value> values) {
  if (isa<cf::CondBranchOp>(terminator))
    return values[0].intAt(0) ? 0 : 1;
  auto choice = dyn_cast<cf::SwitchOp>(terminator);
  std::optional<DenseIntElementsAttr> cases =
      choice ? choice.getCaseValues() : std::nullopt;
  if (!cases)
    return 0;
  // The first successor is the default one.
  unsigned successor = 1;
  for (const APInt &value : cases->getValues<APInt>()) {
    if (value.getZExtValue() == values[0].intAt(0))
      return successor;
    ++successor;
  }
  return 0;
}

LogicalResult Body::call(Frame &frame, MutableArrayRef<Value> values,
                         SmallVectorImpl<Value> &results,
                         Operation *&end) const {
  SmallVector<Value> arguments(values.begin(), values.end());
  for (const Code *code = blocks.front().get();;) {
    end = code->terminator;
    if (failed(code->call(frame, arguments, results)))
      return failure();
    if (end->getNumSuccessors() == 0)
      return success();
    auto branch = cast<BranchOpInterface>(end);
    unsigned taken = getTaken(end, results);
    frame.machine.noteBranch(frame.replica, end, taken);
    // Each branch is charged, so that a loop of empty blocks uses up the
    // budget.
    if (failed(frame.machine.spend(frame.replica, end, kOverhead)))
      return failure();
    OperandRange forwarded =
        branch.getSuccessorOperands(taken).getForwardedOperands();
    arguments.clear();
    for (unsigned i = 0; i < forwarded.size(); ++i)
      arguments.push_back(results[forwarded.getBeginOperandIndex() + i]);
    code = blocks[numbers.at(end->getSuccessor(taken))].get();
  }
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

FailureOr<std::shared_ptr<const Code>>
CodeBuilder::buildRegion(Region &region) {
  if (!region.empty())
    return build(region.front());
  region.getParentOp()->emitError("expected '")
      << region.getParentOp()->getName() << "' to have a body, found none";
  return failure();
}

FailureOr<std::shared_ptr<const Code>> CodeBuilder::build(Block &block) {
  auto code = std::make_shared<Code>();
  for (BlockArgument argument : block.getArguments())
    code->arguments.push_back(slotOf(argument));
  for (Operation &op : block.without_terminator()) {
    Instruction instruction;
    instruction.op = &op;
    for (mlir::Value operand : op.getOperands())
      instruction.operands.push_back({slotOf(operand), false});
    for (OpResult result : op.getResults())
      instruction.results.push_back(slotOf(result));
    if (failed(translate(&op, instruction)))
      return failure();
    code->instructions.push_back(std::move(instruction));
  }
  code->terminator = block.getTerminator();
  for (mlir::Value operand : code->terminator->getOperands())
    code->yielded.push_back({slotOf(operand), false});
  markLastUses(block, *code);
  return std::shared_ptr<const Code>(std::move(code));
}

LogicalResult CodeBuilder::translate(Operation *op, Instruction &instruction) {
  for (mlir::Value result : op->getResults())
    if (!getElement(result.getType()) &&
        !isa<collective::PendingType>(result.getType()))
      return op->emitError("expected elements that the interpreter has (floats "
                           "of 16, 32 and 64 bits, integers up to 64 "
                           "bits), found ")
             << result.getType();
  for (auto family :
       {translateScalarOp, translateTensorOp, translateControlFlow,
        translateGeneric, translateDefinedOp, translateReplicaOp,
        translateCollectiveOp}) {
    FailureOr<Instruction::Run> run = family(op, *this);
    if (failed(run))
      return failure();
    if (*run) {
      instruction.run = std::move(*run);
      return success();
    }
  }
  return op->emitError(
             "expected an operation that the interpreter knows, found '")
         << op->getName() << "'";
}

/// Traverses the block backwards: the first use of a value that is found is its
/// last one. A use in a nested region counts as a use by the operation that
/// holds the region, since a loop executes the region repeatedly.
void CodeBuilder::markLastUses(Block &block, Code &code) {
  llvm::DenseSet<mlir::Value> used;
  bool isOnly = block.getParent()->hasOneBlock();
  auto isLast = [&](mlir::Value value) {
    // Another block may execute later, even a preceding one if the blocks form
    // a loop.
    return value.getParentBlock() == &block &&
           (isOnly || !value.isUsedOutsideOfBlock(&block)) &&
           used.insert(value).second;
  };
  OperandRange yielded = code.terminator->getOperands();
  for (size_t i = yielded.size(); i-- > 0;)
    code.yielded[i].dies = isLast(yielded[i]);

  for (Instruction &instruction : llvm::reverse(code.instructions)) {
    for (OpResult result : instruction.op->getResults())
      if (!used.contains(result) &&
          (isOnly || !result.isUsedOutsideOfBlock(&block)))
        instruction.released.push_back(slotOf(result));
    for (Region &region : instruction.op->getRegions())
      region.walk([&](Operation *inner) {
        for (mlir::Value operand : inner->getOperands())
          if (isLast(operand))
            instruction.released.push_back(slotOf(operand));
      });
    OperandRange operands = instruction.op->getOperands();
    for (size_t i = operands.size(); i-- > 0;)
      if (isLast(operands[i])) {
        instruction.operands[i].dies = true;
        instruction.released.push_back(slotOf(operands[i]));
      }
  }
}

//===----------------------------------------------------------------------===//
// Constants and element-wise operations
//===----------------------------------------------------------------------===//

/// True for a select between whole values by a scalar condition.
static bool selectsWhole(Operation *op) {
  return isa<arith::SelectOp>(op) &&
         !isa<ShapedType>(op->getOperand(0).getType());
}

static LogicalResult runElementwise(const LaneKernel &kernel,
                                    const Instruction &instruction,
                                    Frame &frame) {
  SmallVector<const void *, 3> from;
  const Value &first = frame.peek(instruction.operands[0]);
  for (Use use : instruction.operands) {
    const Value &value = frame.peek(use);
    if (value.shape() != first.shape())
      return frame.fail(
          instruction.op,
          "expected operands of equal shapes, found different ones");
    from.push_back(value.data());
  }
  Value result(kernel.result.lane, first.shape());
  kernel.run(result.mutableData(), from.data(), result.size());
  frame.slots[instruction.results[0]] = std::move(result);
  return success();
}

FailureOr<Instruction::Run> translateScalarOp(Operation *op, CodeBuilder &) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    std::optional<Value> value =
        fromAttribute(constant.getValue(), constant.getType());
    if (!value) {
      op->emitError(
          "expected a number or dense elements of a static shape, found ")
          << constant.getValue();
      return failure();
    }
    return Instruction::Run(
        [value = *value](const Instruction &instruction, Frame &frame) {
          frame.slots[instruction.results[0]] = value;
          return success();
        });
  }
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return Instruction::Run([dim = index.getDim()](
                                const Instruction &instruction, Frame &frame) {
      frame.slots[instruction.results[0]] = Value::ofInt(frame.indices[dim]);
      return success();
    });
  if (selectsWhole(op))
    return Instruction::Run([](const Instruction &instruction, Frame &frame) {
      bool condition = frame.peek(instruction.operands[0]).intAt(0);
      frame.slots[instruction.results[0]] =
          frame.take(instruction.operands[condition ? 1 : 2]);
      return success();
    });
  if (std::optional<LaneKernel> kernel = getLaneKernel(op))
    return Instruction::Run(
        [kernel = *kernel](const Instruction &instruction, Frame &frame) {
          return runElementwise(kernel, instruction, frame);
        });
  return Instruction::Run();
}

} // namespace lockstep::interpret
