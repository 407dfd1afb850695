//===- NcclFactory.cpp - the transport "nccl" -----------------------------===//
//
// A plugin for executors on GPUs. Their data goes from GPU to GPU; messages
// between hosts, which carry what NCCL cannot, such as values of dynamic size,
// are those of another transport: "nccl:mpi" for several processes, else
// "nccl:threads". With "nccl:reduce" or "nccl:mpi,reduce", NCCL also reduces.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Plugin.h"
#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/nccl/NcclTransport.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

using namespace lockstep::runtime;

namespace {

class NcclFactory final : public ExchangeFactory {
public:
  NcclFactory(const NcclApi &api, std::shared_ptr<TransportFactory> host,
              bool reduces)
      : api(api), host(std::move(host)), reduces(reduces),
        fullName(fmt::format("nccl:{}{}", this->host->name(),
                             reduces ? ",reduce" : "")) {}

  std::string_view name() const override { return fullName; }
  ProcessPlace place() const override { return host->place(); }
  void leave() override { host->leave(); }
  TransportCapabilities capabilities() const override {
    TransportCapabilities capabilities = ExchangeFactory::capabilities();
    capabilities.acceptsDeviceMemory = true;
    return capabilities;
  }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> processOf) override {
    return host->connect(std::move(executors), std::move(processOf));
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
      communicators =
          std::make_shared<Communicators>(api, inbox.network, reduces);
      entry = communicators;
    }
    return communicators;
  }

  const NcclApi &api;
  const std::shared_ptr<TransportFactory> host;
  const bool reduces;
  const std::string fullName;
  std::mutex mutex;
  std::map<const NetworkInbox *, std::weak_ptr<Communicators>> known;
};

} // namespace

LOCKSTEP_PLUGIN

extern "C" __attribute__((visibility("default"))) void
lockstepOpenTransport(std::string_view options, uint32_t /*user*/,
                      std::unique_ptr<TransportFactory> &transport,
                      Status &status) {
  constexpr std::string_view reduce = "reduce", also = ",reduce";
  std::string_view carrier = options;
  bool reduces = carrier == reduce || carrier.ends_with(also);
  if (reduces)
    carrier.remove_suffix(carrier == reduce ? reduce.size() : also.size());
  if (options != reduce && !options.empty() && carrier != "mpi" &&
      carrier != "threads") {
    status = invalidArgument(fmt::format(
        "expected 'nccl:threads' or 'nccl:mpi', the same with ',reduce', or "
        "'nccl:reduce', found 'nccl:{}'",
        options));
    return;
  }
  if (carrier.empty())
    carrier = isOneOfSeveralProcesses() ? "mpi" : "threads";
  Expected<const NcclApi *> api = NcclApi::load();
  if (!api) {
    status = api.status();
    return;
  }
  Expected<std::shared_ptr<TransportFactory>> host = openTransport(carrier);
  if (host)
    transport = std::make_unique<NcclFactory>(**api, std::move(*host), reduces);
  else
    status = host.status();
}
