//===- CaseReplicaContext.cpp - Statements of replica context -------------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::replicaHandlers() {
  static const Handlers handlers = {
      {"all_reduce", &FrontEnd::allReduceStatement},
      {"all_gather", &FrontEnd::allGatherStatement},
      {"merge_call", &FrontEnd::mergeCallStatement},
      {"replica_id", &FrontEnd::replicaIdStatement},
      {"num_replicas", &FrontEnd::numReplicasStatement},
      {"save_ctx", &FrontEnd::saveContextStatement},
      {"require_replica_context", &FrontEnd::requireReplicaContextStatement},
      {"in_cross_replica_context", &FrontEnd::inCrossReplicaContextStatement},
  };
  return handlers;
}

static std::vector<Leaf> leavesOf(const Object &object) {
  std::vector<Leaf> leaves;
  forEachLeaf(object, [&](const Leaf &leaf) { leaves.push_back(leaf); });
  return leaves;
}

//===----------------------------------------------------------------------===//
// all_reduce
//===----------------------------------------------------------------------===//

std::vector<Leaf> FrontEnd::allReduce(replica::Reduction reduction,
                                      const std::vector<Leaf> &leaves,
                                      int64_t bytesPerPack) {
  if (leaves.empty())
    return {};
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (const Leaf &leaf : leaves) {
    operands.push_back(leaf.value);
    types.push_back(reducedType(reduction, leaf.value.getType(), isIdentity()));
  }
  auto op = replica::AllReduceOp::create(frame->builder, location(), types,
                                         reduction, operands, bytesPerPack);
  std::vector<Leaf> results;
  for (Value result : op.getResults())
    results.push_back(fresh(result));
  // The adjoint is the same reduction of the incoming gradients; all leaves of
  // one call are reduced together.
  record(leaves, results,
         [this, reduction, results, bytesPerPack](const Gradients &upstream) {
           std::vector<Leaf> given;
           for (auto [gradient, result] : llvm::zip_equal(upstream, results))
             given.push_back(gradient ? *gradient : zerosLike(result));
           Gradients gradients;
           for (Leaf &reduced : allReduce(reduction, given, bytesPerPack))
             gradients.push_back(reduced);
           return gradients;
         });
  return results;
}

int64_t FrontEnd::checkOptions(const Json &statement) {
  auto options = statement.find("options");
  if (options == statement.end() || options->is_null())
    return 0;
  if (!options->is_object())
    refuse("E_OPTION_VALUE", "expected options, found {}", options->dump());
  int64_t bytesPerPack = 0;
  for (const auto &[name, value] : options->items()) {
    bool isGood = false;
    if (name == "bytes_per_pack") {
      isGood = value.is_number_integer() && value.get<int64_t>() >= 0;
      bytesPerPack = isGood ? value.get<int64_t>() : 0;
    } else if (name == "timeout_seconds") {
      isGood =
          value.is_null() || (value.is_number() && value.get<double>() >= 0);
    } else if (name == "implementation") {
      isGood = value == "AUTO" || value == "RING" || value == "NCCL";
    }
    if (!isGood)
      refuse("E_OPTION_VALUE", "option '{}': unexpected value {}", name,
             value.dump());
  }
  return bytesPerPack;
}

Object FrontEnd::allReduceStatement(const Json &statement) {
  Object value = operandOf(statement, "value");
  requireReplicaContext(statement, leavesOf(value));
  replica::Reduction reduction = reductionOf(statement);
  int64_t bytesPerPack = checkOptions(statement);
  if (isDefaultContext())
    return value;
  std::vector<Leaf> dense;
  Object prepared = mapLeaves(value, [&](const Leaf &leaf) -> Object {
    if (leaf.isSlices())
      return leaf;
    dense.push_back(tensorOf(leaf));
    return dense.back();
  });
  std::vector<Leaf> reduced = allReduce(reduction, dense, bytesPerPack);
  size_t next = 0;
  return mapLeaves(prepared, [&](const Leaf &leaf) -> Object {
    if (!leaf.isSlices())
      return reduced[next++];
    auto [values, indices] = gatheredSlices(reduction, leaf);
    auto op = replica::AllReduceSlicesOp::create(frame->builder, location(),
                                                 values, indices, reduction,
                                                 leaf.value, leaf.indices);
    Leaf result = fresh(op.getAllValues());
    result.indices = op.getAllIndices();
    result.denseShape = leaf.denseShape;
    return result;
  });
}

//===----------------------------------------------------------------------===//
// all_gather
//===----------------------------------------------------------------------===//

