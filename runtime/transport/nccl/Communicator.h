//===- Communicator.h - executors that NCCL connects ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_NCCL_COMMUNICATOR_H
#define LOCKSTEP_RUNTIME_TRANSPORT_NCCL_COMMUNICATOR_H

#include "runtime/device/Device.h"
#include "runtime/transport/Network.h"
#include "runtime/transport/device/ExchangeSteps.h"
#include "runtime/transport/nccl/NcclApi.h"

#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// One executor's end of a communicator. It waits for other executors while it
/// connects; an abort of the network ends that. Thread-safe.
class Communicator {
public:
  /// Of these executors, in the order of their ranks, of which `network.self()`
  /// is one. `name`, the same in all of them, is of this communicator alone.
  /// `api` and `network` outlive it.
  Communicator(const NcclApi &api, Network &network,
               std::vector<uint32_t> executors, std::string name);
  /// Frees what the library has for it. No command of it is in execution,
  /// unless it has been aborted.
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  /// Connects the executors at the first call, at which all of them must call
  /// it, and exchanges a byte between each two of them, so that later transfers
  /// find all connections. `scratch` is at least `connectionBytes` bytes of the
  /// device, which the caller keeps until the queue has executed the exchange;
  /// `isExchangeable`: of memory that can be registered, which either all
  /// executors have, or none. Errors: those of the
  /// library, two executors on one GPU among them, and an abort.
  Status connect(Queue &queue, std::byte *scratch, bool isExchangeable);
  uint64_t connectionBytes() const { return 2 * executors.size(); }

  /// Whether the memory of transfers is to be registered, after `connect`:
  /// either that of both sides of each transfer, or none.
  bool registersMemory() const { return hasExchangeable; }
  /// Tells the library that later transfers are from and to this memory of the
  /// queue's device, so that it need not copy what it transfers. Returns what
  /// `forgetMemory` gets before the memory is freed. Error: of the library.
  Expected<void *> registerMemory(Queue &queue, std::span<std::byte> memory);
  /// Waits for other executors that have mapped the memory.
  void forgetMemory(void *registered);

  /// Whether the library reduces elements of a type as the runtime does, but
  /// for the order: it has no 16-bit integers, and its smallest and largest
  /// floats may leave out NaN.
  static bool reducesElements(artifact::ElementType element,
                              artifact::Reduction reduction);

  /// Enqueues transfers, whose `peer` is an index in the executors, and
  /// reductions, all in progress at the same time.
  Status exchange(Queue &queue, std::span<const Transfer> transfers,
                  std::span<const LibraryReduction> reductions);

  /// The library's error of a transfer that has been enqueued.
  Status check();

  /// Ends what is in execution; later transfers are errors. All communicators
  /// of an executor are aborted together, since the library frees memory for
  /// each, which waits until the GPU executes nothing of the others.
  static void abort(std::span<Communicator *const> communicators);

private:
  Status initialize();
  Expected<std::string> awaitPost(uint32_t executor, const std::string &of);
  Expected<ncclUniqueId> agreeOnId();
  Status agreeOnMemory(bool isExchangeable);
  Status abortReason() const;
  Status transfer(void *stream, std::span<const Transfer> transfers,
                  std::span<const LibraryReduction> reductions);
  /// The result of a call, which may still be in progress.
  Status awaitEnd(std::string_view call, ncclResult_t result);

  const NcclApi &api;
  Network &network;
  const std::vector<uint32_t> executors;
  const std::string name;
  uint32_t self = 0;
  std::mutex mutex;
  ncclComm_t communicator = nullptr;
  bool isConnected = false, isAborted = false, hasExchangeable = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_NCCL_COMMUNICATOR_H
