//===- MatrixTiles.cpp - Products by tensor cores -------------------------===//

#include "passes/Codegen/Gpu/TileEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace lockstep;
using namespace mlir;

/// A tensor core multiplies 16 rows by 8 columns; the depth is 8 words of 32
/// bits, each with one element of tf32 or two of 16 bits.
static constexpr int64_t kRows = 16, kColumns = 8, kWords = 8;
/// The two rows, or words, of such a product that a thread has differ by 8, or
/// by 4.
static constexpr int64_t kHalfRows = kRows / 2, kHalfWords = kWords / 2;
/// A warp has four lanes for each row.
static constexpr int64_t kLanes = 4, kWarpLanes = 32;
/// The bytes that memory transfers at once.
static constexpr int64_t kSector = 32;

namespace {
/// A warp multiplies a part of a tile. The factors are rounded to tf32, or have
/// 16 bits; sums are f32, in an order that the hardware has.
class MatrixTiles : public TileEmitter {
public:
  MatrixTiles(func::FuncOp function, ProductGroup &group,
              const ProductTiles &tiles)
      : TileEmitter(function, group, tiles),
        factor(getElementTypeOrSelf(product.lhs->get())),
        elementBytes(factor.isF32() ? 4 : 2), perWord(4 / elementBytes) {}

protected:
  Place placeThread() override {
    int64_t warpRows = tiles.threadRows * kHalfRows;
    int64_t warpColumns = tiles.threadColumns * kLanes;
    SmallVector<Value> places =
        delinearize(thread, {builder.getIndexAttr(tiles.rows / warpRows),
                             builder.getIndexAttr(tiles.columns / warpColumns),
                             builder.getIndexAttr(kHalfRows),
                             builder.getIndexAttr(kLanes)});
    lane = places[3];
    row = multiplyAdd(places[0], warpRows, places[2]);
    Value firstColumn =
        arith::MulIOp::create(builder, loc, places[1], constant(warpColumns));
    column = arith::AddIOp::create(builder, loc, firstColumn, places[2]);
    return {row, multiplyAdd(lane, 2, firstColumn)};
  }

  int64_t getRowOffset(int64_t i) const override { return i * kHalfRows; }
  int64_t getColumnOffset(int64_t j) const override {
    return j / 2 * kColumns + j % 2;
  }

  /// Elements are neighbors along the reduction. Each row ends in a gap of four
  /// words, so that the lanes of a warp read different banks.
  MemRefType getBufferType(int64_t extent) override {
    return MemRefType::get(
        {2, extent, tiles.depth + kHalfWords * perWord},
        builder.getIntegerType(static_cast<unsigned>(elementBytes * 8)));
  }
  SmallVector<Value> getBufferIndices(Value buffer, Value k,
                                      Value across) override {
    return {buffer, across, k};
  }
  /// Whole sectors of memory, which go to as many banks as possible.
  CopyBlock getCopyBlock(int64_t) const override {
    int64_t extent = kSector / elementBytes;
    return {kWarpLanes / extent, extent};
  }
  bool padsSlices() const override { return true; }

  Value convert(Value element) override {
    if (factor.isF32())
      return NVVM::ConvertFloatToTF32Op::create(
          builder, loc, builder.getI32Type(), element,
          NVVM::FPRoundingMode::RNA, NVVM::SaturationMode::NONE,
          /*relu=*/false);
    return arith::BitcastOp::create(builder, loc, builder.getI16Type(),
                                    element);
  }

  SmallVector<Value> multiply(Value buffer, int64_t length,
                              ValueRange carried) override {
    SmallVector<Value> sums(carried);
    for (int64_t word = 0; word * perWord < length; word += kWords) {
      SmallVector<SmallVector<Value>> left;
      for (int64_t i = 0; i < tiles.threadRows; i += 2) {
        SmallVector<Value> &registers = left.emplace_back();
        for (int64_t half : {0, 1})
          for (int64_t next : {0, 1})
            registers.push_back(loadWord(leftBuffers, buffer,
                                         add(row, getRowOffset(i + next)),
                                         word + half * kHalfWords));
      }
      for (int64_t j = 0; j < tiles.threadColumns; j += 2) {
        SmallVector<Value> right;
        for (int64_t half : {0, 1})
          right.push_back(loadWord(rightBuffers, buffer,
                                   add(column, getColumnOffset(j)),
                                   word + half * kHalfWords));
        for (auto [i, registers] : llvm::enumerate(left))
          multiplyMatrices(registers, right, sums, 2 * i, j);
      }
    }
    return sums;
  }

private:
  /// A word of a row of a slice, for an operand of a tensor core.
  Value loadWord(Value memory, Value buffer, Value row, int64_t word) {
    Value k =
        arith::MulIOp::create(builder, loc, add(lane, word), constant(perWord));
    SmallVector<Value> indices = getBufferIndices(buffer, k, row);
    if (perWord == 1)
      return memref::LoadOp::create(builder, loc, memory, indices);
    Value pair = vector::LoadOp::create(
        builder, loc, VectorType::get(2, builder.getI16Type()), memory, indices,
        /*nontemporal=*/false, llvm::MaybeAlign(4));
    if (factor.isF16())
      return vector::BitCastOp::create(builder, loc, VectorType::get(2, factor),
                                       pair);
    Value word32 = vector::BitCastOp::create(
        builder, loc, VectorType::get(1, builder.getI32Type()), pair);
    return vector::ExtractOp::create(builder, loc, word32, 0);
  }

  /// Adds a product to the sums of the rows `i`, `i + 1` and the columns `j`,
  /// `j + 1` of the thread.
  void multiplyMatrices(ValueRange left, ValueRange right,
                        MutableArrayRef<Value> sums, int64_t i, int64_t j) {
    SmallVector<Value *> own;
    for (int64_t row : {i, i + 1})
      for (int64_t column : {j, j + 1})
        own.push_back(&sums[row * tiles.threadColumns + column]);
    Type f32 = builder.getF32Type();
    auto result = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                   {f32, f32, f32, f32});
    auto type = factor.isF32()   ? NVVM::MMATypes::tf32
                : factor.isF16() ? NVVM::MMATypes::f16
                                 : NVVM::MMATypes::bf16;
    Value made = NVVM::MmaOp::create(
        builder, loc, result, left, right,
        llvm::map_to_vector(own, [](Value *sum) { return *sum; }),
        ArrayRef<int64_t>{kRows, kColumns, kWords * perWord},
        /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
        std::array{type, type},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (auto [number, sum] : llvm::enumerate(own))
      *sum = LLVM::ExtractValueOp::create(builder, loc, made, number);
  }

  Type factor;
  int64_t elementBytes, perWord;
  /// The row of the left factor, and the column of the right one, that the
  /// thread loads first, and which of the lanes of the row it is.
  Value row, column, lane;
};
} // namespace

void lockstep::emitMatrixTiles(func::FuncOp function, ProductGroup &group,
                               const ProductTiles &tiles) {
  MatrixTiles(function, group, tiles).emit();
}
