//===- Cluster.h - the executors of an artifact -----------------*- C++ -*-===//
//
// An executor (a `Session`) has a contiguous range of the ranks of one role,
// and shares nothing with the others but a network. There are one or several
// for the workers, and one for each parameter server. A cluster has those of
// them that are in this process: all, unless the transport connects several
// processes, each of which then has a cluster. It is used like a single
// session: callers need not know which executor has a replica, or how a
// variable is sharded.
//
//   auto cluster = Cluster::create(
//       *artifact, {.session = {.workers = 4}, .executors = 2});
//   ProgramId step = *(*cluster)->findProgram("step");
//   for (unsigned r = 0; r < (*cluster)->replicas(); ++r)
//     (*cluster)->bindInput(step, r, batchOfReplica[r]);
//   Status status = (*cluster)->run(step);
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_CLUSTER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_CLUSTER_H

#include "runtime/executor/Session.h"
#include "runtime/executor/VariableMemory.h"
#include "runtime/executor/VariableValue.h"
#include "runtime/support/ProcessPlace.h"
#include "runtime/support/RankRange.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

struct ClusterOptions {
  /// Of all executors of this process together. `workers`, or one for each CPU,
  /// are divided among them as evenly as possible, the first ones getting more;
  /// each has at least the thread that drives it, so there are never fewer
  /// threads than executors. A fault of `injections` names a rank of any of
  /// them. The cluster sets the options that select a session's part of the
  /// artifact.
  SessionOptions session = {};
  /// By role, as in the artifact: variables that other sessions access
  /// concurrently (see `Coordinator`). Absent or null: the cluster's own.
  std::vector<std::shared_ptr<VariableMemory>> variables = {};
  /// Executors of the workers, of all processes together: replicas are divided
  /// in contiguous blocks, the first ones larger, and so are executors among
  /// processes. At least one for each process, at most one for each replica; 0:
  /// one for each process. Results do not depend on it.
  unsigned executors = 0;
  /// The cluster belongs to a `Coordinator`, which writes one trace for all of
  /// its clusters.
  bool inCoordinator = false;
};

struct TraceProcess;

/// One executor.
struct ExecutorInfo {
  std::string role;
  unsigned firstRank = 0, ranks = 0;
  /// Threads that execute its ranks; 0 if it is in another process.
  unsigned workers = 0;
  unsigned process = 0;
  /// Whether it is in this process.
  bool isHere = true;
};

/// Not thread-safe: one thread at a time uses a cluster. With one executor it
/// is a session, without threads of its own.
class Cluster {
public:
  static constexpr size_t inputAlignment = Session::inputAlignment;

  /// Errors: those of `Session::create`, and a number of executors that does
  /// not fit.
  static Expected<std::unique_ptr<Cluster>>
  create(std::shared_ptr<const Artifact> artifact, ClusterOptions options = {});

  /// Stops the executors and writes the trace. If a kernel still runs after a
  /// deadline, its thread and all memory are left behind on purpose.
  ~Cluster();
  Cluster(const Cluster &) = delete;
  Cluster &operator=(const Cluster &) = delete;

  const Artifact &artifact() const;
  unsigned replicas() const;
  /// Threads of all executors.
  unsigned workers() const;
  std::string_view target() const;
  /// Of all processes, by rank: those of the workers, then the servers.
  std::span<const ExecutorInfo> executors() const;
  /// Whether all executors are in this process.
  bool isWhole() const;
  /// Whether a replica is executed in this process.
  bool hasReplica(unsigned replica) const;
  /// Those that are.
  RankRange replicasHere() const;

  /// Whole variables: a sharded variable is listed once.
  std::span<const VariableInfo> variables() const;
  /// A variable's value, to read and to write while nothing runs; that of
  /// `replica` if there is one for each. Valid as long as the cluster. A write
  /// changes the copies of this process. Nothing if there is no such variable
  /// or replica. Of what other processes hold, the first process has a copy,
  /// which `collectVariables` updates; the others have none: there it is not
  /// written, and must not be read.
  std::optional<VariableValue> variable(std::string_view name,
                                        unsigned replica = 0);

  std::span<const ScalarInfo> scalars() const;
  /// As `Session::setScalar`, for all executors.
  Status setScalar(std::string_view name, std::span<const std::byte> bytes);

