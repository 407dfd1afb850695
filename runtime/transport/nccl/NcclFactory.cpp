//===- NcclFactory.cpp - the transport "nccl" -----------------------------===//
//
// A plugin for executors on GPUs of one process. Their data goes from GPU to
// GPU; what NCCL cannot carry, such as values of dynamic size, goes through the
// host's memory, as with `threads`.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Plugin.h"
#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/local/LocalNetwork.h"
#include "runtime/transport/nccl/NcclTransport.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

using namespace lockstep::runtime;

namespace {

class NcclFactory final : public ExchangeFactory {
public:
  explicit NcclFactory(const NcclApi &api) : api(api) {}

  std::string_view name() const override { return "nccl"; }
  TransportCapabilities capabilities() const override {
    TransportCapabilities capabilities = ExchangeFactory::capabilities();
    capabilities.acceptsDeviceMemory = true;
    return capabilities;
  }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors) override {
    return LocalNetwork::create(std::move(executors));
  }
  Expected<std::unique_ptr<DeviceTransport>>
  createOnDevice(TransportContext context) override {
    if (context.device->kind() != "cuda")
      return invalidArgument(
          fmt::format("expected device 'cuda' for transport 'nccl', found '{}'",
                      context.device->kind()));
    NetworkInbox &inbox = *context.inbox;
    return NcclTransport::create(std::move(context), communicatorsOf(inbox));
  }

private:
  /// Of an executor, which its programs share.
  std::shared_ptr<Communicators> communicatorsOf(NetworkInbox &inbox) {
    std::lock_guard<std::mutex> lock(mutex);
    std::erase_if(known,
                  [](const auto &entry) { return entry.second.expired(); });
    std::weak_ptr<Communicators> &entry = known[&inbox];
    std::shared_ptr<Communicators> communicators = entry.lock();
    if (!communicators) {
      communicators = std::make_shared<Communicators>(api, inbox.network);
      entry = communicators;
    }
    return communicators;
  }

  const NcclApi &api;
  std::mutex mutex;
  std::map<const NetworkInbox *, std::weak_ptr<Communicators>> known;
};

} // namespace

LOCKSTEP_PLUGIN

extern "C" __attribute__((visibility("default"))) void
lockstepOpenTransport(std::string_view options, uint32_t /*user*/,
                      std::unique_ptr<TransportFactory> &transport,
                      Status &status) {
  if (!options.empty()) {
    status = invalidArgument(
        fmt::format("expected no options, found '{}'", options));
    return;
  }
  Expected<const NcclApi *> api = NcclApi::load();
  if (api)
    transport = std::make_unique<NcclFactory>(**api);
  else
    status = api.status();
}
