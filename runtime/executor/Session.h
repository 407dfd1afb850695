//===- Session.h - runs the programs of an artifact -------------*- C++ -*-===//
//
// A session owns the state that outlives a step: the variables, the host
// scalars, the memories of the programs and the worker threads. A run executes
// one program on all replicas and returns when every replica has returned.
//
//   auto artifact = Artifact::open("model.lockstep");
//   auto session = Session::create(*artifact, {.workers = 2});
//   ProgramId step = *(*session)->findProgram("step");
//   ... fill (*session)->variable("params/w1") ...
//   (*session)->setScalar("lr", bytes);
//   for (unsigned r = 0; r < replicas; ++r)
//     (*session)->bindInput(step, r, batchOfReplica[r]);
//   Status status = (*session)->run(step);
//   std::span<const std::byte> loss = (*session)->output(step, /*output=*/0);
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_SESSION_H
#define LOCKSTEP_RUNTIME_EXECUTOR_SESSION_H

#include "runtime/artifact/Artifact.h"
#include "runtime/schema/Types.h"
#include "runtime/support/Clock.h"
#include "runtime/support/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

class Network;
class TransportFactory;
class VariableMemory;

/// Why a run was aborted: for people, and for tools.
struct DeadlineReport {
  /// Several lines: the pending collective, the ranks that have arrived, and
  /// the command of each replica.
  std::string text;
  /// The same as one JSON object (see `executor/Report.h` for its keys).
  std::string json;
};

/// Each breaks one of the safety rules of shared memory on purpose, so that
/// tests can show that `checkRaces` reports it. Never set outside of tests.
enum class MemoryRule : uint8_t {
  none = 0,
  /// A replica continues before all tiles of its launch are done.
  launchPassesEarly = 1,
  /// A `once` section runs when the first replica arrives instead of the last.
  onceRunsEarly = 2,
  /// A wait returns although members of the collective have not arrived.
  waitReturnsEarly = 3,
  /// Programs may write shared bytes outside of `once` sections and
  /// collectives.
  sharedWritesAnywhere = 4,
  /// Collectives of a part of the replicas may write shared bytes.
  subgroupResultsShared = 5,
};

struct SessionOptions {
  /// The role whose programs are run, and which of its ranks are here:
  /// `rankCount` of them from `firstRank`; 0: all of the role. Replica numbers
  /// of a session are relative to `firstRank`; faults and reports name ranks.
  std::string role = "worker";
  uint32_t firstRank = 0, rankCount = 0;
  /// The connection to other executors; its `ownRanks` are those of the
  /// session. Null: all ranks of all groups are in this session.
  std::shared_ptr<Network> network = {};
  /// Executes collectives, and has created `network`; the same in all
  /// executors. Null: `openTransport("")`.
  std::shared_ptr<TransportFactory> transport = {};
  /// The variables of the role, if other sessions access them at the same time
  /// (see `Coordinator`). Null: they are this session's alone. Error of
  /// `create`: an operand or result of a collective is a variable's own memory,
  /// which would be accessed without the lock.
  std::shared_ptr<VariableMemory> variables = {};
  /// How many clusters share the CPUs: threads do not spin if all clusters
  /// together have more threads than there are CPUs.
  unsigned clusters = 1;
  /// Threads that execute replicas, the one that calls `run` included; 0: one
  /// for each CPU this process may use. Results do not depend on it.
  unsigned workers = 0;
  /// Kernel target to use, for example "x86-64-v3"; empty: `LOCKSTEP_TARGET` of
  /// the environment, else the best one that is in the artifact and that this
  /// CPU has.
  std::string target = {};
  /// Where programs are executed, as in `openDevice`. On devices other than
  /// `cpu`, `variable` must be called again after each run.
  std::string device = {};
  /// The number of the session among those of this process, by which it gets a
  /// device of its own where there are several.
  unsigned deviceIndex = 0;
  /// A run fails when no replica has completed a command or a tile for this
  /// long.
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);
  /// Not owned, must outlive the session; null: the system's monotonic clock.
  Clock *clock = nullptr;
  /// Faults by name and place, for example "pause:replica=2,channel=3" (see
  /// `Injection.h`).
  std::vector<std::string> injections = {};
  /// Called, from a worker, when an injected fault takes effect, with its text.
  std::function<void(const std::string &)> onInjection = {};
  /// Called once, from the watchdog thread, when the deadline has passed and
  /// before `run` returns. A kernel that hangs in the calling thread cannot be
  /// cancelled: then `run` never returns and this is the place to end the
  /// process (`_exit`).
  std::function<void(const DeadlineReport &)> onDeadline = {};
  /// Called, from the watchdog thread, when the same replicas have waited for
  /// the deadline, for twice as long, and so on, while others made progress,
  /// which may be slow or in an infinite loop. The run continues.
  std::function<void(const DeadlineReport &)> onLongWait = {};
  /// Keep vector clocks over all declared accesses and fail on unordered ones.
  /// Slow; one worker.
  bool checkRaces = false;
  /// Check all floats that launches and collectives write and fail on the first
  /// that is not finite: see `FiniteChecker.h`.
  bool checkFinite = false;
  /// Before each run, overwrite the memory of programs, which outlives runs,
  /// with NaNs: results must not change (slow).
  bool fillMemory = false;
  /// Copy the variables before each run that writes them, so that a failed run
  /// leaves them unchanged. Costs the memory and time of the copy. Not with
  /// memory that is shared with other sessions.
  bool shadowVariables = false;
  /// On a device that records commands (`Device::canRecord`): the commands of a
  /// program, or those between decisions by data, are recorded when they occur
  /// for the second time, and later runs enqueue the recording. Not in runs
  /// that are traced or checked, but for `checkFinite` in a session without
  /// others, of a program without decisions.
  bool recordRuns = true;
  /// After this many runs that write variables, compare the copies of mirrored
  /// variables between the executors of the role, and fail if they differ. 0:
  /// never. The same in all executors. Not with memory that is shared with
  /// other sessions.
  uint64_t checkMirrored = 0;
  /// Arithmetic of floats replaces subnormal operands and results by zero, as
  /// XLA's does on processors. The same in all executors. Error: a device with
  /// queues.
  bool flushSubnormals = false;
  /// Additional facts that must be equal in all executors of a network, as
  /// names and values of one line each. The artifact, kernel target and
  /// division of ranks are always compared, before the first run.
  std::vector<std::pair<std::string, std::string>> agreement = {};
  /// File that receives the trace (Chrome and Perfetto JSON) in `writeTrace` or
  /// the destructor.
  std::string traceFile = {};
  /// The session is one of several that a `Cluster` runs together; the cluster
  /// has the watchdog and writes one trace of all.
  bool inCluster = false;
  /// For tests only.
  MemoryRule brokenRule = MemoryRule::none;
};

