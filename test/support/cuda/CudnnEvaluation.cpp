//===- CudnnEvaluation.cpp - executes graphs of operations ----------------===//
//
// Values of one matrix at a time are f32, in rows. Results are the same in each
// run, since sums have the order of indices.
//
//===----------------------------------------------------------------------===//

#include "CudnnOperations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::standin {

namespace {

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix() = default;
  explicit Matrix(const Tensor &tensor)
      : rows(tensor.sizes[2]), columns(tensor.sizes[3]),
        values(size_t(rows * columns)) {}

  /// A row, or the only one.
  const float *row(int64_t index) const {
    return values.data() + (rows == 1 ? 0 : index * columns);
  }
  float *row(int64_t index) { return values.data() + index * columns; }
};

class Evaluation {
public:
  Evaluation(const OperationGraph &graph, const OperandPlaces &places)
      : graph(graph), places(places) {}

  void execute(int64_t example, int64_t head);

private:
  std::byte *placeOf(const Tensor &tensor, int64_t row, int64_t column) const {
    return places.memory.at(tensor.name) +
           tensor.at(example, head, row, column) * int64_t(sizeOf(tensor.type));
  }
  void load(const Tensor &tensor);
  void store(const Tensor &tensor) const;
  Matrix evaluate(const Operation &operation) const;

  const OperationGraph &graph;
  const OperandPlaces &places;
  int64_t example = 0, head = 0;
  /// By the names of tensors.
  std::map<int64_t, Matrix> values;
};

void roundAll(Matrix &matrix, Float type) {
  if (type != Float::F32)
    for (float &value : matrix.values)
      value = roundTo(value, type);
}

/// result[i][j] = compute(x[i][j], y[i][j]), where `y` may have single rows or
/// columns.
template <typename Function>
void forEach(const Matrix &x, const Matrix &y, Matrix &result,
             Function compute) {
  for (int64_t i = 0; i < result.rows; ++i) {
    const float *left = x.row(i), *right = y.row(i);
    float *to = result.row(i);
    if (y.columns == 1) {
      float second = right[0];
      for (int64_t j = 0; j < result.columns; ++j)
        to[j] = compute(left[j], second);
    } else {
      for (int64_t j = 0; j < result.columns; ++j)
        to[j] = compute(left[j], right[j]);
    }
  }
}

void multiply(const Matrix &left, const Matrix &right, Matrix &result) {
  for (int64_t i = 0; i < result.rows; ++i) {
    float *to = result.row(i);
    const float *factors = left.row(i);
    for (int64_t k = 0; k < right.rows; ++k) {
      float factor = factors[k];
      const float *row = right.row(k);
      for (int64_t j = 0; j < result.columns; ++j)
        to[j] += factor * row[j];
    }
  }
}

void reduce(const Matrix &operand, bool isSum, Matrix &result) {
  float first = isSum ? 0 : -std::numeric_limits<float>::infinity();
  std::fill(result.values.begin(), result.values.end(), first);
  for (int64_t i = 0; i < operand.rows; ++i)
    for (int64_t j = 0; j < operand.columns; ++j) {
      float &to =
          result.row(result.rows == 1 ? 0 : i)[result.columns == 1 ? 0 : j];
      float value = operand.row(i)[j];
      to = isSum ? to + value : std::max(to, value);
    }
}

