//===- CudaProducts.cpp - products by cuBLASLt ----------------------------===//
//
// The library's matrices are in column-major order: a matrix of ours is the
// transpose of one of theirs. So it computes the transpose of the result, which
// is the product of the transposed right factor and the transposed left one.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaProducts.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

using artifact::ElementType;

Expected<std::shared_ptr<CudaProductLibrary>>
CudaProductLibrary::create(std::shared_ptr<CudaContext> context) {
  int version = 0;
  context->api.cuDriverGetVersion(&version);
  Expected<const CublasLtApi *> api = CublasLtApi::load(version);
  if (!api)
    return api.status();
  std::shared_ptr<CudaProductLibrary> library(
      new CudaProductLibrary(**api, std::move(context)));
  library->context->enter();
  cublasStatus_t status = (*api)->cublasLtCreate(&library->handle);
  if (status != CUBLAS_STATUS_SUCCESS)
    return (*api)->error("cublasLtCreate", status);
  return library;
}

CudaProductLibrary::~CudaProductLibrary() {
  context->enter();
  if (handle)
    api.cublasLtDestroy(handle);
}

static cudaDataType_t dataType(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return CUDA_R_16F;
  case ElementType::bf16:
    return CUDA_R_16BF;
  case ElementType::f64:
    return CUDA_R_64F;
  default:
    return CUDA_R_32F;
  }
}

/// The library adds an element of the bias to each row of its result, which is
/// a column of ours.
static cublasLtEpilogue_t epilogueOf(const GpuEpilogue &epilogue) {
  switch (epilogue.activation) {
  case GpuActivation::None:
    return epilogue.hasBias ? CUBLASLT_EPILOGUE_BIAS
                            : CUBLASLT_EPILOGUE_DEFAULT;
  case GpuActivation::Relu:
    return epilogue.hasBias ? CUBLASLT_EPILOGUE_RELU_BIAS
                            : CUBLASLT_EPILOGUE_RELU;
  case GpuActivation::Gelu:
    return epilogue.hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS
                            : CUBLASLT_EPILOGUE_GELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// What describes a product to the library.
class CudaProduct::Descriptors {
public:
  explicit Descriptors(const CublasLtApi &api) : api(api) {}
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;
  ~Descriptors() {
    for (cublasLtMatrixLayout_t layout : {left, right, result})
      if (layout)
        api.cublasLtMatrixLayoutDestroy(layout);
    if (operation)
      api.cublasLtMatmulDescDestroy(operation);
  }

  Status create(const GpuProduct &product) {
    ElementType type = product.left.type();
    bool isDouble = type == ElementType::f64;
    bool rounds = product.roundsFactors && type == ElementType::f32;
    note("cublasLtMatmulDescCreate",
         api.cublasLtMatmulDescCreate(&operation,
                                      isDouble ? CUBLAS_COMPUTE_64F
                                      : rounds ? CUBLAS_COMPUTE_32F_FAST_TF32
                                               : CUBLAS_COMPUTE_32F,
                                      isDouble ? CUDA_R_64F : CUDA_R_32F));
    if (!product.epilogue.isNone())
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(product.epilogue));
    // The first one of the library's factors is our right one.
    describe(product, product.right, product.depth, product.columns,
             CUBLASLT_MATMUL_DESC_TRANSA, right);
    describe(product, product.left, product.rows, product.depth,
             CUBLASLT_MATMUL_DESC_TRANSB, left);
    describe(product, product.result, product.rows, product.columns,
             std::nullopt, result);
    return status;
  }

  /// Sets where the bias of the next product is. Error: of the library.
  Status setBias(const std::byte *bias) {
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    return status;
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;

private:
  void note(const char *call, cublasStatus_t found) {
    if (found != CUBLAS_STATUS_SUCCESS && status.ok())
      status = api.error(call, found);
  }

  template <typename Value>
  void set(cublasLtMatrixLayout_t layout,
           cublasLtMatrixLayoutAttribute_t attribute, Value value) {
    if (status.ok())
      note("cublasLtMatrixLayoutSetAttribute",
           api.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value,
                                                sizeof(value)));
  }

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    if (status.ok())
      note("cublasLtMatmulDescSetAttribute",
           api.cublasLtMatmulDescSetAttribute(operation, attribute, &value,
                                              sizeof(value)));
  }

  /// The layout of a matrix of so many rows and columns. Its transpose is
  /// stored, or the matrix itself if neighbors in memory are in one column.
  void describe(const GpuProduct &product, const GpuMatrix &matrix,
                uint64_t rows, uint64_t columns,
                std::optional<cublasLtMatmulDescAttributes_t> operationOf,
                cublasLtMatrixLayout_t &layout) {
    if (!status.ok())
      return;
    bool isTransposed = matrix.columnStride == 1;
    if (!isTransposed)
      std::swap(rows, columns);
    note("cublasLtMatrixLayoutCreate",
         api.cublasLtMatrixLayoutCreate(
             &layout, dataType(matrix.type()), columns, rows,
             isTransposed ? matrix.rowStride : matrix.columnStride));
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(product.batches));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
        matrix.batchStride);
    if (operationOf)
      set(*operationOf, isTransposed ? CUBLAS_OP_N : CUBLAS_OP_T);
  }

  const CublasLtApi &api;
  Status status;
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// The factors of products and of what they are added to, in the type of sums.
struct Scalars {
  double asDouble[2] = {0, 1};
  float asFloat[2] = {0, 1};
  const void *get(ElementType factor, bool isOne) const {
    return factor == ElementType::f64
               ? static_cast<const void *>(&asDouble[isOne])
               : &asFloat[isOne];
  }
};
} // namespace

static constexpr Scalars scalars;