/// Index of a program among those of the session's role, in the order of the
/// artifact.
using ProgramId = unsigned;

struct VariableInfo {
  std::string name;
  TensorInfo type;
  /// One value for each replica, instead of one that all of them share.
  bool perReplica = false;
  artifact::Synchronization synchronization =
      artifact::Synchronization::on_write;
  artifact::Aggregation aggregation = artifact::Aggregation::none;
  /// The artifact holds an initial value, which `create` has already stored.
  bool hasInitial = false;
};

VariableInfo describeVariable(const artifact::Variable &variable);

struct ScalarInfo {
  std::string name;
  TensorInfo type;
  /// Without a default, `setScalar` must be called before a program that reads
  /// it is run.
  bool hasDefault = false;
};

/// One tensor of a batch: `type.bytes` bytes at `offset` of the memory given to
/// `bindInput`.
struct InputInfo {
  std::string name;
  TensorInfo type;
  uint64_t offset = 0;
};

struct OutputInfo {
  std::string name;
  artifact::OutputKind kind = artifact::OutputKind::metric;
  /// Dimensions of -1 are known after a run only: see `Session::outputShape`.
  TensorInfo type;
  /// One value for each replica, instead of one that all of them share.
  bool perReplica = false;
};

/// How a device with queues gets the commands of a program.
struct RecordingInfo {
  /// Runs enqueue what has been recorded, at least their first commands.
  bool isRecorded = false;
  /// Why no run of the program can be recorded, although the device records
  /// commands. Empty also if only `SessionOptions` exclude it.
  std::string obstacle;
  /// Why some commands, between two values that the host reads, are not
  /// recorded. Empty if all of them are, or will be when they occur again.
  std::string omission;
};

struct ProgramInfo {
  std::string name;
  std::string role;
  /// Bytes of one replica's batch; 0: the program has no inputs and needs no
  /// `bindInput`.
  uint64_t inputSize = 0;
  /// The program loads a sequence of batches: it needs `bindBatches` instead of
  /// `bindInput`.
  bool loadsBatches = false;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
  /// Outputs that are not tensors and do not change between runs: their names
  /// and values, as JSON.
  std::vector<std::pair<std::string, std::string>> constantOutputs;
};

class HostCopy;
class ProgramState;
class Trace;

/// The host's bytes of a variable, and the object that synchronizes them with
/// the device; null if they are the shadow copy.
struct VariablePlace {
  std::span<std::byte> bytes;
  HostCopy *copy = nullptr;
};

/// Not thread-safe: one thread at a time uses a session. Spans into variables
/// stay valid as long as the session; they must not be used while `run`
/// executes.
class Session {
public:
  /// Alignment that memory given to `bindInput` must have, in bytes.
  static constexpr size_t inputAlignment = 64;

  /// Loads the kernels, allocates and initializes the variables, starts the
  /// workers. Variables without an initial value in the artifact are zero.
  /// Errors: no kernels for this CPU or `target`, a malformed injection, out of
  /// memory.
  static Expected<std::unique_ptr<Session>>
  create(std::shared_ptr<const Artifact> artifact, SessionOptions options = {});

