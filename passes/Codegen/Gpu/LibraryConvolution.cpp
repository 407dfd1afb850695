//===- LibraryConvolution.cpp - Convolutions by a library -----------------===//
//
// A factor of the product is the image: some of its indices are the sum of a
// loop of the result and of one of the other factor, such as `2 * p + r`. In a
// convolution, the other factor is the filter. In the gradient of a filter, it
// is the gradient of the result, and the product's result is that of the
// filter:
//
//   result[n, p, k] += image[n, s * p + d * r, c] * filter[r, c, k]
//   filter[r, c, k] += image[n, s * p + d * r, c] * result[n, p, k]
//
// Loops of one iteration are ignored.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/Gpu/LibraryConvolution.h"

#include "passes/Codegen/Gpu/LibraryOperand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace lockstep;
using namespace mlir;
using runtime::GpuConvolution;
using runtime::GpuTensor;

namespace {

/// A loop of the product that runs over an operand.
struct Term {
  unsigned dim;
  int64_t coefficient;
};

/// An index of an operand: a sum of at most two loops and a constant.
struct Index {
  SmallVector<Term, 2> terms;
  int64_t constant = 0;
  bool isLoop() const {
    return terms.size() == 1 && terms.front().coefficient == 1 && constant == 0;
  }
};

/// An operand of the product, and its indices.
struct IndexedOperand {
  LibraryOperand operand;
  SmallVector<Index> indices;

  /// The index that is this loop alone; none if there is no such index.
  std::optional<unsigned> findIndex(unsigned dim) const {
    for (auto [i, index] : llvm::enumerate(indices))
      if (index.isLoop() && index.terms.front().dim == dim)
        return i;
    return std::nullopt;
  }
  bool uses(unsigned dim) const {
    return llvm::any_of(indices, [&](const Index &index) {
      return llvm::any_of(index.terms,
                          [&](const Term &term) { return term.dim == dim; });
    });
  }
};

/// A spatial dimension: an index of the image, and the loops and their steps of
/// the product's result and of the other factor, if there are such.
struct Spatial {
  unsigned index;
  std::optional<Term> ofResult, ofFactor;
};

/// The loops of a product by what they are in a convolution.
struct Loops {
  SmallVector<Spatial, 2> spatial;
  /// Of the image and the result, of the image and the other factor, and of
  /// the other factor and the result.
  std::optional<unsigned> imageAndResult, imageAndFactor, factorAndResult;
};

} // namespace

/// Adds up `expr`, times `factor`, leaving out loops of one iteration.
static bool addTerms(AffineExpr expr, int64_t factor, ArrayRef<int64_t> sizes,
                     Index &index) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (sizes[dim.getPosition()] != 1)
      index.terms.push_back({dim.getPosition(), factor});
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    index.constant += factor * constant.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), factor, sizes, index) &&
           addTerms(binary.getRHS(), factor, sizes, index);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && by &&
         addTerms(binary.getLHS(), factor * by.getValue(), sizes, index);
}

static std::optional<SmallVector<Index>> readIndices(AffineMap map,
                                                     ArrayRef<int64_t> sizes) {
  SmallVector<Index> indices(map.getNumResults());
  for (auto [expr, index] : llvm::zip_equal(map.getResults(), indices)) {
    if (!addTerms(expr, 1, sizes, index) || index.terms.size() > 2 ||
        index.constant < 0 ||
        llvm::any_of(
            index.terms, [](const Term &term) { return term.coefficient < 1; }))
      return std::nullopt;
  }
  return indices;
}

static bool hasWindows(ArrayRef<Index> indices) {
  return !llvm::all_of(indices, [](const Index &index) {
    return index.terms.empty() || index.isLoop();
  });
}

