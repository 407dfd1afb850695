//===- Object.cpp - What a name of the case language stands for -----------===//

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

bool haveSameStructure(const Object &a, const Object &b) {
  if (a.structure != b.structure || a.items.size() != b.items.size() || a.keys != b.keys)
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!haveSameStructure(a.items[i], b.items[i]))
      return false;
  return true;
}

void forEachLeaf(const Object &object, const std::function<void(const Leaf &)> &visit) {
  if (object.isLeaf())
    visit(object.leaf);
  for (const Object &item : object.items)
    forEachLeaf(item, visit);
}

Object mapLeaves(const Object &object, const std::function<Object(const Leaf &)> &map) {
  if (object.isLeaf())
    return map(object.leaf);
  Object result = object;
  for (Object &item : result.items)
    item = mapLeaves(item, map);
  return result;
}

Object mapLeaves(const Object &a, const Object &b, const std::function<Object(const Leaf &, const Leaf &)> &map) {
  if (a.isLeaf())
    return map(a.leaf, b.leaf);
  Object result = a;
  for (size_t i = 0; i < a.items.size(); ++i)
    result.items[i] = mapLeaves(a.items[i], b.items[i], map);
  return result;
}

} // namespace lockstep::conformance::driver
