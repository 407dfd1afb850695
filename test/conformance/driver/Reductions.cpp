//===- Reductions.cpp - reduce, reduce_to, batch_reduce_to, broadcast_to --===//

#include "test/conformance/driver/FrontEnd.h"

#include "llvm/ADT/StringRef.h"

using namespace mlir;

namespace lockstep::conformance::driver {

replica::Reduction FrontEnd::reductionOf(const Json &statement) {
  const Json &name = statement.at("reduce_op");
  if (name.is_string()) {
    std::string upper = llvm::StringRef(name.get<std::string>()).upper();
    if (upper == "SUM")
      return replica::Reduction::Sum;
    if (upper == "MEAN")
      return replica::Reduction::Mean;
  }
  refuse("E_REDUCE_OP", "expected 'SUM' or 'MEAN', found {}", name.dump());
}

TensorType FrontEnd::reducedType(replica::Reduction reduction, Type component,
                                 bool keepsType) {
  auto type = cast<TensorType>(component);
  return keepsType ? type : replica::getReducedType(reduction, type);
}

bool FrontEnd::isPerWorker(const Leaf &leaf) const {
  return one.strategy.workers > 1 && leaf.isTensor() &&
         leaf.spread == Spread::Plain;
}

std::optional<Leaf>
FrontEnd::reduceWithoutExchange(replica::Reduction reduction,
                                const Leaf &leaf) {
  if (leaf.kind == Leaf::Kind::None)
    refuse("E_ARG_TYPE", "expected a value to reduce, found None");
  if (!leaf.isHost())
    return std::nullopt;
  if (leaf.host.size() > 1)
    return std::nullopt;
  const Json &value = leaf.host.front();
  if (!hasSeveralReplicas() || reduction == replica::Reduction::Mean ||
      (value.is_number() && value.get<double>() == 0))
    return leaf;
  refuse("E_NON_DISTRIBUTED_SUM",
         "a sum of {} over replicas: {} or {} times it?", value.dump(),
         value.dump(), one.strategy.replicas);
}

std::pair<RankedTensorType, RankedTensorType>
FrontEnd::gatheredSlices(replica::Reduction reduction, const Leaf &slices) {
  auto rows = [&](Value part) {
    auto type =
        dyn_cast<RankedTensorType>(replica::getComponent(part.getType()));
    if (!type)
      refuse("E_SHAPE_MISMATCH", "expected slices of one rank on all replicas");
    return gatheredType(type, 0);
  };
  RankedTensorType values = rows(slices.value);
  return {cast<RankedTensorType>(reducedType(reduction, values, isIdentity())),
          rows(slices.indices)};
}

Leaf FrontEnd::reduceSlices(replica::Reduction reduction, const Leaf &leaf) {
  if (isPerWorker(leaf) && !isReplicaContext() &&
      one.strategy.localReplicas() == 1)
    return reduceSlices(reduction, toPerReplica(leaf));
  if (leaf.spread != Spread::PerReplica) {
    if (reduction == replica::Reduction::Sum && hasSeveralReplicas())
      refuse("E_NON_DISTRIBUTED_SUM",
             "a sum of slices that are the same on all replicas");
    return leaf;
  }
  auto [values, indices] = gatheredSlices(reduction, leaf);
  auto op = replica::ReduceSlicesOp::create(frame->builder, location(), values,
                                            indices, reduction, leaf.value,
                                            leaf.indices);
  Leaf result = makeTensor(op.getAllValues(), Spread::Plain);
  result.indices = op.getAllIndices();
  result.denseShape = leaf.denseShape;
  return result;
}

Leaf FrontEnd::reduceLeaf(replica::Reduction reduction, const Leaf &leaf,
                          const std::optional<Json> &axis) {
  if (leaf.isSlices() && !axis)
    return reduceSlices(reduction, leaf);
  if (leaf.isSlices() && leaf.spread == Spread::PerReplica)
    return reduceLeaf(reduction, run([&]() -> Object {
                                   return tensorOf(localize(leaf, *frame));
                                 }).leaf,
                      axis);
  if (leaf.isSlices())
    return reduceLeaf(reduction, tensorOf(leaf), axis);
  if (!axis)
    if (std::optional<Leaf> known = reduceWithoutExchange(reduction, leaf))
      return *known;
  if (axis && leaf.isDiffering())
    forEachPart(leaf, [&](const Leaf &part) {
      if (auto type = part.isTensor()
                          ? dyn_cast<RankedTensorType>(
                                replica::getComponent(part.value.getType()))
                          : RankedTensorType())
        axesOf(*axis, part.isSlices() && part.denseShape
                          ? static_cast<int64_t>(part.denseShape->size())
                          : type.getRank());
      else if (part.isHost())
        axesOf(*axis, 0);
    });
  Leaf value = distributedOf(leaf);
  // A variable is mirrored over all workers, and not one value for each.
  if (isPerWorker(value) && !leaf.isVariable() && !isReplicaContext()) {
    // Along an axis it is each replica's value; without one, it is ambiguous
    // how often it counts.
    if (!axis && one.strategy.localReplicas() > 1 &&
        reduction == replica::Reduction::Sum)
      unsupported(
          "sum over workers of a plain value, with several replicas a worker");
    value = toPerReplica(value);
  }
  Type component = replica::getComponent(value.value.getType());
  // The mean of one value for all is that value, the same object.
  if (!axis && leaf.isTensor() && value.spread == Spread::Plain &&
      reduction == replica::Reduction::Mean && isInUpdate())
    return value;
  if (!axis) {
    Type type = reducedType(reduction, component,
                            isIdentity() || value.spread != Spread::PerReplica);
    return makeTensor(replica::ReduceOp::create(frame->builder, location(),
                                                type, reduction, value.value,
                                                DenseI64ArrayAttr()),
                      Spread::Plain);
  }
  auto ranked = dyn_cast<RankedTensorType>(component);
  if (!ranked)
    refuse("E_SHAPE_MISMATCH", "expected values of one rank on all replicas");
  std::vector<int64_t> axes = axesOf(*axis, ranked.getRank());
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(ranked.getShape()))
    if (!llvm::is_contained(axes, static_cast<int64_t>(d)))
      shape.push_back(size);
  Type type = reducedType(reduction,
                          RankedTensorType::get(shape, ranked.getElementType()),
                          /*keepsType=*/false);
  auto attribute = frame->builder.getDenseI64ArrayAttr(axes);
  return makeTensor(replica::ReduceOp::create(frame->builder, location(), type,
                                              reduction, value.value,
                                              attribute),
                    Spread::Plain);
}