  /// Programs by name, with the inputs and outputs of replicas; each stands for
  /// its parts for all roles.
  std::span<const ProgramInfo> programs() const;
  Expected<ProgramId> findProgram(std::string_view name) const;

  /// As in `Session`; replicas are those of the artifact that are executed in
  /// this process.
  Status bindInput(ProgramId program, unsigned replica, const std::byte *base);
  Status announceInput(ProgramId program, unsigned replica,
                       const std::byte *base);
  Status bindBatches(ProgramId program, unsigned replica,
                     std::vector<const std::byte *> batches);

  /// Executes the program once, in all executors of this process that take part
  /// at the same time. None begins before all of them can. The first error ends
  /// it everywhere and is returned; then the cluster is poisoned, as a session
  /// is. The deadline passes when no executor makes progress, and its report
  /// describes all of them.
  Status run(ProgramId program);
  Status run(std::string_view program);

  // Between processes; each calls the same functions in the same order. With
  // one process they return at once.

  /// Which of the processes that execute the artifact this one is.
  const ProcessPlace &place() const;
  /// Sends text to all processes, for the next `collect` of the topic.
  void post(std::string_view topic, std::string text);
  /// Waits for the texts that belong to this call of the topic: of each
  /// process, in their order. `post` comes before it, and again only after it
  /// has returned, here and in all others. Errors: a deadline, in whose report
  /// the others have not sent `what`; another process aborts.
  Expected<std::vector<std::string>> collect(std::string_view topic,
                                             std::string_view what);
  /// Both.
  Expected<std::vector<std::string>>
  exchange(std::string_view topic, std::string_view what, std::string text);
  /// Error: facts that differ between the processes, by their names and values.
  Status
  requireSame(const std::vector<std::pair<std::string, std::string>> &facts);
  /// Tells the others that this process makes progress. From any thread.
  void beat();
  /// Makes the outputs of all replicas available in all processes, until the
  /// next run of the program.
  Status collectOutputs(ProgramId program);
  /// Makes the variables of all replicas available in the first process.
  Status collectVariables();
  /// Whether it has them without that.
  bool firstHasAllVariables() const;

  /// As in `Session`: from the executor of `replica`. Outputs with one value
  /// for each replica are available for those of other processes after
  /// `collectOutputs`.
  std::span<const std::byte> output(ProgramId program, unsigned output,
                                    unsigned replica = 0) const;
  std::span<const std::byte> output(ProgramId program, std::string_view name,
                                    unsigned replica = 0) const;
  std::vector<int64_t> outputShape(ProgramId program, unsigned output,
                                   unsigned replica = 0) const;

  /// See `Session::recording`; of the first executor that is here.
  RecordingInfo recording(ProgramId program) const;
  /// See `Session::deviceNote`; of the first executor that is here and has one.
  std::string deviceNote() const;

  /// Waiting workers of all executors; see `Session::idleWorkers`.
  unsigned idleWorkers() const;

  /// Aborts the current run, if there is one, and all later ones; if `reason`
  /// is an interruption, does not wait for kernels that hang. From any thread.
  void abort(const Status &reason);

  bool poisoned() const;
  /// False if the run that failed may have written a variable of any executor.
  bool variablesIntact() const;
  /// Whether variables have their values from before the failed run, restored
  /// from `SessionOptions::shadowVariables`. Then callers must get `variable`
  /// again.
  bool variablesRestored() const;
  const DeadlineReport &deadlineReport() const;
  /// Completed runs of all programs.
  uint64_t completedRuns() const;

  /// Detaches the cluster's own threads, if a thread never returns from `run`
  /// and must not be waited for. The cluster must be kept until the process
  /// exits.
  void leaveBehind();

  /// Bytes that replicas have sent to the servers and received from them in all
  /// runs, as far as they were sent from this process. The replicas of one
  /// executor receive what is for all of them once, and send their sum.
  struct ServerTraffic {
    uint64_t toServers = 0, fromServers = 0;
  };
  ServerTraffic serverTraffic() const;

  /// Writes what has been traced so far to `SessionOptions::traceFile`: one
  /// process for each executor that is here.
  Status writeTrace() const;
  /// The trace of each executor so far, with its name; valid as long as the
  /// cluster.
  std::vector<TraceProcess> traces() const;

private:
  class Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_CLUSTER_H
