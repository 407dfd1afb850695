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
/// connects, and while the library prepares a transfer; an abort of the network
/// ends that. Thread-safe.
class Communicator {
public:
  /// Of these executors, ascending, of which `network.self()` is one. `name`,
  /// the same in all of them, is of this communicator alone.
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
  /// device. Errors: those of the library, two executors on one GPU among them,
  /// and an abort.
  Status connect(Queue &queue, std::byte *scratch);
  uint64_t connectionBytes() const { return 2 * executors.size(); }

  /// Enqueues transfers, all in progress at the same time, whose `peer` is an
  /// index in the executors.
  Status exchange(Queue &queue, std::span<const Transfer> transfers);

  /// Ends what is in execution; later transfers are errors.
  void abort();

private:
  Status initialize();
  Expected<ncclUniqueId> agreeOnId();
  Status transfer(void *stream, std::span<const Transfer> transfers);
  Status settle(std::string_view call, ncclResult_t result);

  const NcclApi &api;
  Network &network;
  const std::vector<uint32_t> executors;
  const std::string name;
  uint32_t self = 0;
  std::mutex mutex;
  ncclComm_t communicator = nullptr;
  bool isConnected = false, isAborted = false;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_NCCL_COMMUNICATOR_H
