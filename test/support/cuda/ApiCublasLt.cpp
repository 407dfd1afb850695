//===- ApiCublasLt.cpp - cuBLASLt without GPUs ----------------------------===//
//
// The functions of libcublasLt.so.12 that the device `cuda` calls. Products are
// summed in f64, and rounded to the type of sums, then to that of the result.
// Results of f32 may have a bias, a ReLU or a GELU.
// Operands that are not aligned to 16 bytes are not supported, as by some of
// the library's algorithms.
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include "LibraryCalls.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

// Names of its functions have the visibility of the driver's.
#pragma GCC visibility push(default)
#include "runtime/device/cuda/CublasLt.h"
#pragma GCC visibility pop

using namespace lockstep::standin;

struct cublasLtContext {
  Context *context = nullptr;
};

struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute{};
  cudaDataType_t scale{};
  cublasOperation_t operations[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
};

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type{};
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0, batchStride = 0;
  int32_t batches = 1;
};

struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspaceBytes = 0;
  uint32_t reductionSchemes = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace {

/// Of an algorithm for these operands.
constexpr uint64_t workspaceBytes = 4096, algorithmMark = 0x4c74;

/// None for other types.
std::optional<Float> floatOf(cudaDataType_t type) {
  switch (type) {
  case CUDA_R_16F:
    return Float::F16;
  case CUDA_R_16BF:
    return Float::BF16;
  case CUDA_R_32F:
    return Float::F32;
  case CUDA_R_64F:
    return Float::F64;
  }
  return std::nullopt;
}

uint64_t sizeOf(cudaDataType_t type) {
  std::optional<Float> found = floatOf(type);
  return found ? sizeOf(*found) : 0;
}

/// What is added to each row of a result, and what is then applied.
struct Epilogue {
  bool hasBias, isRelu, isGelu;

  explicit Epilogue(cublasLtEpilogue_t epilogue)
      : hasBias(epilogue & CUBLASLT_EPILOGUE_BIAS),
        isRelu(epilogue & CUBLASLT_EPILOGUE_RELU),
        isGelu(epilogue & CUBLASLT_EPILOGUE_GELU) {}

  static bool isKnown(cublasLtEpilogue_t epilogue) {
    switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return true;
    }
    return false;
  }

  /// For a sum, and an element of the bias. A ReLU makes 0 of what is no
  /// number, as the library may.
  float apply(float sum, float bias) const {
    if (hasBias)
      sum += bias;
    if (isRelu)
      return sum > 0 ? sum : 0;
    if (!isGelu)
      return sum;
    double x = sum;
    double argument =
        std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x);
    return float(0.5 * x * (1 + std::tanh(argument)));
  }
};

/// The operands of a product, in column-major order.
struct Operand {
  const cublasLtMatrixLayoutOpaque_t *layout = nullptr;
  cublasOperation_t operation = CUBLAS_OP_N;

  uint64_t rows() const {
    return operation == CUBLAS_OP_N ? layout->rows : layout->columns;
  }
  uint64_t columns() const {
    return operation == CUBLAS_OP_N ? layout->columns : layout->rows;
  }
  uint64_t offset(int32_t batch, uint64_t row, uint64_t column) const {
    if (operation != CUBLAS_OP_N)
      std::swap(row, column);
    return (uint64_t(batch) * uint64_t(layout->batchStride) + row +
            column * uint64_t(layout->leading)) *
           sizeOf(layout->type);
  }
  /// From the first element to behind the last one.
  uint64_t bytes() const {
    return offset(layout->batches - 1, rows() - 1, columns() - 1) +
           sizeOf(layout->type);
  }
  bool isValid() const {
    return sizeOf(layout->type) > 0 && layout->rows > 0 &&
           layout->columns > 0 && layout->leading >= int64_t(layout->rows) &&
           layout->batches > 0 && layout->batchStride >= 0;
  }
};

struct Product {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t layouts[3];

  Product(const cublasLtMatmulDescOpaque_t &operation,
          const cublasLtMatrixLayoutOpaque_t &a,
          const cublasLtMatrixLayoutOpaque_t &b,
          const cublasLtMatrixLayoutOpaque_t &d)
      : operation(operation), layouts{a, b, d} {}

  Operand a() const { return {&layouts[0], operation.operations[0]}; }
  Operand b() const { return {&layouts[1], operation.operations[1]}; }
  Operand d() const { return {&layouts[2], CUBLAS_OP_N}; }

  bool isValid() const {
    int32_t batches = layouts[2].batches;
    return a().isValid() && b().isValid() && d().isValid() &&
           a().rows() == d().rows() && b().columns() == d().columns() &&
           a().columns() == b().rows() && layouts[0].batches == batches &&
           layouts[1].batches == batches &&
           Epilogue::isKnown(operation.epilogue) &&
           Epilogue(operation.epilogue).hasBias == (operation.bias != nullptr);
  }
  bool isSupported() const {
    cudaDataType_t factor = layouts[0].type, result = layouts[2].type;
    if (factor != layouts[1].type)
      return false;
    if (factor == CUDA_R_64F)
      return result == factor && operation.compute == CUBLAS_COMPUTE_64F &&
             operation.scale == CUDA_R_64F;
    bool isRounded = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    bool hasEpilogue = operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
    if (hasEpilogue && (result != CUDA_R_32F || layouts[2].batches > 1))
      return false;
    return operation.scale == CUDA_R_32F &&
           (result == factor || result == CUDA_R_32F) &&
           (operation.compute == CUBLAS_COMPUTE_32F ||
            (isRounded && factor == CUDA_R_32F));
  }

