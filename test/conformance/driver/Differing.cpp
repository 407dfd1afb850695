//===- Differing.cpp - Values of other kinds or types on some replicas ----===//
//
// Python executes a replica's function once for each replica, so that a branch
// on the replica's number can yield a matrix on one and a vector, a number or
// nothing on another. Here the function is traced once for all: a differing
// value is a leaf with a part for each replica. All replicas compute all parts,
// and each reads its own.
//
//===----------------------------------------------------------------------===//

#include "test/conformance/driver/FrontEnd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;

namespace lockstep::conformance::driver {

Leaf FrontEnd::differing(std::vector<Leaf> ofReplica) {
  if (llvm::all_of(ofReplica, [&](const Leaf &part) {
        return areSame(part, ofReplica.front());
      }))
    return ofReplica.front();
  for (const Leaf &part : ofReplica)
    if (part.kind == Leaf::Kind::Mismatch)
      return part;
  auto isOneClass = [&](const Leaf &part) {
    const Json &first = ofReplica.front().host.front(),
               &value = part.host.front();
    return first.type() == value.type() ||
           (first.is_number_integer() && value.is_number_integer());
  };
  if (llvm::all_of(ofReplica, [](const Leaf &part) { return part.isHost(); }) &&
      llvm::all_of(ofReplica, isOneClass)) {
    std::vector<Json> values;
    for (const Leaf &part : ofReplica)
      values.push_back(part.host.front());
    return makeHost(std::move(values));
  }
  Leaf leaf;
  leaf.kind = Leaf::Kind::Differing;
  leaf.spread = Spread::PerReplica;
  leaf.identity = nextIdentity++;
  leaf.ofReplica = std::move(ofReplica);
  return leaf;
}

std::vector<int64_t> FrontEnd::tracedReplicas() const {
  if (isReplicaContext() && traced)
    return *traced;
  std::vector<int64_t> all(one.strategy.replicas);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Leaf FrontEnd::ofTraced(const Leaf &leaf) const {
  if (!isReplicaContext() ||
      (!leaf.isDiffering() && !(leaf.isHost() && leaf.host.size() > 1)))
    return leaf;
  std::vector<int64_t> replicas = tracedReplicas();
  Leaf first = partOf(leaf, replicas.front());
  bool isOne = llvm::all_of(replicas, [&](int64_t replica) {
    return areSame(partOf(leaf, replica), first);
  });
  return isOne ? first : leaf;
}

Leaf FrontEnd::oneTensor(const Leaf &leaf, Type element) {
  struct Part {
    Leaf leaf;
    SmallVector<int64_t> replicas;
  };
  std::vector<Part> parts;
  for (int64_t replica : tracedReplicas()) {
    Leaf part = partOf(leaf, replica);
    auto found = llvm::find_if(
        parts, [&](const Part &other) { return areSame(other.leaf, part); });
    if (found == parts.end())
      parts.push_back({part, {replica}});
    else
      found->replicas.push_back(replica);
  }
  bool haveRank = true, haveOneType = true;
  RankedTensorType first;
  SmallVector<int64_t> shape;
  for (Part &part : parts) {
    part.leaf = tensorOf(part.leaf, element);
    auto type = dyn_cast<RankedTensorType>(part.leaf.value.getType());
    if (!type)
      refuse("E_RANK_MISMATCH", "expected values of one rank on all replicas");
    if (!first) {
      first = type;
      shape = llvm::to_vector(type.getShape());
    }
    if (type.getElementType() != first.getElementType())
      refuse("E_DTYPE_MISMATCH",
             "expected elements of one type on all replicas, found {} and {}",
             printed(first), printed(type));
    haveOneType &= type == first;
    haveRank &= type.getRank() == first.getRank();
    for (size_t d = 0; haveRank && d < shape.size(); ++d)
      if (shape[d] != type.getDimSize(d))
        shape[d] = ShapedType::kDynamic;
  }
  OpBuilder &builder = frame->builder;
  Leaf result = parts.front().leaf;
  if (haveOneType) {
    auto isPredicate = RankedTensorType::get({}, builder.getI1Type());
    for (const Part &part : ArrayRef(parts).drop_front()) {
      Leaf condition = fresh(tensor::FromElementsOp::create(
          builder, location(), isPredicate, conditionOf(part.replicas)));
      result = selected(condition, part.leaf, result, {}).leaf;
    }
    return result;
  }
  if (!tapes.empty())
    unsupported("gradient through values whose shapes differ between replicas");
  Type type = haveRank
                  ? Type(RankedTensorType::get(shape, first.getElementType()))
                  : UnrankedTensorType::get(first.getElementType());
  auto widen = [&](OpBuilder &at, Value value) -> Value {
    return value.getType() == type
               ? value
               : tensor::CastOp::create(at, location(), type, value)
                     .getResult();
  };
  Value whole = widen(builder, result.value);
  for (const Part &part : ArrayRef(parts).drop_front())
    whole = scf::IfOp::create(
                builder, location(), conditionOf(part.replicas),
                [&](OpBuilder &at, Location loc) {
                  scf::YieldOp::create(at, loc, widen(at, part.leaf.value));
                },
                [&](OpBuilder &at, Location loc) {
                  scf::YieldOp::create(at, loc, whole);
                })
                .getResult(0);
  return fresh(whole);
}

void FrontEnd::requireOneRank(const Leaf &leaf) const {
  std::optional<int64_t> rank;
  forEachPart(leaf, [&](const Leaf &part) {
    auto type = part.isTensor()
                    ? dyn_cast<RankedTensorType>(
                          replica::getComponent(part.value.getType()))
                    : RankedTensorType();
    if (!type && !part.isHost())
      return;
    int64_t found = type ? type.getRank() : 0;
    if (rank.value_or(found) != found)
      refuse("E_RANK_MISMATCH",
             "expected values of one rank on all replicas, found {} and {}",
             *rank, found);
    rank = found;
  });
}

/// A result that only one side has: the other yields zeros.
Leaf FrontEnd::yieldFrom(Branches &branches, bool fromThen, const Leaf &leaf) {
  if (!leaf.isTensor())
    return leaf;
  auto [known, isNew] =
      branches.ofOneSide.try_emplace({fromThen, leaf.identity});
  if (!isNew)
    return known->second;
  auto give = [&](Value value) -> size_t {
    if (!value)
      return 0;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      refuse("E_RANK_MISMATCH", "expected values of one rank on all replicas");
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(fromThen ? &branches.otherwise->front()
                                            : &branches.then->front());
    SmallVector<int64_t> shape =
        llvm::map_to_vector(type.getShape(), [](int64_t size) {
          return ShapedType::isDynamic(size) ? 1 : size;
        });
    auto zeros = builder.getZeroAttr(
        RankedTensorType::get(shape, type.getElementType()));
    Value other =
        arith::ConstantOp::create(builder, location(), cast<TypedAttr>(zeros));
    if (other.getType() != type)
      other = tensor::CastOp::create(builder, location(), type, other);
    branches.yields.push_back(fromThen ? std::pair(value, other)
                                       : std::pair(other, value));
    branches.types.push_back(type);
    return branches.yields.size() - 1;
  };
  Leaf result = fresh(leaf.value);
  result.indices = leaf.indices;
  result.denseShape = leaf.denseShape;
  size_t value = give(leaf.value);
  branches.results[result.identity] = {value, give(leaf.indices)};
  return known->second = result;
}

Object FrontEnd::mergeDiffering(Branches &branches, const Leaf &then,
                                const Leaf &otherwise) {
  std::vector<Leaf> parts;
  for (int64_t replica = 0; replica < one.strategy.replicas; ++replica) {
    Leaf a = partOf(then, replica), b = partOf(otherwise, replica);
    if (!branches.takesThen.empty()) {
      bool takesThen = branches.takesThen[replica];
      parts.push_back(yieldFrom(branches, takesThen, takesThen ? a : b));
      continue;
    }
    bool isKnown = false;
    for (int64_t other = 0; other < replica && !isKnown; ++other)
      if ((isKnown = areSame(a, partOf(then, other)) &&
                     areSame(b, partOf(otherwise, other))))
        parts.push_back(parts[other]);
    if (!isKnown)
      parts.push_back(mergeLeaves(branches, a, b).leaf);
  }
  return differing(std::move(parts));
}

Object FrontEnd::combine(const std::vector<Object> &ofReplica) {
  for (const Object &other : ofReplica)
    if (!haveSameStructure(ofReplica.front(), other)) {
      Leaf leaf;
      leaf.kind = Leaf::Kind::Mismatch;
      leaf.message = "the structure of a value differs between replicas "
                     "[E_STRUCT_MISMATCH]";
      return leaf;
    }
  std::vector<std::vector<Leaf>> columns;
  for (auto [replica, object] : llvm::enumerate(ofReplica)) {
    size_t next = 0;
    forEachLeaf(object, [&](const Leaf &leaf) {
      if (columns.size() == next)
        columns.emplace_back();
      columns[next++].push_back(partOf(leaf, replica));
    });
  }
  size_t next = 0;
  return mapLeaves(ofReplica.front(), [&](const Leaf &) -> Object {
    return differing(columns[next++]);
  });
}

std::optional<Object>
FrontEnd::computeForEach(const Json &statement,
                         const std::function<Object()> &compute) {
  std::string name = statement.at("op").get<std::string>();
  if (!isReplicaContext() || name == "set" || name == "gradient")
    return std::nullopt;
  std::vector<Leaf> differ;
  for (const char *field : {"a", "b", "values", "indices"})
    if (statement.contains(field))
      forEachLeaf(operandOf(statement, field), [&](const Leaf &leaf) {
        if (leaf.isDiffering())
          differ.push_back(leaf);
      });
  if (differ.empty())
    return std::nullopt;
  std::vector<std::vector<int64_t>> groups;
  for (int64_t replica : tracedReplicas()) {
    auto found = llvm::find_if(groups, [&](const std::vector<int64_t> &group) {
      return llvm::all_of(differ, [&](const Leaf &leaf) {
        return areSame(partOf(leaf, group.front()), partOf(leaf, replica));
      });
    });
    if (found == groups.end())
      groups.push_back({replica});
    else
      found->push_back(replica);
  }
  auto outer = traced;
  std::vector<Object> results(one.strategy.replicas);
  for (const std::vector<int64_t> &group : groups) {
    traced = group;
    Object result = compute();
    for (int64_t replica : group)
      results[replica] = result;
    // Components of absent replicas are arbitrary and not read.
    if (&group == &groups.front())
      results.assign(results.size(), result);
  }
  traced = outer;
  return combine(results);
}

} // namespace lockstep::conformance::driver
