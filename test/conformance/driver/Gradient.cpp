//===- Gradient.cpp - Reverse mode ----------------------------------------===//
//
// While the body of a `gradient` statement is executed, operations are recorded
// on a tape, which is then read backwards. Operations of the adjoint are
// recorded too if a gradient is taken around this one. The rules of all_reduce
// and all_gather are in CaseReplicaContext.cpp; no gradient flows through a
// merge_call.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace lockstep::conformance::driver {

void FrontEnd::record(std::vector<Leaf> inputs, std::vector<Leaf> outputs,
                      std::function<Gradients(const Gradients &)> backward,
                      std::vector<std::vector<bool>> users) {
  for (std::vector<TapeEntry> *tape : tapes)
    tape->push_back({inputs, outputs, backward, users});
}

std::optional<Leaf> FrontEnd::add(const std::optional<Leaf> &a,
                                  const std::optional<Leaf> &b) {
  if (!a || !b)
    return a ? a : b;
  return binary(Binary::Add, *a, *b);
}

void FrontEnd::addTo(Flow &flow, const std::optional<Leaf> &gradient,
                     const std::vector<bool> &owners) {
  flow.gradient = add(flow.gradient, gradient);
  flow.owners.resize(one.strategy.replicas);
  for (size_t i = 0; i < owners.size(); ++i)
    flow.owners[i] = flow.owners[i] || owners[i];
}

void FrontEnd::propagate(const std::vector<TapeEntry> &tape, Flows &flows) {
  for (const TapeEntry &entry : llvm::reverse(tape)) {
    Gradients upstream;
    std::vector<bool> owners(one.strategy.replicas);
    for (const Leaf &output : entry.outputs) {
      const Flow &flow = flows[output.identity];
      upstream.push_back(flow.gradient);
      for (size_t i = 0; i < flow.owners.size(); ++i)
        owners[i] = owners[i] || flow.owners[i];
    }
    if (llvm::none_of(upstream, [](const std::optional<Leaf> &gradient) {
          return gradient.has_value();
        }))
      continue;
    Gradients downstream = entry.backward(upstream);
    for (auto [index, input] : llvm::enumerate(entry.inputs)) {
      if (!downstream[index] || !isa<FloatType>(elementOf(input)))
        continue;
      std::vector<bool> reached = owners;
      for (size_t i = 0; !entry.users.empty() && i < reached.size(); ++i)
        reached[i] = reached[i] && entry.users[index][i];
      addTo(flows[input.identity], downstream[index], reached);
    }
  }
}

std::pair<Leaf, std::vector<bool>> FrontEnd::seedOf(const Leaf &part,
                                                    const Leaf &whole) {
  Leaf seed = fresh(math().filled(part.value, 1));
  std::vector<bool> owners(one.strategy.replicas, true);
  if (!whole.isDiffering())
    return {seed, owners};
  SmallVector<int64_t> ids;
  for (auto [replica, other] : llvm::enumerate(whole.ofReplica))
    if ((owners[replica] = areSame(other, part)))
      ids.push_back(static_cast<int64_t>(replica));
  auto type = RankedTensorType::get({}, frame->builder.getI1Type());
  Value isOwner = tensor::FromElementsOp::create(frame->builder, location(),
                                                 type, conditionOf(ids));
  return {fresh(math().select(isOwner, seed.value, zerosLike(part).value)),
          owners};
}

Leaf FrontEnd::gradientOf(const Leaf &source, const Flows &flows) {
  std::vector<Leaf> parts;
  for (int64_t replica = 0; replica < one.strategy.replicas; ++replica) {
    auto found = flows.find(partOf(source, replica).identity);
    bool isFound = found != flows.end() && found->second.gradient &&
                   found->second.owners[replica];
    parts.push_back(isFound ? *found->second.gradient : Leaf());
  }
  return ofTraced(differing(std::move(parts)));
}

Object FrontEnd::gradientStatement(const Json &statement) {
  std::vector<Leaf> sources;
  for (const Json &name : statement.at("wrt"))
    forEachLeaf(operand(name),
                [&](const Leaf &leaf) { sources.push_back(leaf); });

  std::vector<TapeEntry> tape;
  tapes.push_back(&tape);
  execute(statement.at("body"));
  Object target = operandOf(statement, "of");
  tapes.pop_back();

  Flows flows;
  forEachLeaf(target, [&](const Leaf &leaf) {
    std::set<uint64_t> seeded;
    forEachPart(leaf, [&](const Leaf &part) {
      if (part.kind == Leaf::Kind::None)
        refuse("E_ARG_TYPE", "expected a tensor to differentiate, found None");
      if (!part.isTensor() || !hasGradient(part) ||
          !seeded.insert(part.identity).second)
        return;
      auto [seed, owners] = seedOf(part, leaf);
      addTo(flows[part.identity], seed, owners);
    });
  });
  propagate(tape, flows);

  Object result(Object::Structure::List, {});
  for (const Leaf &source : sources)
    result.items.push_back(gradientOf(source, flows));
  return result;
}

} // namespace lockstep::conformance::driver
