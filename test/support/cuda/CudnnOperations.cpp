//===- CudnnOperations.cpp - graphs of operations for cuDNN ---------------===//

#include "CudnnOperations.h"

#include <algorithm>
#include <set>

namespace lockstep::standin {

using Content = Tensor::Content;
using Place = Tensor::Place;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Whether a tensor has an element, or a single one along a dimension, for each
/// of another one's.
static bool isBroadcast(const Tensor &tensor, const Tensor &to) {
  for (size_t dim = 0; dim < 4; ++dim)
    if (tensor.sizes[dim] != 1 && tensor.sizes[dim] != to.sizes[dim])
      return false;
  return true;
}

template <typename Array> static Array swapped(Array of) {
  std::swap(of[2], of[3]);
  return of;
}

static bool isPointwise(const Operation &operation) {
  const std::vector<Tensor> &operands = operation.operands;
  auto have = [&](size_t count, Content content, Content ofResult) {
    return operands.size() == count &&
           std::all_of(
               operands.begin(), operands.begin() + std::min(count, size_t(2)),
               [&](const Tensor &each) { return each.content == content; }) &&
           operation.result.content == ofResult;
  };
  if (operands.empty() || operands[0].sizes != operation.result.sizes)
    return false;
  for (const Tensor &each : operands)
    if (!isBroadcast(each, operation.result))
      return false;
  bool isOfNumbers = operation.precision == CUDNN_DATA_FLOAT,
       hasAxis = operation.axis >= 0;
  switch (operation.mode) {
  case CUDNN_POINTWISE_ADD:
  case CUDNN_POINTWISE_MUL:
  case CUDNN_POINTWISE_DIV:
  case CUDNN_POINTWISE_SUB:
    return isOfNumbers && !hasAxis && have(2, Content::Number, Content::Number);
  case CUDNN_POINTWISE_EXP:
  case CUDNN_POINTWISE_LOG:
  case CUDNN_POINTWISE_RELU_FWD:
    return isOfNumbers && !hasAxis && have(1, Content::Number, Content::Number);
  case CUDNN_POINTWISE_GEN_INDEX:
    return isOfNumbers && hasAxis && operation.axis < 4 &&
           have(1, Content::Number, Content::Index);
  case CUDNN_POINTWISE_CMP_GE:
    return operation.precision == CUDNN_DATA_BOOLEAN && !hasAxis &&
           have(2, Content::Index, Content::Condition);
  case CUDNN_POINTWISE_BINARY_SELECT:
    return isOfNumbers && !hasAxis &&
           have(3, Content::Number, Content::Number) &&
           operands[2].content == Content::Condition;
  }
  return false;
}

bool Operation::isValid() const {
  if (result.place == Place::ByValue)
    return false;
  auto areNumbers = [&](size_t count) {
    return operands.size() == count && result.content == Content::Number &&
           std::all_of(operands.begin(), operands.end(),
                       [](const Tensor &each) {
                         return each.content == Content::Number;
                       });
  };
  switch (kind) {
  case Kind::Multiply: {
    if (!areNumbers(2))
      return false;
    const auto &left = operands[0].sizes, &right = operands[1].sizes;
    return left[0] == right[0] && left[1] == right[1] && left[3] == right[2] &&
           result.sizes == std::array{left[0], left[1], left[2], right[3]};
  }
  case Kind::Pointwise:
    return isPointwise(*this);
  case Kind::Reduce:
    return areNumbers(1) && isBroadcast(result, operands[0]) &&
           (reduction == CUDNN_REDUCE_TENSOR_ADD ||
            reduction == CUDNN_REDUCE_TENSOR_MAX);
  case Kind::Transpose:
    return areNumbers(1) && result.sizes == swapped(operands[0].sizes) &&
           result.strides == swapped(operands[0].strides);
  }
  return false;
}

std::optional<Operation> readOperation(const Descriptor &operation) {
  Operation found;
  bool isComplete = true;
  auto describedBy = [&](cudnnBackendAttributeName_t name,
                         cudnnBackendDescriptorType_t type) {
    const Descriptor *described = readDescriptor(operation, name, type);
    isComplete = isComplete && described;
    return described ? *described : Descriptor();
  };
  auto tensor = [&](cudnnBackendAttributeName_t name) {
    std::optional<Tensor> read = readTensor(
        readDescriptor(operation, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    isComplete = isComplete && read;
    return read.value_or(Tensor());
  };
  auto takes = [&](cudnnBackendAttributeName_t name) {
    found.operands.push_back(tensor(name));
  };
  auto isInFloat = [&](const Descriptor &described,
                       cudnnBackendAttributeName_t name) {
    return readOne<cudnnDataType_t>(described, name, CUDNN_TYPE_DATA_TYPE) ==
           CUDNN_DATA_FLOAT;
  };
  switch (operation.type) {
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    found.kind = Operation::Kind::Multiply;
    takes(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    takes(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    found.result = tensor(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    isComplete &= isInFloat(describedBy(CUDNN_ATTR_OPERATION_MATMUL_DESC,
                                        CUDNN_BACKEND_MATMUL_DESCRIPTOR),
                            CUDNN_ATTR_MATMUL_COMP_TYPE);
    break;
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: {
    found.kind = Operation::Kind::Pointwise;
    Descriptor described =
        describedBy(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                    CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    auto mode = readOne<cudnnPointwiseMode_t>(
        described, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE);
    auto precision = readOne<cudnnDataType_t>(
        described, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE);
    if (!mode || !precision)
      return std::nullopt;
    found.mode = *mode;
    found.precision = *precision;
    found.axis =
        readOne<int64_t>(described, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64)
            .value_or(-1);
    takes(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                      CUDNN_ATTR_OPERATION_POINTWISE_TDESC})
      if (operation.attributes.count(name))
        takes(name);
    found.result = tensor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    break;
  }
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: {
    found.kind = Operation::Kind::Reduce;
    Descriptor described = describedBy(CUDNN_ATTR_OPERATION_REDUCTION_DESC,
                                       CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    auto reduction =
        readOne<cudnnReduceTensorOp_t>(described, CUDNN_ATTR_REDUCTION_OPERATOR,
                                       CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
    if (!reduction || !isInFloat(described, CUDNN_ATTR_REDUCTION_COMP_TYPE))
      return std::nullopt;
    found.reduction = *reduction;
    takes(CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    found.result = tensor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    break;
  }
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    found.kind = Operation::Kind::Transpose;
    takes(CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    found.result = tensor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    break;
  default:
    return std::nullopt;
  }
  return isComplete && found.isValid() ? std::optional(found) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Notes the tensors of an operation. False if one has the name of another.
static bool addTensors(OperationGraph &graph, const Operation &operation) {
  std::vector<Tensor> all = operation.operands;
  all.push_back(operation.result);
  for (const Tensor &tensor : all) {
    const Tensor &known =
        graph.tensors.emplace(tensor.name, tensor).first->second;
    if (!(known == tensor))
      return false;
  }
  return true;
}

std::optional<OperationGraph> operationsOf(const Descriptor &graph) {
  OperationGraph made;
  std::vector<Operation> left;
  for (Descriptor *each :
       read<Descriptor *>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR)) {
    if (!Descriptors::get().contains(each) || !each->isFinal)
      return std::nullopt;
    std::optional<Operation> operation = readOperation(*each);
    if (!operation || !addTensors(made, *operation))
      return std::nullopt;
    left.push_back(std::move(*operation));
  }
  std::set<int64_t> waiting, used;
  for (const Operation &operation : left) {
    if (!waiting.insert(operation.result.name).second)
      return std::nullopt;
    for (const Tensor &operand : operation.operands)
      used.insert(operand.name);
  }
  for (const auto &[name, tensor] : made.tensors)
    if (tensor.place == Place::Virtual &&
        (!waiting.count(name) || !used.count(name)))
      return std::nullopt;
  while (!left.empty()) {
    auto next =
        std::find_if(left.begin(), left.end(), [&](const Operation &operation) {
          return std::none_of(operation.operands.begin(),
                              operation.operands.end(),
                              [&](const Tensor &operand) {
                                return waiting.count(operand.name) > 0;
                              });
        });
    if (next == left.end())
      return std::nullopt;
    waiting.erase(next->result.name);
    made.operations.push_back(std::move(*next));
    left.erase(next);
  }
  if (made.operations.empty())
    return std::nullopt;
  return made;
}

/// Whether rows of a tensor of 16 bits, or of its transpose, are heads that the
/// library supports.
static std::string unsupportedHead(const Tensor &tensor) {
  constexpr int64_t unit = 8, most = 128;
  size_t inner = tensor.strides[3] == 1 ? 3 : 2;
  if (tensor.strides[inner] != 1)
    return "stride";
  for (size_t dim = 0; dim < 4; ++dim)
    if (dim != inner && tensor.strides[dim] % unit != 0)
      return "stride";
  if (tensor.sizes[inner] % unit != 0 || tensor.sizes[inner] > most)
    return "head";
  return "";
}

std::string OperationGraph::unsupported() const {
  const auto &shape = operations.front().operands.front().sizes;
  for (const auto &[name, tensor] : tensors) {
    if (tensor.alignment < int64_t(leastAlignment))
      return "alignment";
    if (tensor.place == Place::ByValue) {
      if (tensor.sizes != std::array<int64_t, 4>{1, 1, 1, 1})
        return "number";
      continue;
    }
    if (tensor.sizes[0] != shape[0] || tensor.sizes[1] != shape[1])
      return "batch";
    if (tensor.place == Place::InMemory && sizeOf(tensor.type) == 2)
      if (std::string reason = unsupportedHead(tensor); !reason.empty())
        return reason;
  }
  for (const Operation &operation : operations) {
    // The library adds parts of it by atomic operations.
    if (operation.kind == Operation::Kind::Multiply &&
        operation.result.place == Place::InMemory &&
        operation.result.type == Float::F32)
      return "sum in memory";
    if (operation.kind == Operation::Kind::Transpose &&
        operation.result.sizes[2] == 1 && operation.result.sizes[3] == 1)
      return "one position";
  }
  return "";
}

uint64_t OperationGraph::workspaceBytes() const {
  constexpr int64_t queriesOfBlock = 64, keysOfBlock = 128;
  auto up = [](int64_t size, int64_t unit) {
    return uint64_t((size + unit - 1) / unit * unit);
  };
  uint64_t bytes = 256;
  for (const Operation &operation : operations)
    if (const Tensor &operand = operation.operands.front();
        operation.kind == Operation::Kind::Transpose &&
        operand.type == Float::F32)
      return bytes + 2 * uint64_t(operand.sizes[0] * operand.sizes[1]) *
                         up(operand.sizes[2], queriesOfBlock) *
                         up(operand.sizes[3], keysOfBlock);
  return bytes;
}

} // namespace lockstep::standin
