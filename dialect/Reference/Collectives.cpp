//===- Collectives.cpp - Exchanges between the ranks of a group -----------===//
//
// Steps in collective form: a start gives what a rank has, its wait gets what
// has become of it, and other work may stand between. Of the kinds there are
// those whose operands and results are the same for all ranks of a step; roles
// are not executed.
//
//===----------------------------------------------------------------------===//

#include "dialect/Reference/Replicas.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Reference/Machine.h"

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

/// What a rank waits for that is not of the group: it passes by, and keeps what
/// it had.
constexpr uint64_t kNotMine = ~uint64_t(0);

bool isMember(const Machine::Group &group, int64_t replica) {
  return group.ranks.empty() || llvm::is_contained(group.ranks, replica);
}

/// Part `index` of `count` along `axis`.
Value partOf(const Value &value, size_t index, size_t count, int64_t axis) {
  Shape shape(value.shape()), strides = rowMajorStrides(value.shape());
  shape[axis] /= static_cast<int64_t>(count);
  Value part(value.lane(), shape);
  size_t bytes = laneBytes(value.lane());
  const auto *from = static_cast<const std::byte *>(value.data()) +
                     bytes * index * shape[axis] * strides[axis];
  copyStrided(static_cast<std::byte *>(part.mutableData()),
              rowMajorStrides(shape), from, strides, shape, bytes);
  return part;
}

/// Rank i gets part i of what each rank has.
LogicalResult exchangeParts(Machine &machine, collective::StartOp op,
                            ArrayRef<Value> values,
                            std::vector<SmallVector<Value>> &results) {
  int64_t axis = op.getAxis().value_or(0);
  if (failed(checkShapes(machine, op, values)))
    return failure();
  if (values[0].shape()[axis] % values.size() != 0)
    return machine.fail(-1, op,
                        "expected a multiple of " + Twine(values.size()) +
                            " rows, found " + Twine(values[0].shape()[axis]) +
                            " [E_SHAPE_MISMATCH]",
                        FailureKind::ShapesDiffer);
  for (auto [rank, mine] : llvm::enumerate(results)) {
    SmallVector<Value> parts;
    for (const Value &value : values)
      parts.push_back(partOf(value, rank, values.size(), axis));
    mine.push_back(concatenate(parts, axis));
  }
  return success();
}

replica::Reduction getReduction(collective::StartOp op) {
  switch (op.getReduction()) {
  case collective::Reduction::None:
  case collective::Reduction::Sum:
    return replica::Reduction::Sum;
  case collective::Reduction::Product:
    return replica::Reduction::Product;
  case collective::Reduction::Min:
    return replica::Reduction::Min;
  case collective::Reduction::Max:
    return replica::Reduction::Max;
  }
  llvm_unreachable("all reductions are listed");
}

/// What all ranks get for operand `index`, of which each of them has one.
FailureOr<Value> combine(Machine &machine, collective::StartOp op,
                         ArrayRef<Value> values, size_t index, size_t root) {
  bool gathers = op.getKindProperties().concatenates();
  if (failed(checkShapes(machine, op, values,
                         gathers ? static_cast<int64_t>(*op.getAxis()) : -1)))
    return failure();
  if (gathers)
    return concatenate(values, *op.getAxis());
  if (op.getKind() == collective::Kind::Broadcast)
    return values[root];
  Type type = op.getInputs()[index].getType();
  return reduce(getReduction(op), values, *getElement(type), type);
}

/// The position of the root among the ranks of the group; none where it is not
/// one of them.
std::optional<size_t> findRoot(collective::StartOp op,
                               const Machine::Group &group) {
  if (!op.getRoot())
    return 0;
  if (group.ranks.empty())
    return *op.getRoot();
  auto found = llvm::find(group.ranks, static_cast<int64_t>(*op.getRoot()));
  return found == group.ranks.end()
             ? std::nullopt
             : std::optional<size_t>(found - group.ranks.begin());
}

Result translate(collective::StartOp op, CodeBuilder &builder) {
  using collective::Kind;
  bool isKnown =
      llvm::is_contained({Kind::AllReduce, Kind::AllGather, Kind::Broadcast,
                          Kind::Reduce, Kind::Gather, Kind::AllToAll},
                         op.getKind());
  if (!isKnown) {
    op.emitError("expected a collective that the interpreter knows, found '")
        << op.getKindName() << "'";
    return failure();
  }
  FailureOr<Machine::Group> group = findGroup(op, builder);
  if (failed(group))
    return failure();
  std::optional<size_t> root = findRoot(op, *group);
  if (!root ||
      op.getInputs().size() != op.getPending().getType().getResults().size()) {
    op.emitError("expected a root among the ranks of the group, and a result "
                 "for each operand: roles are not executed");
    return failure();
  }
  return Instruction::Run([op, group = *group,
                           root = *root](const Instruction &instruction,
                                         Frame &frame) mutable {
    if (!isMember(group, frame.replica)) {
      frame.slots[instruction.results[0]] = Value::ofInt(kNotMine);
      return success();
    }
    SmallVector<Value> operands;
    for (Use use :
         ArrayRef(instruction.operands).take_front(op.getInputs().size()))
      operands.push_back(frame.peek(use));
    auto combineAll = [&](ArrayRef<SmallVector<Value>> all,
                          std::vector<SmallVector<Value>> &results) {
      for (size_t index = 0; index < all[0].size(); ++index) {
        if (op.getKind() == collective::Kind::AllToAll) {
          if (failed(exchangeParts(frame.machine, op, ofReplicas(all, index),
                                   results)))
            return failure();
          continue;
        }
        FailureOr<Value> combined =
            combine(frame.machine, op, ofReplicas(all, index), index, root);
        if (failed(combined))
          return failure();
        // A result that is for the root alone, the others do not have: what
        // they read instead is not said, and here zeros.
        bool isForRoot =
            op.getRoot() && (op.getKind() == collective::Kind::Reduce ||
                             op.getKind() == collective::Kind::Gather);
        for (auto [member, mine] : llvm::enumerate(results))
          mine.push_back(isForRoot && member != root
                             ? Value::zeros(combined->lane(), combined->shape())
                             : *combined);
      }
      return success();
    };
    FailureOr<uint64_t> number = frame.machine.start(
        frame.replica, op, group, std::move(operands), combineAll);
    if (failed(number))
      return failure();
    frame.slots[instruction.results[0]] = Value::ofInt(*number);
    return success();
  });
}

Result translate(collective::WaitOp, CodeBuilder &) {
  return Instruction::Run([](const Instruction &instruction, Frame &frame) {
    SmallVector<Value> results;
    uint64_t number = frame.peek(instruction.operands[0]).intAt(0);
    if (number == kNotMine)
      for (Use use : ArrayRef(instruction.operands).drop_front())
        results.push_back(frame.peek(use));
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
