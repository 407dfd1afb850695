//===- ApiNccl.cpp - NCCL without GPUs ------------------------------------===//
//
// The functions of libnccl.so.2 that the transport `nccl` calls. A transfer is
// executed when both streams have reached it; between processes, through pipes.
// Communicators do not block: after a call, random numbers of queries find it
// in progress, and another call meanwhile is an error.
//
//===----------------------------------------------------------------------===//

#include "Api.h"
#include "MemoryTable.h"
#include "NcclReduction.h"
#include "RemoteRanks.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <thread>

using namespace lockstep::standin;

namespace {

/// A transfer that one side has enqueued.
struct PendingTransfer {
  ncclComm *owner = nullptr;
  uint64_t address = 0, bytes = 0;
  bool isRegistered = false;
  /// The owner's stream has reached it.
  Point ready;
  /// Whose first command is the transfer, for which streams wait.
  std::shared_ptr<Lane> gate;
};

/// Transfers from one rank to another whose other side has not come.
struct Unmatched {
  std::deque<PendingTransfer> sends, receives;
};

/// What the ranks of this process with one id share.
struct Clique {
  std::mutex mutex;
  std::string id;
  int size = 0;
  /// Null for those that have not come, or are in other processes.
  std::vector<ncclComm *> ranks;
  std::string error;
  /// By source and target.
  std::map<std::pair<int, int>, Unmatched> unmatched;
};

} // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  Context *context = nullptr;
  /// Null if all ranks are in this process. Never freed.
  RemoteRanks *remote = nullptr;
  /// Queries that still find the last call in progress, and whether one has
  /// found its end.
  std::atomic<unsigned> queries{0};
  std::atomic<bool> isEndKnown{false};
  /// Groups of its transfers that graphs have.
  std::atomic<unsigned> captured{0};
  /// Memory that has been registered, by handles.
  std::mutex mutex;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> registered;
};