Object FrontEnd::reduceStatement(const Json &statement) {
  requireOwnStrategy("reduce");
  replica::Reduction reduction = reductionOf(statement);
  std::optional<Json> axis;
  if (statement.contains("axis") && !statement.at("axis").is_null())
    axis = statement.at("axis");
  Object value = operandOf(statement, "value");
  if (axis && !value.isLeaf())
    refuse("E_ARG_TYPE",
           "expected one value to reduce along an axis, found a nest");
  return mapLeaves(value, [&](const Leaf &leaf) {
    return reduceLeaf(reduction, leaf, axis);
  });
}

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

FrontEnd::Destination FrontEnd::destinationOf(const Json &json) {
  Object object = operand(json);
  if (object.structure == Object::Structure::List ||
      object.structure == Object::Structure::Tuple)
    refuse("E_DEST_LIST", "expected one destination, found a list of {}",
           object.items.size());
  const Leaf &leaf = object.leaf;
  if (object.isLeaf() && leaf.kind == Leaf::Kind::None)
    refuse("E_DEST_NONE", "expected a destination, found None");
  if (object.isLeaf() && leaf.isVariable())
    return {false, leaf.variable};
  if (object.isLeaf() && leaf.kind == Leaf::Kind::Mismatch)
    throw CaseError(leaf.message);
  bool differs = object.isLeaf() && (leaf.isDiffering() ||
                                     (leaf.isHost() && leaf.host.size() > 1));
  for (int64_t replica = 0; differs && one.strategy.localReplicas() == 1 &&
                            replica < one.strategy.replicas;
       ++replica) {
    Leaf part = partOf(leaf, replica);
    if (part.kind == Leaf::Kind::None)
      refuse("E_DEST_NONE", "expected a destination, found None");
    if (part.isHost() && !part.host.front().is_string())
      refuse(
          "E_ARG_TYPE",
          "expected a value, a variable or a device as destination, found {}",
          part.host.front().dump());
  }
  if (differs)
    return {false, std::nullopt};
  if (object.isLeaf() && leaf.isTensor())
    return {leaf.spread == Spread::Plain || leaf.component.has_value(),
            std::nullopt};
  if (object.isLeaf() && leaf.isHost() && leaf.host.front().is_string())
    return {true, std::nullopt};
  refuse("E_ARG_TYPE",
         "expected a value, a variable or a device as destination, found {}",
         json.dump());
}

std::pair<Type, Spread>
FrontEnd::atDestination(Type type, const Destination &destination) {
  // The function of an update continues with the copy on its device.
  if (destination.isOneDevice || !hasSeveralReplicas() || isInUpdate())
    return {type, Spread::Plain};
  if (destination.variable)
    return mirrored(type);
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    refuse("E_SHAPE_MISMATCH", "expected values of one rank on all replicas");
  return {replica::MirroredType::get(&context, ranked), Spread::Mirrored};
}

