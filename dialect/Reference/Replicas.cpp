//===- Replicas.cpp - Variables and replica context -----------------------===//

#include "dialect/Reference/Replicas.h"

#include "dialect/Reference/Machine.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace lockstep::interpret {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void addTo(Value &to, const Value &value, const Element &element,
           bool subtract) {
  if (to.isZero() && value.isZero())
    return;
  int64_t count = to.size();
  auto add = [&](auto *a, const auto *b) {
    for (int64_t i = 0; i < count; ++i)
      a[i] = subtract ? a[i] - b[i] : a[i] + b[i];
  };
  switch (element.lane) {
  case Lane::Float:
    return add(to.mutableAs<float>(), value.as<float>());
  case Lane::Double:
    return add(to.mutableAs<double>(), value.as<double>());
  case Lane::Int:
    add(to.mutableAs<uint64_t>(), value.as<uint64_t>());
    for (int64_t i = 0; i < count; ++i)
      to.mutableAs<uint64_t>()[i] &= widthMask(element.width);
  }
}

/// Replaces each element `a` of `to` by `combine(a, b)`, with the element `b`
/// of `value`; integers are passed sign-extended.
template <typename Combine>
static void combineElements(Value &to, const Value &value,
                            const Element &element, Combine combine) {
  auto combineAll = [&](auto *a, const auto *b) {
    for (int64_t i = 0; i < to.size(); ++i)
      a[i] = combine(a[i], b[i]);
  };
  switch (element.lane) {
  case Lane::Float:
    return combineAll(to.mutableAs<float>(), value.as<float>());
  case Lane::Double:
    return combineAll(to.mutableAs<double>(), value.as<double>());
  case Lane::Int: {
    auto *a = to.mutableAs<uint64_t>();
    for (int64_t i = 0; i < to.size(); ++i) {
      // An i1 is 0 or 1, not sign-extended.
      auto number = [&](uint64_t bits) {
        return element.width == 1 ? static_cast<int64_t>(bits)
                                  : signExtend(bits, element.width);
      };
      a[i] =
          static_cast<uint64_t>(combine(number(a[i]), number(value.intAt(i)))) &
          widthMask(element.width);
    }
  }
  }
}

/// The reduction along a binary tree that depends on the number of values only:
/// split at the largest power of two below it.
static Value reduceTree(replica::Reduction reduction, ArrayRef<Value> values,
                        const Element &element) {
  if (values.size() == 1)
    return values[0];
  size_t low = llvm::bit_floor(values.size() - 1);
  Value reduced = reduceTree(reduction, values.take_front(low), element);
  Value other = reduceTree(reduction, values.drop_front(low), element);
  switch (reduction) {
  case replica::Reduction::Sum:
  case replica::Reduction::Mean:
    addTo(reduced, other, element, /*subtract=*/false);
    break;
  case replica::Reduction::Product:
    combineElements(reduced, other, element, [](auto a, auto b) {
      if constexpr (std::is_integral_v<decltype(a)>)
        return static_cast<int64_t>(static_cast<uint64_t>(a) *
                                    static_cast<uint64_t>(b));
      else
        return a * b;
    });
    break;
  case replica::Reduction::Min:
    combineElements(reduced, other, element,
                    [](auto a, auto b) { return a < b || a != a ? a : b; });
    break;
  case replica::Reduction::Max:
    combineElements(reduced, other, element,
                    [](auto a, auto b) { return a > b || a != a ? a : b; });
    break;
  }
  return reduced;
}

Value divide(const Value &sum, const Element &element, int64_t count) {
  Value mean(element.lane == Lane::Int ? Lane::Double : element.lane,
             sum.shape());
  for (int64_t i = 0; i < sum.size(); ++i) {
    if (element.lane == Lane::Float)
      mean.mutableAs<float>()[i] =
          sum.as<float>()[i] / static_cast<float>(count);
    else if (element.lane == Lane::Double)
      mean.mutableAs<double>()[i] =
          sum.as<double>()[i] / static_cast<double>(count);
    else
      mean.mutableAs<double>()[i] =
          static_cast<double>(signExtend(sum.intAt(i), element.width)) /
          static_cast<double>(count);
  }
  return mean;
}

