//===- Checkpoint.h - saving and resuming a training run --------*- C++ -*-===//
//
// A checkpoint is the file checkpoint-<steps>.safetensors with all variables,
// and in its metadata what else is needed to go on as if the run had not
// stopped:
//
//   lockstep_checkpoint  "3", the version of these keys and of what a variable
//                        is saved as ("2" is the same without a digest)
//   sha256               of the file (SafetensorsHeader.h)
//   step                 completed steps, which is the number of the next one
//   seed                 of the run
//   epoch, position      place in the data: examples of the epoch that have
//                        been used
//   examples             number of examples in the data (absent when there are
//                        no data)
//
// A variable that replicas write each for itself and that has an aggregation
// (on_read; sum, mean or only_first_replica) is saved as the one value that a
// read of all replicas gives, and restored so that such a read gives it again:
// see Aggregation.h. So nothing in a checkpoint depends on the number of
// replicas, except variables that differ between replicas and have no
// aggregation.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/Variables.h"
#include "runtime/data/Batches.h"
#include "runtime/support/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lockstep::runtime {

/// Where a run stands.
struct TrainingState {
  /// Completed steps.
  uint64_t step = 0;
  uint64_t seed = 0;
  DataCursor cursor = {};
  std::optional<uint64_t> examples = {};

  bool operator==(const TrainingState &) const = default;
};

/// Creates `folder` if need be, and finds out whether checkpoints can be
/// written to it: a run should not train for hours to learn that they cannot.
Status prepareCheckpoints(const std::string &folder);

/// Writes the checkpoint of `state.step` to `folder`, which is created if need
/// be, and returns its path. The file is there whole or not at all, even after
/// a crash of the machine. Errors: those of `checkAggregation` and of the file
/// system.
Expected<std::string> saveCheckpoint(const std::string &folder,
                                     const TrainingState &state,
                                     std::span<const VariableView> variables,
                                     FileCalls &calls = FileCalls::system());

/// The checkpoint with the most steps, by the number in its name; nothing if
/// there is none or no such folder.
Expected<std::optional<std::string>>
latestCheckpoint(const std::string &folder);

/// Sets all variables from a checkpoint. On an error no variable has changed.
/// Error (corrupted): bytes of the file are missing, or are not those that were
/// written.
Expected<TrainingState>
restoreCheckpoint(const std::string &path,
                  std::span<const VariableView> variables);

struct RestoredCheckpoint {
  std::string path;
  TrainingState state;
  /// What is wrong with those that have more steps.
  std::vector<std::string> damaged = {};
};

/// Sets all variables from the checkpoint with the most steps among those that
/// are not damaged; nothing if there is no checkpoint. Errors: all are damaged,
/// or the latest that is not does not fit the variables.
Expected<std::optional<RestoredCheckpoint>>
restoreLatestCheckpoint(const std::string &folder,
                        std::span<const VariableView> variables);

/// Sets the variables to the values of `path` before the first step; those that
/// have an initial value in the artifact may be absent.
Status loadInitialValues(const std::string &path,
                         std::span<const VariableView> variables);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_CHECKPOINT_H
