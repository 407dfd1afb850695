//===- CollectiveOpInterface.cpp - The interface of collectives -----------===//

#include "dialect/Interfaces/CollectiveOpInterface.h"

using namespace lockstep;

#include "dialect/Interfaces/CollectiveOpInterface.cpp.inc"

int64_t lockstep::getTransferWidening(CollectiveOpInterface op) {
  mlir::Type element = op.getElementType();
  return op.getKindProperties().isReduction && element &&
                 mlir::isa<mlir::FloatType>(element) &&
                 element.getIntOrFloatBitWidth() < 32
             ? 32 / element.getIntOrFloatBitWidth()
             : 1;
}
