//===- Leaves.cpp - Leaves as tensors -------------------------------------===//

#include "passes/Lower/LowerSlices.h"
#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep::conformance::driver {

Leaf FrontEnd::materialize(const Leaf &leaf) {
  if (!leaf.isTensor() || !leaf.component)
    return leaf;
  if (one.strategy.workers > 1)
    unsupported("computation with one of several values of a worker");
  OpBuilder &builder = leaf.frame->builder;
  auto componentOf = [&](Value part) -> Value {
    if (!part)
      return part;
    auto type =
        dyn_cast<RankedTensorType>(replica::getComponent(part.getType()));
    if (type && type.getNumDynamicDims() == 1 &&
        isa<replica::PerReplicaType>(part.getType())) {
      Frame *current = std::exchange(frame, leaf.frame);
      Value component = raggedComponent(part, *leaf.component);
      frame = current;
      return component;
    }
    SmallVector<Type> types(one.strategy.replicas,
                            replica::getComponent(part.getType()));
    auto op = replica::LocalResultsOp::create(builder, location(), types, part);
    return op.getResult(static_cast<unsigned>(*leaf.component));
  };
  Leaf result = leaf;
  result.component.reset();
  result.spread = Spread::Plain;
  result.value = componentOf(leaf.value);
  result.indices = componentOf(leaf.indices);
  return result;
}

/// For values whose sizes differ along one dimension: consecutive slices of all
/// of them.
Value FrontEnd::raggedComponent(Value all, int64_t component) {
  auto type =
      mlir::cast<RankedTensorType>(replica::getComponent(all.getType()));
  int64_t axis = llvm::find_if(type.getShape(), ShapedType::isDynamic) -
                 type.getShape().begin();
  Leaf whole = makeTensor(all, Spread::PerReplica);
  Leaf sizes = gatherLeaf(run([&]() -> Object {
                            Value size = math().toTensor(math().size(
                                localize(whole, *frame).value, axis));
                            return fresh(math().expandDims(size, {0}));
                          }).leaf,
                          /*axis=*/0);
  OpBuilder &builder = frame->builder;
  auto sizeOf = [&](int64_t replica) -> Value {
    Value index = arith::ConstantIndexOp::create(builder, location(), replica);
    Value size = tensor::ExtractOp::create(builder, location(), sizes.value,
                                           ValueRange(index));
    return arith::IndexCastOp::create(builder, location(),
                                      builder.getIndexType(), size);
  };
  Value offset = arith::ConstantIndexOp::create(builder, location(), 0);
  for (int64_t replica = 0; replica < component; ++replica)
    offset =
        arith::AddIOp::create(builder, location(), offset, sizeOf(replica));
  return math().slice(type, gatherLeaf(whole, axis).value, axis, offset,
                      sizeOf(component));
}

Type FrontEnd::elementOf(const Leaf &leaf) const {
  if (leaf.isVariable())
    return variables[leaf.variable].type.getElementType();
  return leaf.isTensor()
             ? replica::getComponent(leaf.value.getType()).getElementType()
             : Type();
}

/// The type that a number of the host gets by itself.
static Type ownElement(MLIRContext *context, const Json &value) {
  if (value.is_boolean())
    return IntegerType::get(context, 1);
  if (value.is_number_integer())
    return IntegerType::get(context, 32);
  if (value.is_number())
    return Float32Type::get(context);
  refuse("E_DTYPE_UNSUPPORTED", "expected a number, found {}", value.dump());
}

Leaf FrontEnd::literal(const Leaf &host, Type element) {
  auto attributeOf = [&](const Json &value) -> Attribute {
    Type own = ownElement(&context, value);
    if (!element)
      element = own;
    if (own.isInteger(1) != element.isInteger(1) ||
        (isa<FloatType>(own) && !isa<FloatType>(element)))
      refuse("E_DTYPE_MISMATCH",
             "the number {} is not of the element type that is needed",
             value.dump());
    if (auto type = dyn_cast<FloatType>(element))
      return FloatAttr::get(type, value.get<double>());
    return IntegerAttr::get(element, value.is_boolean()
                                         ? int64_t(value.get<bool>())
                                         : value.get<int64_t>());
  };
  SmallVector<Attribute> values;
  for (const Json &value : host.host)
    values.push_back(attributeOf(value));
  OpBuilder &builder = frame->builder;
  auto type = RankedTensorType::get({}, element);
  if (values.size() == 1)
    return fresh(replica::LiteralOp::create(
        builder, location(), DenseElementsAttr::get(type, values)));
  // Each replica has a number of its own.
  auto all = DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(values.size())}, element),
      values);
  Value table = arith::ConstantOp::create(builder, location(), all);
  Value id = math().toIndex(replica::IdOp::create(
      builder, location(), RankedTensorType::get({}, builder.getI32Type())));
  Value number =
      tensor::ExtractOp::create(builder, location(), table, ValueRange(id));
  return fresh(
      tensor::FromElementsOp::create(builder, location(), type, number));
}

Leaf FrontEnd::distributedOf(const Leaf &leaf, Type element) {
  switch (leaf.kind) {
  case Leaf::Kind::None:
    refuse("E_ARG_TYPE", "expected a tensor, found None");
  case Leaf::Kind::Operation:
    refuse("E_ARG_TYPE",
           "expected a tensor, found an operation without a result");
  case Leaf::Kind::Mismatch:
    throw CaseError(leaf.message);
  case Leaf::Kind::Host:
    if (leaf.host.size() == 1 || isReplicaContext())
      return literal(leaf, element);
    return run([&]() -> Object { return literal(leaf, element); }).leaf;
  case Leaf::Kind::Variable:
    return !isReplicaContext() && !leaf.component &&
                   hasOwnCopies(variables[leaf.variable])
               ? copiesOf(leaf)
               : read(leaf);
  case Leaf::Kind::Tensor:
    return materialize(leaf);
  case Leaf::Kind::Differing:
    return isReplicaContext()
               ? oneTensor(leaf, element)
               : run([&]() -> Object {
                   return oneTensor(localize(leaf, *frame), element);
                 }).leaf;
  }
  llvm_unreachable("all kinds are above");
}

Leaf FrontEnd::tensorOf(const Leaf &leaf, Type element) {
  if (leaf.isVariable())
    return read(leaf);
  if (leaf.isDiffering() && !isReplicaContext())
    refuse("E_CONTEXT", "expected one value in cross-replica context, found "
                        "one for each replica");
  Leaf tensor = distributedOf(leaf, element);
  if (isa<replica::PerReplicaType>(tensor.value.getType()))
    refuse("E_CONTEXT", "expected one value in cross-replica context, found "
                        "one for each replica");
  if (isa<replica::MirroredType>(tensor.value.getType())) {
    // Its component on the current device; all are equal.
    tensor.component = 0;
    tensor = materialize(tensor);
  }
  return tensor.isSlices() ? denseOf(tensor) : tensor;
}

Leaf FrontEnd::denseOf(const Leaf &slices) {
  if (!slices.denseShape)
    refuse("E_ARG_TYPE",
           "expected a tensor, found slices that do not say of what shape");
  auto type = RankedTensorType::get(*slices.denseShape, elementOf(slices));
  return fresh(makeDense(frame->builder, location(), type, slices.indices,
                         slices.value));
}

Leaf FrontEnd::copyOf(const Leaf &slices) {
  Leaf copy = materialize(slices);
  copy.identity = nextIdentity++;
  if (isReplicaContext())
    copy.spread = frame->fresh;
  return copy;
}

} // namespace lockstep::conformance::driver