  /// Stops the workers and writes the trace. If a kernel still runs after a
  /// deadline, its thread and all memory are left behind on purpose.
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Artifact &artifact() const;
  unsigned replicas() const;
  unsigned workers() const;
  /// Kernel target in use, for example "x86-64-v4".
  std::string_view target() const;

  std::span<const VariableInfo> variables() const;
  /// The bytes of a variable, to read and to write: `type.bytes`, row-major, no
  /// padding, aligned to its element. Empty if there is no such variable or
  /// replica; for a shared variable `replica` is ignored. With
  /// `shadowVariables`, it must be called again after a failed run, since it
  /// then returns the copy.
  std::span<std::byte> variable(std::string_view name, unsigned replica = 0);
  /// The same without synchronization with the device, for which the caller is
  /// responsible.
  VariablePlace variablePlace(std::string_view name, unsigned replica = 0);

  std::span<const ScalarInfo> scalars() const;
  /// Sets a host scalar for all following runs; `bytes` must have the size of
  /// its type.
  Status setScalar(std::string_view name, std::span<const std::byte> bytes);

  std::span<const ProgramInfo> programs() const;
  Expected<ProgramId> findProgram(std::string_view name) const;

  /// Sets the address `base` from which a replica reads its batch: `inputSize`
  /// bytes, aligned to `inputAlignment`, owned by the caller, who must keep it
  /// unchanged until `run` returns (and since `announceInput`, if it was
  /// announced); until the process exits if a run has missed
  /// its deadline or was interrupted, since a kernel that was left behind may
  /// still read it. Stays bound for the following runs until it is bound again.
  Status bindInput(ProgramId program, unsigned replica, const std::byte *base);

  /// Says that `base` will probably be bound for the run after the next one, so
  /// that a device with memory of its own can get the batch during the next
  /// run. Only if it is said for all replicas that are here; without effect
  /// before the first run, and if there is no memory for it (`deviceNote`). The
  /// batch must not change from now on until a run for which it is bound
  /// returns; if it is bound for none, until the next run has returned.
  Status announceInput(ProgramId program, unsigned replica,
                       const std::byte *base);

  /// Binds the batches of a replica for a program that loads them, in order in
  /// each run. Each as in `bindInput`; all replicas must have the same number.
  /// A host scalar `num_batches` is set to their number.
  Status bindBatches(ProgramId program, unsigned replica,
                     std::vector<const std::byte *> batches);

  /// Executes the program once on all replicas. Errors: an input that is not
  /// bound, a scalar that is not set, a deadline, an exceeded bound, a race.
  /// After the last three, and after a failed allocation of the program's
  /// memory, the session is poisoned: variables can be read (see
  /// `variablesIntact`), but no program can run.
  Status run(ProgramId program);
  Status run(std::string_view program);

  /// The value of an output after a successful run of `program`; valid until
  /// its next run, or, for an output that is a variable, until any run. Empty
  /// if there is no such output or replica.
  std::span<const std::byte> output(ProgramId program, unsigned output,
                                    unsigned replica = 0) const;
  std::span<const std::byte> output(ProgramId program, std::string_view name,
                                    unsigned replica = 0) const;
  /// The shape of an output after a run, dynamic dimensions filled in.
  std::vector<int64_t> outputShape(ProgramId program, unsigned output,
                                   unsigned replica = 0) const;

  /// The state after the last run of the program.
  RecordingInfo recording(ProgramId program) const;
  /// What the device does in another manner than it was asked to, after runs;
  /// empty if nothing.
  std::string deviceNote() const;

  /// Workers of the current run that wait because no replica is runnable. If it
  /// equals `workers()`, only the deadline will end this run. May be called
  /// from any thread.
  unsigned idleWorkers() const;

  bool poisoned() const;
  /// False if the run that poisoned the session may have written a variable:
  /// what the variables hold is then neither the state before the step nor the
  /// one after it. Never false with `shadowVariables`.
  bool variablesIntact() const;
  /// Whether `variable` returns the copy from before the failed run.
  bool variablesRestored() const;
  /// The report of the deadline that poisoned the session; empty text
  /// otherwise.
  const DeadlineReport &deadlineReport() const;
  /// Completed runs of all programs.
  uint64_t completedRuns() const;

  /// Writes the trace so far to `SessionOptions::traceFile`.
  Status writeTrace() const;

  // Used by `Cluster` to run several sessions together. `run` is `prepare`,
  // then `execute`.

  /// Reports all errors that can be detected before the run begins; does not
  /// wait.
  Status prepare(ProgramId program);
  Status execute(ProgramId program);
  /// The run has succeeded in all sessions: its writes to variables are final.
  void commit();
  /// Ends the current run, if there is one; the session is poisoned. From any
  /// thread. Kernels that hang are not waited for if the status is a missed
  /// deadline or an interruption.
  void abort(const Status &status);
  /// See `Executor`. From any thread.
  uint64_t progress() const;
  uint64_t waiting() const;
  const ProgramState *currentState() const;
  std::optional<DeadlineReport>
  findAwaited(std::chrono::nanoseconds deadline) const;
  /// The trace; null if none was requested.
  const Trace *trace() const;

private:
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_SESSION_H
