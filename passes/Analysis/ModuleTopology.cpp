//===- ModuleTopology.cpp - The topology of a module ----------------------===//

#include "passes/Analysis/ModuleTopology.h"

using namespace lockstep;
using namespace mlir;

FailureOr<runtime::Topology> lockstep::getTopology(ModuleOp module) {
  Attribute attribute = module->getAttr(kTopologyAttr);
  auto text = dyn_cast_or_null<StringAttr>(attribute);
  if (attribute && !text)
    return module.emitError("'")
           << kTopologyAttr << "': expected a string, found " << attribute;
  StringRef nameOrJson = text ? text.getValue() : "host";
  runtime::Expected<runtime::Topology> topology =
      nameOrJson.starts_with("{") ? runtime::Topology::parse(nameOrJson.str())
                                  : runtime::Topology::preset(nameOrJson.str());
  if (!topology)
    return module.emitError("'")
           << kTopologyAttr << "': " << topology.status().message();
  return std::move(*topology);
}
