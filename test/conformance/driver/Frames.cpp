//===- Frames.cpp - How values go from one context to another -------------===//

#include "test/conformance/driver/FrontEnd.h"

using namespace mlir;

namespace lockstep::conformance::driver {

Type FrontEnd::perReplica(Type type) const {
  return hasSeveralReplicas() ? Type(replica::PerReplicaType::get(
                                    &context, cast<TensorType>(type)))
                              : type;
}

std::pair<Type, Spread> FrontEnd::mirrored(Type type) const {
  if (!hasSeveralReplicas() ||
      one.strategy.properties().placement != replica::Placement::Mirrored)
    return {type, Spread::Plain};
  return {replica::MirroredType::get(&context, cast<RankedTensorType>(type)),
          Spread::Mirrored};
}

Leaf FrontEnd::makeTensor(Value value, Spread spread) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::Tensor;
  leaf.spread = hasSeveralReplicas() ? spread : Spread::Plain;
  leaf.identity = nextIdentity++;
  leaf.frame = frame;
  leaf.value = value;
  return leaf;
}

//===----------------------------------------------------------------------===//
// Into a region
//===----------------------------------------------------------------------===//

Frame &FrontEnd::open(Frame::Kind kind) {
  auto inner = std::make_unique<Frame>(kind, frame, &context);
  bool hasCopies =
      kind == Frame::Kind::Run ||
      ((kind == Frame::Kind::Update || kind == Frame::Kind::NonSlotUpdate) &&
       one.strategy.properties().placement == replica::Placement::Mirrored);
  inner->fresh =
      hasCopies && hasSeveralReplicas() ? Spread::PerReplica : Spread::Plain;
  frame = inner.get();
  frames.push_back(std::move(inner));
  return *frame;
}

void FrontEnd::close(Frame &closed) { frame = closed.parent; }

Value FrontEnd::enter(Frame &at, Value outer, Type inner) {
  auto [found, isNew] = at.arguments.try_emplace(
      {outer.getAsOpaquePointer(), inner.getAsOpaquePointer()});
  if (isNew) {
    at.operands.push_back(outer);
    found->second = at.region->front().addArgument(inner, location());
    if (auto constant = constants.find(outer.getAsOpaquePointer());
        constant != constants.end())
      constants[found->second.getAsOpaquePointer()] = constant->second;
  }
  return found->second;
}

Leaf FrontEnd::enter(Frame &at, const Leaf &outside, bool isArgument) {
  if (outside.isDiffering()) {
    // A function in cross-replica context captures the values of replica 0.
    if (at.kind == Frame::Kind::Merge && !isArgument)
      return enter(at, outside.ofReplica.front(), isArgument);
    return mapParts(
        outside, [&](const Leaf &part) { return enter(at, part, isArgument); });
  }
  if (!outside.isTensor())
    return outside;
  Leaf leaf = materialize(outside);
  auto enterPart = [&](Value part) -> Value {
    if (!part)
      return part;
    Type component = replica::getComponent(part.getType());
    bool staysDistributed = at.kind == Frame::Kind::Merge && isArgument &&
                            leaf.spread == Spread::PerReplica;
    Value inner =
        enter(at, part, staysDistributed ? perReplica(component) : component);
    if (at.kind == Frame::Kind::Merge && !isArgument &&
        leaf.spread != Spread::Plain)
      at.ofFirstReplica.insert(inner.getAsOpaquePointer());
    return inner;
  };
  leaf.value = enterPart(leaf.value);
  leaf.indices = enterPart(leaf.indices);
  leaf.frame = &at;
  // A function in cross-replica context captures the values of replica 0.
  if (at.kind == Frame::Kind::Merge && !isArgument)
    leaf.spread = Spread::Plain;
  else if (leaf.spread == Spread::Mirrored)
    leaf.spread = Spread::PerReplica;
  return leaf;
}

Leaf FrontEnd::localize(const Leaf &leaf, Frame &at) {
  if (leaf.isDiffering()) {
    auto home = llvm::find_if(leaf.ofReplica,
                              [](const Leaf &part) { return part.isTensor(); });
    if (home == leaf.ofReplica.end() || home->frame == &at)
      return leaf;
    if (!at.parent)
      throw CaseError(
          "a value is used outside of the function that computed it");
    return enter(at, localize(leaf, *at.parent), /*isArgument=*/false);
  }
  if (!leaf.isTensor() || leaf.frame == &at)
    return leaf;
  if (!at.parent)
    throw CaseError("a value is used outside of the function that computed it");
  // A value of cross-replica context that a merge_call's function uses is still
  // a value of all replicas.
  bool isOfAll = at.kind == Frame::Kind::Merge &&
                 !leaf.frame->isReplicaContext() &&
                 leaf.spread == Spread::PerReplica && !leaf.component;
  return enter(at, localize(leaf, *at.parent), isOfAll);
}