/// Sorts the loops of the product of `image` and `factor`; none if it is no
/// convolution in one or two dimensions.
static std::optional<Loops> sortLoops(const IndexedOperand &image,
                                      const IndexedOperand &factor,
                                      const IndexedOperand &result,
                                      ArrayRef<int64_t> sizes) {
  Loops loops;
  // Indices of the image that are one loop of the result or the factor.
  SmallVector<unsigned, 2> ofResult, ofFactor;
  auto isOfResult = [&](const Term &term) { return result.uses(term.dim); };
  for (auto [i, index] : llvm::enumerate(image.indices)) {
    // Otherwise there are groups of channels, or elements of the image are
    // added up before they are multiplied.
    if (llvm::any_of(index.terms, [&](const Term &term) {
          return result.uses(term.dim) == factor.uses(term.dim);
        }))
      return std::nullopt;
    if (index.isLoop()) {
      bool isResult = isOfResult(index.terms.front());
      (isResult ? ofResult : ofFactor).push_back(i);
      continue;
    }
    if (index.terms.empty())
      continue;
    Spatial spatial{unsigned(i), std::nullopt, std::nullopt};
    for (const Term &term : index.terms) {
      std::optional<Term> &place =
          isOfResult(term) ? spatial.ofResult : spatial.ofFactor;
      if (place)
        return std::nullopt;
      place = term;
    }
    loops.spatial.push_back(spatial);
  }
  // A dimension along which the filter has one element: of two indices, that of
  // the image's neighbors.
  for (SmallVector<unsigned, 2> *own : {&ofResult, &ofFactor}) {
    if (loops.spatial.size() != 1 || own->size() != 2)
      continue;
    unsigned i =
        image.operand.strides[own->front()] < image.operand.strides[own->back()]
            ? own->front()
            : own->back();
    llvm::erase(*own, i);
    Spatial spatial{i, std::nullopt, std::nullopt};
    (own == &ofResult ? spatial.ofResult : spatial.ofFactor) =
        image.indices[i].terms.front();
    loops.spatial.push_back(spatial);
  }
  if (ofResult.size() > 1 || ofFactor.size() > 1 || loops.spatial.size() > 2)
    return std::nullopt;
  if (!ofResult.empty())
    loops.imageAndResult = image.indices[ofResult.front()].terms.front().dim;
  if (!ofFactor.empty())
    loops.imageAndFactor = image.indices[ofFactor.front()].terms.front().dim;
  for (const Index &index : factor.indices) {
    if (index.terms.empty() || image.uses(index.terms.front().dim))
      continue;
    unsigned dim = index.terms.front().dim;
    if (loops.factorAndResult || !result.uses(dim))
      return std::nullopt;
    loops.factorAndResult = dim;
  }
  // Each loop is one of those.
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size != 1 && !image.uses(dim) && loops.factorAndResult != dim)
      return std::nullopt;
  // Rows before columns.
  llvm::stable_sort(loops.spatial, [&](const Spatial &a, const Spatial &b) {
    return image.operand.strides[a.index] > image.operand.strides[b.index];
  });
  return loops;
}

namespace {

/// Describes the tensors of a convolution. Dimensions that an operand does not
/// have are of size 1, and have the strides of packed tensors with channels as
/// neighbors.
class ConvolutionBuilder {
public:
  ConvolutionBuilder(const IndexedOperand &image, const IndexedOperand &factor,
                     const IndexedOperand &result, ArrayRef<int64_t> sizes,
                     const Loops &loops)
      : image(image), factor(factor), result(result), sizes(sizes),
        loops(loops) {}

  GpuConvolution build() {
    // The smaller one of the factor and the result is the filter.
    int64_t factorSize = 1, resultSize = 1;
    for (const Spatial &spatial : loops.spatial) {
      factorSize *= getSize(spatial.ofFactor);
      resultSize *= getSize(spatial.ofResult);
    }
    bool isGradient = factorSize > resultSize;
    GpuConvolution found;
    found.kind =
        isGradient ? GpuConvolution::FilterGradient : GpuConvolution::Result;
    const IndexedOperand &filter = isGradient ? result : factor,
                         &output = isGradient ? factor : result;
    std::optional<unsigned> examples = isGradient ? loops.imageAndFactor
                                                  : loops.imageAndResult,
                            inputs = isGradient ? loops.imageAndResult
                                                : loops.imageAndFactor;
    start(found.image, image);
    start(found.filter, filter);
    start(found.result, output);
    setDim(found.image, 0, image, examples);
    setDim(found.image, 1, image, inputs);
    setDim(found.filter, 0, filter, loops.factorAndResult);
    setDim(found.filter, 1, filter, inputs);
    setDim(found.result, 0, output, examples);
    setDim(found.result, 1, output, loops.factorAndResult);
    // The last dimensions; one alone is that of columns.
    size_t at = 2 - loops.spatial.size();
    for (const Spatial &spatial : loops.spatial) {
      std::optional<Term> position = spatial.ofResult,
                          element = spatial.ofFactor;
      if (isGradient)
        std::swap(position, element);
      if (position)
        found.strides[at] = position->coefficient;
      if (element)
        found.dilations[at] = element->coefficient;
      setDim(found.filter, 2 + at, filter, getDim(element));
      setDim(found.result, 2 + at, output, getDim(position));
      setWindow(found, at, spatial.index);
      ++at;
    }
    for (GpuTensor *tensor : {&found.image, &found.filter, &found.result})
      fillStrides(*tensor);
    return found;
  }

private:
  int64_t getSize(const std::optional<Term> &term) const {
    return term ? sizes[term->dim] : 1;
  }
  static std::optional<unsigned> getDim(const std::optional<Term> &term) {
    return term ? std::optional<unsigned>(term->dim) : std::nullopt;
  }

  /// The constants of all indices are a distance from the beginning.
  static void start(GpuTensor &tensor, const IndexedOperand &operand) {
    tensor.buffer = operand.operand.buffer;
    tensor.offset = operand.operand.offset;
    tensor.element = operand.operand.element;
    tensor.strides.fill(0);
    for (auto [index, stride] :
         llvm::zip_equal(operand.indices, operand.operand.strides))
      tensor.offset +=
          index.constant * stride * runtime::elementSize(tensor.type());
  }