static std::byte *addressOf(const GpuMatrix &matrix,
                            std::span<std::byte *const> buffers,
                            uint64_t repeat) {
  return buffers[matrix.buffer] + matrix.offset +
         repeat * uint64_t(matrix.repeatStride) * elementSize(matrix.type());
}

/// Whether the library has no code for these operands on this GPU.
static bool isRefusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

Expected<std::unique_ptr<CudaProduct>>
CudaProduct::create(std::shared_ptr<CudaProductLibrary> library,
                    const GpuProduct &product) {
  std::unique_ptr<CudaProduct> created(
      new CudaProduct(std::move(library), product));
  auto descriptors = std::make_unique<Descriptors>(created->library->api);
  LOCKSTEP_RETURN_IF_ERROR(descriptors->create(product));
  created->descriptors = std::move(descriptors);
  return created;
}

static constexpr CudaLibraryPhase::Kind productKind = {"cuBLASLt", "product",
                                                       "--products=cublaslt"};

CudaProduct::CudaProduct(std::shared_ptr<CudaProductLibrary> library,
                         const GpuProduct &product)
    : CudaLibraryPhase(productKind), library(std::move(library)),
      product(product) {}

CudaProduct::~CudaProduct() = default;

CudaProduct::Alignments
CudaProduct::alignmentsOf(std::span<std::byte *const> buffers) const {
  auto alignmentOf = [&](const GpuMatrix &matrix) {
    return libraryAlignment(addressOf(matrix, buffers, 0),
                            product.repeats > 1
                                ? uint64_t(matrix.repeatStride) *
                                      elementSize(matrix.type())
                                : 0);
  };
  return {alignmentOf(product.left), alignmentOf(product.right),
          alignmentOf(product.result)};
}

Expected<std::optional<uint64_t>>
CudaProduct::prepare(std::span<std::byte *const> buffers) {
  Alignments alignments = alignmentsOf(buffers);
  std::lock_guard<std::mutex> lock(mutex);
  auto known = plans.find(alignments);
  if (known == plans.end()) {
    // Algorithms may depend on whether there is a bias.
    if (product.epilogue.hasBias)
      LOCKSTEP_RETURN_IF_ERROR(
          descriptors->setBias(product.epilogue.bias(buffers)));
    Expected<std::optional<Plan>> chosen = choose(alignments);
    if (!chosen)
      return chosen.status();
    known = plans.emplace(alignments, *chosen).first;
  }
  return known->second ? std::optional(known->second->workspaceBytes)
                       : std::nullopt;
}

std::optional<std::string> CudaProduct::refusal() {
  std::lock_guard<std::mutex> lock(mutex);
  bool isRefused = std::ranges::any_of(
      plans, [](const auto &entry) { return !entry.second; });
  // The library does not say why.
  return isRefused ? std::optional<std::string>("") : std::nullopt;
}

Expected<std::optional<CudaProduct::Plan>>
CudaProduct::choose(const Alignments &alignments) const {
  const CublasLtApi &api = library->api;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t status = api.cublasLtMatmulPreferenceCreate(&preference);
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = api.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                        &value, sizeof(value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      CudaProductLibrary::workspaceBytes);
  // Parts of a sum are added in working memory, as f32 or f64, and not in the
  // result.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[1]);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[0]);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = api.cublasLtMatmulAlgoGetHeuristic(
        library->handle, descriptors->operation, descriptors->right,
        descriptors->left, descriptors->result, descriptors->result, preference,
        /*requested=*/1, &result, &found);
  if (preference)
    api.cublasLtMatmulPreferenceDestroy(preference);
  if (isRefusal(status) ||
      (status == CUBLAS_STATUS_SUCCESS &&
       (found == 0 || result.state != CUBLAS_STATUS_SUCCESS)))
    return std::optional<Plan>();
  if (status != CUBLAS_STATUS_SUCCESS)
    return api.error("cublasLtMatmulAlgoGetHeuristic", status);
  return std::optional<Plan>({result.algo, result.workspaceSize});
}

Expected<bool> CudaProduct::enqueue(std::span<std::byte *const> buffers,
                                    CUdeviceptr workspace, CUstream stream) {
  const CublasLtApi &api = library->api;
  std::unique_lock<std::mutex> lock(mutex);
  std::optional<Plan> plan = plans.at(alignmentsOf(buffers));
  // Another thread may have had it refused meanwhile.
  if (!plan)
    return false;
  // Others may not change the place of the bias before the call.
  if (product.epilogue.hasBias)
    LOCKSTEP_RETURN_IF_ERROR(
        descriptors->setBias(product.epilogue.bias(buffers)));
  else
    lock.unlock();
  ElementType factor = product.left.type();
  for (uint64_t repeat = 0; repeat < product.repeats; ++repeat) {
    std::byte *result = addressOf(product.result, buffers, repeat);
    cublasStatus_t status = api.cublasLtMatmul(
        library->handle, descriptors->operation,
        /*alpha=*/scalars.get(factor, true),
        addressOf(product.right, buffers, repeat), descriptors->right,
        addressOf(product.left, buffers, repeat), descriptors->left,
        /*beta=*/scalars.get(factor, product.accumulates), result,
        descriptors->result, result, descriptors->result, &plan->algorithm,
        reinterpret_cast<void *>(workspace), plan->workspaceBytes, stream);
    // Then it has not begun, and all of it can be computed by other code.
    if (repeat == 0 && isRefusal(status)) {
      if (!lock)
        lock.lock();
      plans[alignmentsOf(buffers)] = std::nullopt;
      return false;
    }
    if (status != CUBLAS_STATUS_SUCCESS)
      return api.error("cublasLtMatmul", status);
  }
  return true;
}

} // namespace lockstep::runtime