//===----------------------------------------------------------------------===//
// Out of a region
//===----------------------------------------------------------------------===//

Object FrontEnd::finish(Frame &closed, const Object &returned,
                        StringRef operation,
                        ArrayRef<NamedAttribute> attributes,
                        ValueRange leadingYields, const Leave &leave) {
  SmallVector<Value> yields(leadingYields);
  SmallVector<Type> types;
  std::map<std::pair<void *, const void *>, size_t> numbers;
  // A value that was passed in as one object is returned as that object; all
  // others are results.
  auto outsideOf = [&](Value part) -> Value {
    auto argument = dyn_cast<BlockArgument>(part);
    if (!argument || argument.getOwner() != &closed.region->front() ||
        closed.ofFirstReplica.contains(part.getAsOpaquePointer()))
      return {};
    for (const auto &[key, value] : closed.arguments)
      if (value == part && key.second == part.getType().getAsOpaquePointer() &&
          Value::getFromOpaquePointer(key.first).getType() == part.getType())
        return Value::getFromOpaquePointer(key.first);
    return {};
  };
  struct Outcome {
    Value known;
    size_t number = 0;
    Spread spread = Spread::Plain;
  };
  auto place = [&](Value part, Spread spread) -> Outcome {
    if (spread == Spread::Plain)
      if (Value known = outsideOf(part))
        return {known, 0, Spread::Plain};
    auto [type, outerSpread] = leave(part.getType(), spread);
    auto [found, isNew] = numbers.try_emplace(
        {part.getAsOpaquePointer(), type.getAsOpaquePointer()}, types.size());
    if (isNew) {
      yields.push_back(part);
      types.push_back(type);
    }
    return {{}, found->second, outerSpread};
  };
  std::vector<std::pair<Outcome, Outcome>> outcomes;
  Object inside = mapLeaves(returned, [&](const Leaf &leaf) {
    if (leaf.kind == Leaf::Kind::Mismatch && deferredError.empty())
      deferredError = leaf.message;
    return mapParts(leaf, [&](const Leaf &part) {
      Leaf whole = materialize(part);
      if (whole.isTensor())
        outcomes.push_back(
            {place(whole.value, whole.spread),
             whole.indices ? place(whole.indices, whole.spread) : Outcome()});
      return whole;
    });
  });

  OperationState yieldState(location(), replica::YieldOp::getOperationName());
  yieldState.addOperands(yields);
  closed.builder.create(yieldState);
  OperationState state(location(), operation);
  state.addOperands(closed.operands);
  state.addTypes(types);
  state.addAttributes(attributes);
  state.addRegion(std::move(closed.region));
  Operation *op = closed.parent->builder.create(state);

  size_t next = 0;
  auto outsideLeaf = [&](const Leaf &leaf) {
    if (!leaf.isTensor())
      return leaf;
    const auto &[values, indices] = outcomes[next++];
    Leaf outside = leaf;
    outside.frame = closed.parent;
    outside.value = values.known
                        ? values.known
                        : op->getResult(static_cast<unsigned>(values.number));
    if (leaf.indices)
      outside.indices =
          indices.known ? indices.known
                        : op->getResult(static_cast<unsigned>(indices.number));
    outside.spread = values.spread;
    if (!values.known)
      outside.identity = nextIdentity++;
    return outside;
  };
  return mapLeaves(
      inside, [&](const Leaf &leaf) { return mapParts(leaf, outsideLeaf); });
}

//===----------------------------------------------------------------------===//
// Which context
//===----------------------------------------------------------------------===//

void FrontEnd::requireReplicaContext(const Json &statement,
                                     ArrayRef<Leaf> leaves) {
  requireOwnStrategy(statement.at("op").get<std::string>());
  if (isReplicaContext() || isDefaultContext())
    return;
  // The dialect rejects programs that it can express; it cannot express one
  // replica's computation on the values of all.
  for (const Leaf &leaf : leaves)
    if (leaf.isTensor() && !isa<TensorType>(leaf.value.getType()))
      refuse("E_CONTEXT",
             "'{}' needs replica context, found cross-replica context",
             statement.at("op").get<std::string>());
}

void FrontEnd::requireSomeReplicaContext(const Json &statement) const {
  requireOwnStrategy(statement.at("op").get<std::string>());
  if (!isReplicaContext() && !isDefaultContext())
    refuse("E_CONTEXT",
           "'{}' needs replica context, found cross-replica context",
           statement.at("op").get<std::string>());
}

void FrontEnd::requireOwnStrategy(const std::string &operation) const {
  if (otherScopeDepth)
    refuse("E_MIXED_STRATEGY",
           "'{}' of a strategy inside the scope of another one", operation);
}

} // namespace lockstep::conformance::driver
