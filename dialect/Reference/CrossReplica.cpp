//===- CrossReplica.cpp - Operations of cross-replica context -------------===//

#include "dialect/Reference/Replicas.h"

#include "dialect/Reference/Machine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep::interpret {

std::vector<Value> componentsOf(const Value &value, int64_t replicas) {
  return value.isPerReplica() ? value.components()
                              : std::vector<Value>(replicas, value);
}

namespace {

using Result = FailureOr<Instruction::Run>;

/// The component of replica `replica` of a value of cross-replica context.
Value componentOf(const Value &value, int64_t replica) {
  return value.isPerReplica() ? value.components()[replica] : value;
}

/// A rendezvous of the replicas: the last one to arrive executes the region, in
/// a separate frame, and each replica receives its component of the results.
Result translate(replica::MergeCallOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.buildRegion(op.getBody());
  if (failed(body))
    return failure();
  SmallVector<bool> perReplica =
      llvm::map_to_vector(op.getBody().getArgumentTypes(), [](Type type) {
        return isa<replica::PerReplicaType>(type);
      });
  return Instruction::Run([body = *body, perReplica](
                              const Instruction &instruction, Frame &frame) {
    Machine &machine = frame.machine;
    auto combine = [&](ArrayRef<SmallVector<Value>> all,
                       std::vector<SmallVector<Value>> &results) {
      SmallVector<Value> arguments, yielded;
      for (size_t index = 0; index < perReplica.size(); ++index) {
        std::vector<Value> components;
        for (const SmallVector<Value> &mine : all)
          components.push_back(mine[index]);
        if (!perReplica[index])
          for (auto [replica, component] : llvm::enumerate(components))
            if (!component.isIdentical(components[0]))
              return machine.fail(
                  -1, instruction.op,
                  "expected argument " + Twine(index) +
                      " to be equal on all replicas, found another "
                      "value on replica " +
                      Twine(replica) + " than on replica 0",
                  FailureKind::ValuesDiffer);
        arguments.push_back(perReplica[index]
                                ? Value::perReplica(std::move(components))
                                : components[0]);
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
    if (failed(machine.rendezvous(frame.replica, instruction.op,
                                  std::move(operands), combine, results)))
      return failure();
    for (auto [slot, result] : llvm::zip_equal(instruction.results, results))
      frame.slots[slot] = std::move(result);
    return success();
  });
}

/// Each replica executes the region on a separate thread, in a run nested in
/// this one.
Result translate(replica::RunOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.buildRegion(op.getBody());
  if (failed(body))
    return failure();
  SmallVector<bool> perReplica = llvm::map_to_vector(
      op.getResultTypes(), llvm::IsaPred<replica::PerReplicaType>);
  return Instruction::Run([body = *body, perReplica](
                              const Instruction &instruction, Frame &frame) {
    Machine machine(frame.machine.replicas(), frame.machine.variables,
                    frame.machine.batches);
    machine.options = frame.machine.optionsOfInnerRun();
    machine.begin();
    std::vector<SmallVector<Value>> yielded(machine.replicas());
    machine.runReplicas([&](int64_t replica) {
      Frame mine{machine, replica, std::vector<Value>(frame.slots.size()), {}};
      SmallVector<Value> arguments;
      for (Use use : instruction.operands)
        arguments.push_back(componentOf(frame.peek(use), replica));
      (void)body->call(mine, arguments, yielded[replica]);
      machine.end(replica, body->terminator);
    });
    if (machine.hasFailed()) {
      frame.machine.adoptFailure(machine);
      return failure();
    }
    for (auto [index, slot] : llvm::enumerate(instruction.results)) {
      SmallVector<Value> components = valuesOfReplicas(yielded, index);
      Value all = Value::perReplica(
          std::vector<Value>(components.begin(), components.end()));
      if (!perReplica[index] &&
          failed(checkEqual(frame.machine, instruction.op, all)))
        return failure();
      frame.slots[slot] = perReplica[index] ? std::move(all) : components[0];
    }
    return success();
  });
}

/// The element-wise reduction of `value`.
LogicalResult reduceValue(const Instruction &instruction, Frame &frame,
                          replica::Reduction reduction, const Value &value,
                          unsigned index) {
  Element element = *getElement(instruction.op->getOperand(index).getType());
  Type type = instruction.op->getResult(index).getType();
  if (value.isPerReplica() &&
      failed(checkShapes(frame.machine, instruction.op, value.components())))
    return failure();
  // The mean of a value that is equal on all replicas is the value.
  Value reduced = value.isPerReplica()
                      ? reduce(reduction, value.components(), element, type)
                      : value;
  if (!value.isPerReplica() && element.lane == Lane::Int)
    reduced = reduce(reduction, {value}, element, type);
  frame.slots[instruction.results[index]] = std::move(reduced);
  return success();
}

template <typename ReduceOpTy> Result translateReduction(ReduceOpTy op) {
  return Instruction::Run([reduction = op.getReduction()](
                              const Instruction &instruction, Frame &frame) {
    for (auto [index, use] : llvm::enumerate(instruction.operands))
      if (failed(reduceValue(instruction, frame, reduction, frame.peek(use),
                             index)))
        return failure();
    return success();
  });
}

Result translate(replica::ReduceToOp op, CodeBuilder &) {
  return translateReduction(op);
}
Result translate(replica::BatchReduceToOp op, CodeBuilder &) {
  return translateReduction(op);
}

/// The sums of the elements of `value` along `axes`.
Value addAlong(const Value &value, ArrayRef<int64_t> axes,
               const Element &element) {
  Shape kept, strides;
  for (auto [d, size] : llvm::enumerate(value.shape()))
    if (!llvm::is_contained(axes, static_cast<int64_t>(d)))
      kept.push_back(size);
  Shape keptStrides = rowMajorStrides(kept),
        from = rowMajorStrides(value.shape());
  Value sum(element.lane, kept);
  for (int64_t i = 0; i < value.size(); ++i) {
    int64_t to = 0, position = 0;
    for (auto [d, size] : llvm::enumerate(value.shape()))
      if (!llvm::is_contained(axes, static_cast<int64_t>(d)))
        to += (i / from[d] % size) * keptStrides[position++];
    if (element.lane == Lane::Float)
      sum.mutableAs<float>()[to] += value.as<float>()[i];
    else if (element.lane == Lane::Double)
      sum.mutableAs<double>()[to] += value.as<double>()[i];
    else
      sum.mutableAs<uint64_t>()[to] =
          (sum.intAt(to) + value.intAt(i)) & widthMask(element.width);
  }
  return sum;
}

Result translate(replica::ReduceOp op, CodeBuilder &) {
  if (!op.getAxes())
    return translateReduction(op);
  SmallVector<int64_t> axes(op.getAxesAttr().asArrayRef());
  Element element = *getElement(op.getValue().getType());
  bool mean = op.getReduction() == replica::Reduction::Mean;
  return Instruction::Run([axes, element, mean](const Instruction &instruction,
                                                Frame &frame) {
    std::vector<Value> sums;
    int64_t count = 0;
    for (const Value &own : componentsOf(frame.peek(instruction.operands[0]),
                                         frame.machine.replicas())) {
      sums.push_back(addAlong(own, axes, element));
      int64_t elements = 1;
      for (int64_t axis : axes)
        elements *= own.shape()[axis];
      count += elements;
    }
    if (failed(checkShapes(frame.machine, instruction.op, sums)))
      return failure();
    // Sums in the wide type, and rounds once, after the division.
    Element wide = element;
    wide.rounding = Rounding::None;
    Value result = reduce(replica::Reduction::Sum, sums, wide,
                          instruction.op->getOperand(0).getType());
    if (mean)
      result = divide(result, element, count);
    if (element.rounding != Rounding::None)
      roundLanes(element.rounding, result.mutableAs<float>(), result.size());
    frame.slots[instruction.results[0]] = std::move(result);
    return success();
  });
}

Result translate(replica::NextOp, CodeBuilder &) {
  return Instruction::Run([](const Instruction &instruction, Frame &frame) {
    BatchList &batches = frame.machine.batches;
    if (batches.loaded == batches.all.size())
      return frame.machine.fail(-1, instruction.op,
                                "asks for batch " + Twine(batches.loaded + 1) +
                                    " of " + Twine(batches.all.size()) +
                                    " [E_OUT_OF_RANGE]");
    for (auto [slot, value] :
         llvm::zip_equal(instruction.results, batches.all[batches.loaded]))
      frame.slots[slot] = value;
    ++batches.loaded;
    return success();
  });
}

Result translate(replica::NumBatchesOp, CodeBuilder &) {
  return Instruction::Run([](const Instruction &instruction, Frame &frame) {
    frame.slots[instruction.results[0]] =
        Value::ofInt(frame.machine.batches.all.size());
    return success();
  });
}

Result translate(replica::ValuesFromFunctionOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.buildRegion(op.getBody());
  if (failed(body))
    return failure();
  return Instruction::Run([body = *body](const Instruction &instruction,
                                         Frame &frame) {
    std::vector<std::vector<Value>> results(instruction.results.size());
    for (int64_t replica = 0; replica < frame.machine.replicas(); ++replica) {
      SmallVector<Value> arguments{Value::ofInt(replica)}, yielded;
      if (failed(body->call(frame, arguments, yielded)))
        return failure();
      for (auto [components, value] : llvm::zip_equal(results, yielded))
        components.push_back(value);
    }
    for (auto [slot, components] :
         llvm::zip_equal(instruction.results, results))
      frame.slots[slot] = Value::perReplica(std::move(components));
    return success();
  });
}

Result translate(replica::UpdateNonSlotOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.buildRegion(op.getBody());
  if (failed(body))
    return failure();
  return Instruction::Run(
      [body = *body](const Instruction &instruction, Frame &frame) {
        SmallVector<Value> arguments, yielded;
        for (Use use : instruction.operands) {
          const Value &value = frame.peek(use);
          if (value.isPerReplica() &&
              failed(checkEqual(frame.machine, instruction.op, value)))
            return failure();
          arguments.push_back(componentOf(value, 0));
        }
        if (failed(body->call(frame, arguments, yielded)))
          return failure();
        for (auto [slot, value] : llvm::zip_equal(instruction.results, yielded))
          frame.slots[slot] = value;
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
  return Instruction::Run([axis, type](const Instruction &instruction,
                                       Frame &frame) {
    const Value &value = frame.peek(instruction.operands[0]);
    if (!value.isPerReplica()) {
      frame.slots[instruction.results[0]] = value;
      return success();
    }
    ArrayRef<Value> components = value.components();
    if (failed(checkShapes(frame.machine, instruction.op, components, axis)))
      return failure();
    Value gathered =
        components.size() == 1 ? components[0] : concatenate(components, axis);
    if (failed(
            checkGathered(frame.machine, instruction.op, gathered, type, axis)))
      return failure();
    frame.slots[instruction.results[0]] = std::move(gathered);
    return success();
  });
}

Result translate(replica::LocalResultsOp op, CodeBuilder &builder) {
  if (op.getNumResults() != static_cast<size_t>(builder.machine.replicas())) {
    op.emitError("expected one result for each of ")
        << builder.machine.replicas() << " replicas, found "
        << op.getNumResults();
    return failure();
  }
  return Instruction::Run([](const Instruction &instruction, Frame &frame) {
    Value value = frame.take(instruction.operands[0]);
    for (auto [slot, component] :
         llvm::zip_equal(instruction.results,
                         componentsOf(value, frame.machine.replicas())))
      frame.slots[slot] = component;
    return success();
  });
}

/// Executes the region once for all copies that must be equal; for an on_read
/// variable once for each copy.
Result translate(replica::UpdateOp op, CodeBuilder &builder) {
  FailureOr<std::shared_ptr<const Code>> body =
      builder.buildRegion(op.getBody());
  if (failed(body))
    return failure();
  Variable &variable = findVariable(op, builder);
  bool each = variable.op.isOnRead();
  if (each && builder.machine.replicas() > 1 &&
      !llvm::all_of(op.getResultTypes(),
                    llvm::IsaPred<replica::PerReplicaType>)) {
    op.emitError(
        "expected per-replica results of an update of the on_read variable '")
        << op.getVariable() << "', found (" << op.getResultTypes() << ")";
    return failure();
  }
  return Instruction::Run([body = *body, &variable,
                           each](const Instruction &instruction, Frame &frame) {
    if (failed(frame.machine.checkCopies(variable, instruction.op)))
      return failure();
    std::vector<std::vector<Value>> results(instruction.results.size());
    for (auto [replica, copy] : llvm::enumerate(variable.copies)) {
      SmallVector<Value> arguments{copy}, yielded;
      for (Use use : instruction.operands) {
        const Value &value = frame.peek(use);
        if (!each && value.isPerReplica() &&
            failed(checkEqual(frame.machine, instruction.op, value)))
          return failure();
        arguments.push_back(componentOf(value, replica));
      }
      if (failed(body->call(frame, arguments, yielded)))
        return failure();
      copy = yielded[0];
      for (size_t i = 0; i < results.size(); ++i)
        results[i].push_back(yielded[i + 1]);
      if (!each) {
        llvm::fill(variable.copies, copy);
        variable.forgetWriters();
        break;
      }
    }
    for (auto [slot, components] :
         llvm::zip_equal(instruction.results, results))
      frame.slots[slot] =
          each ? Value::perReplica(std::move(components)) : components[0];
    return success();
  });
}

} // namespace

Result translateCrossReplicaOp(Operation *op, CodeBuilder &builder) {
  return TypeSwitch<Operation *, Result>(op)
      .Case<replica::MergeCallOp, replica::RunOp, replica::ReduceToOp,
            replica::BatchReduceToOp, replica::ReduceOp, replica::BroadcastToOp,
            replica::GatherOp, replica::LocalResultsOp, replica::UpdateOp,
            replica::UpdateNonSlotOp, replica::ValuesFromFunctionOp,
            replica::NextOp, replica::NumBatchesOp>(
          [&](auto typed) { return translate(typed, builder); })
      .Default([](Operation *) { return Instruction::Run(); });
}

} // namespace lockstep::interpret
