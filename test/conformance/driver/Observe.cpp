//===- Observe.cpp - a worker's view of a run -----------------------------===//

#include "test/conformance/driver/Configurations.h"

namespace lockstep::conformance::driver {

namespace {

class Observer {
public:
  Observer(const Case &one, const Program &program, const RunResult &result,
           int64_t worker)
      : strategy(one.strategy), program(program), result(result),
        worker(worker) {}

  Json observe(const Object &object) const {
    Json items = Json::array();
    switch (object.structure) {
    case Object::Structure::Leaf:
      return observe(object.leaf);
    case Object::Structure::Dict: {
      Json dict = Json::object();
      for (size_t i = 0; i < object.items.size(); ++i)
        dict[object.keys[i]] = observe(object.items[i]);
      return {{"dict", std::move(dict)}};
    }
    case Object::Structure::List:
    case Object::Structure::Tuple:
      for (const Object &item : object.items)
        items.push_back(observe(item));
      return {{object.structure == Object::Structure::List ? "list" : "tuple",
               std::move(items)}};
    }
    return {};
  }

  Json components(size_t variable) const {
    Json components = Json::array();
    for (int64_t i = 0;
         i < (hasCopies(variable) ? strategy.localReplicas() : 1); ++i)
      components.push_back(
          writeTensor(result.variables[variable][replicaOf(i)]));
    return {{"components", std::move(components)}};
  }

private:
  bool hasCopies(size_t variable) const {
    return strategy.properties().placement == replica::Placement::Mirrored &&
           program.variables[variable].inScope;
  }

  /// A local replica's number among all.
  int64_t replicaOf(int64_t local) const {
    return worker * strategy.localReplicas() + local;
  }

  Json tensorAt(mlir::Value value, int64_t replica) const {
    const std::vector<Tensor> &values =
        result.results[program.results.at(value.getAsOpaquePointer())];
    return writeTensor(values[values.size() > 1 ? replica : 0]);
  }

  /// Whether the replicas of this worker have one object, whatever others have.
  bool isSharedHere(const Leaf &leaf) const {
    Leaf first = partOf(leaf, replicaOf(0));
    bool isObject = !first.isTensor() || first.spread == Spread::Plain;
    for (int64_t i = 1; i < strategy.localReplicas(); ++i)
      isObject &= areSame(partOf(leaf, replicaOf(i)), first);
    return isObject;
  }

  static Json withoutValue(const Leaf &leaf) {
    return {{leaf.kind == Leaf::Kind::Operation ? "op" : "none", true}};
  }

  /// One replica's object.
  Json objectAt(const Leaf &leaf, int64_t local) const {
    if (leaf.isDiffering())
      return objectAt(leaf.ofReplica[replicaOf(local)], local);
    if (leaf.isVariable())
      return components(leaf.variable)
          .at("components")
          .at(hasCopies(leaf.variable) ? local : 0);
    if (!leaf.isTensor() && !leaf.isHost())
      return withoutValue(leaf);
    if (leaf.isHost())
      return {{"py", leaf.host[leaf.host.size() > 1 ? replicaOf(local) : 0]}};
    Json tensor = tensorAt(leaf.value, replicaOf(local));
    if (!leaf.isSlices())
      return tensor;
    Json slices = {{"values", std::move(tensor)},
                   {"indices", tensorAt(leaf.indices, replicaOf(local))}};
    slices["dense_shape"] =
        leaf.denseShape ? writeTensor(makeVector(*leaf.denseShape)) : Json();
    return {{"indexed_slices", std::move(slices)}};
  }

  Json observe(const Leaf &leaf) const {
    if (leaf.isVariable()) {
      Json copies = components(leaf.variable);
      return hasCopies(leaf.variable) && !leaf.component
                 ? copies
                 : copies.at("components").at(leaf.component.value_or(0));
    }
    if (!leaf.isTensor() && !leaf.isHost() && !leaf.isDiffering())
      return withoutValue(leaf);
    bool isDistributed = leaf.isHost() || leaf.isDiffering()
                             ? !isSharedHere(leaf)
                             : leaf.spread != Spread::Plain;
    if (leaf.component || !isDistributed || strategy.localReplicas() == 1)
      return objectAt(leaf, leaf.component.value_or(0));
    Json all = Json::array();
    for (int64_t i = 0; i < strategy.localReplicas(); ++i)
      all.push_back(objectAt(leaf, i));
    return {{leaf.spread == Spread::Mirrored ? "mirrored" : "per_replica",
             std::move(all)}};
  }

  const Strategy &strategy;
  const Program &program;
  const RunResult &result;
  int64_t worker;
};

} // namespace

Json observe(const Case &one, const Program &program, const RunResult &result,
             int64_t worker) {
  Observer observer(one, program, result, worker);
  Json outputs = Json::object(), variables = Json::object();
  for (const auto &[name, object] : program.observed)
    outputs[name] = observer.observe(object);
  for (const std::string &name : one.observeVariables)
    for (size_t i = 0; i < program.variables.size(); ++i)
      if (program.variables[i].spec.name == name)
        variables[name] = observer.components(i);
  return {{"outputs", std::move(outputs)}, {"variables", std::move(variables)}};
}

} // namespace lockstep::conformance::driver
