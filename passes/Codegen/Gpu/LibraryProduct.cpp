//===- LibraryProduct.cpp - Products that a library computes --------------===//

#include "passes/Codegen/Gpu/LibraryProduct.h"

#include "passes/Codegen/Gpu/LibraryOperand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace lockstep;
using namespace mlir;
using runtime::GpuMatrix;
using runtime::GpuProduct;

/// Calls of the library for one phase.
static constexpr int64_t kMostRepeats = 64;

namespace {

/// A buffer of a kernel, and the distance in it between neighbors along each
/// dimension of a product.
struct StridedOperand {
  GpuMatrix matrix;
  SmallVector<int64_t> strides;
};

/// Loops that form one dimension of constant stride in every operand.
struct Collapsed {
  int64_t size = 1;
  /// In the left and the right factor, in the result, and in the bias, if there
  /// is one.
  std::array<int64_t, 4> strides{};
};

} // namespace

/// The operand `memref` of a product with so many dimensions, where index i is
/// dimension `indices[i]`, or 0 if that is -1. None if its place is not known
/// at compile time.
static std::optional<StridedOperand>
describe(Value memref, ArrayRef<int> indices, size_t numDims) {
  std::optional<LibraryOperand> found = describeOperand(memref);
  if (!found)
    return std::nullopt;
  StridedOperand operand;
  operand.matrix.buffer = found->buffer;
  operand.matrix.offset = found->offset;
  operand.matrix.element = found->element;
  operand.strides.assign(numDims, 0);
  for (auto [dim, stride] : llvm::zip_equal(indices, found->strides))
    if (dim >= 0)
      operand.strides[dim] = stride;
  return operand;
}

static std::optional<StridedOperand> describe(const Product &product,
                                              OpOperand *factor) {
  AffineMap map = product.getMap(factor);
  if (!map.isProjectedPermutation())
    return std::nullopt;
  SmallVector<int> indices =
      llvm::map_to_vector(map.getResults(), [](AffineExpr result) {
        return int(cast<AffineDimExpr>(result).getPosition());
      });
  return describe(factor->get(), indices, product.sizes.size());
}

namespace {

/// Collapses the dimensions of a product to those of matrices.
class MatrixBuilder {
public:
  MatrixBuilder(const Product &product,
                std::array<const StridedOperand *, 4> operands)
      : product(product), operands(operands) {}

  /// Takes all of `dims` that are one dimension with `inner`, the innermost of
  /// them.
  Collapsed collapse(unsigned inner, SmallVector<unsigned> &dims) {
    Collapsed all = getDim(inner);
    auto *next = dims.begin();
    while (next != dims.end()) {
      Collapsed outer = getDim(*next);
      if (!isOutside(outer, all)) {
        ++next;
        continue;
      }
      all.size *= outer.size;
      dims.erase(next);
      next = dims.begin();
    }
    return all;
  }

  /// Takes as many iterations as possible of `dims`, which have more than one.
  Collapsed collapseMost(SmallVector<unsigned> &dims) {
    Collapsed most;
    SmallVector<unsigned> left;
    for (unsigned inner : dims) {
      SmallVector<unsigned> others(dims);
      llvm::erase(others, inner);
      Collapsed found = collapse(inner, others);
      if (found.size > most.size) {
        most = found;
        left = others;
      }
    }
    dims = left;
    return most;
  }

private:
  Collapsed getDim(unsigned dim) const {
    Collapsed result;
    result.size = product.sizes[dim];
    for (auto [stride, operand] : llvm::zip_equal(result.strides, operands))
      stride = operand ? operand->strides[dim] : 0;
    return result;
  }

  static bool isOutside(const Collapsed &outer, const Collapsed &inner) {
    return llvm::all_of(llvm::zip_equal(outer.strides, inner.strides),
                        [&](auto strides) {
                          auto [outside, inside] = strides;
                          return outside == inside * inner.size;
                        });
  }

  const Product &product;
  /// The last one may be null.
  std::array<const StridedOperand *, 4> operands;
};

} // namespace

/// Leaves out loops of one iteration.
static SmallVector<unsigned> getLongDims(const Product &product,
                                         ArrayRef<unsigned> dims) {
  SmallVector<unsigned> result(dims);
  llvm::erase_if(result, [&](unsigned dim) { return product.sizes[dim] == 1; });
  return result;
}

