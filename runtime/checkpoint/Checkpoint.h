//===- Checkpoint.h - saving and resuming a training run --------*- C++ -*-===//
//
// A checkpoint is the file checkpoint-<steps>.safetensors with all variables,
// and in its metadata the state that is needed to continue as if the run had
// not stopped:
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
// A variable with a value for each replica (on_read) and an aggregation (sum,
// mean or only_first_replica) is saved as the value of a read of all replicas,
// and restored so that such a read has the same value: see Aggregation.h. So
// nothing in a checkpoint depends on the number of replicas, except variables
// that differ between replicas and have no aggregation.
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

/// The state of a run.
struct TrainingState {
  /// Completed steps.
  uint64_t step = 0;
  uint64_t seed = 0;
  DataCursor cursor = {};
  std::optional<uint64_t> examples = {};

  bool operator==(const TrainingState &) const = default;
};

/// Creates `folder` if necessary, and checks that checkpoints can be written to
/// it, so that a run fails before it trains.
Status prepareCheckpoints(const std::string &folder);

/// Writes the checkpoint of `state.step` to `folder`, which is created if
/// necessary, and returns its path. The write is atomic, even if the machine
/// crashes. Errors: those of `checkAggregation` and of the file system.
Expected<std::string> saveCheckpoint(const std::string &folder,
                                     const TrainingState &state,
                                     std::span<const VariableView> variables,
                                     FileCalls &calls = FileCalls::system());

/// Of the checkpoints with at most `step` steps, leaves the `keep` that have
/// most, and removes the others. Those in `damaged`, and those with more steps,
/// are neither counted nor removed.
Status removeCheckpoints(const std::string &folder, uint64_t step,
                         uint64_t keep, std::span<const std::string> damaged,
                         FileCalls &calls = FileCalls::system());

/// The checkpoint with the most steps, by the number in its name; none if there
/// is no checkpoint or no such folder.
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
  /// The damaged checkpoints with more steps, and their errors.
  std::vector<std::string> damagedPaths = {}, damaged = {};
};

/// Sets all variables from the undamaged checkpoint with the most steps; none
/// if there is no checkpoint. Errors: all are damaged, or the latest undamaged
/// one does not fit the variables.
Expected<std::optional<RestoredCheckpoint>>
restoreLatestCheckpoint(const std::string &folder,
                        std::span<const VariableView> variables);

/// Sets the variables to the values of `path` before the first step; those that
/// have an initial value in the artifact may be absent.
Status loadInitialValues(const std::string &path,
                         std::span<const VariableView> variables);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_CHECKPOINT_H
