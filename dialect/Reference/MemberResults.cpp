//===- MemberResults.cpp - The results of each kind of collective ---------===//

#include "dialect/Reference/MemberResults.h"

#include "dialect/Reference/Replicas.h"

using namespace mlir;

namespace lockstep::interpret {
namespace {

using runtime::Holders;
using runtime::ShapeRule;

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

class ResultMaker {
public:
  ResultMaker(Machine &machine, collective::StartOp op, ArrayRef<int64_t> ranks,
              ArrayRef<SmallVector<Value>> operands,
              std::vector<SmallVector<Value>> &results)
      : machine(machine), op(op), kind(op.getKindProperties()),
        axis(op.getAxis().value_or(0)), ranks(ranks), operands(operands),
        results(results),
        root(op.getRoot() ? findMember(static_cast<int64_t>(*op.getRoot()))
                          : 0) {}

  LogicalResult run() {
    if (kind.shape == ShapeRule::rows)
      return scatter();
    for (size_t index = 0; index < operands[0].size(); ++index)
      if (failed(makeResult(index)))
        return failure();
    return success();
  }

private:
  size_t findMember(int64_t rank) const {
    return llvm::find(ranks, rank) - ranks.begin();
  }

  LogicalResult fail(const Twine &message) {
    return machine.fail(-1, op, message + " [E_SHAPE_MISMATCH]",
                        FailureKind::ShapesDiffer);
  }

  /// Whether the member at this position receives a result.
  bool receives(size_t member) const {
    switch (kind.resultHolders) {
    case Holders::none:
      return false;
    case Holders::root:
      return member == root;
    case Holders::others:
      return member != root;
    case Holders::all:
      return true;
    }
    llvm_unreachable("all holders are listed");
  }

  LogicalResult makeResult(size_t index) {
    SmallVector<Value> values = valuesOfReplicas(operands, index);
    if (failed(
            checkShapes(machine, op, values, kind.concatenates() ? axis : -1)))
      return failure();
    if (kind.shape == ShapeRule::parts)
      return exchangeParts(values);
    if (kind.hasSources) {
      for (auto [source, mine] : llvm::zip_equal(*op.getSources(), results))
        mine.push_back(source < 0 ? zerosLike(values[0])
                                  : values[findMember(source)]);
      return success();
    }
    if (!kind.isReduction && !kind.concatenates() &&
        kind.operandHolders == Holders::all)
      return machine.fail(-1, op,
                          "expected a kind of collective whose meaning the "
                          "interpreter knows, found '" +
                              Twine(kind.name) + "'");
    Value whole = combine(values, index);
    if (kind.shape == ShapeRule::slice)
      return cut(whole);
    for (auto [member, mine] : llvm::enumerate(results))
      mine.push_back(receives(member) ? whole : zerosLike(whole));
    return success();
  }

  static Value zerosLike(const Value &value) {
    return Value::zeros(value.lane(), value.shape());
  }

  /// The combination of the operands of all members.
  Value combine(ArrayRef<Value> values, size_t index) {
    if (kind.concatenates())
      return concatenate(values, axis);
    if (kind.operandHolders == Holders::root)
      return values[root];
    if (kind.operandHolders == Holders::others)
      return values[1 - root];
    // 16-bit floats may be accumulated in a result of 32 bits.
    ArrayRef<Type> results = op.getPending().getType().getResults();
    Type type = index < results.size() ? results[index]
                                       : op.getInputs()[index].getType();
    return reduce(getReduction(op), values, *getElement(type), type);
  }

  /// The slice of `size` rows along the axis that begins at `first`.
  Value sliceOf(const Value &value, int64_t first, int64_t size) {
    Shape shape(value.shape()), strides = rowMajorStrides(value.shape());
    shape[axis] = size;
    Value part(value.lane(), shape);
    size_t bytes = laneBytes(value.lane());
    const auto *from = static_cast<const std::byte *>(value.data()) +
                       bytes * first * strides[axis];
    copyStrided(static_cast<std::byte *>(part.mutableData()),
                rowMajorStrides(shape), from, strides, shape, bytes);
    return part;
  }

  /// Part `index` of `value`, divided equally among the members.
  Value partOf(const Value &value, size_t index) {
    int64_t size = value.shape()[axis] / static_cast<int64_t>(ranks.size());
    return sliceOf(value, index * size, size);
  }

  LogicalResult checkParts(const Value &value) {
    if (value.shape()[axis] % static_cast<int64_t>(ranks.size()) == 0)
      return success();
    return fail("expected a multiple of " + Twine(ranks.size()) +
                " rows, found " + Twine(value.shape()[axis]));
  }

  /// An all-to-all: member i receives part i of the operand of each member.
  LogicalResult exchangeParts(ArrayRef<Value> values) {
    if (failed(checkParts(values[0])))
      return failure();
    for (auto [rank, mine] : llvm::enumerate(results)) {
      SmallVector<Value> parts;
      for (const Value &value : values)
        parts.push_back(partOf(value, rank));
      mine.push_back(concatenate(parts, axis));
    }
    return success();
  }

  /// A reduce-scatter: member i receives part i of the combined value.
  LogicalResult cut(const Value &whole) {
    if (failed(checkParts(whole)))
      return failure();
    for (auto [rank, mine] : llvm::enumerate(results))
      mine.push_back(partOf(whole, rank));
    return success();
  }

  /// Each member other than the root receives rows of the root's operand, as
  /// many as the root's counts say.
  LogicalResult scatter() {
    const Value &rows = operands[root][0], &counts = operands[root][1];
    if (counts.size() + 1 != static_cast<int64_t>(ranks.size()))
      return fail("expected counts for " + Twine(ranks.size() - 1) +
                  " other ranks, found " + Twine(counts.size()));
    auto type =
        cast<RankedTensorType>(op.getPending().getType().getResults()[0]);
    axis = 0;
    int64_t first = 0, other = 0;
    for (auto [member, mine] : llvm::enumerate(results)) {
      if (member == root) {
        Shape shape(rows.shape());
        shape[0] = type.isDynamicDim(0) ? 0 : type.getDimSize(0);
        mine.push_back(Value::zeros(rows.lane(), shape));
        continue;
      }
      auto count = static_cast<int64_t>(counts.intAt(other++));
      if (count < 0 || count > rows.shape()[0] - first)
        return fail("expected counts of at most " + Twine(rows.shape()[0]) +
                    " rows, found more");
      if (!type.isDynamicDim(0) && type.getDimSize(0) != count)
        return fail("replica " + Twine(ranks[member]) + " is to get " +
                    Twine(count) + " rows, its result has " +
                    Twine(type.getDimSize(0)));
      mine.push_back(sliceOf(rows, first, count));
      first += count;
    }
    return success();
  }

  Machine &machine;
  collective::StartOp op;
  const runtime::CollectiveProperties &kind;
  int64_t axis;
  ArrayRef<int64_t> ranks;
  ArrayRef<SmallVector<Value>> operands;
  std::vector<SmallVector<Value>> &results;
  /// Position among the members.
  size_t root;
};

} // namespace

LogicalResult makeResults(Machine &machine, collective::StartOp op,
                          ArrayRef<int64_t> ranks,
                          ArrayRef<SmallVector<Value>> operands,
                          std::vector<SmallVector<Value>> &results) {
  return ResultMaker(machine, op, ranks, operands, results).run();
}

} // namespace lockstep::interpret