/// The product of these operands as one of matrices; none if it is not one. The
/// bias, if there is one, has one element for each column.
static std::optional<GpuProduct>
makeProduct(const Product &product, StridedOperand left, StridedOperand right,
            StridedOperand result, const StridedOperand *bias) {
  MatrixBuilder builder(product, {&left, &right, &result, bias});
  SmallVector<unsigned> rowDims = getLongDims(product, product.rowDims),
                        kDims = getLongDims(product, product.kDims), batchDims,
                        columnDims;
  for (unsigned dim : getLongDims(product, product.outerDims))
    (left.strides[dim] ? batchDims : columnDims).push_back(dim);
  if (!product.row || kDims.empty())
    return std::nullopt;
  rowDims.push_back(*product.row);
  Collapsed rows = builder.collapseMost(rowDims),
            columns = builder.collapse(product.column, columnDims),
            depth = builder.collapseMost(kDims);
  // What is no dimension of a matrix is one of batches.
  batchDims.append(rowDims);
  batchDims.append(columnDims);
  SmallVector<Collapsed> batches;
  while (!batchDims.empty())
    batches.push_back(builder.collapseMost(batchDims));
  llvm::stable_sort(batches, [](const Collapsed &a, const Collapsed &b) {
    return a.size > b.size;
  });
  batches.resize(std::max<size_t>(batches.size(), 2));
  if (!kDims.empty() || batches.size() > 2 || batches[1].size > kMostRepeats)
    return std::nullopt;

  GpuProduct found;
  found.rows = rows.size;
  found.columns = columns.size;
  found.depth = depth.size;
  found.batches = batches[0].size;
  found.repeats = batches[1].size;
  const std::array<StridedOperand *, 3> operands = {&left, &right, &result};
  const std::array<const Collapsed *, 3> vertical = {&rows, &depth, &rows},
                                         horizontal = {&depth, &columns,
                                                       &columns};
  for (size_t i = 0; i < operands.size(); ++i) {
    GpuMatrix &matrix = operands[i]->matrix;
    matrix.rowStride = vertical[i]->strides[i];
    matrix.columnStride = horizontal[i]->strides[i];
    matrix.batchStride = batches[0].strides[i];
    matrix.repeatStride = batches[1].strides[i];
  }
  found.left = left.matrix;
  found.right = right.matrix;
  found.result = result.matrix;
  if (bias) {
    if (rows.strides.back() != 0 || columns.strides.back() != 1)
      return std::nullopt;
    found.epilogue.hasBias = 1;
    found.epilogue.biasBuffer = bias->matrix.buffer;
    found.epilogue.biasOffset = bias->matrix.offset;
  }
  return found;
}

std::optional<GpuProduct>
lockstep::takeLibraryProduct(ProductGroup &group,
                             const GpuProductOptions &options) {
  const Product &product = group.product;
  if (!options.libraryProducts)
    return std::nullopt;
  if (group.fill && !matchPattern(group.initial, m_AnyZeroFloat()))
    return std::nullopt;
  std::optional<StridedOperand> left = describe(product, product.lhs),
                                right = describe(product, product.rhs);
  if (!left || !right)
    return std::nullopt;
  SmallVector<uint64_t> bytes =
      getBufferBytes(product.op->getParentOfType<func::FuncOp>());
  auto make = [&](Value stored, const LibraryEpilogue *epilogue) {
    std::optional<GpuProduct> found;
    auto dims = llvm::to_vector_of<int>(group.buffers[stored]);
    std::optional<StridedOperand> result =
        describe(stored, dims, product.sizes.size());
    std::optional<StridedOperand> bias;
    const bool hasBias = epilogue && epilogue->bias;
    if (hasBias)
      bias = describe(epilogue->bias->get(), group.getIndexDims(epilogue->bias),
                      product.sizes.size());
    if (!result || (hasBias && !bias))
      return found;
    found =
        makeProduct(product, *left, *right, *result, bias ? &*bias : nullptr);
    if (!found)
      return found;
    found->accumulates = !group.fill;
    found->roundsFactors = options.tf32;
    if (epilogue)
      found->epilogue.activation = epilogue->activation;
    return found->isValid(bytes) ? found : std::nullopt;
  };
  return takeLibraryPhase(group, options.libraryActivations, make);
}
