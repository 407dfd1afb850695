//===- Generic.cpp - linalg.generic ---------------------------------------===//
//
// The body is executed for strips of points (consecutive iterations of one
// parallel loop), with all other loops in their order: each element of a result
// is accumulated in the order that the operation defines. A body with other
// than element-wise operations, `linalg.index` and `tensor.extract` is executed
// point by point.
//
//===----------------------------------------------------------------------===//

#include "dialect/Reference/Generic.h"

#include "dialect/Reference/Machine.h"

#include <cstring>

using namespace mlir;

namespace lockstep::interpret {

/// The coefficients of an affine expression without division or remainder,
/// followed by its constant; nullopt for other expressions.
static std::optional<SmallVector<int64_t>> getCoefficients(AffineExpr expr,
                                                           unsigned numDims) {
  SmallVector<int64_t> result(numDims + 1, 0);
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    result[dim.getPosition()] = 1;
    return result;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result[numDims] = constant.getValue();
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || (expr.getKind() != AffineExprKind::Add &&
                  expr.getKind() != AffineExprKind::Mul))
    return std::nullopt;
  auto left = getCoefficients(binary.getLHS(), numDims),
       right = getCoefficients(binary.getRHS(), numDims);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul) {
    // The right side of an affine product is constant.
    for (unsigned i = 0; i <= numDims; ++i)
      result[i] = (*left)[i] * (*right)[numDims];
    return result;
  }
  for (unsigned i = 0; i <= numDims; ++i)
    result[i] = (*left)[i] + (*right)[i];
  return result;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = evaluate(binary.getLHS(), dims),
          right = evaluate(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::Mod:
    return left - floorDivide(left, right) * right;
  case AffineExprKind::FloorDiv:
    return floorDivide(left, right);
  default:
    return -floorDivide(-left, right);
  }
}

GenericPlan::GenericPlan(linalg::GenericOp op)
    : numLoops(op.getNumLoops()), numInputs(op.getNumDpsInputs()) {
  for (utils::IteratorType type : op.getIteratorTypesArray())
    parallel.push_back(type == utils::IteratorType::parallel);
  extents.resize(numLoops, {-1, -1});
  for (auto [index, map] : llvm::enumerate(op.getIndexingMapsArray())) {
    Access access;
    access.map = map;
    access.linear = true;
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      if (auto position = dyn_cast<AffineDimExpr>(expr);
          position && extents[position.getPosition()].first < 0)
        extents[position.getPosition()] = {index, dim};
      auto coefficients = getCoefficients(expr, numLoops);
      access.linear &= coefficients.has_value();
      if (coefficients)
        access.coefficients.push_back(*coefficients);
    }
    accesses.push_back(std::move(access));
  }
}

GenericRun::GenericRun(const GenericPlan &plan, const Instruction &instruction,
                       Frame &frame)
    : plan(plan), instruction(instruction), frame(frame) {}

LogicalResult GenericRun::prepare() {
  for (Use use : instruction.operands)
    values.push_back(frame.take(use));
  for (auto [operand, dim] : plan.extents) {
    if (operand < 0)
      return frame.fail(instruction.op, "expected the size of every loop to be "
                                        "that of a dimension of an operand");
    sizes.push_back(values[operand].shape()[dim]);
  }
  empty = llvm::is_contained(sizes, 0);
  if (failed(frame.spend(instruction.op, sizes)))
    return failure();
  for (auto [access, value] : llvm::zip_equal(plan.accesses, values))
    if (failed(place(access, value)))
      return failure();
  return success();
}

/// Computes strides and checks that all points are within the operand. If the
/// map has a division or remainder, `offsetOf` checks each point instead.
LogicalResult GenericRun::place(const Access &access, const Value &value) {
  Placement placement;
  placement.strides.assign(plan.numLoops, 0);
  Shape elementStrides = rowMajorStrides(value.shape());
  if (!access.linear) {
    placements.push_back(std::move(placement));
    return success();
  }
  for (auto [dim, coefficients] : llvm::enumerate(access.coefficients)) {
    int64_t least = coefficients.back(), greatest = coefficients.back();
    for (unsigned loop = 0; loop < plan.numLoops; ++loop) {
      placement.strides[loop] += coefficients[loop] * elementStrides[dim];
      (coefficients[loop] < 0 ? least : greatest) +=
          coefficients[loop] * (sizes[loop] - 1);
    }
    placement.offset += coefficients.back() * elementStrides[dim];
    if (auto loop = dyn_cast<AffineDimExpr>(access.map.getResult(dim));
        loop && sizes[loop.getPosition()] != value.shape()[dim])
      return frame.fail(instruction.op,
                        "expected size " + Twine(sizes[loop.getPosition()]) +
                            " of dimension " + Twine(dim) + " of operand " +
                            Twine(placements.size()) + ", found " +
                            Twine(value.shape()[dim]));
    if (!empty && (least < 0 || greatest >= value.shape()[dim]))
      return frame.fail(instruction.op,
                        "expected indices in [0, " + Twine(value.shape()[dim]) +
                            ") for dimension " + Twine(dim) + " of operand " +
                            Twine(placements.size()) + ", found " +
                            Twine(least < 0 ? least : greatest));
  }
  placements.push_back(std::move(placement));
  return success();
}

