//===- ModuleTopology.cpp - The topology of a module ----------------------===//

#include "passes/Analysis/ModuleTopology.h"

using namespace lockstep;
using namespace mlir;

FailureOr<runtime::Topology> lockstep::getTopology(ModuleOp module) {
  auto text = module->getAttrOfType<StringAttr>(kTopologyAttr);
  StringRef nameOrJson = text ? text.getValue() : "host";
  runtime::Expected<runtime::Topology> topology =
      nameOrJson.starts_with("{") ? runtime::Topology::parse(nameOrJson.str())
                                  : runtime::Topology::preset(nameOrJson.str());
  if (!topology)
    return module.emitError("'")
           << kTopologyAttr << "': " << topology.status().message();
  return std::move(*topology);
}
