//===- TransportFactory.h - how executors reach each other ------*- C++ -*-===//
//
// A transport by its name: `--transport=NAME`. It connects the executors of an
// artifact, some of which may be in other processes, and makes for each program
// of an executor what carries out its collectives.
//
//   auto transport = *openTransport("threads");
//   auto endpoints = *transport->connect({{0, 2}, {2, 2}}, {0, 0});
//   ... a session for each endpoint that is not null ...
//   auto collectives = *transport->create(context); // for each program
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORTFACTORY_H
#define LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORTFACTORY_H

#include "runtime/support/ProcessPlace.h"
#include "runtime/support/RankRange.h"
#include "runtime/support/Status.h"
#include "runtime/transport/DeviceTransport.h"
#include "runtime/transport/Network.h"
#include "runtime/transport/Transport.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

class Device;
class DeviceQueues;
class Rendezvous;
class TileRunner;

/// What a planner of communication has to know of a transport.
struct TransportCapabilities {
  /// There is a `createOnDevice`.
  bool acceptsDeviceMemory = false;
  /// Collectives between the same members are carried out in the order in which
  /// they were started.
  bool isInOrder = false;
  /// Reductions follow the tree of ReduceTree.h: their results have the same
  /// bits for every division of the ranks among executors.
  bool isBitIdentical = false;

  bool operator==(const TransportCapabilities &) const = default;
};

/// One program of an executor. Everything outlives the transport that is made
/// for it.
struct TransportContext {
  /// Which instances of its collectives are complete in this executor.
  Rendezvous &rendezvous;
  /// Its collectives, by channel.
  std::vector<const CollectivePlan *> plans;
  /// Of each replica here, where its memories begin, by space.
  std::vector<std::byte *const *> bases;
  /// The rank of replica 0.
  uint32_t firstRank = 0;
  uint32_t workers = 1;
  TileRunner &tiles;
  /// Null if all ranks are in this executor.
  NetworkInbox *inbox = nullptr;
  /// The number of the program in tags of messages.
  uint32_t program = 0;
  /// Names a channel in errors.
  std::function<std::string(uint32_t)> describe;
  /// The device with queues whose memory `bases` are of; null: the host's.
  Device *device = nullptr;
  DeviceQueues *queues = nullptr;
};

/// Thread-safe.
class TransportFactory {
public:
  virtual ~TransportFactory() = default;

  /// The name that it is opened by, with those options that all executors have
  /// to agree on: they compare it before the first run.
  virtual std::string_view name() const = 0;
  virtual TransportCapabilities capabilities() const = 0;
  /// The processes that it connects.
  virtual ProcessPlace place() const { return {}; }
  /// To be called before the process exits without destroying its objects,
  /// after an abort: waits, for a limited time, until others do not need it.
  virtual void leave() {}
  /// Connects executors that have these ranks and are in these processes: one
  /// endpoint for each, in this order; null for those that are in other
  /// processes. Called once for each cluster, from any thread; several
  /// processes make these calls in the same order. Endpoints may outlive the
  /// factory. Errors: executors without ranks or with the same ranks, others
  /// that cannot be reached.
  virtual Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> processOf) = 0;
  /// What carries out the collectives of a program in memory of the host.
  /// Errors: a member that no executor has, out of memory.
  virtual Expected<std::unique_ptr<Transport>>
  create(TransportContext context) = 0;
  /// The same for those that it can exchange between devices; null if there are
  /// none. Errors: also a device of another kind, or a library that is missing.
  virtual Expected<std::unique_ptr<DeviceTransport>>
  createOnDevice(TransportContext context);
};

/// The transport of this name. Empty: that of `LOCKSTEP_TRANSPORT` in the
/// environment, else `threads`, which has all executors in this process. Behind
/// a colon the name may have options of the transport. Others are plugins
/// (Plugin.h) that export `lockstepOpenTransport`, with the signature of
/// `PluginObjects<TransportFactory>::Open`. Those who open one name at the same
/// time share the transport. Errors: no such plugin, or it cannot be used here.
Expected<std::shared_ptr<TransportFactory>>
openTransport(std::string_view name);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_TRANSPORTFACTORY_H
