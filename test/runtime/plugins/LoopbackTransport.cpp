//===- LoopbackTransport.cpp - the transport "loopback" -------------------===//
//
// A plugin for tests: executors of one process that reach each other as those
// of several processes do, two of which are on each host. "loopback:SEED"
// chooses the delays of their frames.
//
//===----------------------------------------------------------------------===//

#include "MemoryWire.h"

#include "runtime/support/Plugin.h"
#include "runtime/transport/exchange/ExchangeFactory.h"

#include <charconv>

#include <fmt/format.h>

using namespace lockstep::runtime;

namespace {

/// The executors of a network, each in a "process" of its own.
struct Loop {
  Loop(const std::vector<RankRange> &executors, uint64_t seed)
      : processes(uint32_t(executors.size()), seed, /*processesOfHost=*/2) {}

  test::MemoryProcesses processes;
  std::vector<std::shared_ptr<Network>> endpoints;
};

class LoopbackFactory final : public ExchangeFactory {
public:
  explicit LoopbackFactory(uint64_t seed)
      : seed(seed), fullName(fmt::format("loopback:{}", seed)) {}

  std::string_view name() const override { return fullName; }
  Expected<std::vector<std::shared_ptr<Network>>>
  connect(std::vector<RankRange> executors,
          std::vector<uint32_t> /*processOf*/) override {
    auto loop = std::make_shared<Loop>(executors, seed);
    std::vector<uint32_t> processOf;
    for (uint32_t i = 0; i < executors.size(); ++i)
      processOf.push_back(i);
    std::vector<std::shared_ptr<Network>> endpoints;
    for (uint32_t i = 0; i < executors.size(); ++i) {
      Expected<std::vector<std::shared_ptr<Network>>> own =
          loop->processes.threads[i]->connect(executors, processOf);
      if (!own)
        return own.status();
      loop->endpoints.push_back((*own)[i]);
      // The processes end together, when none of the endpoints is used.
      endpoints.emplace_back(loop, loop->endpoints.back().get());
    }
    return endpoints;
  }

private:
  const uint64_t seed;
  const std::string fullName;
};

} // namespace

LOCKSTEP_PLUGIN

/// Called by `PluginObjects` (Plugin.h) after the plugin has been loaded.
extern "C" __attribute__((visibility("default"))) void
lockstepOpenTransport(std::string_view options, uint32_t /*user*/,
                      std::unique_ptr<TransportFactory> &transport,
                      Status &status) {
  uint64_t seed = 0;
  auto [end, error] =
      std::from_chars(options.data(), options.data() + options.size(), seed);
  if (error != std::errc() || end != options.data() + options.size())
    status = invalidArgument(
        fmt::format("expected 'loopback:SEED', found 'loopback:{}'", options));
  else
    transport = std::make_unique<LoopbackFactory>(seed);
}
