//===- SlowTransport.cpp - the transport "slow" ---------------------------===//
//
// A plugin whose executors are all in one process, but are said to be on
// different hosts: a message takes as long as over a link that each executor
// has, with the latency and the bandwidth of the options,
// "slow:LATENCY,BANDWIDTH" in seconds and bytes per second. With a third
// option, "slow:LATENCY,BANDWIDTH,EXECUTORS", each host has that many
// executors, between which messages take no time. With a fourth one,
// "slow:LATENCY,BANDWIDTH,EXECUTORS,STREAMS", each executor sends that many
// messages at once, whose latencies overlap.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Plugin.h"
#include "runtime/transport/exchange/ExchangeFactory.h"
#include "runtime/transport/local/LocalNetwork.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

using namespace lockstep::runtime;

namespace {

class SlowFactory final : public ExchangeFactory {
public:
  SlowFactory(std::string_view options, const SlowLink::Capacity &capacity,
              uint32_t perHost)
      : fullName(fmt::format("slow:{}", options)), capacity(capacity),
        perHost(perHost) {}

  std::string_view name() const override { return fullName; }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> /*processOf*/) override {
    std::vector<uint32_t> hosts;
    for (uint32_t i = 0; i < executors.size(); ++i)
      hosts.push_back(i / perHost);
    return LocalNetwork::create(std::move(executors), std::move(hosts),
                                capacity);
  }

private:
  std::string fullName;
  SlowLink::Capacity capacity;
  uint32_t perHost;
};

/// Removes a number from the front of `text` and returns it. If `text` does not
/// begin with a positive finite number, returns 0 and removes nothing.
double takeNumber(std::string_view &text) {
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isnormal(number) || number < 0)
    return 0;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

/// Removes a comma and a number behind it from the front of `text`, if there
/// are both.
void takeCount(std::string_view &text, uint32_t &number) {
  if (!text.starts_with(','))
    return;
  auto [end, error] =
      std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error == std::errc())
    text.remove_prefix(size_t(end - text.data()));
}

} // namespace

LOCKSTEP_PLUGIN

/// Called by `PluginObjects` (Plugin.h) after the plugin has been loaded.
extern "C" __attribute__((visibility("default"))) void
lockstepOpenTransport(std::string_view options, uint32_t /*user*/,
                      std::unique_ptr<TransportFactory> &transport,
                      Status &status) {
  std::string_view rest = options;
  double latency = takeNumber(rest), bandwidth = 0;
  if (rest.starts_with(',')) {
    rest.remove_prefix(1);
    bandwidth = takeNumber(rest);
  }
  uint32_t perHost = 1, streams = 1;
  takeCount(rest, perHost);
  takeCount(rest, streams);
  constexpr uint32_t mostStreams = 1024;
  if (latency == 0 || bandwidth == 0 || perHost == 0 || streams == 0 ||
      streams > mostStreams || !rest.empty()) {
    status = invalidArgument(fmt::format(
        "expected 'slow:LATENCY,BANDWIDTH' with positive seconds and bytes per "
        "second, and optionally ',EXECUTORS' of each host and ',STREAMS' of "
        "the link, at most {}, found 'slow:{}'",
        mostStreams, options));
    return;
  }
  transport = std::make_unique<SlowFactory>(
      options, SlowLink::Capacity{{latency, 1 / bandwidth}, streams}, perHost);
}