  void execute(const std::byte *left, const std::byte *right, double beta,
               const std::byte *bias, std::byte *result) const {
    bool isRounded = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    auto read = [&](const std::byte *from, const Operand &operand,
                    int32_t batch, uint64_t row, uint64_t column) {
      double value = load(from + operand.offset(batch, row, column),
                          *floatOf(operand.layout->type));
      return isRounded ? roundToTf32(float(value)) : value;
    };
    Operand a = this->a(), b = this->b(), d = this->d();
    Float type = *floatOf(d.layout->type);
    const Epilogue epilogue(operation.epilogue);
    const uint64_t depth = a.columns(), columns = d.columns();
    std::vector<double> factor(depth * columns), sums(columns);
    for (int32_t batch = 0; batch < d.layout->batches; ++batch) {
      for (uint64_t k = 0; k < depth; ++k)
        for (uint64_t j = 0; j < columns; ++j)
          factor[k * columns + j] = read(right, b, batch, k, j);
      for (uint64_t i = 0; i < d.rows(); ++i) {
        std::ranges::fill(sums, 0.0);
        for (uint64_t k = 0; k < depth; ++k) {
          double scale = read(left, a, batch, i, k);
          const double *row = &factor[k * columns];
          for (uint64_t j = 0; j < columns; ++j)
            sums[j] += scale * row[j];
        }
        for (uint64_t j = 0; j < columns; ++j) {
          std::byte *element = result + d.offset(batch, i, j);
          // What is not read may be anything.
          double sum = sums[j];
          if (beta != 0)
            sum += beta * load(element, type);
          if (operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT)
            sum = epilogue.apply(
                float(sum),
                bias ? float(load(bias + i * sizeof(float), Float::F32)) : 0);
          store(element, type, sum);
        }
      }
    }
  }
};

/// Sets one of the attributes of a descriptor, of which `member` is the place.
template <typename Member>
cublasStatus_t setMember(Member &member, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(member))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

size_t cublasLtGetVersion() { return 120400; }

const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_ARCH_MISMATCH:
    return "CUBLAS_STATUS_ARCH_MISMATCH";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  countCall();
  if (!handle || !currentContext())
    return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext{currentContext()};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  countCall();
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = new cublasLtMatmulDescOpaque_t{compute, scale};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return setMember(desc->operations[0], value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return setMember(desc->operations[1], value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return setMember(desc->epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return setMember(desc->bias, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return setMember(layout->batches, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return setMember(layout->batchStride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return setMember(preference->workspaceBytes, value, bytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return setMember(preference->reductionSchemes, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: {
    auto index = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    return setMember(preference->alignments[index], value, bytes);
  }
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t *results, int *found) {
  countCall();
  Product product(*desc, *a, *b, *d);
  *found = 0;
  if (requested < 1 || c != d || !product.isValid())
    return CUBLAS_STATUS_INVALID_VALUE;
  // Only schemes that add in working memory, in the type of sums.
  if (preference->reductionSchemes != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
    return CUBLAS_STATUS_INVALID_VALUE;
  bool isAligned = true;
  for (uint32_t alignment : preference->alignments)
    isAligned &= alignment >= leastAlignment;
  if (!isAligned || !product.isSupported() ||
      preference->workspaceBytes < workspaceBytes)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  results[0].algo.data[0] = algorithmMark;
  results[0].workspaceSize = workspaceBytes;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
               const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout,
               const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,
               const void *c, cublasLtMatrixLayout_t cLayout, void *d,
               cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t bytes, CUstream handleOfStream) {
  countCall();
  // Also for errors of earlier commands.
  if (DriverOptions::get().product.happens() ||
      handle->context->error() != CUDA_SUCCESS)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  if (DriverOptions::get().refused.happens())
    return CUBLAS_STATUS_ARCH_MISMATCH;
  Product product(*desc, *aLayout, *bLayout, *dLayout);
  Context *context = handle->context;
  Stream *stream = Driver::get().streams.find(handleOfStream);
  auto scalar = [&](const void *value) {
    return load(static_cast<const std::byte *>(value), *floatOf(desc->scale));
  };
  if (!algo || algo->data[0] != algorithmMark || bytes < workspaceBytes ||
      cLayout != dLayout || c != d || !product.isValid() ||
      !product.isSupported() || scalar(alpha) != 1 || !stream ||
      stream->context != context || currentContext() != context ||
      !isOf(context, a, product.a().bytes()) ||
      !isOf(context, b, product.b().bytes()) ||
      !isOf(context, d, product.d().bytes()) ||
      (desc->bias &&
       !isOf(context, desc->bias, product.d().rows() * sizeof(float))) ||
      !isOf(context, workspace, bytes))
    return CUBLAS_STATUS_INVALID_VALUE;
  submitCall(context, stream, workspace, bytes,
             [=, factor = scalar(beta), bias = desc->bias] {
               product.execute(hostOf(a), hostOf(b), factor,
                               bias ? hostOf(bias) : nullptr, hostOf(d));
             });
  return CUBLAS_STATUS_SUCCESS;
}