Leaf FrontEnd::reduceToLeaf(replica::Reduction reduction, const Leaf &leaf,
                            const Destination &destination) {
  if (std::optional<Leaf> known = reduceWithoutExchange(reduction, leaf))
    return *known;
  if (leaf.isSlices()) {
    Leaf result = reduceSlices(reduction, leaf);
    if (leaf.spread != Spread::PerReplica)
      return result;
    auto place = [&](Value part) -> Value {
      Type type = atDestination(part.getType(), destination).first;
      return replica::BroadcastToOp::create(frame->builder, location(), type,
                                            part, FlatSymbolRefAttr());
    };
    if (atDestination(result.value.getType(), destination).second ==
            Spread::Mirrored &&
        result.spread == Spread::Plain) {
      result.value = place(result.value);
      result.indices = place(result.indices);
      result.spread = Spread::Mirrored;
    }
    return result;
  }
  Leaf value = distributedOf(leaf);
  if (value.spread == Spread::Mirrored && reduction == replica::Reduction::Mean)
    return value;
  if (isPerWorker(value) && !leaf.isVariable())
    value = toPerReplica(value);
  Type component = replica::getComponent(value.value.getType());
  bool isDistributed = value.spread == Spread::PerReplica;
  Type reduced =
      reducedType(reduction, component, isIdentity() || !isDistributed);
  auto [type, spread] = isDistributed ? atDestination(reduced, destination)
                                      : std::pair(reduced, Spread::Plain);
  auto symbol = destination.variable
                    ? FlatSymbolRefAttr::get(
                          &context, variables[*destination.variable].symbol)
                    : FlatSymbolRefAttr();
  return makeTensor(replica::ReduceToOp::create(frame->builder, location(),
                                                type, reduction, value.value,
                                                symbol),
                    spread);
}

Object FrontEnd::reduceToStatement(const Json &statement) {
  requireOwnStrategy("reduce_to");
  replica::Reduction reduction = reductionOf(statement);
  checkOptions(statement);
  Destination destination =
      destinationOf(statement.value("destinations", Json()));
  return mapLeaves(operandOf(statement, "value"), [&](const Leaf &leaf) {
    return reduceToLeaf(reduction, leaf, destination);
  });
}

Object FrontEnd::batchReduceToStatement(const Json &statement) {
  requireOwnStrategy("batch_reduce_to");
  replica::Reduction reduction = reductionOf(statement);
  checkOptions(statement);
  std::vector<Object> results;
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Attribute> symbols;
  std::vector<std::pair<size_t, Spread>> exchanged;
  for (const Json &pair : statement.at("pairs")) {
    if (!pair.is_array() || pair.size() != 2)
      refuse("E_ARG_TYPE",
             "expected pairs of a value and a destination, found {}",
             pair.dump());
    Destination destination = destinationOf(pair[1]);
    Object object = operand(pair[0]);
    if (!object.isLeaf())
      refuse("E_ARG_TYPE", "expected one value in a pair, found a nest");
    Leaf leaf = object.leaf.isVariable() ? distributedOf(object.leaf)
                                         : materialize(object.leaf);
    if (isPerWorker(leaf) && !leaf.isSlices() && !object.leaf.isVariable())
      leaf = toPerReplica(leaf);
    results.push_back(leaf);
    // Values that need no exchange, and slices, are not part of the one call.
    if (!leaf.isTensor() || leaf.isSlices() ||
        leaf.spread != Spread::PerReplica) {
      results.back() = reduceToLeaf(reduction, leaf, destination);
      continue;
    }
    auto [type, spread] = atDestination(
        reducedType(reduction, replica::getComponent(leaf.value.getType()),
                    isIdentity()),
        destination);
    exchanged.push_back({results.size() - 1, spread});
    operands.push_back(leaf.value);
    types.push_back(type);
    if (destination.variable)
      symbols.push_back(FlatSymbolRefAttr::get(
          &context, variables[*destination.variable].symbol));
  }
  if (!operands.empty()) {
    ArrayAttr destinations = symbols.size() == operands.size()
                                 ? frame->builder.getArrayAttr(symbols)
                                 : nullptr;
    auto op = replica::BatchReduceToOp::create(
        frame->builder, location(), types, reduction, operands, destinations);
    for (auto [place, result] : llvm::zip_equal(exchanged, op.getResults()))
      results[place.first] = makeTensor(result, place.second);
  }
  return Object(Object::Structure::List, std::move(results));
}

Object FrontEnd::broadcastToStatement(const Json &statement) {
  requireOwnStrategy("broadcast_to");
  Destination destination =
      destinationOf(statement.value("destinations", Json()));
  Leaf leaf = leafOf(statement, "value");
  if (leaf.isHost())
    return leaf;
  Leaf value = leaf.isVariable() ? read(leaf) : distributedOf(leaf);
  if (value.spread == Spread::Mirrored)
    return value;
  if (value.spread == Spread::PerReplica && !isReplicaContext())
    refuse("E_CONTEXT",
           "expected one value to broadcast, found one for each replica");
  auto symbol = destination.variable
                    ? FlatSymbolRefAttr::get(
                          &context, variables[*destination.variable].symbol)
                    : FlatSymbolRefAttr();
  auto broadcast = [&](Value part) -> Value {
    return replica::BroadcastToOp::create(
        frame->builder, location(),
        atDestination(part.getType(), destination).first, part, symbol);
  };
  Leaf result =
      makeTensor(broadcast(value.value),
                 atDestination(value.value.getType(), destination).second);
  if (value.indices)
    result.indices = broadcast(value.indices);
  result.denseShape = value.denseShape;
  return result;
}

} // namespace lockstep::conformance::driver
