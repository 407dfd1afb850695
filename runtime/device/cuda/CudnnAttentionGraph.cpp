//===- CudnnAttentionGraph.cpp - attention as graphs ----------------------===//
//
// The library has no operation for attention and its gradient that all versions
// in use plan for all GPUs, but it recognizes graphs of matrix products,
// pointwise operations and reductions, and computes each by kernels that keep
// no scores of f32 in memory. It recognizes these very graphs: not all others
// of the same meaning.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnAttentionGraph.h"

#include "runtime/device/cuda/CudnnGraphBuilder.h"

namespace lockstep::runtime {

namespace {

class AttentionGraph {
public:
  AttentionGraph(CudnnBuilder &builder, const GpuAttention &attention);

  void addForward();
  void addGradient();

  CudnnGraphBuilder graph;

private:
  using Node = CudnnGraphBuilder::Node;
  using Sizes = CudnnGraphBuilder::Sizes;

  Node tensor(AttentionName name) const;
  Node inMemory(AttentionName name);
  Node transposedInMemory(AttentionName name);
  Node number(AttentionName name) { return graph.number(int64_t(name)); }
  /// `scores` of the keys that a query sees, and minus infinity for others.
  Node masked(const Node &scores);

  const GpuAttention &attention;
  const cudnnDataType_t type;
  /// Of scores, and of what is the same for all keys.
  Sizes square{}, rows{};
};

} // namespace

AttentionGraph::AttentionGraph(CudnnBuilder &builder,
                               const GpuAttention &attention)
    : graph(builder, attentionAlignment), attention(attention),
      type(cudnnType(attention.query.type())) {
  std::ranges::copy(attention.query.sizes, square.begin());
  rows = square;
  rows[3] = 1;
  square[3] = int64_t(attention.key.sizes[2]);
}

/// The sizes and strides of a tensor, without a descriptor.
AttentionGraph::Node AttentionGraph::tensor(AttentionName name) const {
  std::span<const AttentionOperand> operands =
      attentionOperands(attention.kind);
  const AttentionOperand &operand =
      *std::ranges::find(operands, name, &AttentionOperand::name);
  const GpuTensor &described = attention.*operand.tensor;
  Node result;
  std::ranges::copy(described.sizes, result.sizes.begin());
  result.strides = described.strides;
  if (name == AttentionName::Statistics)
    return result;
  // What no address depends on is still a hint of how rows are aligned.
  int64_t end = GpuAttention::unit;
  for (size_t dim = 0; dim < result.sizes.size(); ++dim)
    end = std::max(end, result.sizes[dim] * result.strides[dim]);
  end += (GpuAttention::unit - end % GpuAttention::unit) % GpuAttention::unit;
  for (size_t dim = 0; dim + 1 < result.sizes.size(); ++dim)
    if (result.sizes[dim] == 1 && result.strides[dim] % GpuAttention::unit != 0)
      result.strides[dim] = end;
  return result;
}

AttentionGraph::Node AttentionGraph::inMemory(AttentionName name) {
  Node node = tensor(name);
  return graph.inMemory(node.sizes, node.strides,
                        name == AttentionName::Statistics ? CUDNN_DATA_FLOAT
                                                          : type,
                        int64_t(name));
}

AttentionGraph::Node AttentionGraph::transposedInMemory(AttentionName name) {
  Node node = tensor(name);
  return graph.inMemory(CudnnGraphBuilder::transposed(node.sizes),
                        CudnnGraphBuilder::transposed(node.strides), type,
                        int64_t(name));
}

AttentionGraph::Node AttentionGraph::masked(const Node &scores) {
  constexpr int64_t rowAxis = 2, columnAxis = 3;
  Node unseen = number(AttentionName::Unseen),
       row = graph.index(scores, rowAxis),
       column = graph.index(scores, columnAxis),
       isSeen = graph.within(scores.sizes, CUDNN_DATA_BOOLEAN);
  graph.compute(CUDNN_POINTWISE_CMP_GE, row, &column, isSeen,
                CUDNN_DATA_BOOLEAN);
  return graph.select(scores, unseen, isSeen);
}

void AttentionGraph::addForward() {
  Node query = inMemory(AttentionName::Query),
       key = transposedInMemory(AttentionName::Key),
       value = inMemory(AttentionName::Value),
       output = inMemory(AttentionName::Output),
       statistics = inMemory(AttentionName::Statistics),
       scale = number(AttentionName::Scale), products = graph.within(square);
  graph.multiply(query, key, products);
  Node scores = graph.compute(CUDNN_POINTWISE_MUL, products, &scale);
  if (attention.isCausal)
    scores = masked(scores);
  Node most = graph.within(rows), sum = graph.within(rows);
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
  Node exponents = graph.compute(CUDNN_POINTWISE_SUB, scores, &most),
       powers = graph.compute(CUDNN_POINTWISE_EXP, exponents);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
  Node logarithm = graph.compute(CUDNN_POINTWISE_LOG, sum),
       weights = graph.within(square, type);
  graph.compute(CUDNN_POINTWISE_ADD, most, &logarithm, statistics);
  graph.compute(CUDNN_POINTWISE_DIV, powers, &sum, weights);
  graph.multiply(weights, value, output);
}

void AttentionGraph::addGradient() {
  Node query = inMemory(AttentionName::Query),
       key = transposedInMemory(AttentionName::Key),
       value = transposedInMemory(AttentionName::Value),
       output = inMemory(AttentionName::Output),
       cotangent = inMemory(AttentionName::Cotangent),
       queryGradient = inMemory(AttentionName::QueryGradient),
       keyGradient = inMemory(AttentionName::KeyGradient),
       valueGradient = inMemory(AttentionName::ValueGradient),
       statistics = inMemory(AttentionName::Statistics),
       scale = number(AttentionName::Scale);

  // What the gradients of a query's weights have in common, in memory, as in
  // the graphs of the library's authors. The product by 1 stands for a factor
  // that they have there; without it, the library needs three times the working
  // memory.
  Node weighted = graph.compute(CUDNN_POINTWISE_MUL, cotangent, &output),
       sum = graph.within(rows), one = number(AttentionName::One),
       sums = graph.inMemory(rows, CudnnGraphBuilder::packedStrides(rows),
                             CUDNN_DATA_FLOAT, int64_t(AttentionName::Sums));
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, weighted, sum);
  graph.compute(CUDNN_POINTWISE_MUL, sum, &one, sums);

