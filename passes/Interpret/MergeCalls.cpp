//===- MergeCalls.cpp - merge_call and cross-replica context --------------===//

#include "passes/Interpret/Replicas.h"

#include "passes/Interpret/Machine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep::interpret {
namespace {

using Result = FailureOr<Instruction::Run>;

/// What replica `replica` has of a value of cross-replica context.
Value componentOf(const Value &value, int64_t replica) { return value.isPerReplica() ? value.components()[replica] : value; }

/// Replicas meet; the last one executes the region, in a frame of its own, and gives each its component.
Result translate(replica::MergeCallOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body = builder.build(op.getBody().front());
  if (failed(body))
    return failure();
  SmallVector<bool> perReplica = llvm::map_to_vector(op.getBody().getArgumentTypes(), [](Type type) { return isa<replica::PerReplicaType>(type); });
  return Instruction::Run([body = *body, perReplica](const Instruction &instruction, Frame &frame) {
    Machine &machine = frame.machine;
    auto combine = [&](ArrayRef<SmallVector<Value>> all, std::vector<SmallVector<Value>> &results) {
      SmallVector<Value> arguments, yielded;
      for (size_t index = 0; index < perReplica.size(); ++index) {
        std::vector<Value> components;
        for (const SmallVector<Value> &mine : all)
          components.push_back(mine[index]);
        if (!perReplica[index])
          for (auto [replica, component] : llvm::enumerate(components))
            if (!component.isIdentical(components[0]))
              return machine.fail(-1, instruction.op, "expected argument " + Twine(index) + " to be equal on all replicas, found another "
                                                      "value on replica " + Twine(replica) + " than on replica 0");
        arguments.push_back(perReplica[index] ? Value::perReplica(std::move(components)) : components[0]);
      }
      Frame cross{machine, -1, std::vector<Value>(frame.slots.size()), {}};
      if (failed(body->call(cross, arguments, yielded)))
        return failure();
      for (auto [replica, mine] : llvm::enumerate(results))
        for (const Value &value : yielded)
          mine.push_back(componentOf(value, replica));
      return success();
    };
    SmallVector<Value> operands, results;
    for (Use use : instruction.operands)
      operands.push_back(frame.take(use));
    if (failed(machine.meet(frame.replica, instruction.op, std::move(operands), combine, results)))
      return failure();
    for (auto [slot, result] : llvm::zip_equal(instruction.results, results))
      frame.slots[slot] = std::move(result);
    return success();
  });
}

Result translate(replica::ReduceToOp op, CodeBuilder &) {
  Element element = *getElement(op.getValue().getType());
  return Instruction::Run([op, element](const Instruction &instruction, Frame &frame) mutable {
    const Value &value = frame.peek(instruction.operands[0]);
    std::vector<Value> components;
    for (int64_t replica = 0; replica < frame.machine.replicas(); ++replica)
      components.push_back(componentOf(value, replica));
    if (failed(checkShapes(frame.machine, instruction.op, components)))
      return failure();
    // The mean of a value that is equal everywhere is the value.
    Value result = value;
    if (value.isPerReplica())
      result = reduce(op.getReduction(), components, element);
    else if (element.lane == Lane::Int)
      result = reduce(op.getReduction(), {value}, element);
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  });
}

Result translate(replica::BroadcastToOp, CodeBuilder &) {
  return Instruction::Run([](const Instruction &instruction, Frame &frame) {
    frame.slots[instruction.results[0]] = frame.take(instruction.operands[0]);
    return success();
  });
}

Result translate(replica::GatherOp op, CodeBuilder &) {
  int64_t axis = op.getAxis();
  Type type = op.getResult().getType();
  return Instruction::Run([axis, type](const Instruction &instruction, Frame &frame) {
    ArrayRef<Value> components = frame.peek(instruction.operands[0]).components();
    if (failed(checkShapes(frame.machine, instruction.op, components, axis)))
      return failure();
    Value gathered = concatenate(components, axis);
    if (failed(checkGathered(frame.machine, instruction.op, gathered, type, axis)))
      return failure();
    frame.slots[instruction.results[0]] = std::move(gathered);
    return success();
  });
}

Result translate(replica::LocalResultsOp op, CodeBuilder &builder) {
  if (op.getNumResults() != static_cast<size_t>(builder.machine.replicas())) {
    op.emitError("expected one result for each of ") << builder.machine.replicas() << " replicas, found " << op.getNumResults();
    return failure();
  }
  return Instruction::Run([](const Instruction &instruction, Frame &frame) {
    Value value = frame.take(instruction.operands[0]);
    for (auto [slot, component] : llvm::zip_equal(instruction.results, value.components()))
      frame.slots[slot] = component;
    return success();
  });
}

/// Once for all copies that are equal; for the copies of an on_read variable one after the other.
Result translate(replica::UpdateOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body = builder.build(op.getBody().front());
  if (failed(body))
    return failure();
  Variable &variable = findVariable(op, builder);
  bool each = variable.op.getSynchronization() == replica::Synchronization::OnRead;
  if (each && !llvm::all_of(op.getResultTypes(), [](Type type) { return isa<replica::PerReplicaType>(type); })) {
    op.emitError("expected per-replica results of an update of the on_read variable '")
        << op.getVariable() << "', found (" << op.getResultTypes() << ")";
    return failure();
  }
  return Instruction::Run([body = *body, &variable, each](const Instruction &instruction, Frame &frame) {
    std::vector<std::vector<Value>> results(instruction.results.size());
    for (Value &copy : variable.copies) {
      SmallVector<Value> arguments{copy}, yielded;
      for (Use use : instruction.operands)
        arguments.push_back(frame.peek(use));
      if (failed(body->call(frame, arguments, yielded)))
        return failure();
      copy = yielded[0];
      for (size_t i = 0; i < results.size(); ++i)
        results[i].push_back(yielded[i + 1]);
      if (!each) {
        llvm::fill(variable.copies, copy);
        break;
      }
    }
    for (auto [slot, components] : llvm::zip_equal(instruction.results, results))
      frame.slots[slot] = each ? Value::perReplica(std::move(components)) : components[0];
    return success();
  });
}

} // namespace

Result translateMergeOp(Operation *op, CodeBuilder &builder) {
  return TypeSwitch<Operation *, Result>(op)
      .Case<replica::MergeCallOp, replica::ReduceToOp, replica::BroadcastToOp, replica::GatherOp, replica::LocalResultsOp,
            replica::UpdateOp>([&](auto typed) { return translate(typed, builder); })
      .Default([](Operation *) { return Instruction::Run(); });
}

} // namespace lockstep::interpret