namespace {

std::string &lastError() {
  static thread_local std::string error;
  return error;
}

ncclResult_t refuse(ncclResult_t result, std::string message) {
  lastError() = std::move(message);
  return result;
}

/// The ranks of an id. Cliques are kept, since ids are never used again.
std::shared_ptr<Clique> cliqueOf(const ncclUniqueId &id, int size) {
  static std::mutex mutex;
  static auto &cliques = *new std::map<std::string, std::shared_ptr<Clique>>();
  std::lock_guard lock(mutex);
  std::shared_ptr<Clique> &clique = cliques[std::string(id.internal)];
  if (!clique) {
    clique = std::make_shared<Clique>();
    clique->id = id.internal;
    clique->size = size;
    clique->ranks.resize(size_t(size));
  }
  return clique;
}

void beginProgress(ncclComm &comm) {
  constexpr unsigned most = 4;
  comm.queries = unsigned(Scheduler::get().draw() % most);
  comm.isEndKnown = false;
}

bool isRegistered(ncclComm &comm, uint64_t address, uint64_t bytes) {
  std::lock_guard lock(comm.mutex);
  return std::ranges::any_of(comm.registered, [&](const auto &entry) {
    auto [begin, size] = entry.second;
    return address >= begin && address + bytes <= begin + size;
  });
}

/// A call of a group.
struct Call {
  ncclComm *comm = nullptr;
  bool isSend = false;
  uint64_t address = 0, bytes = 0;
  int peer = 0;
  CUstream stream = nullptr;
  bool isRegistered = false;
  /// Null: a transfer with `peer`.
  std::shared_ptr<NcclReduction> reduction = nullptr;
};

struct Group {
  unsigned depth = 0;
  std::vector<Call> calls;
};

Group &currentGroup() {
  static thread_local Group group;
  return group;
}

ncclResult_t addCall(Call call) {
  ncclComm &comm = *call.comm;
  Stream *stream = Driver::get().streams.find(call.stream);
  if (!stream || stream->context != comm.context)
    return refuse(ncclInvalidArgument, "the stream is not of this GPU");
  if (currentContext() != comm.context)
    return refuse(ncclInvalidUsage, "another GPU is current");
  if (currentGroup().depth == 0)
    return refuse(ncclInvalidUsage, "expected a group");
  if (comm.queries > 0)
    return refuse(ncclInvalidUsage, "an earlier call is in progress");
  currentGroup().calls.push_back(std::move(call));
  return ncclSuccess;
}

ncclResult_t addTransferCall(const void *address, size_t count,
                             ncclDataType_t type, int peer, ncclComm_t given,
                             cudaStream_t stream, bool isSend) {
  ncclComm &comm = *given;
  Call call{&comm, isSend, reinterpret_cast<uint64_t>(address),
            count, peer,   stream};
  if (type != ncclInt8)
    return refuse(ncclInvalidArgument, "expected elements of ncclInt8");
  if (call.peer < 0 || call.peer >= comm.clique->size || call.peer == comm.rank)
    return refuse(ncclInvalidArgument, "no such peer");
  std::optional<Allocation> memory =
      MemoryTable::get().find(call.address, call.bytes);
  if (!memory || memory->context != comm.context)
    return refuse(ncclInvalidArgument, "the memory is not of this GPU");
  call.isRegistered = isRegistered(comm, call.address, call.bytes);
  return addCall(std::move(call));
}

ncclResult_t addReductionCall(const void *operand, void *result, size_t count,
                              ncclDataType_t type, ncclRedOp_t operation,
                              ncclComm_t comm, cudaStream_t stream,
                              bool isScattered) {
  auto reduction = std::make_shared<NcclReduction>();
  reduction->type = type;
  reduction->operation = operation;
  reduction->isScattered = isScattered;
  reduction->count = count;
  reduction->size = comm->clique->size;
  reduction->rank = comm->rank;
  reduction->operand = reinterpret_cast<uint64_t>(operand);
  reduction->result = reinterpret_cast<uint64_t>(result);
  std::string refused = reduction->prepare(comm->context);
  if (!refused.empty())
    return refuse(ncclInvalidArgument, refused);
  Call call;
  call.comm = comm;
  call.stream = stream;
  call.reduction = std::move(reduction);
  return addCall(std::move(call));
}

/// Enqueues the transfer of two sides.
void enqueueTransfer(const PendingTransfer &source,
                     const PendingTransfer &target,
                     const std::shared_ptr<Lane> &gate) {
  Command command;
  command.waits = {source.ready, target.ready};
  Context *context = target.owner->context;
  if (source.bytes != target.bytes)
    context->setError(CUDA_ERROR_LAUNCH_FAILED,
                      "a rank sends " + std::to_string(source.bytes) +
                          " bytes, the other receives " +
                          std::to_string(target.bytes));
  else if (source.isRegistered != target.isRegistered)
    context->setError(CUDA_ERROR_LAUNCH_FAILED,
                      "one side of a transfer is in registered memory");
  else
    command.work = [context, to = target.address, from = source.address,
                    bytes = source.bytes] {
      if (context->error() == CUDA_SUCCESS)
        std::memcpy(MemoryTable::host(to), MemoryTable::host(from), bytes);
    };
  Scheduler::get().enqueue(gate, std::move(command));
  Scheduler::get().close(gate);
}

/// Returns what the caller's stream waits for.
Point addTransfer(const Call &call, const Point &ready) {
  Clique &clique = *call.comm->clique;
  int self = call.comm->rank;
  PendingTransfer own{call.comm,         call.address, call.bytes,
                      call.isRegistered, ready,        nullptr};
  std::lock_guard lock(clique.mutex);
  if (!clique.ranks[size_t(call.peer)])
    return call.comm->remote->pipe(call.peer, call.isSend)
        .add(call.comm->context, call.address, call.bytes, ready);
  Unmatched &unmatched =
      clique.unmatched[call.isSend ? std::pair(self, call.peer)
                                   : std::pair(call.peer, self)];
  auto &others = call.isSend ? unmatched.receives : unmatched.sends;
  if (others.empty()) {
    own.gate = Scheduler::get().open(nullptr, /*isDefault=*/false,
                                     /*isIndependent=*/true);
    (call.isSend ? unmatched.sends : unmatched.receives).push_back(own);
    return {own.gate, 1};
  }
  PendingTransfer other = others.front();
  others.pop_front();
  enqueueTransfer(call.isSend ? own : other, call.isSend ? other : own,
                  other.gate);
  return {other.gate, 1};
}

/// Sends the operand of a reduction to all other ranks, and receives theirs.
void addOperands(const Call &call, const Point &ready,
                 std::vector<Point> &gates) {
  const NcclReduction &reduction = *call.reduction;
  for (int peer = 0; peer < reduction.size; ++peer) {
    if (peer == reduction.rank)
      continue;
    auto add = [&](bool isSend, uint64_t address) {
      Call transfer{call.comm,         isSend, address,
                    reduction.bytes(), peer,   call.stream};
      gates.push_back(addTransfer(transfer, ready));
    };
    add(/*isSend=*/true, reduction.sent(peer));
    add(/*isSend=*/false, reduction.arrival(peer));
  }
}

/// A graph has transfers of a communicator.
struct GraphUse {
  explicit GraphUse(ncclComm &comm) : comm(comm) { ++comm.captured; }
  ~GraphUse() { --comm.captured; }
  ncclComm &comm;
};

/// Enqueues the calls of a communicator on a stream.
void enqueueCalls(const std::vector<Call> &calls) {
  Stream *stream = Driver::get().streams.find(calls.front().stream);
  ncclComm &comm = *calls.front().comm;
  std::shared_ptr<GraphUse> use;
  if (stream->lane->capture)
    use = std::make_shared<GraphUse>(comm);
  comm.context->submit(
      stream->lane,
      [calls, use](const std::shared_ptr<Lane> &lane,
                   std::vector<Point> waits) {
        Point ready =
            Scheduler::get().enqueue(lane, {nullptr, std::move(waits)});
        std::vector<Point> gates;
        for (const Call &call : calls)
          if (call.reduction)
            addOperands(call, ready, gates);
          else
            gates.push_back(addTransfer(call, ready));
        auto reduce = [calls] {
          for (const Call &call : calls)
            if (call.reduction && call.comm->context->error() == CUDA_SUCCESS)
              call.reduction->compute();
        };
        return Scheduler::get().enqueue(lane, {reduce, std::move(gates)});
      },
      {});
}

} // namespace

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclSystemError:
    return "unhandled system error";
  case ncclInvalidArgument:
    return "invalid argument";
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclInProgress:
    return "operation in progress";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(ncclComm_t) { return lastError().c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<uint64_t> next{1};
  *id = {};
  std::string name = RemoteRanks::makeId(next++);
  name.copy(id->internal, sizeof(id->internal) - 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *result, int size,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  constexpr ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
  if (!config || config->magic != initial.magic || config->blocking != 0)
    return refuse(ncclInvalidArgument, "communicators must not block");
  if (!currentContext() || rank < 0 || rank >= size)
    return refuse(ncclInvalidArgument, "no GPU is current, or no such rank");
  auto *comm = new ncclComm;
  *result = comm;
  comm->clique = cliqueOf(id, size);
  comm->rank = rank;
  comm->context = currentContext();
  beginProgress(*comm);
  Clique &clique = *comm->clique;
  std::lock_guard lock(clique.mutex);
  if (clique.size != size || clique.ranks[size_t(rank)])
    return refuse(ncclInvalidUsage, "another size, or a rank that is there");
  for (ncclComm *other : clique.ranks)
    if (other && other->context == comm->context)
      clique.error = "ranks " + std::to_string(std::min(rank, other->rank)) +
                     " and " + std::to_string(std::max(rank, other->rank)) +
                     " are both on GPU " +
                     std::to_string(comm->context->device());
  clique.ranks[size_t(rank)] = comm;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  Clique &clique = *comm->clique;
  std::lock_guard lock(clique.mutex);
  *error = ncclInProgress;
  // Who is not in this process may be in another one.
  bool isWhole =
      std::ranges::all_of(clique.ranks, [](ncclComm *rank) { return rank; });
  if (!isWhole && !comm->remote && RemoteRanks::exist(clique.id))
    comm->remote = new RemoteRanks(clique.id, clique.size, comm->rank);
  if (!isWhole && !(comm->remote && comm->remote->areThere()))
    return ncclSuccess;
  if (!clique.error.empty()) {
    *error = refuse(ncclInvalidUsage, clique.error);
    return ncclSuccess;
  }
  if (comm->queries > 0)
    --comm->queries;
  else
    *error =
        comm->isEndKnown.exchange(true) && DriverOptions::get().link.happens()
            ? refuse(ncclSystemError, "a link is lost, as asked for")
            : ncclSuccess;
  return ncclSuccess;
}

/// Transfers whose other side has not come are not executed; streams do not
/// wait for them any more.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  // The library waits until no graph has its operations.
  while (comm->captured > 0)
    std::this_thread::yield();
  Clique &clique = *comm->clique;
  std::lock_guard lock(clique.mutex);
  auto isOwn = [&](const PendingTransfer &transfer) {
    if (transfer.owner != comm)
      return false;
    Scheduler::get().enqueue(transfer.gate, {});
    Scheduler::get().close(transfer.gate);
    return true;
  };
  if (comm->remote)
    comm->remote->abort();
  {
    std::lock_guard own(comm->mutex);
    for (const auto &[key, memory] : comm->registered)
      MemoryTable::get().addRegistrations(memory.first, -1);
    comm->registered.clear();
  }
  for (auto &[ranks, transfers] : clique.unmatched) {
    std::erase_if(transfers.sends, isOwn);
    std::erase_if(transfers.receives, isOwn);
  }
  // The handle stays valid for transfers that others have begun.
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *memory, size_t bytes,
                              void **handle) {
  DriverOptions::get().calls.add("ncclCommRegister");
  if (currentContext() != comm->context)
    return refuse(ncclInvalidUsage, "another GPU is current");
  if (DriverOptions::get().registration.happens())
    return refuse(ncclSystemError, "a registration fails, as asked for");
  auto address = reinterpret_cast<uint64_t>(memory);
  std::optional<Allocation> found = MemoryTable::get().find(address, bytes);
  if (!found || found->context != comm->context || found->base != address ||
      !MemoryTable::get().addRegistrations(address, 1))
    return refuse(ncclInvalidArgument,
                  "expected memory of this GPU that can be exported");
  std::lock_guard lock(comm->mutex);
  uint64_t key =
      comm->registered.empty() ? 1 : comm->registered.rbegin()->first + 1;
  comm->registered[key] = {address, bytes};
  *handle = reinterpret_cast<void *>(key);
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) {
  DriverOptions::get().calls.add("ncclCommDeregister");
  std::lock_guard lock(comm->mutex);
  auto found = comm->registered.find(reinterpret_cast<uint64_t>(handle));
  if (found == comm->registered.end())
    return refuse(ncclInvalidArgument, "no such handle");
  MemoryTable::get().addRegistrations(found->second.first, -1);
  comm->registered.erase(found);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++currentGroup().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  Group &group = currentGroup();
  if (group.depth == 0)
    return refuse(ncclInvalidUsage, "no group has been started");
  if (--group.depth > 0)
    return ncclSuccess;
  std::vector<Call> calls = std::move(group.calls);
  group.calls.clear();
  if (!calls.empty() && DriverOptions::get().transfer.happens())
    return refuse(ncclSystemError, "a transfer fails, as asked for");
  std::map<std::pair<ncclComm *, CUstream>, std::vector<Call>> byStream;
  for (const Call &call : calls)
    byStream[{call.comm, call.stream}].push_back(call);
  ncclResult_t result = ncclSuccess;
  for (auto &[where, some] : byStream) {
    enqueueCalls(some);
    beginProgress(*where.first);
    if (where.first->queries > 0)
      result = ncclInProgress;
  }
  return result;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return addTransferCall(from, count, type, peer, comm, stream, true);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return addTransferCall(to, count, type, peer, comm, stream, false);
}

ncclResult_t ncclAllReduce(const void *operand, void *result, size_t count,
                           ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  DriverOptions::get().calls.add("ncclAllReduce");
  return addReductionCall(operand, result, count, type, operation, comm, stream,
                          /*isScattered=*/false);
}

ncclResult_t ncclReduceScatter(const void *operand, void *result, size_t count,
                               ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t comm, cudaStream_t stream) {
  DriverOptions::get().calls.add("ncclReduceScatter");
  return addReductionCall(operand, result, count, type, operation, comm, stream,
                          /*isScattered=*/true);
}
