//===- Object.cpp - values of the case language ---------------------------===//

#include "test/conformance/driver/Object.h"

#include <algorithm>

namespace lockstep::conformance::driver {

Leaf makeHost(Json value) {
  Leaf leaf;
  leaf.kind = Leaf::Kind::Host;
  leaf.host.push_back(std::move(value));
  return leaf;
}

Leaf makeHost(std::vector<Json> values) {
  bool areEqual = std::equal(values.begin() + 1, values.end(), values.begin());
  Leaf leaf = makeHost(values.front());
  if (!areEqual)
    leaf.host = std::move(values);
  return leaf;
}

bool areSame(const Leaf &a, const Leaf &b) {
  return a.kind == b.kind && a.identity == b.identity && a.value == b.value &&
         a.host == b.host && a.component == b.component;
}

Leaf partOf(const Leaf &leaf, size_t replica) {
  if (leaf.isDiffering())
    return leaf.ofReplica[replica];
  return leaf.isHost() && leaf.host.size() > 1 ? makeHost(leaf.host[replica])
                                               : leaf;
}

void forEachPart(const Leaf &leaf,
                 const std::function<void(const Leaf &)> &visit) {
  if (!leaf.isDiffering())
    visit(leaf);
  for (const Leaf &part : leaf.ofReplica)
    visit(part);
}

Leaf mapParts(const Leaf &leaf, const std::function<Leaf(const Leaf &)> &map) {
  if (!leaf.isDiffering())
    return map(leaf);
  Leaf result = leaf;
  for (Leaf &part : result.ofReplica)
    part = map(part);
  return result;
}

bool haveSameStructure(const Object &a, const Object &b) {
  if (a.structure != b.structure || a.items.size() != b.items.size() ||
      a.keys != b.keys)
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!haveSameStructure(a.items[i], b.items[i]))
      return false;
  return true;
}

void forEachLeaf(const Object &object,
                 const std::function<void(const Leaf &)> &visit) {
  if (object.isLeaf())
    visit(object.leaf);
  for (const Object &item : object.items)
    forEachLeaf(item, visit);
}

Object mapLeaves(const Object &object,
                 const std::function<Object(const Leaf &)> &map) {
  if (object.isLeaf())
    return map(object.leaf);
  Object result = object;
  for (Object &item : result.items)
    item = mapLeaves(item, map);
  return result;
}

Object mapLeaves(const Object &a, const Object &b,
                 const std::function<Object(const Leaf &, const Leaf &)> &map) {
  if (a.isLeaf())
    return map(a.leaf, b.leaf);
  Object result = a;
  for (size_t i = 0; i < a.items.size(); ++i)
    result.items[i] = mapLeaves(a.items[i], b.items[i], map);
  return result;
}

} // namespace lockstep::conformance::driver