Leaf FrontEnd::gatherGradient(const Leaf &operand, const Leaf &upstream,
                              int64_t axis) {
  Leaf total = allReduce(replica::Reduction::Sum, {upstream}, 0).front();
  if (!hasSeveralReplicas())
    return total;
  // This replica's rows begin after those of all replicas with lower numbers.
  auto type = mlir::cast<RankedTensorType>(operand.value.getType());
  OpBuilder &builder = frame->builder;
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Value id = replica::IdOp::create(builder, location(),
                                   RankedTensorType::get({}, i32));
  Value count = math().size(operand.value, axis), offset;
  if (!type.isDynamicDim(axis)) {
    offset =
        arith::MulIOp::create(builder, location(), math().toIndex(id), count);
  } else {
    int64_t replicas = one.strategy.replicas;
    Value own = math().expandDims(math().toTensor(count), {0});
    Value sizes = replica::AllGatherOp::create(
                      builder, location(),
                      TypeRange(RankedTensorType::get({replicas}, i64)),
                      ValueRange(own), 0)
                      .getResult(0);
    SmallVector<int32_t> ids =
        llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(replicas)));
    auto numbers = DenseElementsAttr::get(
        RankedTensorType::get({replicas}, i32), ArrayRef<int32_t>(ids));
    Value isLower = math().binary(
        Binary::Less, arith::ConstantOp::create(builder, location(), numbers),
        id);
    Value lower = math().binary(Binary::Mul, math().cast(isLower, i64), sizes);
    offset = math().toIndex(math().reduceSum(lower, {0}));
  }
  return fresh(math().slice(type, total.value, axis, offset, count));
}

std::vector<Leaf> FrontEnd::allGather(const std::vector<Leaf> &leaves,
                                      int64_t axis) {
  if (leaves.empty())
    return {};
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (const Leaf &leaf : leaves) {
    operands.push_back(leaf.value);
    auto type = dyn_cast<RankedTensorType>(leaf.value.getType());
    types.push_back(type ? Type(gatheredType(type, axis))
                         : leaf.value.getType());
  }
  auto op = replica::AllGatherOp::create(frame->builder, location(), types,
                                         operands, axis);
  std::vector<Leaf> results;
  for (auto [leaf, value] : llvm::zip_equal(leaves, op.getResults())) {
    results.push_back(fresh(value));
    record({leaf}, {results.back()},
           [this, operand = leaf, axis](const Gradients &upstream) {
             return Gradients{gatherGradient(operand, *upstream.front(), axis)};
           });
  }
  return results;
}

Object FrontEnd::allGatherStatement(const Json &statement) {
  Object value = operandOf(statement, "value");
  std::vector<Leaf> leaves = leavesOf(value);
  requireReplicaContext(statement, leaves);
  checkOptions(statement);
  const Json &axis = statement.at("axis");
  if (!axis.is_number_integer())
    refuse("E_ARG_TYPE", "expected an integer as axis, found {}", axis.dump());
  for (Leaf &leaf : leaves) {
    forEachPart(leaf, [](const Leaf &part) {
      if (part.isSlices())
        refuse("E_SPARSE_GATHER", "slices cannot be gathered");
    });
    requireOneRank(leaf);
    if (!isDefaultContext())
      leaf = tensorOf(leaf);
  }
  if (isDefaultContext())
    return value;
  std::vector<Leaf> gathered = allGather(leaves, axis.get<int64_t>());
  size_t next = 0;
  return mapLeaves(value, [&](const Leaf &) { return gathered[next++]; });
}

//===----------------------------------------------------------------------===//
// merge_call and the context itself
//===----------------------------------------------------------------------===//

Object
FrontEnd::mergeCall(const std::vector<Object> &arguments,
                    const std::function<Object(std::vector<Object>)> &body) {
  Frame &inner = open(Frame::Kind::Merge);
  std::vector<Object> entered;
  for (const Object &argument : arguments)
    entered.push_back(enter(inner, argument));
  // Gradients end here: no tape sees what happens inside.
  auto outerTapes = std::exchange(tapes, {});
  Object returned = body(std::move(entered));
  tapes = std::move(outerTapes);
  close(inner);
  return finish(inner, returned, replica::MergeCallOp::getOperationName(), {},
                {}, [](Type type, Spread spread) {
                  return std::pair<Type, Spread>(replica::getComponent(type),
                                                 spread == Spread::Plain
                                                     ? Spread::Plain
                                                     : Spread::PerReplica);
                });
}

Object FrontEnd::mergeCallStatement(const Json &statement) {
  std::vector<Object> arguments = listOf(statement, "args");
  std::vector<Leaf> leaves;
  for (const Object &argument : arguments)
    forEachLeaf(argument, [&](const Leaf &leaf) { leaves.push_back(leaf); });
  requireReplicaContext(statement, leaves);
  auto body = [&](std::vector<Object> inside) {
    return call(statement, "fn", std::move(inside));
  };
  return isDefaultContext() ? body(arguments) : mergeCall(arguments, body);
}

Object FrontEnd::replicaIdStatement(const Json &statement) {
  requireReplicaContext(statement, {});
  // The default strategy has no device to keep a tensor on.
  if (one.strategy.properties().isImplicit)
    return makeHost(0);
  auto type = RankedTensorType::get({}, IntegerType::get(&context, 32));
  return fresh(replica::IdOp::create(frame->builder, location(), type));
}

Object FrontEnd::numReplicasStatement(const Json &statement) {
  requireSomeReplicaContext(statement);
  return makeHost(one.strategy.replicas);
}

Object FrontEnd::saveContextStatement(const Json &statement) {
  requireSomeReplicaContext(statement);
  savedContext = frame;
  return {};
}

Object FrontEnd::requireReplicaContextStatement(const Json &statement) {
  requireSomeReplicaContext(statement);
  return makeHost(true);
}

Object FrontEnd::inCrossReplicaContextStatement(const Json &) {
  return makeHost(!isReplicaContext() && !isOutside());
}

} // namespace lockstep::conformance::driver