  void setDim(GpuTensor &tensor, size_t at, const IndexedOperand &operand,
              std::optional<unsigned> dim) const {
    if (!dim)
      return;
    tensor.sizes[at] = sizes[*dim];
    tensor.strides[at] = operand.operand.strides[*operand.findIndex(*dim)];
  }

  /// The image along a spatial dimension: all of it, so that neither a part nor
  /// a copy is needed, unless the library would find more windows there.
  void setWindow(GpuConvolution &found, size_t at, unsigned index) const {
    const LibraryOperand &operand = image.operand;
    int64_t first = image.indices[index].constant,
            stride = int64_t(found.strides[at]),
            window = int64_t(
                (found.filter.sizes[2 + at] - 1) * found.dilations[at] + 1),
            positions = int64_t(found.result.sizes[2 + at]),
            all = operand.sizes[index] - first,
            needed = (positions - 1) * stride + window;
    bool isAll = all >= window && (all - window) / stride + 1 == positions;
    found.image.sizes[2 + at] = isAll ? all : needed;
    found.image.strides[2 + at] = operand.strides[index];
  }

  static void fillStrides(GpuTensor &tensor) {
    int64_t extent = 1;
    for (size_t dim : {1, 3, 2, 0}) {
      int64_t &stride = tensor.strides[dim];
      if (tensor.sizes[dim] == 1)
        stride = extent;
      extent = std::max(extent, int64_t(tensor.sizes[dim]) * stride);
    }
  }

  const IndexedOperand &image, &factor, &result;
  ArrayRef<int64_t> sizes;
  const Loops &loops;
};

} // namespace

/// The epilogue, if its bias has one element for each channel, which are
/// neighbors in memory.
static std::optional<runtime::GpuEpilogue>
describeEpilogue(const ProductGroup &group, const LibraryEpilogue &epilogue,
                 std::optional<unsigned> channels) {
  if (!epilogue.bias || !channels)
    return std::nullopt;
  std::optional<LibraryOperand> bias = describeOperand(epilogue.bias->get());
  if (!bias)
    return std::nullopt;
  bool hasChannels = false;
  for (auto [dim, stride] :
       llvm::zip_equal(group.getIndexDims(epilogue.bias), bias->strides)) {
    if (dim < 0 || group.product.sizes[dim] == 1)
      continue;
    if (dim != int(*channels) || stride != 1)
      return std::nullopt;
    hasChannels = true;
  }
  if (!hasChannels)
    return std::nullopt;
  return runtime::GpuEpilogue{1, bias->buffer, bias->offset,
                              epilogue.activation};
}

std::optional<GpuConvolution>
lockstep::takeLibraryConvolution(ProductGroup &group,
                                 const GpuProductOptions &options) {
  const Product &product = group.product;
  if (!options.libraryConvolutions || !group.fill ||
      !matchPattern(group.initial, m_AnyZeroFloat()))
    return std::nullopt;
  auto describe = [&](Value memref, std::optional<SmallVector<Index>> indices) {
    std::optional<IndexedOperand> found;
    std::optional<LibraryOperand> operand = describeOperand(memref);
    if (operand && indices)
      found = IndexedOperand{std::move(*operand), std::move(*indices)};
    return found;
  };
  auto describeFactor = [&](OpOperand *operand) {
    return describe(operand->get(),
                    readIndices(product.getMap(operand), product.sizes));
  };
  std::optional<IndexedOperand> image = describeFactor(product.lhs),
                                factor = describeFactor(product.rhs);
  if (!image || !factor)
    return std::nullopt;
  if (hasWindows(factor->indices))
    std::swap(image, factor);
  if (!hasWindows(image->indices) || hasWindows(factor->indices))
    return std::nullopt;
  SmallVector<uint64_t> bytes =
      getBufferBytes(product.op->getParentOfType<func::FuncOp>());
  auto make =
      [&](Value stored,
          const LibraryEpilogue *epilogue) -> std::optional<GpuConvolution> {
    SmallVector<Index> indices;
    for (unsigned dim : group.buffers[stored]) {
      Index &index = indices.emplace_back();
      if (product.sizes[dim] != 1)
        index.terms.push_back({dim, 1});
    }
    std::optional<IndexedOperand> result = describe(stored, indices);
    std::optional<Loops> loops;
    if (result)
      loops = sortLoops(*image, *factor, *result, product.sizes);
    if (!loops)
      return std::nullopt;
    GpuConvolution found =
        ConvolutionBuilder(*image, *factor, *result, product.sizes, *loops)
            .build();
    found.roundsFactors = options.tf32;
    if (epilogue) {
      std::optional<runtime::GpuEpilogue> described =
          describeEpilogue(group, *epilogue, loops->factorAndResult);
      if (!described)
        return std::nullopt;
      found.epilogue = *described;
    }
    return found.isValid(bytes) ? std::optional(found) : std::nullopt;
  };
  return takeLibraryPhase(group, options.libraryActivations, make);
}
