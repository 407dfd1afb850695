//===- StoredTopology.cpp -------------------------------------------------===//

#include "runtime/simulator/StoredTopology.h"

namespace lockstep::runtime {

Expected<Topology> storedTopology(const Artifact &artifact) {
  const auto *stored = artifact.tables().topology();
  if (!stored)
    return Topology::preset("host");
  std::string text = stored->str();
  return text.starts_with("{") ? Topology::parse(text) : Topology::preset(text);
}

} // namespace lockstep::runtime
