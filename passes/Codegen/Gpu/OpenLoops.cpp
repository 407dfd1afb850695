//===- OpenLoops.cpp - The loops of an operation in a thread --------------===//

#include "passes/Codegen/Gpu/OpenLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace lockstep;
using namespace mlir;

OpenLoops::OpenLoops(OpBuilder &builder, linalg::GenericOp op,
                     ArrayRef<unsigned> outerDims, ArrayRef<Value> outer)
    : ranges(cast<linalg::LinalgOp>(op.getOperation())
                 .createLoopRanges(builder, op.getLoc())),
      dims(ranges.size()) {
  for (auto [dim, value] : llvm::zip(outerDims, outer))
    dims[dim] = value;
  for (auto [dim, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (dims[dim])
      continue;
    if (isOneInteger(ranges[dim].size))
      dims[dim] = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
    else
      (iterator == utils::IteratorType::parallel ? parallel : reduction)
          .push_back(dim);
  }
}

SmallVector<OpFoldResult> OpenLoops::sizesOf(ArrayRef<unsigned> which) const {
  return llvm::map_to_vector(which,
                             [&](unsigned dim) { return ranges[dim].size; });
}

bool OpenLoops::keepResults(linalg::GenericOp op) const {
  return !reduction.empty() &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           AffineMap map = op.getMatchingIndexingMap(&init);
           return llvm::none_of(reduction, [&](unsigned dim) {
             return map.isFunctionOfDim(dim);
           });
         });
}
