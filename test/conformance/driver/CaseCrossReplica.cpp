//===- CaseCrossReplica.cpp - Statements of cross-replica context ---------===//

#include "test/conformance/driver/FrontEnd.h"

#include "llvm/ADT/StringRef.h"

using namespace mlir;

namespace lockstep::conformance::driver {

const FrontEnd::Handlers &FrontEnd::crossReplicaHandlers() {
  static const Handlers handlers = {
      {"run", &FrontEnd::runStatement},
      {"call_for_each_replica", &FrontEnd::runStatement},
      {"reduce", &FrontEnd::reduceStatement},
      {"reduce_to", &FrontEnd::reduceToStatement},
      {"batch_reduce_to", &FrontEnd::batchReduceToStatement},
      {"broadcast_to", &FrontEnd::broadcastToStatement},
      {"gather", &FrontEnd::gatherStatement},
      {"local_results", &FrontEnd::localResultsStatement},
  };
  return handlers;
}

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

Object FrontEnd::run(const std::function<Object()> &body) {
  Frame &inner = open(Frame::Kind::Run);
  Object returned = body();
  close(inner);
  return finish(inner, returned, replica::RunOp::getOperationName(), {}, {},
                [&](Type type, Spread spread) {
                  return std::pair(spread == Spread::Plain ? type
                                                           : perReplica(type),
                                   spread);
                });
}

Object FrontEnd::runStatement(const Json &statement) {
  requireOwnStrategy("run");
  std::vector<Object> arguments = listOf(statement, "args");
  return run([&] {
    for (Object &argument : arguments)
      argument = enter(*frame, argument);
    return call(statement, "fn", std::move(arguments));
  });
}

Leaf FrontEnd::toPerReplica(const Leaf &leaf) {
  Object result = run([&] {
    Leaf inside = localize(leaf, *frame);
    inside.spread = frame->fresh;
    return Object(inside);
  });
  return result.leaf;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

RankedTensorType FrontEnd::gatheredType(RankedTensorType type,
                                        int64_t axis) const {
  if (!hasSeveralReplicas() || axis < 0 || axis >= type.getRank() ||
      type.isDynamicDim(axis))
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] *= one.strategy.replicas;
  return RankedTensorType::get(shape, type.getElementType());
}

static int64_t axisOf(const Json &statement) {
  const Json &axis = statement.at("axis");
  if (!axis.is_number_integer())
    refuse("E_ARG_TYPE", "expected an integer as axis, found {}", axis.dump());
  return axis.get<int64_t>();
}

Leaf FrontEnd::gatherLeaf(const Leaf &leaf, int64_t axis) {
  forEachPart(leaf, [](const Leaf &part) {
    if (part.isSlices())
      refuse("E_SPARSE_GATHER", "slices cannot be gathered");
  });
  requireOneRank(leaf);
  if (leaf.isHost())
    return leaf;
  Leaf value;
  if (leaf.isVariable() && leaf.component)
    return read(leaf);
  if (leaf.isVariable() && !isReplicaContext() &&
      one.strategy.properties().placement == replica::Placement::Mirrored)
    value = copiesOf(leaf);
  else
    value = distributedOf(leaf);
  if (!isReplicaContext() &&
      (value.spread == Spread::Mirrored || isPerWorker(value)))
    value = toPerReplica(value);
  Type component = replica::getComponent(value.value.getType());
  auto ranked = dyn_cast<RankedTensorType>(component);
  Type type = ranked && value.spread == Spread::PerReplica
                  ? gatheredType(ranked, axis)
                  : component;
  return makeTensor(replica::GatherOp::create(frame->builder, location(), type,
                                              value.value, axis),
                    Spread::Plain);
}

Object FrontEnd::gatherStatement(const Json &statement) {
  requireOwnStrategy("gather");
  int64_t axis = axisOf(statement);
  // A nest is no value of several replicas, whatever is inside.
  Object value = operandOf(statement, "value");
  return value.isLeaf() ? Object(gatherLeaf(value.leaf, axis)) : value;
}

Object FrontEnd::localResults(const Leaf &leaf) {
  Object result(Object::Structure::Tuple, {});
  if (leaf.isDiffering() && !isReplicaContext()) {
    if (one.strategy.localReplicas() == 1)
      return Object(Object::Structure::Tuple, {leaf});
    for (int64_t i = 0;
         one.strategy.workers > 1 && i < one.strategy.localReplicas(); ++i) {
      result.items.push_back(leaf);
      result.items.back().leaf.component = i;
    }
    if (one.strategy.workers > 1)
      return result;
    for (auto [replica, part] : llvm::enumerate(leaf.ofReplica)) {
      result.items.push_back(part);
      if (part.isTensor() && part.spread != Spread::Plain)
        result.items.back().leaf.component = static_cast<int64_t>(replica);
    }
    return result;
  }
  bool isDistributed = leaf.isTensor() && !leaf.component &&
                       leaf.spread != Spread::Plain && !isReplicaContext();
  bool hasComponents =
      leaf.isVariable() && !leaf.component &&
      one.strategy.properties().placement == replica::Placement::Mirrored &&
      !isReplicaContext();
  // The only component of a process with one replica is the value that this
  // process has.
  if ((!isDistributed && !hasComponents &&
       !(leaf.isHost() && leaf.host.size() > 1)) ||
      one.strategy.localReplicas() == 1) {
    result.items.push_back(leaf);
    if (hasComponents)
      result.items.front().leaf.component = 0;
    return result;
  }
  for (int64_t i = 0; i < one.strategy.localReplicas(); ++i) {
    Leaf component = leaf;
    component.identity = nextIdentity++;
    if (leaf.isHost())
      component.host = {leaf.host[i]};
    else
      component.component = i;
    result.items.push_back(component);
  }
  return result;
}

Object FrontEnd::localResultsStatement(const Json &statement) {
  Object value = operandOf(statement, "value");
  if (value.isLeaf())
    return localResults(value.leaf);
  // Of a nest, a nest for each local replica.
  Object result(Object::Structure::Tuple, {});
  bool isSingle = one.strategy.properties().isSingle;
  for (int64_t i = 0; i < (isSingle ? 1 : one.strategy.localReplicas()); ++i)
    result.items.push_back(mapLeaves(value, [&](const Leaf &leaf) -> Object {
      Object components = localResults(leaf);
      return components.items.size() > 1 ? components.items[i]
                                         : components.items[0];
    }));
  return result;
}

} // namespace lockstep::conformance::driver
