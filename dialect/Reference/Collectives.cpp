//===- Collectives.cpp - Collectives between the ranks of a group ---------===//
//
// Steps in collective form: a start contributes the operands of a rank, its
// wait receives the results, and other operations may execute in between.
// Programs that are divided into roles (a function for workers, others for
// parameter servers) are not executed.
//
//===----------------------------------------------------------------------===//

#include "dialect/Reference/Replicas.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Reference/Machine.h"
#include "dialect/Reference/MemberResults.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep::interpret {
namespace {

using Result = FailureOr<Instruction::Run>;

FailureOr<Machine::Group> findGroup(CollectiveOpInterface op,
                                    CodeBuilder &builder) {
  auto group = SymbolTable::lookupNearestSymbolFrom<collective::GroupOp>(
      op, op.getGroupSymbol());
  Machine::Group found{group.getSymName().str(),
                       static_cast<int64_t>(op.getChannelNumber().value_or(-1)),
                       {}};
  if (!group.getRanks())
    return found;
  found.ranks.assign(group.getRanks()->begin(), group.getRanks()->end());
  if (group.getWithReplicas() ||
      found.ranks.back() >= builder.machine.replicas()) {
    op->emitError("expected a group of the ranks 0 to ")
        << builder.machine.replicas() - 1 << ", found @" << group.getSymName()
        << ": roles are not executed";
    return failure();
  }
  return found;
}

/// The number of a pending collective on a rank that is not in the group: the
/// rank does not take part, and its results are `nonMemberResult`.
constexpr uint64_t kNotMember = ~uint64_t(0);

bool isMember(const Machine::Group &group, int64_t replica) {
  return group.ranks.empty() || llvm::is_contained(group.ranks, replica);
}

/// The ranks of a group in a step with `replicas` replicas.
SmallVector<int64_t> ranksOf(const Machine::Group &group, int64_t replicas) {
  if (!group.ranks.empty())
    return SmallVector<int64_t>(group.ranks);
  return llvm::to_vector(llvm::seq<int64_t>(0, replicas));
}

Result translate(collective::StartOp op, CodeBuilder &builder) {
  FailureOr<Machine::Group> group = findGroup(op, builder);
  if (failed(group))
    return failure();
  const runtime::CollectiveProperties &kind = op.getKindProperties();
  SmallVector<int64_t> ranks = ranksOf(*group, builder.machine.replicas());
  bool isRootMember =
      !op.getRoot() ||
      llvm::is_contained(ranks, static_cast<int64_t>(*op.getRoot()));
  // A scatter has two operands: the rows, and how many of them each rank
  // receives.
  size_t operands = kind.shape == runtime::ShapeRule::rows
                        ? 2
                        : op.getPending().getType().getResults().size();
  if (!isRootMember || op.getInputs().size() != operands) {
    op.emitError("expected a root among the ranks of the group, and a result "
                 "for each operand: roles are not executed");
    return failure();
  }
  if (op.getSources() && op.getSources()->size() != ranks.size()) {
    op.emitError("expected a source for each of ")
        << ranks.size() << " ranks, found " << op.getSources()->size();
    return failure();
  }
  if (kind.isPointToPoint && ranks.size() != 2) {
    op.emitError("expected a group of 2 ranks for kind '")
        << kind.name << "', found " << ranks.size();
    return failure();
  }
  return Instruction::Run(
      [op, group = *group, ranks = std::move(ranks)](
          const Instruction &instruction, Frame &frame) mutable {
        if (!isMember(group, frame.replica)) {
          frame.slots[instruction.results[0]] = Value::ofInt(kNotMember);
          return success();
        }
        SmallVector<Value> operands;
        for (Use use :
             ArrayRef(instruction.operands).take_front(op.getInputs().size()))
          operands.push_back(frame.peek(use));
        auto combineAll = [&](ArrayRef<SmallVector<Value>> all,
                              std::vector<SmallVector<Value>> &results) {
          return makeResults(frame.machine, op, ranks, all, results);
        };
        FailureOr<uint64_t> number = frame.machine.start(
            frame.replica, op, group, std::move(operands), combineAll);
        if (failed(number))
          return failure();
        frame.slots[instruction.results[0]] = Value::ofInt(*number);
        return success();
      });
}

/// The result of a collective on a rank that is no member of the group: its
/// operand, or zeros where the result is of another type.
Value nonMemberResult(Value operand, Type operandType,
                      RankedTensorType resultType) {
  if (operandType == resultType)
    return operand;
  Shape shape;
  for (int64_t size : resultType.getShape())
    shape.push_back(ShapedType::isDynamic(size) ? 0 : size);
  return Value::zeros(getElement(resultType)->lane, shape);
}

Result translate(collective::WaitOp op, CodeBuilder &) {
  return Instruction::Run([op](const Instruction &instruction,
                               Frame &frame) mutable {
    SmallVector<Value> results;
    uint64_t number = frame.peek(instruction.operands[0]).intAt(0);
    if (number == kNotMember)
      for (auto [index, type] : llvm::enumerate(op.getResultTypes())) {
        bool hasOperand = index < op.getInputs().size();
        results.push_back(nonMemberResult(
            hasOperand ? frame.peek(instruction.operands[index + 1]) : Value(),
            hasOperand ? op.getInputs()[index].getType() : Type(),
            cast<RankedTensorType>(type)));
      }
    else if (failed(frame.machine.wait(frame.replica, instruction.op, number,
                                       results)))
      return failure();
    for (auto [slot, result] : llvm::zip_equal(instruction.results, results))
      frame.slots[slot] = std::move(result);
    return success();
  });
}

Result translate(collective::BarrierOp op, CodeBuilder &builder) {
  FailureOr<Machine::Group> group = findGroup(op, builder);
  if (failed(group))
    return failure();
  return Instruction::Run([group = *group](const Instruction &instruction,
                                           Frame &frame) {
    if (!isMember(group, frame.replica))
      return success();
    SmallVector<Value> none;
    auto nothing = [](ArrayRef<SmallVector<Value>>,
                      std::vector<SmallVector<Value>> &) { return success(); };
    FailureOr<uint64_t> number =
        frame.machine.start(frame.replica, instruction.op, group, {}, nothing);
    return failed(number) ? failure()
                          : frame.machine.wait(frame.replica, instruction.op,
                                               *number, none);
  });
}

} // namespace

Result translateCollectiveOp(Operation *op, CodeBuilder &builder) {
  return TypeSwitch<Operation *, Result>(op)
      .Case<collective::StartOp, collective::WaitOp, collective::BarrierOp>(
          [&](auto typed) { return translate(typed, builder); })
      .Default([](Operation *) { return Instruction::Run(); });
}

} // namespace lockstep::interpret