void computeAll(const Operation &operation,
                const std::vector<const Matrix *> &operands, Matrix &result) {
  const Matrix &x = *operands[0];
  auto each = [&](auto compute) { forEach(x, *operands[1], result, compute); };
  switch (operation.mode) {
  case CUDNN_POINTWISE_ADD:
    return each([](float a, float b) { return a + b; });
  case CUDNN_POINTWISE_MUL:
    return each([](float a, float b) { return a * b; });
  case CUDNN_POINTWISE_DIV:
    return each([](float a, float b) { return a / b; });
  case CUDNN_POINTWISE_SUB:
    return each([](float a, float b) { return a - b; });
  case CUDNN_POINTWISE_CMP_GE:
    return each([](float a, float b) { return a >= b ? 1.0F : 0.0F; });
  case CUDNN_POINTWISE_EXP:
    return forEach(x, x, result, [](float a, float) { return std::exp(a); });
  case CUDNN_POINTWISE_LOG:
    return forEach(x, x, result, [](float a, float) { return std::log(a); });
  case CUDNN_POINTWISE_RELU_FWD:
    return forEach(x, x, result, [](float a, float) { return a > 0 ? a : 0; });
  case CUDNN_POINTWISE_GEN_INDEX:
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t j = 0; j < result.columns; ++j)
        result.row(i)[j] = float(operation.axis == 2 ? i : j);
    return;
  case CUDNN_POINTWISE_BINARY_SELECT:
    each([](float, float second) { return second; });
    for (size_t at = 0; at < result.values.size(); ++at)
      if (operands[2]->values[at] != 0)
        result.values[at] = x.values[at];
    return;
  }
}

void Evaluation::load(const Tensor &tensor) {
  Matrix matrix(tensor);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j)
      matrix.row(i)[j] =
          tensor.place == Tensor::Place::ByValue
              ? places.numbers.at(tensor.name)
              : float(standin::load(placeOf(tensor, i, j), tensor.type));
  values[tensor.name] = std::move(matrix);
}

void Evaluation::store(const Tensor &tensor) const {
  const Matrix &matrix = values.at(tensor.name);
  for (int64_t i = 0; i < matrix.rows; ++i)
    for (int64_t j = 0; j < matrix.columns; ++j)
      standin::store(placeOf(tensor, i, j), tensor.type, matrix.row(i)[j]);
}

Matrix Evaluation::evaluate(const Operation &operation) const {
  Matrix result(operation.result);
  std::vector<const Matrix *> operands;
  for (const Tensor &operand : operation.operands)
    operands.push_back(&values.at(operand.name));
  switch (operation.kind) {
  case Operation::Kind::Multiply: {
    // Tensor cores multiply factors of one type: the narrower one.
    std::array<Matrix, 2> rounded;
    for (size_t i = 0; i < 2; ++i)
      if (Float other = operation.operands[1 - i].type;
          operation.operands[i].type == Float::F32 && other != Float::F32) {
        rounded[i] = *operands[i];
        roundAll(rounded[i], other);
        operands[i] = &rounded[i];
      }
    multiply(*operands[0], *operands[1], result);
    break;
  }
  case Operation::Kind::Pointwise:
    computeAll(operation, operands, result);
    break;
  case Operation::Kind::Reduce:
    reduce(*operands[0], operation.reduction == CUDNN_REDUCE_TENSOR_ADD,
           result);
    break;
  case Operation::Kind::Transpose:
    for (int64_t i = 0; i < result.rows; ++i)
      for (int64_t j = 0; j < result.columns; ++j)
        result.row(i)[j] = operands[0]->row(j)[i];
    break;
  }
  roundAll(result, operation.result.type);
  return result;
}

void Evaluation::execute(int64_t atExample, int64_t atHead) {
  example = atExample;
  head = atHead;
  std::map<int64_t, size_t> uses;
  for (const Operation &operation : graph.operations)
    for (const Tensor &operand : operation.operands)
      ++uses[operand.name];
  for (const Operation &operation : graph.operations) {
    for (const Tensor &operand : operation.operands)
      if (!values.count(operand.name))
        load(operand);
    values[operation.result.name] = evaluate(operation);
    if (operation.result.place == Tensor::Place::InMemory)
      store(operation.result);
    for (const Tensor &operand : operation.operands)
      if (--uses[operand.name] == 0)
        values.erase(operand.name);
  }
  values.clear();
}

} // namespace

void OperationGraph::execute(const OperandPlaces &places) const {
  const auto &shape = operations.front().operands.front().sizes;
  Evaluation evaluation(*this, places);
  for (int64_t example = 0; example < shape[0]; ++example)
    for (int64_t head = 0; head < shape[1]; ++head)
      evaluation.execute(example, head);
}

} // namespace lockstep::standin
