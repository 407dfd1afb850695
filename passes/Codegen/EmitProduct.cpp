//===- EmitProduct.cpp - Code of products with a short reduction ----------===//

#include "passes/Codegen/EmitProduct.h"

#include "passes/Codegen/PackPanel.h"
#include "passes/Codegen/ProductEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

/// The fewest multiply-adds of a tile: about 30 µs on one core.
static constexpr int64_t kTileMultiplyAdds = 1 << 21;
static constexpr int64_t kMaxProductTiles = 64;
/// The fewest columns and rows of a tile, so that packing a panel pays off.
static constexpr int64_t kMinColumns = 128, kMinRows = 128;
/// Enough tiles for most machines, and the multiply-adds for which there are
/// more: a tile packs what another one packs, too.
static constexpr int64_t kFewTiles = 16, kManyMultiplyAdds = 1 << 26;
/// With more multiply-adds per element of the result, writing it is the smaller
/// part of the work.
static constexpr int64_t kLongReduction = 128;

SmallVector<Split> lockstep::splitProduct(const Product &product) {
  int64_t wanted =
      std::min(kMaxProductTiles, product.getMultiplyAdds() / kTileMultiplyAdds);
  SmallVector<Split> splits;
  auto split = [&](unsigned dim, int64_t most) {
    int64_t count = std::min({wanted, most, product.sizes[dim]});
    if (count < 2)
      return;
    // Parts of equal, rounded-up size.
    count = llvm::divideCeil(product.sizes[dim],
                             llvm::divideCeil(product.sizes[dim], count));
    splits.push_back({dim, count});
    wanted /= count;
  };
  for (unsigned dim : product.outerDims)
    split(dim, kMaxProductTiles);
  // Rows of the result are contiguous memory: prefer tiles of whole rows. With
  // a long reduction, tiles have many rows instead, for which the columns of
  // the right operand are packed once.
  int64_t rowParts = product.getPanelRows() / kMinRows,
          columnParts = product.getNumColumns() / kMinColumns;
  int64_t length = multiplySizes(product.sizes, product.kDims);
  if (length > kLongReduction) {
    int64_t few =
        std::min(wanted, std::max(kFewTiles, product.getMultiplyAdds() /
                                                 kManyMultiplyAdds));
    rowParts = std::min<int64_t>(
        rowParts, llvm::divideCeil(few, std::max<int64_t>(columnParts, 1)));
  }
  SmallVector<unsigned> rows(product.rowDims);
  if (product.row)
    rows.push_back(*product.row);
  llvm::sort(rows, [&](unsigned a, unsigned b) {
    return std::pair(-product.sizes[a], a) < std::pair(-product.sizes[b], b);
  });
  for (unsigned dim : rows) {
    size_t before = splits.size();
    split(dim, dim == product.row ? std::min(rowParts, product.sizes[dim] / 16)
                                  : rowParts);
    if (splits.size() > before)
      rowParts /= splits.back().count;
  }
  split(product.column, columnParts);
  return splits;
}

namespace {

class TiledProductEmitter : ProductEmitter {
public:
  using ProductEmitter::ProductEmitter;

  void emit(Value tile, ArrayRef<Split> splits) {
    setRanges(tile, splits, block.vectors * lanes, block.rows);
    allocatePanel();
    emitLoops(product.outerDims, [&] { emitColumns(); });
  }

private:
  /// A contiguous panel that is read for only one block of rows needs no packed
  /// copy.
  bool needsPacking() {
    AffineMap map = product.getMap(product.rhs);
    std::optional<unsigned> result = getOnlyResult(map, product.column);
    bool isContiguous = *result + 1 == map.getNumResults() &&
                        isInnermostContiguous(product.rhs->get());
    bool isSameType =
        cast<MemRefType>(product.rhs->get().getType()).getElementType() ==
        product.getElementType();
    return !isContiguous || !isSameType || product.getPanelRows() > block.rows;
  }

