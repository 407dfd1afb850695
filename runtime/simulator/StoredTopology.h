//===- StoredTopology.h - the topology of an artifact -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SIMULATOR_STOREDTOPOLOGY_H
#define LOCKSTEP_RUNTIME_SIMULATOR_STOREDTOPOLOGY_H

#include "runtime/artifact/Artifact.h"
#include "runtime/model/Topology.h"

namespace lockstep::runtime {

/// The topology that the schedule of an artifact was made for; `host` if the
/// artifact names none. Errors: those of `Topology::parse` and `preset`.
Expected<Topology> storedTopology(const Artifact &artifact);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SIMULATOR_STOREDTOPOLOGY_H
