//===- ExchangeFactory.h - transports that send messages --------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGEFACTORY_H
#define LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGEFACTORY_H

#include "runtime/transport/TransportFactory.h"

namespace lockstep::runtime {

/// A transport that needs only a `Network` of its own: replicas of one executor
/// reduce together in memory of the host, and executors exchange messages along
/// the fixed tree.
class ExchangeFactory : public TransportFactory {
public:
  TransportCapabilities capabilities() const override {
    return {.acceptsDeviceMemory = false,
            .isInOrder = true,
            .isBitIdentical = true};
  }
  Expected<std::unique_ptr<Transport>>
  create(TransportContext context) override;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_EXCHANGE_EXCHANGEFACTORY_H