  void allocatePanel() {
    if (!needsPacking())
      return;
    SmallVector<int64_t> shape = llvm::map_to_vector(
        product.kDims, [&](unsigned dim) { return product.sizes[dim]; });
    shape.push_back(std::min<int64_t>(block.vectors,
                                      getNumVectors(product.getNumColumns())) *
                    lanes);
    panel = memref::AllocOp::create(
        builder, loc, MemRefType::get(shape, product.getElementType()),
        builder.getI64IntegerAttr(64));
  }

  void emitColumns() {
    emitBlocks(product.column, block.vectors * lanes, [&](int64_t width) {
      if (panel)
        packPanel(builder, loc, product, dims, width, lanes, panel);
      emitLoops(product.rowDims, [&] {
        if (product.row)
          emitBlocks(*product.row, block.rows,
                     [&](int64_t rows) { emitBlock(rows, width); });
        else
          emitBlock(1, width);
      });
    });
  }

  /// The indices of all dimensions at a row and a vector of the block.
  SmallVector<Value> getPoint(int64_t row, int64_t vector) {
    SmallVector<Value> point(dims);
    if (product.row)
      point[*product.row] = offset(dims[*product.row], row);
    point[product.column] = offset(dims[product.column], vector * lanes);
    return point;
  }

  /// A block of `rows` by `width` elements, in registers from the first
  /// multiply-add to the end of the epilogue.
  void emitBlock(int64_t rows, int64_t width) {
    int64_t vectors = getNumVectors(width);
    SmallVector<Value> accumulators;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        accumulators.push_back(
            getInitial(getPoint(row, v), getActive(width, v)));
    accumulators = emitReduction(product.kDims, rows, width, accumulators);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v)
        emitEpilogue(accumulators[row * vectors + v], getPoint(row, v),
                     getActive(width, v));
  }

  SmallVector<Value> emitReduction(ArrayRef<unsigned> order, int64_t rows,
                                   int64_t width, ValueRange accumulators) {
    if (order.empty())
      return emitMultiplyAdds(rows, width, accumulators);
    unsigned dim = order.front();
    auto loop = scf::ForOp::create(builder, loc, constant(0),
                                   constant(product.sizes[dim]), constant(1),
                                   accumulators);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    dims[dim] = loop.getInductionVar();
    SmallVector<Value> results = emitReduction(order.drop_front(), rows, width,
                                               loop.getRegionIterArgs());
    scf::YieldOp::create(builder, loc, results);
    dims[dim] = Value();
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> emitMultiplyAdds(int64_t rows, int64_t width,
                                      ValueRange accumulators) {
    int64_t vectors = getNumVectors(width);
    SmallVector<Value> columns, results;
    for (int64_t v = 0; v < vectors; ++v) {
      if (panel) {
        SmallVector<Value> indices = llvm::map_to_vector(
            product.kDims, [&](unsigned dim) { return dims[dim]; });
        indices.push_back(constant(v * lanes));
        columns.push_back(loadVector(panel, indices, lanes));
      } else {
        columns.push_back(
            loadVector(product.rhs->get(),
                       getIndices(product.getMap(product.rhs), getPoint(0, v)),
                       getActive(width, v)));
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value element = loadBroadcast(
          product.lhs->get(),
          getIndices(product.getMap(product.lhs), getPoint(row, 0)));
      for (int64_t v = 0; v < vectors; ++v)
        results.push_back(
            vector::FMAOp::create(builder, loc, element, columns[v],
                                  accumulators[row * vectors + v]));
    }
    return results;
  }

  Value panel;
};

} // namespace

void lockstep::emitProduct(OpBuilder &builder, ProductGroup &group,
                           const CodegenTarget &target, Value tile,
                           ArrayRef<Split> splits) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(group.getPosition());
  if (shouldBlock(group.product, target))
    emitBlockedProduct(builder, group, target, tile, splits);
  else
    TiledProductEmitter(builder, group, target).emit(tile, splits);
}