Value reduce(replica::Reduction reduction, ArrayRef<Value> values,
             const Element &element, Type result) {
  if (values.size() == 1 && element.lane == Lane::Int &&
      getElement(result)->lane == Lane::Int)
    return values[0];
  if (llvm::all_of(values, [](const Value &value) { return value.isZero(); }))
    return Value::zeros(getElement(result)->lane, values[0].shape());
  Value reduced = reduceTree(reduction, values, element);
  if (reduction == replica::Reduction::Mean)
    reduced = divide(reduced, element, values.size());
  // 16-bit floats are reduced in float and rounded once.
  if (element.rounding != Rounding::None)
    roundLanes(element.rounding, reduced.mutableAs<float>(), reduced.size());
  return reduced;
}

//===----------------------------------------------------------------------===//
// Checks of what differs between replicas
//===----------------------------------------------------------------------===//

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(shape, stream);
  stream << "]";
  return text;
}

LogicalResult checkShapes(Machine &machine, Operation *op,
                          ArrayRef<Value> values, int64_t axis) {
  for (size_t replica = 1; replica < values.size(); ++replica) {
    ArrayRef<int64_t> expected = values[0].shape(),
                      found = values[replica].shape();
    bool fits = expected.size() == found.size();
    for (size_t d = 0; fits && d < found.size(); ++d)
      fits = static_cast<int64_t>(d) == axis || expected[d] == found[d];
    if (!fits)
      return machine.fail(
          -1, op,
          "expected the shape " + shapeText(expected) +
              " of replica 0 on replica " + Twine(replica) +
              (axis < 0 ? Twine() : " up to dimension " + Twine(axis)) +
              ", found " + shapeText(found) + " [E_SHAPE_MISMATCH]",
          FailureKind::ShapesDiffer);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Replica context
//===----------------------------------------------------------------------===//

SmallVector<Value> valuesOfReplicas(ArrayRef<SmallVector<Value>> operands,
                                    size_t index) {
  return llvm::map_to_vector(
      operands, [&](const SmallVector<Value> &mine) { return mine[index]; });
}

/// A rendezvous of all replicas; `combine` computes from the values of one
/// operand the result that every replica receives.
template <typename Combine>
static LogicalResult communicate(const Instruction &instruction, Frame &frame,
                                 const Combine &combine) {
  SmallVector<Value> operands, results;
  for (Use use : instruction.operands)
    operands.push_back(frame.take(use));
  auto combineAll = [&](ArrayRef<SmallVector<Value>> all,
                        std::vector<SmallVector<Value>> &results) {
    for (size_t index = 0; index < all[0].size(); ++index) {
      Value result;
      if (failed(combine(valuesOfReplicas(all, index), index, result)))
        return failure();
      for (SmallVector<Value> &mine : results)
        mine.push_back(result);
    }
    return success();
  };
  if (failed(frame.machine.rendezvous(frame.replica, instruction.op,
                                      std::move(operands), combineAll,
                                      results)))
    return failure();
  for (auto [slot, result] : llvm::zip_equal(instruction.results, results))
    frame.slots[slot] = std::move(result);
  return success();
}

static LogicalResult runAllReduce(const Instruction &instruction,
                                  Frame &frame) {
  auto op = cast<replica::AllReduceOp>(instruction.op);
  return communicate(instruction, frame,
                     [&](ArrayRef<Value> values, size_t index, Value &result) {
                       if (failed(checkShapes(frame.machine, op, values)))
                         return failure();
                       result =
                           reduce(op.getReduction(), values,
                                  *getElement(op.getOperand(index).getType()),
                                  op.getResult(index).getType());
                       return success();
                     });
}

static LogicalResult runAllGather(const Instruction &instruction,
                                  Frame &frame) {
  auto op = cast<replica::AllGatherOp>(instruction.op);
  int64_t axis = op.getAxis();
  return communicate(
      instruction, frame,
      [&](ArrayRef<Value> values, size_t index, Value &result) {
        if (failed(checkShapes(frame.machine, op, values, axis)))
          return failure();
        result = values.size() == 1 ? values[0] : concatenate(values, axis);
        return checkGathered(frame.machine, op, result,
                             op.getResult(index).getType(), axis);
      });
}

LogicalResult checkGathered(Machine &machine, Operation *op,
                            const Value &gathered, Type type, int64_t axis) {
  auto expected = cast<RankedTensorType>(type);
  // With one replica the value may lack the axis. [2.2-single]
  if (axis < 0 || axis >= expected.getRank() || expected.isDynamicDim(axis) ||
      expected.getDimSize(axis) == gathered.shape()[axis])
    return success();
  return machine.fail(-1, op,
                      "expected " + Twine(expected.getDimSize(axis)) +
                          " rows in the result, found " +
                          Twine(gathered.shape()[axis]) + " from " +
                          Twine(machine.replicas()) +
                          (machine.replicas() == 1 ? " replica" : " replicas") +
                          " [E_SHAPE_MISMATCH]",
                      FailureKind::ShapesDiffer);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// Combines the values of all replicas according to the variable's aggregation.
static Value aggregate(replica::VariableOp variable, ArrayRef<Value> values) {
  replica::Aggregation aggregation = variable.getAggregation();
  bool mean = aggregation == replica::Aggregation::Mean;
  if (!mean && aggregation != replica::Aggregation::Sum)
    return values[0];
  // The mean of integers is only allowed where all replicas assign the same
  // literal, which is then the mean.
  if (mean && isa<IntegerType>(getElementTypeOrSelf(variable.getType())))
    return values[0];
  return reduce(mean ? replica::Reduction::Mean : replica::Reduction::Sum,
                values, *getElement(variable.getType()), variable.getType());
}

/// A rendezvous of all replicas; each receives the aggregate of their `value`s.
static LogicalResult aggregateAmongReplicas(Variable &variable, Value value,
                                            Operation *op, Frame &frame,
                                            Value &aggregated) {
  auto combine = [&](ArrayRef<SmallVector<Value>> all,
                     std::vector<SmallVector<Value>> &results) {
    SmallVector<Value> values = valuesOfReplicas(all, 0);
    if (failed(checkShapes(frame.machine, op, values)))
      return failure();
    results.assign(all.size(), {aggregate(variable.op, values)});
    return success();
  };
  SmallVector<Value> results;
  if (failed(frame.machine.rendezvous(frame.replica, op, {std::move(value)},
                                      combine, results)))
    return failure();
  aggregated = std::move(results[0]);
  return success();
}

static LogicalResult runRead(Variable &variable, const Instruction &instruction,
                             Frame &frame) {
  Operation *op = instruction.op;
  Value &result = frame.slots[instruction.results[0]];
  bool combines = cast<replica::ReadOp>(op).combinesCopies(variable.op);
  if (frame.replica >= 0) {
    const Value &mine = variable.copies[frame.replica];
    if (combines)
      return aggregateAmongReplicas(variable, mine, op, frame, result);
    result = mine;
    return success();
  }
  // In cross-replica context one value is read for all: copies must be equal.
  if (failed(frame.machine.checkCopies(variable, op)))
    return failure();
  result =
      combines ? aggregate(variable.op, variable.copies) : variable.copies[0];
  return success();
}

/// Assigns `value` to `copy`, or adds or subtracts it.
static void assign(Variable &variable, Value &copy, const Value &value,
                   Operation *op) {
  if (isa<replica::AssignOp>(op)) {
    copy = value;
    return;
  }
  Element element = *getElement(variable.op.getType());
  addTo(copy, value, element, isa<replica::AssignSubOp>(op));
  if (element.rounding != Rounding::None)
    roundLanes(element.rounding, copy.mutableAs<float>(), copy.size());
}

/// In cross-replica context one value is assigned to all copies. If the
/// variable is the sum of its copies (on_read), each is assigned an equal part.
static void assignAll(Variable &variable, Value value, Operation *op,
                      int64_t replicas) {
  if (variable.op.isOnRead() &&
      variable.op.getAggregation() == replica::Aggregation::Sum &&
      isa<replica::AssignOp>(op)) {
    Element element = *getElement(variable.op.getType());
    for (int64_t i = 0; i < value.size(); ++i) {
      if (element.lane == Lane::Float)
        value.mutableAs<float>()[i] /= static_cast<float>(replicas);
      else if (element.lane == Lane::Double)
        value.mutableAs<double>()[i] /= static_cast<double>(replicas);
      else
        value.mutableAs<uint64_t>()[i] =
            static_cast<uint64_t>(signExtend(value.intAt(i), element.width) /
                                  replicas) &
            widthMask(element.width);
    }
    if (element.rounding != Rounding::None)
      roundLanes(element.rounding, value.mutableAs<float>(), value.size());
  }
  for (auto [replica, copy] : llvm::enumerate(variable.copies)) {
    assign(variable, copy, value, op);
    if (isa<replica::AssignOp>(op))
      variable.noteEqual(replica);
  }
}

LogicalResult checkEqual(Machine &machine, Operation *op, const Value &value) {
  for (auto [replica, component] : llvm::enumerate(value.components()))
    if (!component.isIdentical(value.components()[0]))
      return machine.fail(-1, op,
                          "expected a value that is equal on all replicas, "
                          "found another one on replica " +
                              Twine(replica) +
                              " than on replica 0 [E_PER_REPLICA_IN_UPDATE]",
                          FailureKind::ValuesDiffer);
  return success();
}

static LogicalResult runAssign(Variable &variable,
                               const Instruction &instruction, Frame &frame) {
  Operation *op = instruction.op;
  if (frame.replica < 0) {
    Value value = frame.take(instruction.operands[0]);
    if (value.isPerReplica() && failed(checkEqual(frame.machine, op, value)))
      return failure();
    assignAll(variable, value.isPerReplica() ? value.components()[0] : value,
              op, frame.machine.replicas());
    return success();
  }
  replica::Aggregation aggregation = variable.op.getAggregation();
  Value &mine = variable.copies[frame.replica];
  if (variable.op.isOnRead() || aggregation == replica::Aggregation::Uniform ||
      aggregation == replica::Aggregation::None) {
    assign(variable, mine, frame.take(instruction.operands[0]), op);
    variable.noteWrite(frame.replica, op, isa<replica::AssignOp>(op));
    return success();
  }
  Value aggregated;
  if (failed(aggregateAmongReplicas(variable,
                                    frame.take(instruction.operands[0]), op,
                                    frame, aggregated)))
    return failure();
  assign(variable, mine, aggregated, op);
  if (isa<replica::AssignOp>(op))
    variable.noteEqual(frame.replica);
  return success();
}

Variable &findVariable(Operation *op, CodeBuilder &builder) {
  return builder.machine.variables
      .find(op->getAttrOfType<FlatSymbolRefAttr>("variable").getAttr())
      ->second;
}

FailureOr<Instruction::Run> translateReplicaOp(Operation *op,
                                               CodeBuilder &builder) {
  using Result = FailureOr<Instruction::Run>;
  return TypeSwitch<Operation *, Result>(op)
      .Case([](replica::IdOp) {
        return Result([](const Instruction &instruction, Frame &frame) {
          frame.slots[instruction.results[0]] = Value::ofInt(frame.replica);
          return success();
        });
      })
      .Case([](replica::NumInSyncOp) {
        return Result([](const Instruction &instruction, Frame &frame) {
          frame.slots[instruction.results[0]] =
              Value::ofInt(frame.machine.replicas());
          return success();
        });
      })
      .Case([&](replica::ReadOp) {
        return Result([&variable = findVariable(op, builder)](
                          const Instruction &instruction, Frame &frame) {
          return runRead(variable, instruction, frame);
        });
      })
      .Case<replica::AssignOp, replica::AssignAddOp, replica::AssignSubOp>(
          [&](auto) {
            return Result([&variable = findVariable(op, builder)](
                              const Instruction &instruction, Frame &frame) {
              return runAssign(variable, instruction, frame);
            });
          })
      .Case([](replica::AllReduceOp) {
        return Result(Instruction::Run(&runAllReduce));
      })
      .Case([](replica::AllGatherOp) {
        return Result(Instruction::Run(&runAllGather));
      })
      .Default([&](Operation *) {
        Result run = translateSlicesOp(op, builder);
        return failed(run) || *run ? run : translateCrossReplicaOp(op, builder);
      });
}

} // namespace lockstep::interpret
