//===- CudnnGraphs.cpp - descriptors of the stand-in for cuDNN ------------===//

#include "CudnnGraphs.h"

#include "CudnnOperations.h"

namespace lockstep::standin {

std::optional<Tensor> readTensor(const Descriptor *descriptor) {
  if (!descriptor)
    return std::nullopt;
  Tensor tensor;
  auto type = readOne<cudnnDataType_t>(*descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE,
                                       CUDNN_TYPE_DATA_TYPE);
  auto sizes = read<int64_t>(*descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS,
                             CUDNN_TYPE_INT64),
       strides = read<int64_t>(*descriptor, CUDNN_ATTR_TENSOR_STRIDES,
                               CUDNN_TYPE_INT64);
  auto name = readOne<int64_t>(*descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID,
                               CUDNN_TYPE_INT64),
       alignment = readOne<int64_t>(
           *descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64);
  if (!type || sizes.size() != 4 || strides.size() != 4 || !name || !alignment)
    return std::nullopt;
  switch (*type) {
  case CUDNN_DATA_HALF:
    tensor.type = Float::F16;
    break;
  case CUDNN_DATA_BFLOAT16:
    tensor.type = Float::BF16;
    break;
  case CUDNN_DATA_FLOAT:
    break;
  case CUDNN_DATA_INT32:
    tensor.content = Tensor::Content::Index;
    break;
  case CUDNN_DATA_BOOLEAN:
    tensor.content = Tensor::Content::Condition;
    break;
  default:
    return std::nullopt;
  }
  auto is = [&](cudnnBackendAttributeName_t attribute) {
    return readOne<uint8_t>(*descriptor, attribute, CUDNN_TYPE_BOOLEAN) == 1;
  };
  bool isVirtual = is(CUDNN_ATTR_TENSOR_IS_VIRTUAL),
       isByValue = is(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  if (isVirtual)
    tensor.place = Tensor::Place::Virtual;
  if (isByValue)
    tensor.place = Tensor::Place::ByValue;
  if ((isVirtual && isByValue) ||
      (!isVirtual && tensor.content != Tensor::Content::Number))
    return std::nullopt;
  for (size_t i = 0; i < 4; ++i) {
    if (sizes[i] < 1 || strides[i] < 1)
      return std::nullopt;
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = strides[i];
  }
  tensor.name = *name;
  tensor.alignment = *alignment;
  return tensor;
}

/// The elements of a tensor, in the order of its dimensions.
static std::vector<double> loadAll(const std::byte *from, const Tensor &tensor,
                                   bool rounds) {
  std::vector<double> values;
  const auto &[as, bs, cs, ds] = tensor.sizes;
  for (int64_t a = 0; a < as; ++a)
    for (int64_t b = 0; b < bs; ++b)
      for (int64_t c = 0; c < cs; ++c)
        for (int64_t d = 0; d < ds; ++d) {
          uint64_t at = uint64_t(tensor.at(a, b, c, d)) * sizeOf(tensor.type);
          double value = load(from + at, tensor.type);
          values.push_back(rounds ? roundToTf32(float(value)) : value);
        }
  return values;
}

void Convolution::execute(const std::array<std::byte *, 4> &places,
                          bool rounds) const {
  const auto &[examples, outputs, rows, columns] = result.sizes;
  int64_t inputs = filter.sizes[1], height = filter.sizes[2],
          width = filter.sizes[3], channels = image.sizes[1],
          imageRows = image.sizes[2], imageColumns = image.sizes[3];
  std::vector<double> x = loadAll(places[0], image, rounds);
  // What is computed is not read.
  std::vector<double> factor = isGradient ? loadAll(places[2], result, rounds)
                                          : loadAll(places[1], filter, rounds);
  const Tensor &computed = isGradient ? filter : result;
  std::byte *to = places[isGradient ? 1 : 2];
  std::vector<double> sums(size_t(computed.sizes[0] * computed.sizes[1] *
                                  computed.sizes[2] * computed.sizes[3]));
  for (int64_t n = 0; n < examples; ++n)
    for (int64_t k = 0; k < outputs; ++k)
      for (int64_t c = 0; c < inputs; ++c)
        for (int64_t p = 0; p < rows; ++p)
          for (int64_t q = 0; q < columns; ++q)
            for (int64_t r = 0; r < height; ++r)
              for (int64_t s = 0; s < width; ++s) {
                int64_t row = p * strides[0] + r * dilations[0],
                        column = q * strides[1] + s * dilations[1];
                auto ofResult =
                    size_t(((n * outputs + k) * rows + p) * columns + q);
                auto ofFilter =
                    size_t(((k * inputs + c) * height + r) * width + s);
                double pixel = x[size_t(((n * channels + c) * imageRows + row) *
                                            imageColumns +
                                        column)];
                sums[isGradient ? ofFilter : ofResult] +=
                    pixel * factor[isGradient ? ofResult : ofFilter];
              }
  size_t next = 0;
  const auto &[as, bs, cs, ds] = computed.sizes;
  for (int64_t a = 0; a < as; ++a)
    for (int64_t b = 0; b < bs; ++b)
      for (int64_t c = 0; c < cs; ++c)
        for (int64_t d = 0; d < ds; ++d) {
          uint64_t at =
              uint64_t(computed.at(a, b, c, d)) * sizeOf(computed.type);
          double sum = sums[next++];
          if (bias)
            sum = float(sum) +
                  float(load(places[3] + bias->at(0, b, 0, 0) *
                                             int64_t(sizeOf(bias->type)),
                             bias->type));
          // What is no number becomes 0, as it may.
          store(to + at, computed.type, isRelu && !(sum > 0) ? 0 : sum);
        }
}

std::optional<Convolution> readConvolution(const Descriptor &operation) {
  struct Names {
    cudnnBackendAttributeName_t image, filter, result, windows, alpha, beta;
  };
  constexpr Names forward = {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
                  backward = {
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  Convolution convolution;
  convolution.isGradient =
      operation.type ==
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  const Names &names = convolution.isGradient ? backward : forward;
  auto tensor = [&](cudnnBackendAttributeName_t name) {
    return readTensor(
        readDescriptor(operation, name, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  };
  std::optional<Tensor> image = tensor(names.image),
                        filter = tensor(names.filter),
                        result = tensor(names.result);
  const Descriptor *windows = readDescriptor(
      operation, names.windows, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  auto alpha = readOne<float>(operation, names.alpha, CUDNN_TYPE_FLOAT),
       beta = readOne<float>(operation, names.beta, CUDNN_TYPE_FLOAT);
  if (!image || !filter || !result || !windows || alpha != 1 || beta != 0)
    return std::nullopt;
  for (const Tensor *each : {&*image, &*filter})
    if (each->place != Tensor::Place::InMemory)
      return std::nullopt;
  convolution.image = *image;
  convolution.filter = *filter;
  convolution.result = *result;
  auto pair = [&](cudnnBackendAttributeName_t name) {
    std::array<int64_t, 2> found = {-1, -1};
    auto values = read<int64_t>(*windows, name, CUDNN_TYPE_INT64);
    if (values.size() == 2)
      found = {values[0], values[1]};
    return found;
  };
  convolution.strides = pair(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  convolution.dilations = pair(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  constexpr std::array<int64_t, 2> none{};
  bool isPlain =
      pair(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) == none &&
      pair(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) == none &&
      readOne<int64_t>(*windows, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                       CUDNN_TYPE_INT64) == 2 &&
      readOne<cudnnDataType_t>(*windows, CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                               CUDNN_TYPE_DATA_TYPE) == CUDNN_DATA_FLOAT &&
      readOne<cudnnConvolutionMode_t>(
          *windows, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
          CUDNN_TYPE_CONVOLUTION_MODE) == CUDNN_CROSS_CORRELATION;
  return isPlain && convolution.isValid() ? std::optional(convolution)
                                          : std::nullopt;
}

/// Adds an operation on the result of the convolution so far. False if it is
/// none that is known.
static bool addEpilogue(Convolution &convolution, const Descriptor &operation) {
  std::optional<Operation> read = readOperation(operation);
  if (!read || read->kind != Operation::Kind::Pointwise ||
      !(read->operands[0] == convolution.result) || convolution.isGradient ||
      convolution.isRelu)
    return false;
  if (read->mode == CUDNN_POINTWISE_RELU_FWD) {
    convolution.isRelu = true;
  } else if (read->mode == CUDNN_POINTWISE_ADD && !convolution.bias) {
    const Tensor &bias = read->operands[1];
    if (bias.place != Tensor::Place::InMemory ||
        bias.sizes !=
            std::array<int64_t, 4>{1, convolution.result.sizes[1], 1, 1})
      return false;
    convolution.bias = bias;
  } else {
    return false;
  }
  convolution.result = read->result;
  return true;
}

std::optional<Convolution> convolutionOf(const Descriptor &graph) {
  std::optional<Convolution> found;
  for (Descriptor *operation :
       read<Descriptor *>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                          CUDNN_TYPE_BACKEND_DESCRIPTOR)) {
    if (!Descriptors::get().contains(operation) || !operation->isFinal)
      return std::nullopt;
    if (!found)
      found = readConvolution(*operation);
    else if (found->result.place != Tensor::Place::Virtual ||
             !addEpilogue(*found, *operation))
      return std::nullopt;
    if (!found)
      return std::nullopt;
  }
  return found && found->result.place == Tensor::Place::InMemory ? found
                                                                 : std::nullopt;
}

} // namespace lockstep::standin
