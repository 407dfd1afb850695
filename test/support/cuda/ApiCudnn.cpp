//===- ApiCudnn.cpp - cuDNN without GPUs ----------------------------------===//
//
// The functions of libcudnn.so.9 that the device `cuda` calls, for graphs of
// one convolution, or of the gradient of its filter, and for those of matrix
// products and other operations that describe attention. Descriptors have their
// attributes by name, and those that describe others need them until they are
// destroyed themselves. Sums of convolutions are f64, and rounded to f32, then
// to the type of the result. Operands that are not aligned to 16 bytes are not
// supported.
//
// Some of the engines that it recommends must not be used for training: they
// fail when they are executed.
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include "CudnnCalls.h"
#include "CudnnOperations.h"

using namespace lockstep::standin;

struct cudnnContext {
  Context *context = nullptr;
  CUstream stream = nullptr;
};

namespace {

/// What the library recommends, in this order.
struct Engine {
  std::vector<cudnnBackendNumericalNote_t> notes;
  uint64_t workspaceBytes;
  bool isFallback = false, isUsable = true;
  /// Finalizing a plan fails.
  bool isBroken = false;
};

const std::vector<Engine> &convolutionEngines() {
  static const std::vector<Engine> all = {
      {{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
       4096,
       /*isFallback=*/false,
       /*isUsable=*/false},
      {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       uint64_t(1) << 30,
       /*isFallback=*/false,
       /*isUsable=*/false},
      {{},
       4096,
       /*isFallback=*/false,
       /*isUsable=*/false,
       /*isBroken=*/true},
      {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 4096},
      {{CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP},
       8192,
       /*isFallback=*/true}};
  return all;
}

/// Their working memory depends on the graph.
const std::vector<Engine> &operationEngines() {
  static const std::vector<Engine> all = {
      {{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
       0,
       /*isFallback=*/false,
       /*isUsable=*/false},
      {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       0,
       /*isFallback=*/false,
       /*isUsable=*/false,
       /*isBroken=*/true},
      {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 0}};
  return all;
}

/// Those for a final graph.
const std::vector<Engine> &enginesFor(const Descriptor &graph) {
  return convolutionOf(graph) ? convolutionEngines() : operationEngines();
}

thread_local std::string lastError;

cudnnStatus_t fail(cudnnStatus_t status, const std::string &reason) {
  lastError = reason;
  return status;
}

cudnnStatus_t bad(const std::string &reason) {
  return fail(CUDNN_STATUS_BAD_PARAM, reason);
}

uint64_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  case CUDNN_TYPE_CHAR:
  case CUDNN_TYPE_BOOLEAN:
    return 1;
  default:
    return 4;
  }
}

/// With a bias, a ReLU may follow; results are then f32.
bool isSupported(const Convolution &convolution) {
  Float type = convolution.image.type;
  if (convolution.isRelu && !convolution.bias)
    return false;
  if (const auto &bias = convolution.bias;
      bias && (bias->type != Float::F32 || type != Float::F32 ||
               bias->alignment < int64_t(leastAlignment)))
    return false;
  return convolution.filter.type == type && convolution.result.type == type &&
         convolution.image.alignment >= int64_t(leastAlignment) &&
         convolution.filter.alignment >= int64_t(leastAlignment) &&
         convolution.result.alignment >= int64_t(leastAlignment);
}

const Descriptor *graphOf(const Descriptor &heuristic) {
  return readDescriptor(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
}

cudnnStatus_t checkHeuristic(const Descriptor &heuristic) {
  const Descriptor *graph = graphOf(heuristic);
  if (!graph)
    return bad("heuristic");
  std::string reason;
  if (std::optional<Convolution> convolution = convolutionOf(*graph))
    reason = isSupported(*convolution) ? "" : "alignment";
  else
    reason = operationsOf(*graph)->unsupported();
  return reason.empty() ? CUDNN_STATUS_SUCCESS
                        : fail(CUDNN_STATUS_NOT_SUPPORTED, reason);
}

/// The numbers of the engines that a final heuristic recommends.
std::vector<size_t> recommended(const Descriptor &heuristic) {
  const std::vector<Engine> &engines = enginesFor(*graphOf(heuristic));
  auto mode = readOne<cudnnBackendHeurMode_t>(
      heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE);
  std::vector<size_t> found;
  for (size_t i = 0; i < engines.size(); ++i)
    if (engines[i].isFallback == (mode == CUDNN_HEUR_MODE_FALLBACK))
      found.push_back(i);
  return found;
}

const Descriptor *configurationOf(const Descriptor &plan) {
  return readDescriptor(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                        CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

/// Of a configuration, or of its engine.
const Engine &engineOf(const Descriptor &descriptor) {
  return enginesFor(*descriptor.graph)[descriptor.engine];
}

uint64_t workspaceOf(const Descriptor &configuration) {
  if (convolutionOf(*configuration.graph))
    return engineOf(configuration).workspaceBytes;
  return operationsOf(*configuration.graph)->workspaceBytes();
}

cudnnStatus_t checkFinal(const Descriptor &descriptor) {
  switch (descriptor.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return readTensor(&descriptor) ? CUDNN_STATUS_SUCCESS : bad("tensor");
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
  case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
  case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
  case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return readConvolution(descriptor) ? CUDNN_STATUS_SUCCESS
                                       : bad("operation");
  case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
  case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    return readOperation(descriptor) ? CUDNN_STATUS_SUCCESS : bad("operation");
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return readOne<cudnnHandle_t>(descriptor, CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                                  CUDNN_TYPE_HANDLE) &&
                   (convolutionOf(descriptor) || operationsOf(descriptor))
               ? CUDNN_STATUS_SUCCESS
               : bad("graph");
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return checkHeuristic(descriptor);
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
    const Descriptor *configuration = configurationOf(descriptor);
    if (!configuration ||
        !readOne<cudnnHandle_t>(descriptor, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                CUDNN_TYPE_HANDLE))
      return bad("plan");
    return engineOf(*configuration).isBroken
               ? fail(CUDNN_STATUS_INTERNAL_ERROR, "compilation")
               : CUDNN_STATUS_SUCCESS;
  }
  default:
    return bad("type");
  }
}

template <typename Value>
void copyValues(const std::vector<Value> &values, int64_t requested,
                int64_t *count, void *to) {
  *count = std::min(requested, int64_t(values.size()));
  std::memcpy(to, values.data(), size_t(*count) * sizeof(Value));
}

} // namespace

size_t cudnnGetVersion() { return DriverOptions::get().cudnnVersion; }

const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED:
    return "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED";
  case CUDNN_STATUS_BAD_PARAM:
    return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_NOT_SUPPORTED:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case CUDNN_STATUS_INTERNAL_ERROR:
    return "CUDNN_STATUS_INTERNAL_ERROR";
  case CUDNN_STATUS_EXECUTION_FAILED:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_STATUS_UNKNOWN";
}

void cudnnGetLastErrorString(char *message, size_t size) {
  std::strncpy(message, lastError.c_str(), size - 1);
  message[size - 1] = 0;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  countCall();
  if (!currentContext())
    return bad("context");
  *handle = new cudnnContext{currentContext(), nullptr};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  countCall();
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, CUstream stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *descriptor) {
  Descriptors &known = Descriptors::get();
  std::lock_guard<std::mutex> lock(known.mutex);
  auto *created = new Descriptor;
  created->type = type;
  known.all.insert(created);
  *descriptor = created;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  Descriptors &known = Descriptors::get();
  std::lock_guard<std::mutex> lock(known.mutex);
  if (known.all.erase(descriptor) == 0)
    return bad("descriptor");
  delete static_cast<Descriptor *>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values) {
  Descriptors &known = Descriptors::get();
  std::lock_guard<std::mutex> lock(known.mutex);
  auto *changed = static_cast<Descriptor *>(descriptor);
  if (!known.contains(changed) || changed->isFinal || count < 1 || !values)
    return bad("attribute");
  Attribute &attribute = changed->attributes[name];
  attribute.type = type;
  attribute.count = count;
  attribute.bytes.resize(size_t(count) * sizeOf(type));
  std::memcpy(attribute.bytes.data(), values, attribute.bytes.size());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t requested, int64_t *count,
                                       void *values) {
  Descriptors &known = Descriptors::get();
  std::lock_guard<std::mutex> lock(known.mutex);
  auto *asked = static_cast<Descriptor *>(descriptor);
  if (!known.contains(asked) || !asked->isFinal)
    return bad("descriptor");
  auto *filled = static_cast<Descriptor **>(values);
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
    std::vector<size_t> numbers = recommended(*asked);
    *count = std::min(requested, int64_t(numbers.size()));
    for (int64_t i = 0; i < *count; ++i) {
      if (!known.contains(filled[i]) ||
          filled[i]->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        return bad("configuration");
      filled[i]->engine = numbers[size_t(i)];
      filled[i]->graph = graphOf(*asked);
      filled[i]->isFinal = true;
    }
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    if (requested != 1 || !known.contains(filled[0]) ||
        filled[0]->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR)
      return bad("engine");
    filled[0]->engine = asked->engine;
    filled[0]->graph = asked->graph;
    filled[0]->isFinal = true;
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    if (type != CUDNN_TYPE_NUMERICAL_NOTE)
      return bad("note");
    copyValues(engineOf(*asked).notes, requested, count, values);
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    if (type != CUDNN_TYPE_INT64)
      return bad("bytes");
    copyValues<int64_t>({int64_t(workspaceOf(*configurationOf(*asked)))},
                        requested, count, values);
    return CUDNN_STATUS_SUCCESS;
  default:
    return bad("name");
  }
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  countCall();
  Descriptors &known = Descriptors::get();
  std::lock_guard<std::mutex> lock(known.mutex);
  auto *finished = static_cast<Descriptor *>(descriptor);
  if (!known.contains(finished) || finished->isFinal)
    return bad("descriptor");
  cudnnStatus_t status = checkFinal(*finished);
  finished->isFinal = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variantPack) {
  countCall();
  Context *context = handle->context;
  // Also for errors of earlier commands.
  if (DriverOptions::get().product.happens() ||
      context->error() != CUDA_SUCCESS)
    return fail(CUDNN_STATUS_EXECUTION_FAILED, "launch");
  if (DriverOptions::get().refused.happens())
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "architecture");
  Descriptors &known = Descriptors::get();
  std::lock_guard<std::mutex> lock(known.mutex);
  if (!known.contains(plan) || !known.contains(variantPack))
    return bad("descriptor");
  const Descriptor &made = *static_cast<Descriptor *>(plan),
                   &pack = *static_cast<Descriptor *>(variantPack);
  const Descriptor *configuration = configurationOf(made);
  Stream *stream = Driver::get().streams.find(handle->stream);
  if (!made.isFinal || !pack.isFinal || !configuration ||
      !known.contains(configuration->graph) || !stream ||
      stream->context != context || currentContext() != context)
    return bad("plan");
  const Engine &engine = engineOf(*configuration);
  if (!engine.isUsable)
    return bad("engine");
  uint64_t bytes = workspaceOf(*configuration);
  std::optional<VariantPack> operands = readPack(pack);
  if (!operands || !isOf(context, operands->workspace, bytes))
    return bad("variant pack");
  std::function<void()> compute;
  if (std::string reason = prepareCall(*configuration->graph, engine.isFallback,
                                       context, *operands, compute);
      !reason.empty())
    return bad(reason);
  submitCall(context, stream, operands->workspace, bytes, compute);
  return CUDNN_STATUS_SUCCESS;
}
