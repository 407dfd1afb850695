//===- DeviceTransport.h - exchange in memory of devices --------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_DEVICETRANSPORT_H
#define LOCKSTEP_RUNTIME_TRANSPORT_DEVICETRANSPORT_H

#include "runtime/transport/Transport.h"

namespace lockstep::runtime {

/// Carries out collectives of several executors in the memory of their devices,
/// which have queues. An instance is complete for the host once it has been
/// enqueued; `pass` orders the later commands of a replica after its end.
class DeviceTransport : public Transport {
public:
  /// Whether it carries out such a collective, if its members are in several
  /// executors; others are staged in memory of the host. The same in all
  /// executors, also in those without members.
  virtual bool accepts(const CollectivePlan &plan) const = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_DEVICETRANSPORT_H
