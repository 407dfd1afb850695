//===- ReplicaDialect.cpp - The replica dialect ---------------------------===//

#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep::replica;
using namespace mlir;

#include "dialect/Replica/ReplicaDialect.cpp.inc"
#include "dialect/Replica/ReplicaEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Replica/ReplicaAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Replica/ReplicaTypes.cpp.inc"

void ReplicaDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Replica/ReplicaOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Replica/ReplicaTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Replica/ReplicaAttributes.cpp.inc"
      >();
}

LogicalResult
ReplicaDialect::verifyOperationAttribute(Operation *op,
                                         NamedAttribute attribute) {
  return success();
}

/// Verifies a name that the host uses: a non-empty string.
static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.empty())
    return op->emitOpError("expected '")
           << attribute.getName().getValue()
           << "' to be a non-empty string, found " << attribute.getValue();
  return success();
}

LogicalResult
ReplicaDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                         NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == "replica.default" || name == "replica.unsigned")
    return success();
  if (name == "replica.bounds") {
    auto bounds = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    if (!bounds || llvm::any_of(bounds.asArrayRef(),
                                [](int64_t bound) { return bound < 1; }))
      return op->emitOpError("expected 'replica.bounds' to be an array of "
                             "positive i64, found ")
             << attribute.getValue();
    return success();
  }
  if (name == "replica.batches") {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!names || names.empty() ||
        !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return op->emitOpError(
                 "expected 'replica.batches' to be an array of names, found ")
             << attribute.getValue();
    return success();
  }
  if (name == "replica.variable" || name == "replica.batch" ||
      name == "replica.scalar")
    return verifyName(op, attribute);
  return op->emitOpError("unknown argument attribute '") << name << "'";
}

LogicalResult
ReplicaDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                            NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == "replica.variable" || name == "replica.metric" ||
      name == "replica.sum" || name == "replica.count" ||
      name == "replica.result")
    return verifyName(op, attribute);
  if (name == "replica.unsigned")
    return success();
  return op->emitOpError("unknown result attribute '") << name << "'";
}

FailureOr<int64_t> lockstep::replica::getReplicaCount(ModuleOp module) {
  auto strategies = module.getOps<StrategyOp>();
  if (strategies.empty() || !(*strategies.begin()).getReplicas())
    return module.emitError("expected a 'replica.strategy' with a replica "
                            "count; run 'set-replicas' first");
  return *(*strategies.begin()).getReplicas();
}