FailureOr<int64_t> GenericRun::offsetOf(unsigned operand,
                                        ArrayRef<int64_t> point) const {
  const Placement &placement = placements[operand];
  int64_t offset = placement.offset;
  if (plan.accesses[operand].linear) {
    for (unsigned loop = 0; loop < plan.numLoops; ++loop)
      offset += point[loop] * placement.strides[loop];
    return offset;
  }
  ArrayRef<int64_t> shape = values[operand].shape();
  for (auto [dim, expr] :
       llvm::enumerate(plan.accesses[operand].map.getResults())) {
    int64_t index = evaluate(expr, point);
    if (index < 0 || index >= shape[dim]) {
      (void)frame.fail(instruction.op,
                       "expected an index in [0, " + Twine(shape[dim]) +
                           ") for dimension " + Twine(dim) + " of operand " +
                           Twine(operand) + ", found " + Twine(index));
      return failure();
    }
    offset = offset * shape[dim] + index;
  }
  return offset;
}

void GenericRun::finish() {
  for (auto [slot, value] :
       llvm::zip_equal(instruction.results,
                       MutableArrayRef(values).drop_front(plan.numInputs)))
    frame.slots[slot] = std::move(value);
}

bool GenericRun::advance(MutableArrayRef<int64_t> point,
                         int64_t skipped) const {
  for (int64_t loop = plan.numLoops; loop-- > 0;) {
    if (loop == skipped)
      continue;
    if (++point[loop] < sizes[loop])
      return true;
    point[loop] = 0;
  }
  return false;
}

/// Executes the body as ordinary code, one point after the other.
static LogicalResult runPointwise(const Code &body, GenericRun &run) {
  SmallVector<int64_t> point(run.plan.numLoops, 0), outer = run.frame.indices;
  SmallVector<Value> arguments, results;
  SmallVector<int64_t> offsets(run.values.size());
  do {
    arguments.clear();
    for (auto [index, value] : llvm::enumerate(run.values)) {
      FailureOr<int64_t> offset = run.offsetOf(index, point);
      if (failed(offset))
        return failure();
      offsets[index] = *offset;
      Value &element =
          arguments.emplace_back(value.lane(), ArrayRef<int64_t>());
      size_t bytes = laneBytes(value.lane());
      std::memcpy(element.mutableData(),
                  value.as<std::byte>() + *offset * bytes, bytes);
    }
    run.frame.indices = point;
    if (failed(body.call(run.frame, arguments, results)))
      return failure();
    for (auto [index, result] : llvm::enumerate(results)) {
      Value &output = run.values[run.plan.numInputs + index];
      size_t bytes = laneBytes(output.lane());
      std::memcpy(output.mutableAs<std::byte>() +
                      offsets[run.plan.numInputs + index] * bytes,
                  result.data(), bytes);
    }
  } while (run.advance(point, -1));
  run.frame.indices = outer;
  return success();
}

FailureOr<Instruction::Run> translateGeneric(Operation *op,
                                             CodeBuilder &builder) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return Instruction::Run();
  if (!generic.hasPureTensorSemantics()) {
    op->emitError("expected operands that are tensors, found buffers");
    return failure();
  }
  auto plan = std::make_shared<const GenericPlan>(generic);
  std::shared_ptr<const LaneProgram> program =
      LaneProgram::build(generic, builder);
  std::shared_ptr<const Code> body;
  if (!program) {
    FailureOr<std::shared_ptr<const Code>> code =
        builder.build(*generic.getBody());
    if (failed(code))
      return failure();
    body = *code;
  }
  return Instruction::Run(
      [plan, program, body](const Instruction &instruction, Frame &frame) {
        GenericRun run(*plan, instruction, frame);
        if (failed(run.prepare()))
          return failure();
        if (!run.empty &&
            failed(program ? program->execute(run) : runPointwise(*body, run)))
          return failure();
        run.finish();
        return success();
      });
}

} // namespace lockstep::interpret
