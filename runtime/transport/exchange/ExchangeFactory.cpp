//===- ExchangeFactory.cpp - transports that send messages ----------------===//

#include "runtime/transport/exchange/ExchangeFactory.h"

#include "runtime/transport/exchange/ExchangeTransport.h"

namespace lockstep::runtime {

Expected<std::unique_ptr<Transport>>
ExchangeFactory::create(TransportContext context) {
  Expected<std::unique_ptr<ThreadsTransport>> threads =
      ThreadsTransport::create(context.rendezvous, context.plans,
                               std::move(context.bases), context.firstRank,
                               context.workers, context.tiles);
  if (!threads)
    return threads.status();
  if (!context.inbox)
    return std::unique_ptr<Transport>(std::move(*threads));
  Expected<std::unique_ptr<ExchangeTransport>> exchange =
      ExchangeTransport::create(std::move(*threads), context.rendezvous,
                                context.plans, *context.inbox, context.program,
                                std::move(context.describe));
  if (!exchange)
    return exchange.status();
  return std::unique_ptr<Transport>(std::move(*exchange));
}

} // namespace lockstep::runtime
