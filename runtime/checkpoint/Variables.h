//===- Variables.h - reads and writes variables -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_VARIABLES_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_VARIABLES_H

#include "runtime/checkpoint/SafetensorsFile.h"
#include "runtime/checkpoint/SafetensorsWriter.h"
#include "runtime/executor/Cluster.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// The memory of one whole variable; not owned. Its values hide sharding and
/// copies.
struct VariableView {
  std::string name;
  TensorInfo type;
  /// The artifact has an initial value for it.
  bool hasInitial = false;
  /// Each replica has its own value, even if there is one replica.
  bool perReplica = false;
  /// One value of `type.bytes` bytes, or one for each replica.
  std::vector<VariableValue> values = {};
  artifact::Synchronization synchronization =
      artifact::Synchronization::on_write;
  artifact::Aggregation aggregation = artifact::Aggregation::none;
};

/// The variables of a cluster, valid as long as it is.
std::vector<VariableView> variablesOf(Cluster &cluster);

enum class Missing : uint8_t {
  /// Every variable must be in the file.
  refuse,
  /// Those with an initial value in the artifact may keep it.
  keepInitial,
};

/// Sets variables from the tensors of the same names. A variable with one value
/// for each replica is loaded from a tensor of its own shape, for all replicas,
/// or of [replicas, shape...].
///
/// All tensors are checked before anything is written. The error lists every
/// variable that is missing, every tensor that is no variable, and every one
/// with another shape or element type.
Status loadValues(const SafetensorsFile &file,
                  std::span<const VariableView> variables, Missing missing);

/// The variables as tensors of a file. A variable with one value for each
/// replica is written with its own shape if all the values are the same bytes,
/// so that any number of replicas can load it, else with [replicas, shape...].
std::vector<TensorToWrite> tensorsOf(std::span<const VariableView> variables);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_VARIABLES_H