  // The weights once more.
  Node products = graph.within(square);
  graph.multiply(query, key, products);
  Node scores = graph.compute(CUDNN_POINTWISE_MUL, products, &scale),
       exponents = graph.compute(CUDNN_POINTWISE_SUB, scores, &statistics);
  if (attention.isCausal)
    exponents = masked(exponents);
  Node weights = graph.compute(CUDNN_POINTWISE_EXP, exponents),
       weightsOfKeys = graph.transpose(weights, type);
  graph.multiply(weightsOfKeys, cotangent, valueGradient);

  Node ofWeights = graph.within(square);
  graph.multiply(cotangent, value, ofWeights);
  Node centered = graph.compute(CUDNN_POINTWISE_SUB, ofWeights, &sums),
       ofScores = graph.compute(CUDNN_POINTWISE_MUL, centered, &weights),
       ofProducts = graph.compute(CUDNN_POINTWISE_MUL, ofScores, &scale),
       ofKeys = graph.transpose(ofProducts, type);
  graph.multiply(ofKeys, query, keyGradient);

  // This product is the gradient itself. If it were in memory in f32, and
  // rounded by an operation of its own, the library would add what blocks of
  // keys contribute to it in any order, by atomic operations, and would not
  // note that such an engine is not deterministic.
  graph.multiply(ofProducts, graph.transpose(key, type), queryGradient);
}

Expected<CudnnPlan> planAttention(const CudnnApi &api,
                                  const CudnnTarget &target,
                                  const GpuAttention &attention,
                                  uint64_t mostWorkspaceBytes,
                                  std::string &refusal) {
  CudnnBuilder builder(api);
  AttentionGraph described(builder, attention);
  if (attention.kind == GpuAttention::Forward)
    described.addForward();
  else
    described.addGradient();
  CudnnRequirements requirements;
  requirements.usesTensorCores = true;
  requirements.modes = {CUDNN_HEUR_MODE_A};
  requirements.mostWorkspaceBytes = mostWorkspaceBytes;
  return planGraph(builder, target, described.graph.finish(target),
                   requirements, refusal);
}

} // namespace lockstep::runtime
