//===- Slices.cpp - Slices and scatters -----------------------------------===//

#include "dialect/Reference/Replicas.h"

#include "dialect/Reference/Machine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep::interpret {
namespace {

using Result = FailureOr<Instruction::Run>;

/// Rows of a table, and the row indices they belong to.
struct Slices {
  Value values, indices;
};

/// The concatenation of the slices of all replicas; for a mean, divided by the
/// number of replicas.
Slices combineSlices(ArrayRef<Value> values, ArrayRef<Value> indices, bool mean,
                     const Element &element) {
  Slices all{concatenate(values, 0), concatenate(indices, 0)};
  if (mean)
    all.values = divide(all.values, element, values.size());
  if (mean && element.rounding != Rounding::None)
    roundLanes(element.rounding, all.values.mutableAs<float>(),
               all.values.size());
  return all;
}

/// The combined slices that are the results of `op`. Fails if the slices of
/// the replicas are not alike, or do not have as many rows as the results.
FailureOr<Slices> combineIntoResults(Machine &machine, Operation *op,
                                     ArrayRef<Value> values,
                                     ArrayRef<Value> indices, bool mean,
                                     const Element &element) {
  if (failed(checkShapes(machine, op, values, 0)))
    return failure();
  Slices all = combineSlices(values, indices, mean, element);
  if (failed(checkGathered(machine, op, all.values, op->getResult(0).getType(),
                           0)) ||
      failed(checkGathered(machine, op, all.indices, op->getResult(1).getType(),
                           0)))
    return failure();
  return all;
}

Result translate(replica::AllReduceSlicesOp op, CodeBuilder &) {
  Element element = *getElement(op.getValues().getType());
  bool mean = op.getReduction() == replica::Reduction::Mean;
  return Instruction::Run([element, mean](const Instruction &instruction,
                                          Frame &frame) {
    auto combine = [&](ArrayRef<SmallVector<Value>> all,
                       std::vector<SmallVector<Value>> &results) {
      SmallVector<Value> values = valuesOfReplicas(all, 0),
                         indices = valuesOfReplicas(all, 1);
      FailureOr<Slices> slices = combineIntoResults(
          frame.machine, instruction.op, values, indices, mean, element);
      if (failed(slices))
        return failure();
      results.assign(all.size(), {slices->values, slices->indices});
      return success();
    };
    SmallVector<Value> results;
    if (failed(frame.machine.rendezvous(frame.replica, instruction.op,
                                        {frame.take(instruction.operands[0]),
                                         frame.take(instruction.operands[1])},
                                        combine, results)))
      return failure();
    for (auto [slot, result] : llvm::zip_equal(instruction.results, results))
      frame.slots[slot] = std::move(result);
    return success();
  });
}

Result translate(replica::ReduceSlicesOp op, CodeBuilder &) {
  Element element = *getElement(op.getValues().getType());
  bool mean = op.getReduction() == replica::Reduction::Mean;
  return Instruction::Run([element, mean](const Instruction &instruction,
                                          Frame &frame) {
    ArrayRef<Value> values = frame.peek(instruction.operands[0]).components(),
                    indices = frame.peek(instruction.operands[1]).components();
    FailureOr<Slices> slices = combineIntoResults(
        frame.machine, instruction.op, values, indices, mean, element);
    if (failed(slices))
      return failure();
    frame.slots[instruction.results[0]] = std::move(slices->values);
    frame.slots[instruction.results[1]] = std::move(slices->indices);
    return success();
  });
}

/// An element of a table, combined with an element of the slices.
template <typename T>
T combineElements(replica::Scatter kind, T old, T update) {
  switch (kind) {
  case replica::Scatter::Add:
    return old + update;
  case replica::Scatter::Sub:
    return old - update;
  case replica::Scatter::Mul:
    return old * update;
  case replica::Scatter::Div:
    return old / update;
  case replica::Scatter::Min:
    return std::isnan(old) || std::isnan(update) ? old + update
                                                 : std::min(old, update);
  case replica::Scatter::Max:
    return std::isnan(old) || std::isnan(update) ? old + update
                                                 : std::max(old, update);
  case replica::Scatter::Update:
    return update;
  }
  llvm_unreachable("unknown kind of scatter");
}

uint64_t combineIntegers(replica::Scatter kind, uint64_t old, uint64_t update,
                         unsigned width) {
  int64_t x = signExtend(old, width), y = signExtend(update, width);
  switch (kind) {
  case replica::Scatter::Div:
    // As in compiled programs: -1 for a division by zero, and no overflow.
    if (y == 0 || y == -1)
      return (y == 0 ? ~uint64_t(0) : -old) & widthMask(width);
    return static_cast<uint64_t>(x / y) & widthMask(width);
  case replica::Scatter::Min:
    return x < y ? old : update;
  case replica::Scatter::Max:
    return x < y ? update : old;
  case replica::Scatter::Update:
    return update;
  case replica::Scatter::Add:
    return (old + update) & widthMask(width);
  case replica::Scatter::Sub:
    return (old - update) & widthMask(width);
  case replica::Scatter::Mul:
    return (old * update) & widthMask(width);
  }
  llvm_unreachable("unknown kind of scatter");
}

/// Combines rows of `table` with the slices, one after the other. A row index
/// out of range is ignored.
void scatter(replica::Scatter kind, Value &table, const Slices &slices,
             const Element &element, unsigned indexWidth) {
  int64_t rows = table.shape()[0], width = rows == 0 ? 0 : table.size() / rows;
  for (int64_t i = 0; i < slices.indices.size(); ++i) {
    int64_t row = signExtend(slices.indices.intAt(i), indexWidth);
    if (row < 0 || row >= rows)
      continue;
    for (int64_t j = 0; j < width; ++j) {
      int64_t to = row * width + j, from = i * width + j;
      if (element.lane == Lane::Float)
        table.mutableAs<float>()[to] = combineElements(
            kind, table.as<float>()[to], slices.values.as<float>()[from]);
      else if (element.lane == Lane::Double)
        table.mutableAs<double>()[to] = combineElements(
            kind, table.as<double>()[to], slices.values.as<double>()[from]);
      else
        table.mutableAs<uint64_t>()[to] = combineIntegers(
            kind, table.intAt(to), slices.values.intAt(from), element.width);
      if (element.rounding != Rounding::None)
        roundLanes(element.rounding, table.mutableAs<float>() + to, 1);
    }
  }
}

/// In replica context, replicas aggregate their slices and each scatters the
/// result into its copy; in cross-replica context the slices are scattered into
/// all copies.
Result translate(replica::ScatterOp op, CodeBuilder &builder) {
  Variable &variable = findVariable(op, builder);
  Element element = *getElement(op.getValues().getType());
  unsigned indexWidth = getElement(op.getIndices().getType())->width;
  return Instruction::Run([&variable, kind = op.getKind(), element, indexWidth](
                              const Instruction &instruction, Frame &frame) {
    Machine &machine = frame.machine;
    SmallVector<Value> slices;
    for (Use use : instruction.operands) {
      Value value = frame.take(use);
      if (value.isPerReplica() &&
          failed(checkEqual(machine, instruction.op, value)))
        return failure();
      slices.push_back(value.isPerReplica() ? value.components()[0] : value);
    }
    replica::Aggregation aggregation = variable.op.getAggregation();
    if (frame.replica >= 0 && aggregation != replica::Aggregation::Uniform) {
      auto combine = [&](ArrayRef<SmallVector<Value>> all,
                         std::vector<SmallVector<Value>> &results) {
        if (failed(checkShapes(machine, instruction.op,
                               valuesOfReplicas(all, 1), 0)))
          return failure();
        if (aggregation == replica::Aggregation::OnlyFirstReplica) {
          results.assign(all.size(), all[0]);
          return success();
        }
        Slices combined =
            combineSlices(valuesOfReplicas(all, 1), valuesOfReplicas(all, 0),
                          aggregation == replica::Aggregation::Mean, element);
        results.assign(all.size(), {combined.indices, combined.values});
        return success();
      };
      SmallVector<Value> aggregated;
      if (failed(machine.rendezvous(frame.replica, instruction.op,
                                    std::move(slices), combine, aggregated)))
        return failure();
      slices = std::move(aggregated);
    }
    for (auto [replica, copy] : llvm::enumerate(variable.copies))
      if (frame.replica < 0 || frame.replica == static_cast<int64_t>(replica))
        scatter(kind, copy, {slices[1], slices[0]}, element, indexWidth);
    if (frame.replica >= 0 && aggregation == replica::Aggregation::Uniform)
      variable.noteWrite(frame.replica, instruction.op, /*replaces=*/false);
    return success();
  });
}

/// Rows of the replica's own copy; zeros for an id out of range.
Result translate(replica::LookupOp op, CodeBuilder &builder) {
  Variable &variable = findVariable(op, builder);
  unsigned idWidth = getElement(op.getIds().getType())->width;
  return Instruction::Run(
      [&variable, idWidth](const Instruction &instruction, Frame &frame) {
        const Value &table = variable.copies[frame.replica],
                    &ids = frame.peek(instruction.operands[0]);
        int64_t rows = table.shape()[0],
                width = rows == 0 ? 0 : table.size() / rows;
        SmallVector<int64_t> shape(table.shape());
        shape[0] = ids.size();
        Value result(table.lane(), shape);
        auto copyRows = [&](const auto *from, auto *to) {
          for (int64_t i = 0; i < ids.size(); ++i)
            if (int64_t row = signExtend(ids.intAt(i), idWidth);
                row >= 0 && row < rows)
              std::copy_n(from + row * width, width, to + i * width);
        };
        switch (table.lane()) {
        case Lane::Float:
          copyRows(table.as<float>(), result.mutableAs<float>());
          break;
        case Lane::Double:
          copyRows(table.as<double>(), result.mutableAs<double>());
          break;
        case Lane::Int:
          copyRows(table.as<uint64_t>(), result.mutableAs<uint64_t>());
          break;
        }
        frame.slots[instruction.results[0]] = std::move(result);
        return success();
      });
}

Result translate(replica::SlicesToDenseOp op, CodeBuilder &) {
  auto type = cast<RankedTensorType>(op.getType());
  Element element = *getElement(type);
  unsigned indexWidth = getElement(op.getIndices().getType())->width;
  return Instruction::Run([type, element, indexWidth](
                              const Instruction &instruction, Frame &frame) {
    Value dense(element.lane, type.getShape());
    int64_t rows = frame.peek(instruction.operands[0]).shape()[0],
            indices = frame.peek(instruction.operands[1]).shape()[0];
    if (rows != indices)
      return frame.fail(instruction.op, "expected an index for each of " +
                                            Twine(rows) + " rows, found " +
                                            Twine(indices) +
                                            " [E_SHAPE_MISMATCH]");
    scatter(replica::Scatter::Add, dense,
            {frame.peek(instruction.operands[0]),
             frame.peek(instruction.operands[1])},
            element, indexWidth);
    frame.slots[instruction.results[0]] = std::move(dense);
    return success();
  });
}

} // namespace

Result translateSlicesOp(Operation *op, CodeBuilder &builder) {
  return TypeSwitch<Operation *, Result>(op)
      .Case<replica::AllReduceSlicesOp, replica::ReduceSlicesOp,
            replica::ScatterOp, replica::LookupOp, replica::SlicesToDenseOp>(
          [&](auto typed) { return translate(typed, builder); })
      .Default([](Operation *) { return Instruction::Run(); });
}

} // namespace lockstep::interpret
