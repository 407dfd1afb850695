//===- OpenTransport.cpp - transports by their names ----------------------===//

#include "runtime/support/Plugin.h"
#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/local/LocalNetwork.h"

namespace lockstep::runtime {

namespace {

/// All executors are in this process.
class ThreadsFactory final : public ExchangeFactory {
public:
  std::string_view name() const override { return "threads"; }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> /*processOf*/) override {
    return LocalNetwork::create(std::move(executors));
  }
};

} // namespace

Expected<std::unique_ptr<DeviceTransport>>
TransportFactory::createOnDevice(TransportContext) {
  return std::unique_ptr<DeviceTransport>();
}

Expected<std::shared_ptr<TransportFactory>>
openTransport(std::string_view name) {
  static PluginObjects<TransportFactory> transports(
      {"transport", "threads", "LOCKSTEP_TRANSPORT", "lockstepOpenTransport"},
      []() -> std::unique_ptr<TransportFactory> {
        return std::make_unique<ThreadsFactory>();
      });
  return transports.open(name);
}

} // namespace lockstep::runtime
