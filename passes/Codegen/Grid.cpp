//===- Grid.cpp - Tiles of a kernel ---------------------------------------===//

#include "passes/Codegen/Grid.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace lockstep;
using namespace mlir;

int64_t lockstep::getNumTiles(ArrayRef<Split> splits) {
  int64_t tiles = 1;
  for (Split split : splits)
    tiles *= split.count;
  return tiles;
}

SmallVector<TileRange> lockstep::getTileRanges(OpBuilder &builder, Location loc,
                                               Value tile,
                                               ArrayRef<int64_t> sizes,
                                               ArrayRef<Split> splits,
                                               ArrayRef<int64_t> multiples) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<TileRange> ranges;
  for (int64_t size : sizes)
    ranges.push_back({constant(0), constant(size), size, true});
  // Delinearizes the tile number. The last split varies fastest.
  Value rest = tile;
  for (size_t i = splits.size(); i-- > 0;) {
    Split split = splits[i];
    if (split.count == 1)
      continue;
    int64_t size = sizes[split.dim];
    int64_t part =
        llvm::alignTo(llvm::divideCeil(size, split.count), multiples[i]);
    // The number of the part along this dimension. What is left for the first
    // split is already below its count.
    Value number = rest;
    if (getNumTiles(splits.take_front(i)) > 1) {
      number =
          arith::RemUIOp::create(builder, loc, rest, constant(split.count));
      rest = arith::DivUIOp::create(builder, loc, rest, constant(split.count));
    }
    Value begin = arith::MulIOp::create(builder, loc, number, constant(part));
    // The last parts may be empty, since `part` has been rounded up.
    begin = arith::MinSIOp::create(builder, loc, begin, constant(size));
    Value end = arith::AddIOp::create(builder, loc, begin, constant(part));
    end = arith::MinSIOp::create(builder, loc, end, constant(size));
    ranges[split.dim] = {begin, end, size, false};
  }
  return ranges;
}
