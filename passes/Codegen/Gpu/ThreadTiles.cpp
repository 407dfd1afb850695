//===- ThreadTiles.cpp - Products by multiply-adds of threads -------------===//

#include "passes/Codegen/Gpu/TileEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace lockstep;
using namespace mlir;

/// The number of elements that a thread loads from shared memory at once.
static constexpr int64_t kVector = 4;
/// The threads of a warp compute a part of a tile, in so many rows and columns
/// of threads.
static constexpr int64_t kWarpRows = 4, kWarpColumns = 8;

namespace {
/// Each element is the sum of its products in the order of the product's loops,
/// as by a single thread.
class ThreadTiles : public TileEmitter {
public:
  using TileEmitter::TileEmitter;

protected:
  /// Lanes i and i ^ 1 have the same row, i and i ^ 2 the same column: shared
  /// memory serves two such lanes at once.
  Place placeThread() override {
    SmallVector<OpFoldResult> sizes;
    for (int64_t size :
         {tiles.rows / tiles.threadRows / kWarpRows,
          tiles.columns / tiles.threadColumns / kWarpColumns, int64_t(2),
          int64_t(2), int64_t(2), int64_t(2), int64_t(2)})
      sizes.push_back(builder.getIndexAttr(size));
    SmallVector<Value> places = delinearize(thread, sizes);
    auto compose = [&](ArrayRef<Value> digits, int64_t factor) -> Value {
      Value number = digits.front();
      for (Value digit : digits.drop_front())
        number = multiplyAdd(number, 2, digit);
      return arith::MulIOp::create(builder, loc, number, constant(factor));
    };
    ownRow = compose({places[0], places[3], places[5]},
                     std::min(tiles.threadRows, kVector));
    ownColumn = compose({places[1], places[2], places[4], places[6]},
                        std::min(tiles.threadColumns, kVector));
    return {ownRow, ownColumn};
  }

  /// Elements of a thread are neighbors as far as one access loads them; the
  /// next ones are behind those of all other threads.
  static int64_t getOffset(int64_t i, int64_t all, int64_t own) {
    int64_t width = std::min(own, kVector);
    return i / width * (all / own * width) + i % width;
  }
  int64_t getRowOffset(int64_t i) const override {
    return getOffset(i, tiles.rows, tiles.threadRows);
  }
  int64_t getColumnOffset(int64_t j) const override {
    return getOffset(j, tiles.columns, tiles.threadColumns);
  }

  /// Rows end in a gap, so that threads that copy a column write to different
  /// banks; its size keeps vectors aligned.
  MemRefType getBufferType(int64_t extent) override {
    return MemRefType::get({2, tiles.depth, extent + kVector},
                           product.getElementType());
  }
  SmallVector<Value> getBufferIndices(Value buffer, Value k,
                                      Value across) override {
    return {buffer, k, across};
  }
  CopyBlock getCopyBlock(int64_t extent) const override { return {1, extent}; }
  bool padsSlices() const override { return false; }

  /// As wide as the result.
  Value convert(Value element) override {
    Type type = product.getElementType();
    return element.getType() == type
               ? element
               : Value(arith::ExtFOp::create(builder, loc, type, element));
  }

  SmallVector<Value> multiply(Value buffer, int64_t length,
                              ValueRange carried) override {
    SmallVector<Value> sums(carried);
    for (int64_t k = 0; k < length; ++k) {
      SmallVector<Value> left = loadVectors(leftBuffers, buffer, k, ownRow,
                                            tiles.rows, tiles.threadRows);
      SmallVector<Value> right =
          loadVectors(rightBuffers, buffer, k, ownColumn, tiles.columns,
                      tiles.threadColumns);
      unsigned number = 0;
      for (Value a : left)
        for (Value b : right) {
          sums[number] = math::FmaOp::create(builder, loc, a, b, sums[number]);
          ++number;
        }
    }
    return sums;
  }

private:
  /// `count` elements of the row `k` of a slice, from `first` on.
  SmallVector<Value> loadVectors(Value memory, Value buffer, int64_t k,
                                 Value first, int64_t all, int64_t count) {
    Type element = product.getElementType();
    int64_t width = std::min(count, kVector);
    auto type = VectorType::get(width, element);
    int64_t alignment =
        std::min<int64_t>(width * element.getIntOrFloatBitWidth() / 8, 16);
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; i += width) {
      Value vector = vector::LoadOp::create(
          builder, loc, type, memory,
          ValueRange{buffer, constant(k), add(first, getOffset(i, all, count))},
          /*nontemporal=*/false, llvm::MaybeAlign(alignment));
      for (int64_t j = 0; j < width; ++j)
        values.push_back(vector::ExtractOp::create(builder, loc, vector, j));
    }
    return values;
  }

  Value ownRow, ownColumn;
};
} // namespace

void lockstep::emitThreadTiles(func::FuncOp function, ProductGroup &group,
                               const ProductTiles &tiles) {
  ThreadTiles(function, group, tiles).emit();
}
